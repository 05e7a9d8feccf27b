"""What an administrator will meet sooner or later: memories of nobody, messages of no session, and sizes and times that look wrong."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from memadmin.demo.kinds import HEALTH, ORDER, QUESTION, SMALL_TALK, Kind
from memadmin.demo.scenes import Scene
from memadmin.store.ingest import Arrival
from memadmin.store.intake import IncomingHistory, IncomingMemory, IncomingPin, IncomingWorking
from memadmin.store.models import PayloadType

_OF_NOBODY = (
    "The Northmere branch is closed for rebuilding until the end of the month.",
    "Parcels with insulin go out with a cooling pack from Monday to Thursday only.",
    "BlueVan does not deliver to Saltby on Wednesdays.",
    "A recall was announced for one batch of ramipril 5 mg; customers who ask are put through to the pharmacist.",
)
_LEAFLET = (
    "Read all of this leaflet carefully before you start taking this medicine, because it contains important information for you. "
    "Keep this leaflet; you may need to read it again. If you have any further questions, ask your doctor or pharmacist. "
    "This medicine has been prescribed for you only. Do not pass it on to others. It may harm them, even if their signs of illness "
    "are the same as yours. If you get any side effects, talk to your doctor or pharmacist. This includes any possible side effects "
    "not listed in this leaflet. "
)
_OVERSIZED_CHARACTERS = 41_500 * 4  # at four characters a token: more than the default cap of 40,000 tokens
MEMORIES = len(_OF_NOBODY) + 7


def write_oddities(scene: Scene) -> Iterator[Arrival]:
    """Yield the odd ones of the main container."""
    yield from _of_nobody(scene)
    yield from _without_session(scene)
    yield from _of_wrong_size(scene)
    yield from _of_wrong_time(scene)
    yield _failed_extraction(scene)


def _of_nobody(scene: Scene) -> Iterator[IncomingMemory]:
    for number, text in enumerate(_OF_NOBODY):
        yield _memory(scene, None, f"house-{number}", ORDER, text, days_old=20 + 9 * number)


def _without_session(scene: Scene) -> Iterator[IncomingWorking]:
    """Orphans: the first three of a known customer, then two of nobody; one carries data instead of messages."""
    for number, user_id in enumerate(("ana.ruiz", "ana.ruiz", "100042", None, None)):
        yield IncomingWorking(
            user_id=user_id,
            owner=scene.agent,
            external_id=f"orphan-{number}",
            created_at=scene.as_of - timedelta(days=15 + 30 * number),
            messages=[{"role": "user", "content": "Hello? My connection broke. Are you still there?"}],
        )
    yield IncomingWorking(
        user_id="m.okafor@example.org",
        owner=scene.agent,
        external_id="basket-1",
        created_at=scene.as_of - timedelta(days=3),
        payload_type=PayloadType.DATA,
        structured_data={"basket": [{"item": "vitamin D drops", "pieces": 2}, {"item": "plasters", "pieces": 1}], "currency": "EUR"},
        metadata={"status": "checkpoint"},
        checkpoint_id="basket-1",
    )


def _of_wrong_size(scene: Scene) -> Iterator[IncomingMemory]:
    leaflet = (_LEAFLET * (_OVERSIZED_CHARACTERS // len(_LEAFLET) + 1))[:_OVERSIZED_CHARACTERS]
    yield _memory(scene, "m.okafor@example.org", "leaflet", HEALTH, leaflet, days_old=40)
    pin = IncomingPin(reason="Evidence in a dispute.", actor=scene.actor, created_at=scene.as_of - timedelta(days=60))
    yield _memory(scene, "100042", "leaflet-pinned", QUESTION, leaflet, days_old=60, pin=pin)


def _of_wrong_time(scene: Scene) -> Iterator[IncomingMemory]:
    user_id, ahead = "ana.ruiz", scene.as_of + timedelta(days=2)
    yield _memory(scene, user_id, "ahead", ORDER, "Asked for a receipt of order C-70113.", days_old=4, hits=3, last_accessed_at=ahead)
    yield _memory(scene, user_id, "undated", HEALTH, "Takes levothyroxine 75 µg before breakfast.", created_at=None)
    yield _memory(scene, user_id, "undated-read", SMALL_TALK, "Likes lemon drops.", created_at=None, hits=2)
    yield _memory(scene, user_id, "expired", SMALL_TALK, "Asked what the moon has to do with sleep.", days_old=430)
    markup = 'Wrote: <b>please</b> ring twice & "wait"; the form said {{ name }} instead of her name.'
    yield _memory(scene, user_id, "markup", ORDER, markup, days_old=33, hits=1, last_accessed_at=scene.as_of - timedelta(days=30))


def _memory(scene: Scene, user_id: str | None, ref: str, kind: Kind, text: str, *, days_old: float = 0, **details: Any) -> IncomingMemory:
    given = {"created_at": scene.as_of - timedelta(days=days_old), **details}
    return IncomingMemory(
        user_id=user_id,
        owner=scene.agent,
        namespace={} if user_id is None else {"user_id": user_id},
        external_id=f"mem-{ref}",
        text=text,
        author=scene.agent,
        strategy_id=kind.strategy_id,
        strategy_type=kind.strategy,
        tags={"kind": kind.name},
        importance=kind.importance,
        importance_source=f"rule:{kind.name}",
        **given,
    )


def _failed_extraction(scene: Scene) -> IncomingHistory:
    return IncomingHistory(
        user_id="ana.ruiz",
        owner=scene.agent,
        external_id="failed-1",
        created_at=scene.as_of - timedelta(days=6),
        error="The model's answer was not JSON; nothing was kept of this chat.",
        actor="job/consolidate",
    )
