import pytest
from django.utils import timezone

from memadmin.erasure.verification import controls
from memadmin.erasure.verification.controls import blind_places
from memadmin.erasure.verification.scanning import scan

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("column", ["text", "user_id", "summary", "messages", "before"])
def test_a_look_that_passes_over_one_column_is_blind_there_and_says_where(monkeypatch, column):
    monkeypatch.setattr(controls, "scan", lambda *given, **more: (hit for hit in scan(*given, **more) if hit.column != column))

    blind = blind_places(now=timezone.now())

    assert blind
    assert {name.rpartition(".")[2] for name in blind} == {column}


def test_a_control_is_seen_in_every_column_of_every_place():
    assert blind_places(now=timezone.now()) == []
