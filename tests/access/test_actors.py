import pytest

from memadmin.access.actors import actor_of, names_of
from tests.people import make_person

pytestmark = pytest.mark.django_db


def test_an_actor_is_an_opaque_text():
    person = make_person(login="ann@example.org")

    assert actor_of(person) == f"person/{person.uid}"


def test_actors_are_shown_in_words_with_one_query(django_assert_num_queries):
    ann = make_person(login="ann")
    former = "person/00000000-0000-4000-8000-000000000000"

    with django_assert_num_queries(1):
        names = names_of([actor_of(ann), former, "job/retention", "command/run_retention", "token/0123456789", "person/x", ""])

    assert names == {
        actor_of(ann): "ann",
        former: "a former account",
        "job/retention": "job retention",
        "command/run_retention": "command run_retention",
        "token/0123456789": "API token 01234567",
        "person/x": "person/x",
        "": "unknown",
    }
