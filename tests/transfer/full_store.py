"""A container with something in every field of every table that an export holds."""

import uuid
from datetime import date

from memadmin.store import policies
from memadmin.store.identity import item_uid
from memadmin.store.intake import IncomingArchived, IncomingPin, IncomingUser, Source
from memadmin.store.models import ItemType
from retention.policy import parse_policy
from tests.factories import ACTOR, NOON, a_change, a_memory, a_message, a_session, days, make_container, store

ODD = "line one\u2028two\x85three \x1b[31m \u200f\u05d4 <script>{{ 7*7 }}</script> \U0001f468\u200d\U0001f469\u200d\U0001f467"
NUMBERS = {"order": 9007199254740993, "big": 18446744073709551617, "share": 0.1, "tiny": 2.5e-07, "list": [1, 2.5, None, True, {"a.b": []}]}
EVERYWHERE = {"owner": "admin", "namespace": {"user_id": "ann", "agent": "a"}, "time_note": "zone_assumed"}
REVIEWED = {"review_on": date(2027, 1, 1), "reviewed_at": NOON, "reviewed_by": "person/reviewer"}
PIN = IncomingPin(reason="allergy", actor=ACTOR, created_at=NOON, **REVIEWED)
MEMORY, SUPERSEDING, CHANGE, COPY = (uuid.UUID(int=number) for number in (7, 8, 9, 10))


def make_full_container():
    container = make_container(
        "pharmacy",
        external_id="ext-1",
        description=ODD,
        owner={"name": "admin"},
        tenant="t",
        backend_roles=["cs"],
        configuration={"strategies": [NUMBERS]},
        sessions_enabled=False,
        history_enabled=False,
        orphan_baseline_at=NOON,
        archive_days=None,
        summarise_from=4,
        hard_limit_days=4_000,
    )
    policy = parse_policy({"retention": {"sessions": {"retention_days": 90, "max_count": None}}})
    policies.save_draft(container, policy, actor=ACTOR, now=NOON)
    from_session = Source(item_type=ItemType.SESSION, uid=item_uid(container.uid, ItemType.SESSION, "ann", "s-1"))
    full = (full_session(), full_message(), full_memory(from_session), full_change())
    store(container, *full, *sparse_items(), *archived_copies(from_session))
    return container


def full_session(name="s-1", **more):
    details = {"state": {"step": 1}, "metadata": NUMBERS, "agents": {"a": 1}, "additional_info": {"b": None}}
    return a_session(name, summary=ODD, pin=PIN, last_updated_at=NOON, **details, **EVERYWHERE, **more)


def full_message(text=ODD, name="m-1", **more):
    return a_message(
        text,
        external_id=name,
        sequence=3,
        message_id=7,
        structured_data={"x": 1},
        structured_data_blob={"y": [1]},
        binary_data="aGk=",
        metadata=NUMBERS,
        tags={"t": "u"},
        parameters={"p": 1},
        infer=True,
        checkpoint_id="c",
        event_id="e",
        invocation_id="i",
        author="agent",
        event={"id": "e"},
        last_updated_at=NOON,
        **EVERYWHERE,
        **more,
    )


def full_memory(source, text=ODD, uid=MEMORY, name="f-1", **more):
    return a_memory(
        text,
        uid=uid,
        external_id=name,
        parts=[{"text": "x"}],
        author="agent",
        strategy_id="s",
        strategy_type="SEMANTIC",
        tags={"t": None},
        metadata=NUMBERS,
        tokens=9,
        tokens_method="cl100k",
        importance=0.75,
        importance_source="rule",
        hits=3,
        last_accessed_at=NOON,
        last_updated_at=NOON,
        fact_key="drink",
        fact_version=2,
        superseded_by=SUPERSEDING,
        pin=PIN,
        sources=(source,),
        **EVERYWHERE,
        **more,
    )


def full_change():
    details = {"action": "UPDATE", "before": {"memory": "coffee"}, "error": "none", "actor": ACTOR, "tags": {"t": 1}}
    return a_change("tea", uid=CHANGE, external_id="h-1", memory_uid=MEMORY, memory_ref="f", **details, **EVERYWHERE)


def sparse_items():
    return [
        *(IncomingUser(user_id=""), IncomingUser(user_id="nobody yet"), IncomingUser(user_id=" Jason ")),
        *(a_message("orphan", user_id="bob", session_ref="gone", session_gone=True), a_message("none", user_id="bob", session_ref=None)),
        a_message("data", user_id="bob", session_ref="s-9", payload_type="data", messages=[], created_at=None, structured_data=5),
        *(a_memory("no date", user_id="bob", created_at=None, metadata=None), a_memory("nobody's", user_id=None, external_id="f-2")),
        a_memory("superseding", uid=SUPERSEDING, external_id="f-8"),
        a_change("failed", user_id="a/b", action=None, after=None, error="timed out"),
    ]


def archived_copies(source):
    session = full_session("s-old")
    said = (full_message("old words", "m-9", session_ref="s-old"),)
    end = {"archived_at": NOON, "expires_at": NOON + days(30)}
    return [
        IncomingArchived(user_id="ann", item=session, working=said, reason="age", run_number=4, **end),
        IncomingArchived(user_id="ann", item=full_memory(source, "full copy", COPY, "f-9"), reason="age", run_number=4, **end),
        IncomingArchived(user_id=None, item=a_memory("gone", user_id=None, hits=2, sources=(source,)), reason="ttl", archived_at=NOON),
    ]
