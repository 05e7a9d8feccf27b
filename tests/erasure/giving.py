"""Recipients that were given data of somebody, for the tests of disclosures over the API, on pages and in the workflow."""

from datetime import datetime

from memadmin.erasure import disclosures
from memadmin.erasure.models import Disclosure, Recipient, RecipientKind
from memadmin.store.models import Container, Subject
from tests.erasure.test_notices import a_recipient
from tests.factories import ACTOR, NOON, make_container, make_memory

THEIRS = "crm-zebrafinch-77"


def somebody(user_id: str = "ann", container: Container | None = None, text: str = "likes tea") -> Subject:
    return make_memory(container or make_container(), text, user_id=user_id).subject


def told_by_mail(*containers: Container, **details: str) -> Recipient:
    """Register a recipient whom a person tells; without containers it gets data of all."""
    return a_recipient(*containers, kind=RecipientKind.MANUAL, contact="by mail", **details)[0]


def given(recipient: Recipient, subject: Subject, own_id: str | None = THEIRS, *, at: datetime = NOON, now: datetime = NOON) -> Disclosure:
    return disclosures.record(recipient, subject, own_id=own_id, at=at, actor=ACTOR, now=now)[0]
