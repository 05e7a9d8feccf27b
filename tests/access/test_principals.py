from uuid import UUID

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memadmin.access.principals import Principal, may_use, owns
from memadmin.access.visibility import visible_containers, visible_memories
from memadmin.store.models import Container
from tests.factories import make_container, make_memory
from tests.tokens import a_principal

pytestmark = pytest.mark.django_db


def owned_by(name: str, *, owner_roles: list[str] | None = None, roles: list[str] | None = None) -> Container:
    return make_container(owner={"name": name, "backend_roles": owner_roles or []}, backend_roles=roles or [])


def test_j3_the_owner_may_use_and_delete_a_container():
    container = owned_by("ana")

    assert may_use(a_principal("ana"), container)
    assert owns(a_principal("ana"), container)


def test_j4_a_shared_backend_role_lets_one_use_a_container_but_not_delete_it():
    bob = a_principal("bob", backend_roles=("cs",))
    container = owned_by("ana", roles=["cs", "ops"])

    assert may_use(bob, container)
    assert not owns(bob, container)


@pytest.mark.parametrize("roles", [["ops"], []])
def test_j5_without_a_shared_role_a_container_is_closed(roles):
    assert not may_use(a_principal("bob", backend_roles=("cs",)), owned_by("ana", roles=roles))


def test_j6_a_role_shared_with_the_owner_counts_where_the_container_names_none():
    bob = a_principal("bob", backend_roles=("cs",))

    assert may_use(bob, owned_by("ana", owner_roles=["cs"]))
    assert not may_use(bob, owned_by("ana", owner_roles=["cs"], roles=["ops"]))


NAMES = st.sampled_from(["ana", "bob", None, 7])
ROLES = st.sampled_from([[], ["cs"], ["ops"], ["cs", "ops"], None])
OWNERS = st.none() | st.just("ana") | st.fixed_dictionaries({}, optional={"name": NAMES, "backend_roles": ROLES})


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    containers=st.lists(st.tuples(OWNERS, ROLES.filter(lambda roles: roles is not None), st.sampled_from([None, "t1", "t2"])), max_size=6),
    roles=st.lists(st.sampled_from(["cs", "ops"]), unique=True),
    tenant=st.sampled_from([None, "t1"]),
    tenancy=st.booleans(),
    all_access=st.booleans(),
)
def test_the_list_of_containers_is_of_those_that_may_be_used(db, containers, roles, tenant, tenancy, all_access):
    Container.objects.all()._raw_delete(connection.alias)
    made = [make_container(owner=owner, backend_roles=own, tenant=of) for owner, own, of in containers]
    principal = Principal(
        token=UUID(int=1),
        name="ana",
        scopes=frozenset(),
        backend_roles=frozenset(roles),
        tenant=tenant,
        tenancy=tenancy,
        all_access=all_access,
    )

    assert list(visible_containers(principal).order_by("id")) == [container for container in made if may_use(principal, container)]


def test_a_container_that_the_token_lists_is_open_and_every_other_closed_even_with_all_access():
    listed, other = make_container("listed"), make_container("other")

    for principal in (a_principal("bob", containers=[listed]), a_principal("bob", containers=[listed], all_access=True)):
        assert list(visible_containers(principal)) == [listed]
        assert not may_use(principal, other)


def test_a_container_without_owner_and_roles_is_open_to_all_access_only():
    container = make_container()

    assert not may_use(a_principal("ana"), container)
    assert may_use(a_principal("ana", all_access=True), container)


def test_a_token_of_a_tenant_reaches_no_other_tenants_container():
    make_container("theirs", tenant="t2")
    mine = make_container("mine", tenant="t1")

    assert list(visible_containers(a_principal("ana", tenant="t1", all_access=True))) == [mine]


def test_rows_are_narrowed_to_the_containers_of_the_token():
    listed, other = make_container("listed"), make_container("other")
    memory = make_memory(listed)
    make_memory(other)

    assert list(visible_memories(a_principal("bob", containers=[listed]))) == [memory]
