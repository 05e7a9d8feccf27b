"""A store that has been lived in: with runs, approvals, reports and an archive, where a made-up row can meet a real one."""

import pytest
from django.core.management import call_command
from django.utils import timezone

from memadmin.erasure.models import Status
from memadmin.erasure.verification.controls import blind_places
from memadmin.store.models import Container, Subject
from tests.erasure.execution.test_execution import execute
from tests.erasure.workflow import approved, opened

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def demo():
    call_command("make_demo", users=6, memories=120, verbosity=0)


def test_every_control_is_planted_and_seen_beside_real_rows(demo):
    assert blind_places(now=timezone.now()) == []


def test_a_person_of_the_demo_is_erased_to_the_end(demo):
    person = Subject.objects.filter(long_term__gt=0).exclude(user_id="").order_by("pk").first()
    others = Subject.objects.exclude(user_id=person.user_id).count()

    now = timezone.now()  # the demo lives in the present

    request = opened(person.user_id, containers=Container.objects.all(), now=now)
    approved(request, now=now)
    request = execute(request, now=now)

    assert (request.state, request.error_code) == (Status.COMPLETED, "")
    assert Subject.objects.exclude(user_id=person.user_id).count() == others
