"""Who is in the demo, how much each of them has said, and over how long: a fixed cast, and ordinary customers to any number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from memadmin.demo import languages, pharmacy
from memadmin.demo.topics import Topic
from memadmin.demo.words import customer_name

# Share of chats, and their ages in days. A fifth is older than the sessions' limit, a tenth older than the memories' TTL.
AGES = ((0.35, 0.1, 30.0), (0.30, 30.0, 120.0), (0.20, 120.0, 240.0), (0.06, 240.0, 365.0), (0.06, 365.0, 730.0), (0.03, 730.0, 1100.0))
RECENT = ((1.0, 12.0, 300.0),)


@dataclass(frozen=True, slots=True)
class Customer:
    user_id: str | None
    code: str  # what ids of this customer's items begin with; unique in the container
    memories: int
    topics: tuple[Topic, ...] = pharmacy.PHARMACY
    ages: tuple[tuple[float, float, float], ...] = AGES
    tokens: int | None = None  # the average size of a memory, as the agent's tokenizer counted it; None: the size of the text
    told_once: bool = False  # every topic once, in this order
    tidy: bool = False  # whose agent sends no wrong or missing times


def _speaker(user_id: str, code: str, topics: tuple[Topic, ...]) -> Customer:
    memories = sum(len(topic.outcome) for topic in topics)
    return Customer(user_id, code, memories, topics, told_once=True)


# The ids that agents really send: e-mail addresses, numbers, paths, blanks, other scripts, look-alikes.
CAST = (
    Customer("ana.ruiz", "ana", 26),
    _speaker(" jan.devries ", "jan-blanks", languages.DUTCH),
    Customer("jan.devries", "jan", 9),
    _speaker("José Núñez", "jose", languages.SPANISH),
    _speaker("王秀英", "wang", languages.CHINESE),
    _speaker("فاطمة الزهراء", "fatima", languages.ARABIC),
    _speaker("יעל כהן", "yael", languages.HEBREW),
    Customer("m.okafor@example.org", "okafor", 18),
    Customer("100042", "n100042", 14),
    Customer("ward-7/bed-2", "ward", 8),
    Customer("100%", "percent", 5),
    Customer("john_doe", "john1", 7),
    Customer("john-doe", "john2", 6),
    Customer("Ana.Ruiz", "ana-capitals", 4),
    Customer("🐝bee", "bee", 5),
    Customer("new.customer", "new", 0),
    # Never too many memories, but too long ones: over the token cap.
    Customer("otto.brandt", "otto", 400, tuple(t for t in pharmacy.PHARMACY if t is not pharmacy.ALLERGY_TOLD), RECENT, tokens=115),
)


def ordinary_customers(number: int, memories: int, *, seed: int, topics: tuple[Topic, ...] = pharmacy.PHARMACY) -> Iterator[Customer]:
    """Yield so many customers who have so many memories together: a few of them many, most of them few."""
    shares = _Shares(Random(f"{seed}/shares"))
    whole = shares.up_to(number)
    before = 0
    for at in range(number):
        upto = round(memories * shares.up_to(at + 1) / whole)
        yield Customer(customer_name(at, shift=seed), f"{at + 1:06}", upto - before, topics)
        before = upto


class _Shares:
    """How the memories are spread: the n-th of a hundred customers has a n-th of what the first one has; then over again."""

    PERIOD = 100

    def __init__(self, rng: Random) -> None:
        weights = [1 / rank for rank in range(1, self.PERIOD + 1)]
        rng.shuffle(weights)
        self.sums = [0.0]
        for weight in weights:
            self.sums.append(self.sums[-1] + weight)

    def up_to(self, number: int) -> float:
        """Return what the first so many customers have together."""
        laps, rest = divmod(number, self.PERIOD)
        return laps * self.sums[-1] + self.sums[rest]
