"""Telling recipients what was erased (GDPR article 19): one notice for each who got data of a container that a request is about.

A notice says which action, in which container, by which names they know what it is about, until when to answer, and where. It gives no
reason and repeats no content. The names are sealed, leave the database with the answer, and stand in no log and no argument of a job.
A notice is sent until it is answered; after the last attempt a person decides.
"""

from __future__ import annotations

import hmac
import json
import zlib
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.signing import Signer
from django.db import transaction
from django.db.models import Count, F, QuerySet

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure import disclosures, recipients
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import ErasureRequest, Kind, NoticeState, Recipient, RecipientKind, RecipientNotice
from memadmin.erasure.models.recipients import OPEN_STATES
from memadmin.erasure.moves import Refusal
from memadmin.outbound.posting import WAITS, Message, post
from memadmin.store import sealed
from memadmin.store.models import Container
from memadmin.store.text import clean, says_something

ACTOR = "job/erasure.notices"
RECEIVER = "system/recipient"
PURPOSE = b"memadmin.notices"
EVENT = "erasure.notice"
ANSWER_WITHIN = timedelta(days=30)
ASKED_AGAIN = timedelta(days=1)  # after a notice that arrived and was not acknowledged
NAMES_IN_ONE = 1_000
USER, OWN = "user", "yours"  # types of references: an id of the agents, an id that the recipient has given the person itself
LONGEST_REASON = 1_000
PATH = "/erasure-notices/{uid}/acknowledge"
NOT_TOLD = (NoticeState.IMPOSSIBLE, NoticeState.DISPROPORTIONATE)
Name = dict[str, Any]  # type and id; of a single item also whose it is, where the recipient knows the person by an id of its own
Parts = dict[int, list[Name]]


class NoticeEnded(Refusal):
    """The notice is not, or not any more, in a state that allows this."""

    code = "notice_ended"


class NoText(Refusal):
    """Not telling somebody needs a text for the person whose data it is."""

    code = "no_text"


def make(request: ErasureRequest, *, now: datetime) -> int:
    """Make the notices of a request, in the caller's transaction and while its papers still name whom it is about. Twice is once."""
    made = [notice for container, names in _names(request).items() for notice in _of_container(request, container, names, now=now)]
    known = set(request.notices.values_list("recipient_id", "container_id", "part"))
    new = [each for each in made if (each.recipient_id, each.container_id, each.part) not in known]
    RecipientNotice.objects.bulk_create(new)
    if new:
        log.append(Action.NOTICE_MADE, actor=ACTOR, target=target_of(request), at=now, counts={"notices": len(new)})
    return len(new)


def _names(request: ErasureRequest) -> Parts:
    """Return by container under which names a recipient knows what was erased: the ids of users, or the uids of single items."""
    found: Parts = defaultdict(list)
    if Kind(request.kind).is_about_people:
        named = request.subjects.filter(ticked=True, container__isnull=False, user_id__isnull=False).order_by("pk")
        for container, user_id in named.values_list("container_id", "user_id"):
            found[container].append({"type": USER, "id": str(user_id)})
        return found
    for container, kind, uid in request.items.order_by("pk").values_list("container_id", "item_type", "item_uid"):
        found[container].append({"type": kind, "id": str(uid)})
    return found


def _of_container(request: ErasureRequest, container: int, names: list[Name], *, now: datetime) -> Iterator[RecipientNotice]:
    box = sealed.box(PURPOSE)
    owners = _owners_of(request, container)
    for recipient in recipients.of_containers([container]):
        known = _as_known_to(recipient, names, owners)
        for part, start in enumerate(range(0, len(known), NAMES_IN_ONE), 1):
            named = known[start : start + NAMES_IN_ONE]
            said, own = json.dumps(named).encode(), sum(name["type"] == OWN or "whose" in name for name in named)
            yield RecipientNotice(
                request=request,
                recipient=recipient,
                container_id=container,
                part=part,
                references=box.encrypt(zlib.compress(said)),
                by_own_id=own,
                by_our_id=sum(name["type"] == USER for name in named),
                made_at=now,
                answer_by=(now + ANSWER_WITHIN).date(),
                due_at=now,
            )


def _owners_of(request: ErasureRequest, container: int) -> dict[str, int]:
    """Return the keys of the users that a request takes whole in a container by their ids, or those of the owners of its items by these."""
    if not Kind(request.kind).is_about_people:
        return {str(uid): subject for uid, subject in request.items.filter(container=container).values_list("item_uid", "subject_id")}
    named = request.subjects.filter(ticked=True, container=container, user_id__isnull=False, subject_id__isnull=False)
    return {str(user_id): int(key) for user_id, key in named.values_list("user_id", "subject_id") if key is not None}


def _as_known_to(recipient: Recipient, names: list[Name], owners: dict[str, int]) -> list[Name]:
    """Return the names as the recipient can recognise them, where its own ids of the persons are known: these in place of ours, and
    beside the uid of an item, which only we know. Raises KeysUnusable.
    """
    own = disclosures.own_ids(recipient, set(owners.values()))
    found: list[Name] = []
    for name in names:
        ids = own.get(owners.get(name["id"], 0), [])
        if name["type"] == USER:
            found += [{"type": OWN, "id": each} for each in ids] or [name]
        else:
            found.append({**name, "whose": ids} if ids else name)
    return found


def names_in(notice: RecipientNotice) -> list[Name]:
    """Return under which names the recipient knows what it is about; none once the notice has ended. Raises KeysUnusable."""
    if notice.references is None:
        return []
    found: list[Name] = json.loads(zlib.decompress(sealed.opened(PURPOSE, bytes(notice.references))))
    return found


def payload_of(notice: RecipientNotice) -> dict[str, Any]:
    """Return what the recipient is told. Raises KeysUnusable."""
    action = {Kind.RECTIFY: "rectify", Kind.RESTRICT: "restrict"}.get(Kind(notice.request.kind), "erase")
    container = Container.objects.filter(pk=notice.container_id).first()
    return {
        "id": str(notice.uid),
        "event": EVENT,
        "action": action,
        "namespace": str(container.uid) if container else "",
        "references": names_in(notice),
        "deadline": notice.answer_by.isoformat(),
        "acknowledge": {"url": f"{settings.PUBLIC_URL}{PATH.format(uid=notice.uid)}", "token": token_of(notice)},
    }


def token_of(notice: RecipientNotice) -> str:
    """Return what the recipient answers with: it is computed, not kept, and good for this notice alone."""
    return Signer(salt="memadmin.erasure.notice").signature(str(notice.uid))


def due(now: datetime) -> list[RecipientNotice]:
    """Return what is to be sent now, the longest waiting first."""
    waiting = RecipientNotice.objects.filter(state__in=[NoticeState.PENDING, NoticeState.SENT], due_at__lte=now)
    rows = waiting.filter(recipient__kind=RecipientKind.WEBHOOK).select_related("recipient", "request")
    return list(rows.order_by("due_at", "id")[:20])


def send(notice: RecipientNotice, *, now: datetime) -> None:
    """Try once, and write down how it went. Raises KeysUnusable."""
    told: Recipient = notice.recipient
    body = json.dumps(payload_of(notice), separators=(",", ":")).encode()
    message = Message(url=told.contact, secret=recipients.secret_of(told), event=EVENT, uid=str(notice.uid), body=body)
    status, error_code = post(message, now=now)
    note(notice, status=status, error_code=error_code, now=now)


@transaction.atomic
def note(notice: RecipientNotice, *, status: int | None, error_code: str, now: datetime) -> None:
    """Write down how an attempt went: it arrived and waits for its answer, is due again later, or a person has to decide."""
    arrived = status is not None and 200 <= status < 300
    values: dict[str, Any] = {"attempts": F("attempts") + 1, "status": status, "error_code": error_code}
    if arrived:
        values |= {"state": NoticeState.SENT, "sent_at": now}
    if notice.attempts < len(WAITS):
        values["due_at"] = now + (max(WAITS[notice.attempts], ASKED_AGAIN) if arrived else WAITS[notice.attempts])
    else:
        values |= {"state": NoticeState.FAILED, "error_code": error_code or ("not_acknowledged" if arrived else "")}
    waiting = RecipientNotice.objects.filter(pk=notice.pk, state__in=[NoticeState.PENDING, NoticeState.SENT], attempts=notice.attempts)
    if waiting.update(**values) and values.get("state") == NoticeState.FAILED:
        log.append(Action.NOTICE_FAILED, actor=ACTOR, target=str(notice), at=now, counts={"attempts": notice.attempts + 1})


@transaction.atomic
def acknowledge(notice: RecipientNotice, *, actor: str, now: datetime) -> None:
    """Note that the recipient has answered; twice is once. That they have erased is theirs to show. Raises NoticeEnded."""
    if RecipientNotice.objects.filter(pk=notice.pk, state=NoticeState.ACKED).exists():
        return
    _end(notice, NoticeState.ACKED, actor=actor, now=now)
    log.append(Action.NOTICE_ACKNOWLEDGED, actor=actor, target=str(notice), at=now)


def is_token_of(notice: RecipientNotice, given: str) -> bool:
    return hmac.compare_digest(token_of(notice).encode(), given.encode())


@transaction.atomic
def told_by_hand(notice: RecipientNotice, *, actor: str, now: datetime) -> None:
    """Note that a person has told them; their answer is still waited for. Raises NoticeEnded."""
    waiting = RecipientNotice.objects.filter(pk=notice.pk, state__in=[NoticeState.PENDING, NoticeState.FAILED])
    if not waiting.update(state=NoticeState.SENT, sent_at=now, attempts=F("attempts") + 1, due_at=now + ASKED_AGAIN, error_code=""):
        raise NoticeEnded("They were told already, or the notice has ended.")
    log.append(Action.NOTICE_TOLD, actor=actor, target=str(notice), at=now)
    notice.refresh_from_db()


@transaction.atomic
def try_again(notice: RecipientNotice, *, actor: str, now: datetime) -> None:
    """Let a notice that could not be delivered be sent anew, as often as the first time. Raises NoticeEnded."""
    failed = RecipientNotice.objects.filter(pk=notice.pk, state=NoticeState.FAILED)
    if not failed.update(state=NoticeState.PENDING, attempts=0, due_at=now, error_code=""):
        raise NoticeEnded("Only a notice that has failed is sent anew.")
    log.append(Action.NOTICE_RETRIED, actor=actor, target=str(notice), at=now)
    notice.refresh_from_db()


@transaction.atomic
def decide(notice: RecipientNotice, state: NoticeState, text: str, *, actor: str, now: datetime) -> None:
    """End a notice without an answer: telling them is impossible or out of proportion, with the text for the person.

    Raises NoText, NoticeEnded.
    """
    said = clean(text).strip()[:LONGEST_REASON]
    if state not in NOT_TOLD or not says_something(said):
        raise NoText("Say whether it is impossible or out of proportion, and why: the person is told so.")
    _end(notice, state, actor=actor, now=now, reason=said)
    log.append(Action.NOTICE_DECIDED, actor=actor, target=str(notice), at=now, reason_code=state.value, payload={"text": said})


def _end(notice: RecipientNotice, state: NoticeState, *, actor: str, now: datetime, reason: str = "") -> None:
    open_one = RecipientNotice.objects.filter(pk=notice.pk, state__in=OPEN_STATES)
    if not open_one.update(state=state, references=None, ended_at=now, ended_by=actor, reason=reason, error_code=""):
        raise NoticeEnded("This notice has ended already.")
    notice.refresh_from_db()


def counts_of(request: ErasureRequest) -> dict[str, int]:
    """Return by state how many notices a request has."""
    rows = request.notices.order_by().values("state").annotate(n=Count("pk")).values_list("state", "n")
    return dict(sorted(rows))


def failed(requests: QuerySet[ErasureRequest]) -> QuerySet[RecipientNotice]:
    """Those of these requests about which a person has to decide."""
    return RecipientNotice.objects.filter(state=NoticeState.FAILED, request__in=requests)


def open_ones(request: ErasureRequest) -> QuerySet[RecipientNotice]:
    """Those that neither an answer nor a decision has ended."""
    return request.notices.filter(state__in=OPEN_STATES)
