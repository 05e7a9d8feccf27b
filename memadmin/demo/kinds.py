"""Kinds of things a support agent remembers, and how much each is worth: set by rule when a memory is written."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    importance: float  # 0..1
    strategy: str = "SEMANTIC"
    fact_key: str | None = None  # a fact of which only the latest holds
    pin_reason: str | None = None  # pinned when it is written

    @property
    def strategy_id(self) -> str:
        return f"{self.strategy.lower()}_pharmacy"


ALLERGY = Kind("allergy", 0.95, pin_reason="Allergy: a wrong answer could harm the customer.")
HEALTH = Kind("health", 0.9)
IDENTITY = Kind("identity", 0.9, "USER_PREFERENCE", "identity.contact")
COMMITMENT = Kind("commitment", 0.85)
ADDRESS = Kind("address", 0.8, "USER_PREFERENCE", "delivery.address")
INSURANCE = Kind("insurance", 0.8, fact_key="insurance.policy")
PREFERENCE = Kind("preference", 0.6, "USER_PREFERENCE")
REFILL = Kind("refill", 0.6)
COMPLAINT = Kind("complaint", 0.5)
ORDER = Kind("order", 0.4)
SUMMARY = Kind("summary", 0.3, "SUMMARY")
QUESTION = Kind("question", 0.1)
SMALL_TALK = Kind("small-talk", 0.1)
