import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import Http404

from memadmin.access import visibility
from memadmin.access.roles import Role
from memadmin.store.models import Container
from tests.factories import a_change, a_memory, a_message, a_session, make_container, store
from tests.people import make_person

pytestmark = pytest.mark.django_db

READERS = [
    visibility.visible_subjects,
    visibility.visible_sessions,
    visibility.visible_working,
    visibility.visible_memories,
    visibility.visible_history,
]


@pytest.fixture
def two_containers() -> tuple[Container, Container]:
    ours, theirs = make_container("ours"), make_container("theirs")
    for container in (ours, theirs):
        store(container, a_session(), a_message(), a_memory(), a_change())
    return ours, theirs


@pytest.mark.parametrize("rows", READERS)
def test_a_person_with_a_list_sees_the_rows_of_these_containers_only(rows, two_containers):
    ours, _ = two_containers
    person = make_person(Role.SUPPORT, containers=[ours])

    seen = rows(person)

    assert seen.exists()
    assert {row.container_id for row in seen} == {ours.id}


@pytest.mark.parametrize("rows", READERS)
def test_a_person_with_an_empty_list_sees_nothing(rows, two_containers):
    assert not rows(make_person(Role.SUPPORT, containers=[])).exists()


@pytest.mark.parametrize("rows", READERS)
def test_a_person_for_all_containers_sees_later_ones_too(rows, two_containers):
    assert {row.container_id for row in rows(make_person(Role.SUPPORT))} == {container.id for container in two_containers}


@pytest.mark.parametrize("rows", [visibility.visible_containers, *READERS, visibility.visible_archive])
def test_strangers_and_deactivated_people_see_nothing(rows, two_containers):
    gone = make_person(Role.SUPPORT)
    gone.is_active = False

    assert not rows(AnonymousUser()).exists()
    assert not rows(gone).exists()


def test_narrowing_costs_no_query_of_its_own(two_containers, django_assert_num_queries):
    ours, _ = two_containers
    person = make_person(Role.SUPPORT, containers=[ours])

    with django_assert_num_queries(1):
        list(visibility.visible_memories(person))


def test_a_container_outside_the_list_does_not_exist_for_the_person(two_containers):
    ours, theirs = two_containers
    person = make_person(Role.SUPPORT, containers=[ours])

    assert visibility.get_container(person, ours.uid) == ours
    with pytest.raises(Http404):
        visibility.get_container(person, theirs.uid)
