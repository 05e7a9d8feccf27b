"""Where the store itself, the audit log and the database engine hold a person's data."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from memadmin.audit.models import AuditPayload
from memadmin.store import archive, archived_words, holding, log_words, removal
from memadmin.store.finding import linked, owned, raw_delete, searched
from memadmin.store.locations import Act, Found, ItemClass, Location, Page, Scope, register, row_uid, waive
from memadmin.store.models import (
    Archived,
    Container,
    Feedback,
    HistoryEntry,
    Hold,
    ItemType,
    LongTermMemory,
    Pin,
    PolicyVersion,
    Provenance,
    RecallEvent,
    Returned,
    Session,
    Subject,
    Suppression,
    WorkingMemory,
)
from memadmin.store.removal_by_list import remover_of, remover_of_links
from memadmin.store.staying import with_stays

OURS = "a random name of ours, which nothing outside knows"
WORD = "one of our own fixed words or numbers"
WHO = "an opaque name of an account, job or token"
CONTAINER_NAMES = ("external_id", "owner", "tenant", "backend_roles")
A, E, D = ItemClass.OWNED, ItemClass.COPY, ItemClass.MENTION
WRITER = ("owner",)
_NAMES = ("external_id", "namespace", *WRITER)  # of each item; they may be made of the name of anybody
_ITEM = {"external_id": A, "owner": A, "namespace": A, "subject_id": A, "uid": A}


def unpacked(payload: Any) -> str:
    """Return what an archive copy says, as text to search in."""
    return json.dumps(archive.unpack(payload), ensure_ascii=False)


def links_of(scope: Scope, after: Any, limit: int) -> Page:
    """Links from or to what is meant: a user's own, then those that start in other people's memories.

    The latter are looked for among all names of the person, which for a hundred thousand memories takes a while; so not with every page.
    """
    part, key = after or (0, 0)
    own = Provenance.objects.filter(subject_id__in=scope.subjects)
    others = linked(Provenance, scope, ["derived_uid", "source_uid"]).exclude(subject_id__in=scope.subjects)
    rows = with_stays((own, others)[part].filter(pk__gt=key)).order_by("pk")
    page = list(rows.values_list("pk", "subject_id", "stays")[:limit])
    found = [Found(key, row_uid("store.provenance", key), subject, held=stays) for key, subject, stays in page]
    if len(page) == limit:
        return Page(found, (part, found[-1].key))
    return Page(found, (1, 0) if part == 0 else None)


def users(scope: Scope, after: Any, limit: int) -> Page:
    """The users themselves: their row holds the id, even where nothing else is left of them."""
    rows = Subject.objects.filter(pk__in=scope.subjects, pk__gt=after or 0).order_by("pk")
    page = list(rows.values_list("pk", "uid", "user_id", "stored_at")[:limit])
    found = [Found(key, uid, key, size=len(user_id or ""), at=at) for key, uid, user_id, at in page]
    return Page(found, found[-1].key if len(page) == limit else None)


register(
    Location(
        name="store.working",
        title="Messages and working memories",
        order=40,
        table="store_workingmemory",
        columns={
            **_ITEM,
            **dict.fromkeys(("session_ref", "messages", "structured_data", "structured_data_blob", "binary_data", "metadata", "tags"), A),
            **dict.fromkeys(("parameters", "checkpoint_id", "event_id", "invocation_id", "author", "event"), A),
        },
        find=owned(
            "store.working", WorkingMemory, links=("uid",), said=("messages", "structured_data", "event", "binary_data"), at="stored_at"
        ),
        searched=(
            *("messages", "structured_data", "structured_data_blob", "binary_data", "metadata", "tags", "parameters", "event", "author"),
            *("session_ref", "checkpoint_id", "event_id", "invocation_id", *_NAMES),
        ),
        accounts=WRITER,
        delete_listed=remover_of(ItemType.WORKING),
    ),
    Location(
        name="store.history",
        title="History of long-term memories, before and after",
        order=30,
        table="store_historyentry",
        columns={**_ITEM, **dict.fromkeys(("memory_uid", "memory_ref", "before", "after", "error", "tags"), A)},
        waived={"actor": WHO},
        find=owned("store.history", HistoryEntry, links=("uid", "memory_uid"), said=("before", "after", "error"), at="stored_at"),
        searched=("before", "after", "error", "tags", "memory_ref", *_NAMES),
        accounts=WRITER,
        delete_listed=remover_of(ItemType.HISTORY),
    ),
    Location(
        name="store.long_term",
        title="Long-term memories",
        order=50,
        table="store_longtermmemory",
        columns={
            **_ITEM,
            **dict.fromkeys(
                ("text", "parts", "author", "tags", "metadata", "fact_key", "superseded_by", "strategy_id", "strategy_type"), A
            ),
            "embedding": E,
        },
        waived={**dict.fromkeys(("tokens_method", "importance_source"), WORD), "embedding_model": "the name of a model"},
        find=owned("store.long_term", LongTermMemory, links=("uid",), said=("text", "parts", "metadata", "tags"), at="stored_at"),
        searched=("text", "parts", "author", "tags", "metadata", "fact_key", "strategy_id", "strategy_type", *_NAMES),
        accounts=WRITER,
        delete_listed=remover_of(ItemType.LONG_TERM),
    ),
    Location(
        name="store.sessions",
        title="Sessions, with their state and summary",
        order=60,
        table="store_session",
        columns={**_ITEM, **dict.fromkeys(("summary", "state", "metadata", "agents", "additional_info"), A)},
        find=owned("store.sessions", Session, links=("uid",), said=("summary", "state", "metadata", "additional_info"), at="stored_at"),
        searched=("summary", "state", "metadata", "agents", "additional_info", *_NAMES),
        accounts=WRITER,
        delete_listed=remover_of(ItemType.SESSION),
    ),
    Location(
        name="store.archive",
        title="Archive copies of evicted memories and sessions",
        order=35,
        table="store_archived",
        columns={"uid": A, "subject_id": A, "owner": A, "payload": A},
        waived={"reason": WORD},
        find=owned("store.archive", Archived, links=("uid",), said=("payload",), at="archived_at"),
        searched=("payload", *WRITER),
        accounts=WRITER,
        read={"payload": unpacked},
        said={"payload": archived_words.said},
        change={"payload": archived_words.changed},
        delete=removal.remove_erased_copies,
    ),
    Location(
        name="store.pins",
        title="Pins and their reasons",
        order=20,
        table="store_pin",
        columns={"subject_id": A, "target_uid": A, "reason": A},
        waived={"actor": WHO, "reviewed_by": WHO},
        item_class=E,
        find=owned("store.pins", Pin, links=("target_uid",), said=("reason",), at="created_at"),
        searched=("reason",),
        delete=raw_delete(Pin),
        delete_listed=remover_of_links(Pin),
    ),
    Location(
        name="store.recalls",
        title="When memories were recalled, and in which session",
        order=22,
        table="store_recallevent",
        columns=dict.fromkeys(("subject_id", "memory_uid", "fact_key", "session_ref", "invocation_id"), A),
        find=owned("store.recalls", RecallEvent, links=("memory_uid",), said=("fact_key", "session_ref", "invocation_id"), at="at"),
        searched=("fact_key", "session_ref", "invocation_id"),
        delete=raw_delete(RecallEvent),
        delete_listed=remover_of_links(RecallEvent),
    ),
    Location(
        name="store.feedback",
        title="What people noticed in the agent's answers to a user",
        order=24,
        table="store_feedback",
        columns={"uid": A, "subject_id": A, "words": A, "memory_uid": A, "session_uid": A, "matched_uid": A},
        waived={"actor": WHO, "decided_by": WHO, "reason": WORD},
        find=owned("store.feedback", Feedback, links=("memory_uid", "session_uid", "matched_uid"), said=("words",), at="created_at"),
        searched=("words",),
        delete=raw_delete(Feedback),
        example={"state": "matched"},
    ),
    Location(
        name="store.holds",
        title="Holds and restrictions and their reasons",
        order=94,
        table="store_hold",
        columns={"subject_id": A, "target_uid": A, "reason": A, "release_reason": A},
        waived={"uid": OURS, "request_ref": OURS, **dict.fromkeys(("placed_by", "notice_by", "released_by"), WHO)},
        item_class=E,
        find=owned("store.holds", Hold, links=("target_uid",), said=("reason", "release_reason"), at="placed_at"),
        searched=("reason", "release_reason"),
        delete=holding.remove_erased,
    ),
    Location(
        name="store.returned",
        title="What came back after an erasure and was set aside or marked",
        order=36,
        table="store_returned",
        columns={"uid": A, "subject_id": A, "payload": A},
        waived={"suppression_uid": OURS, "arrived_by": WHO},
        find=owned("store.returned", Returned, links=("uid",), said=("payload",), at="arrived_at"),
        delete=raw_delete(Returned),
    ),
    Location(
        name="store.suppressions",
        title="Digests by which erased ids and texts are known again",
        order=99,
        table="store_suppression",
        columns={"digest": E},
        waived={
            "uid": OURS,
            "key_id": WORD,
            "request_ref": WHO,
            "lifted_by": WHO,
        },
        item_class=E,
        act=Act.KEEP,
        goes="Kept for a time, so that what is erased stays erased. Nothing can be read from a digest without its key.",
    ),
    Location(
        name="store.lift_reasons",
        title="Why suppressions were lifted",
        order=78,
        table="store_suppression",
        columns={"lift_reason": E},
        item_class=E,
        act=Act.REDACT,
        find=searched("store.lift_reasons", Suppression, ("lift_reason",)),
        example={"mode": "lifted", "lifted_by": "job/erasure", "lifted_at": datetime(2020, 1, 1, tzinfo=UTC)},
    ),
    Location(
        name="store.provenance",
        title="Links from derived memories to their sources",
        order=90,
        table="store_provenance",
        columns={"subject_id": A, "derived_uid": A, "source_uid": A},
        item_class=E,
        find=links_of,
        delete=raw_delete(Provenance),
        delete_listed=remover_of_links(Provenance),
    ),
    Location(
        name="store.subjects",
        title="The user's id and counters",
        order=95,
        table="store_subject",
        columns={"uid": A, "user_id": A, "canonical_id": A},
        waived={"suppressed": WORD},
        find=users,
    ),
    Location(
        name="store.policy_notes",
        title="Notes on policy versions",
        order=75,
        table="store_policyversion",
        columns={"note": D},
        waived={
            "document": "the rules of a policy, which name no user",
            **dict.fromkeys(("digest", "refused_because"), WORD),
            **dict.fromkeys(("author", "changed_by", "scheduled_by", "published_by"), WHO),
        },
        item_class=D,
        act=Act.REDACT,
        find=searched("store.policy_notes", PolicyVersion, ("note",), at="created_at"),
    ),
    Location(
        name="store.containers",
        title="Descriptions and settings of containers",
        order=76,
        table="store_container",
        columns=dict.fromkeys(("name", "description", "configuration"), D),
        waived={"uid": OURS},
        item_class=D,
        act=Act.REDACT,
        find=searched("store.containers", Container, ("name", "description", "configuration"), at="stored_at"),
    ),
    Location(
        name="store.container_owners",
        title="Names of containers that agents use, and whose they are",
        order=77,
        table="store_container",
        columns=dict.fromkeys(CONTAINER_NAMES, D),
        item_class=D,
        act=Act.KEEP,
        find=searched("store.container_owners", Container, CONTAINER_NAMES, at="stored_at"),
    ),
    Location(
        name="store.audit_payloads",
        title="What people wrote beside entries of the audit log",
        order=80,
        table="audit_payload",
        columns={"body": E},
        waived={"stream": WORD, "salt": "random bytes"},
        item_class=E,
        act=Act.REDACT,
        read={"body": log_words.written},
        said={"body": log_words.written_by_people},
        find=searched(
            "store.audit_payloads",
            AuditPayload,
            ("body",),
            read={"body": log_words.written},
            said={"body": log_words.written_by_people},
            about=log_words.about,
            copies=True,
        ),
        plant=log_words.plant,
    ),
    Location(
        name="store.database_indexes",
        title="Indexes of the database, the vectors among them",
        order=97,
        item_class=E,
        act=Act.CLEAR,
        goes="SQLite: with the row, pages are overwritten (secure_delete). PostgreSQL: by the VACUUM at the end.",
    ),
    Location(
        name="store.database_statistics",
        title="Statistics that the database's planner keeps of the columns",
        order=98,
        item_class=E,
        act=Act.CLEAR,
        goes="PostgreSQL: by the ANALYZE at the end. SQLite: none are kept of values.",
    ),
    Location(
        name="store.database_journal",
        title="The database's write-ahead log",
        order=99,
        item_class=E,
        act=Act.CLEAR,
        goes="SQLite: by a checkpoint that truncates it. PostgreSQL: when its files are recycled, archived ones with the backups.",
    ),
    Location(
        name="store.backups",
        title="Backups of the database and exported files",
        order=100,
        item_class=ItemClass.BACKUP,
        act=Act.CLEAR,
        goes="They expire. What is restored from one before is erased again by reapply_erasures.",
    ),
    Location(
        name="store.process_memory",
        title="Memory of running processes",
        order=5,
        item_class=E,
        act=Act.CLEAR,
        goes="No memory is cached between requests: what is erased is not answered again, in any process.",
    ),
)

_NO_PERSON = "keeps what it is told in fields that refuse names, addresses and sentences"
waive("audit_entry", _NO_PERSON)
waive("audit_pending", "keeps what the log keeps for the minute until it is sealed, and no words about a person")
waive("audit_head", "digests and numbers")
waive("audit_verification", "numbers, and which field of which entry was changed, never a value of it")
waive("store_setting", "numbers and switches, and who changed them")
