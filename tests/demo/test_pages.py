import pytest
from django.db.models import Q

from memadmin.demo.customers import CAST
from memadmin.demo.loading import load
from memadmin.demo.recipe import Recipe
from memadmin.demo.worked_example import USER_ID
from memadmin.lifecycle.models import Run
from memadmin.store.models import Container, LongTermMemory, Session, Subject
from tests.factories import NOON
from tests.people import support

pytestmark = pytest.mark.django_db


def addresses():
    cast = Q(user_id__in=[USER_ID, *(customer.user_id for customer in CAST)]) | Q(user_id=None)
    for container in Container.objects.all():
        yield from (f"/containers/{container.uid}/{part}" for part in ("users/", "policy/"))
    for subject in Subject.objects.filter(cast):
        yield f"/users/{subject.uid}/"
        yield from (f"/memories/{memory.uid}/" for memory in LongTermMemory.objects.filter(subject=subject)[:1])
        yield from (f"/sessions/{session.uid}/" for session in Session.objects.filter(subject=subject)[:1])
    yield from (f"/memories/{memory.uid}/" for memory in LongTermMemory.objects.filter(Q(created_at=None) | Q(tokens__gt=40_000))[:5])
    yield from (f"/runs/{run.number}/" for run in Run.objects.all())


def test_every_page_about_the_cast_opens_for_support():
    load(Recipe(40, 1_500, 1, NOON), now=NOON)
    browser = support()

    answers = {address: browser.get(address).status_code for address in addresses()}

    assert {address: status for address, status in answers.items() if status != 200} == {}
    assert len(answers) > 50
