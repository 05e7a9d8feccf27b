import pytest
from django.utils import timezone

from memadmin.erasure.verification.controls import blind_places

pytestmark = pytest.mark.django_db


def test_a_control_is_seen_in_every_column_of_every_place():
    assert blind_places(now=timezone.now()) == []
