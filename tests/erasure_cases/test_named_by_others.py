"""The person's id in what is not theirs: column by column in the rows of somebody else, and in what the people here have written.

What the independent look reads, the search has to find: else an erasure could never be complete.
"""

from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.db import models, transaction

from memadmin.access.models import ApiToken, Person
from memadmin.access.roles import Role
from memadmin.erasure.drills.planting import inert
from memadmin.erasure.models import ErasureRequest, FoundAgain, ManifestItem, Recheck, Status
from memadmin.erasure.planting import made_row_by_row, plant_person, plant_row
from memadmin.erasure.verification.controls import WITHOUT_WORDS
from memadmin.erasure.verification.schema import Holds, tables
from memadmin.lifecycle import restoring
from memadmin.store import archived_words, locations, suppression
from memadmin.store.check import check
from memadmin.store.locations import Act, ItemClass, Location
from memadmin.store.models import Archived, Container, LongTermMemory, Mode, Session, Suppression
from memadmin.store.suppression import Terms
from memadmin.webhooks.models import Subscription
from tests.erasure.execution.test_execution import everything, execute
from tests.erasure.workflow import approved, opened
from tests.factories import ACTOR, NOON, make_container, make_memory, make_session, subject_of
from tests.people import make_person

pytestmark = pytest.mark.django_db(transaction=True)
CANARY = "zebrafinch-7@canary.example"
SAID = f"met {CANARY} at noon"


def with_users() -> list[Location]:
    """Return the places whose rows belong to a user."""
    owned = {model._meta.db_table for model in apps.get_models() if any(field.name == "subject" for field in model._meta.fields)}
    return [place for place in locations.in_order() if place.table in owned and place.app != "erasure"]


SEARCHED = [(place.name, column) for place in with_users() for column in place.searched if column not in place.accounts]
WRITERS = [(place.name, column) for place in with_users() for column in place.accounts]


@pytest.fixture
def container() -> Container:
    made = make_container()
    make_memory(made, "likes tea", user_id=CANARY)
    return made


def somebody_elses(place: Location, container: Container) -> models.Model:
    """Return a row of another user in this place."""
    planted = plant_person(container, "bob", actor=ACTOR, now=NOON)
    model = next(each for each in apps.get_models() if each._meta.db_table == place.table)
    if place in made_row_by_row():
        with transaction.atomic():
            plant_row(place, planted, now=NOON)
    row: models.Model | None = model._default_manager.filter(subject_id=planted.subject.pk).first()
    assert row is not None
    model._default_manager.filter(pk=row.pk).update(**inert(place.table, "bob", NOON))  # a hold that stands would stay with its words
    return row


def saying(row: models.Model, column: str) -> Any:
    """Return a value for this column that names the person."""
    if isinstance(row, Archived) and column == "payload":
        return archived_words.changed(row.payload, lambda name, value, _: SAID if name == "text" else value)
    return {"note": {CANARY: SAID}} if isinstance(row._meta.get_field(column), models.JSONField) else SAID


def erased() -> ErasureRequest:
    request = opened(CANARY)
    approved(request)
    return execute(request)


def findings(request: ErasureRequest) -> list[Any]:
    return list(request.verifications.latest("pk").findings.values_list("kind", "table", "column"))


@pytest.mark.parametrize(("place", "column"), SEARCHED)
def test_33_who_is_named_in_any_column_of_somebody_elses_row_is_named_nowhere_afterwards(container: Container, place: str, column: str):
    row = somebody_elses(locations.get(place), container)
    type(row)._default_manager.filter(pk=row.pk).update(**{column: saying(row, column)})

    request = erased()

    assert (request.state, request.error_code, findings(request)) == (Status.COMPLETED, "", [])
    assert everything().count(CANARY.encode()) == 0
    assert type(row)._default_manager.filter(pk=row.pk).exists()
    assert list(check()) == []


@pytest.mark.parametrize(("place", "column"), WRITERS)
def test_33_an_account_that_has_the_persons_name_keeps_what_it_wrote(container: Container, place: str, column: str):
    row = somebody_elses(locations.get(place), container)
    type(row)._default_manager.filter(pk=row.pk).update(**{column: CANARY})
    request = opened(CANARY)
    approved(request)
    listed = ManifestItem.objects.get(location=place, manifest__request=request, row_key=str(row.pk))

    execute(request)

    assert (listed.act, listed.item_class, listed.reason_code) == (Act.KEEP, ItemClass.MENTION, "account_name")
    assert (request.state, findings(request)) == (Status.COMPLETED, [])
    assert type(row)._default_manager.values_list(column, flat=True).get(pk=row.pk) == CANARY


def test_every_text_of_a_users_rows_is_looked_through_for_mentions_of_others():
    known = {table.name: set(table.holding(Holds.TEXT, Holds.BYTES)) for table in tables()}

    unsearched = {
        f"{place.name}.{column}"
        for place in with_users()
        for column in known[place.table] & set(place.columns)
        if column not in place.searched
    }

    without_words = {*WITHOUT_WORDS, "store.subjects.user_id", "store.subjects.canonical_id"}  # of users, see test_namesakes.py
    assert unsearched - without_words == set()


def test_every_text_that_an_archive_copy_keeps_of_people_is_one_of_those_that_are_looked_through():
    items = [place for place in with_users() if place.name in ("store.sessions", "store.working", "store.long_term")]

    texts = {column for place in items for column in place.searched if column not in place.accounts}

    assert texts == set(archived_words.SAID)


def test_two_sessions_that_were_called_after_the_person_stay_two(container: Container):
    for external_id in (CANARY, f"{CANARY} again"):
        make_session(container, external_id, user_id="bob", messages=2)

    request = erased()

    assert (request.state, findings(request)) == (Status.COMPLETED, [])
    names = list(Session.objects.filter(subject=subject_of(container, "bob")).values_list("external_id", flat=True))
    assert len(set(names)) == 2
    assert all(name.startswith("[erased]") for name in names)
    assert list(check()) == []


def test_a_name_of_512_characters_still_fits_without_the_persons_words(container: Container):
    memory = make_memory(container, "tea", user_id="bob", fact_key=" ".join(["ann"] * 128))
    make_memory(container, "likes tea", user_id="ann")
    request = opened("ann")
    approved(request)

    assert execute(request).state == Status.COMPLETED
    memory.refresh_from_db()
    assert len(memory.fact_key) == 512
    assert "ann" not in memory.fact_key


def test_an_archive_copy_that_named_the_person_comes_back_without_the_name(container: Container):
    copy = somebody_elses(locations.get("store.archive"), container)
    assert isinstance(copy, Archived)
    Archived.objects.filter(pk=copy.pk).update(payload=saying(copy, "payload"))
    erased()

    restoring.restore_item(Archived.objects.get(pk=copy.pk), actor=ACTOR, now=NOON)

    memory = LongTermMemory.objects.get(uid=copy.uid)
    assert (memory.text, memory.created_at) == ("met [erased] at noon", NOON)
    assert list(check()) == []


def test_what_people_wrote_about_governance_loses_the_name(container: Container):
    terms = Terms(mode=Mode.BLOCK)
    suppression.suppress_users(["gone"], container=None, terms=terms, request_ref="erasure/7f0c", actor=ACTOR, now=NOON)
    suppression.lift(Suppression.objects.get(), reason=SAID, actor=ACTOR, now=NOON)
    look = Recheck.objects.create(kind="nightly", started_at=NOON)
    seen = {"table": "store_subject", "column": "user_id", "row_key": "1", "found_at": NOON}
    settled = {"settled_at": NOON, "settled_by": ACTOR, "reason": SAID}
    FoundAgain.objects.create(recheck=look, kind="named", suppression_uid=uuid4(), request_ref="erasure/7f0c", **seen, **settled)

    request = erased()

    assert (request.state, request.error_code, findings(request)) == (Status.COMPLETED, "", [])
    assert everything().count(CANARY.encode()) == 0
    assert Suppression.objects.exclude(lift_reason="").get().lift_reason == "met [erased] at noon"
    assert FoundAgain.objects.get().reason == "met [erased] at noon"


def test_accounts_tokens_addresses_and_containers_that_have_the_name_are_told_to_the_reviewer_and_stay(container: Container):
    make_person(Role.SUPPORT, login=CANARY)
    ApiToken.objects.create(label=SAID, digest="d", created_by=ACTOR, created_at=NOON, owner_name=CANARY)
    Subscription.objects.create(url=f"https://example.org/{CANARY}", secret="s", created_by=ACTOR, created_at=NOON, told_to=0)
    make_container("theirs", external_id=CANARY, owner={"name": CANARY})
    request = opened(CANARY)
    approved(request)
    kept = set(ManifestItem.objects.filter(manifest__request=request, act=Act.KEEP).values_list("location", flat=True))

    execute(request)

    assert kept == {"access.people", "access.tokens", "webhooks.addresses", "store.container_owners"}
    assert (request.state, findings(request)) == (Status.COMPLETED, [])
    assert Person.objects.filter(login=CANARY).exists()
    assert Container.objects.get(name="theirs").owner == {"name": CANARY}
