"""Group H of the inputs that broke others: each role at each page, and each scope at each address of the API. Numbers: docs/cases.md."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from memadmin.access.rights import Right
from memadmin.access.roles import RIGHTS, Role
from memadmin.access.scopes import Scope
from tests.addresses import addresses
from tests.factories import make_container
from tests.people import HTMX, a_browser_of
from tests.tokens import api_of

pytestmark = pytest.mark.django_db
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
SAMPLES = {"uuid": "00000000-0000-0000-0000-000000000000", "int": "1"}
# What the design says that nobody of a role can ever do, by how its addresses begin. Which rights there are is code; this they must give.
NEVER = {
    Role.SUPPORT: "policy-preview policy-publish policy-draft policy-roll-back policy-opt-out run- erasure- person- token- setting- audit-",
    Role.POLICY_EDITOR: "erasure- memory-delete session-delete person- token- setting-change audit- user-export container-export",
    Role.COMPLIANCE: "policy-publish policy-draft policy-preview run-start run-restore person- token- setting-change schedule-change",
    Role.AUDITOR: "memory-pin memory-delete session-delete policy-publish policy-draft run-start run-restore erasure-approve erasure-open "
    "erasure-submit erasure-decide hold-place setting-change schedule-change person- token- user-export pin-export",
    Role.ADMINISTRATOR: "user- memory- session- pin- erasure-open erasure-submit erasure-decide hold-place policy-publish",
}
SEEN_ALL_THE_SAME = {"run-list", "run-detail", "run-spared", "run-progress"}  # by support, who sees runs and moves none


def pages() -> Iterator[tuple[str, str, Right]]:
    """Yield path, name and right of every page that asks for one."""
    for pattern, name, view in addresses():
        if getattr(view, "required_right", None) in Right.values:
            yield filled(pattern), name, view.required_right


def filled(pattern: str) -> str:
    return re.sub(r"<(?:(\w+):)?\w+>", lambda part: SAMPLES.get(part[1], "x"), pattern)


@pytest.mark.parametrize("role", Role)
def test_f88_a_role_without_the_right_is_refused_at_every_page_in_whole_and_in_part(role: Role):
    browser, let_in = a_browser_of(role), []

    for path, name, right in pages():
        if right not in RIGHTS[role]:
            codes = {browser.get(path).status_code, browser.get(path, headers=HTMX).status_code, browser.post(path).status_code}
            if 403 not in codes or not codes <= {403, 405}:
                let_in.append((name, codes))

    assert let_in == []


def test_f20_an_address_reads_or_acts_and_takes_no_other_method():
    """A verb does nothing for a GET, which a prefetching browser sends by itself, and nothing is read by a POST."""
    everybody, wrong = a_browser_of(*Role, login="all"), []

    for path, name, _ in pages():
        taken = {method for method in METHODS if everybody.generic(method, path).status_code != 405}
        if taken not in ({"GET", "HEAD"}, {"POST"}):
            wrong.append((name, taken))

    assert wrong == []


def test_f20_an_address_of_an_api_takes_the_methods_that_it_names_a_scope_for_and_no_other():
    api, wrong, tried = api_of("ana", all_access=True), [], set()

    for pattern, _, view in addresses():
        scopes = getattr(view, "scopes", {})
        if not scopes or pattern.endswith(":rest>") or pattern in tried:
            continue
        tried.add(pattern)
        taken = {method for method in METHODS if api.call(method, filled(pattern), {}).status_code != 405}
        if taken - {"HEAD"} != set(scopes) - {"HEAD"}:
            wrong.append((pattern, taken, set(scopes)))

    assert len(tried) > 20
    assert wrong == []


@pytest.mark.parametrize("role", Role)
def test_f88_no_role_has_what_the_design_says_that_it_never_has(role: Role):
    never = tuple(NEVER[role].split())

    open_to_it = [name for _, name, right in pages() if name.startswith(never) and right in RIGHTS[role]]

    assert set(open_to_it) - SEEN_ALL_THE_SAME == set()
    assert all(any(name.startswith(each) for _, name, _ in pages()) for each in never)


def test_f88_a_token_without_the_scope_is_refused_at_every_address_and_method():
    make_container(external_id="x", owner={"name": "ana"})
    without = {scope: api_of("ana", scopes=set(Scope) - {scope}, all_access=True) for scope in Scope}
    let_in = []

    for path, method, scope in _asked():
        answer = without[scope].call(method, path, {"query": {"match_all": {}}})
        if answer.status_code != 403:
            let_in.append((method, path, answer.status_code, answer.content[:200]))

    assert let_in == []


def test_f88_what_changes_something_asks_for_more_than_to_read():
    reading = {scope for scope in Scope if scope.value.endswith(".read")}
    searching = re.compile(r"_search$|/recall$")

    wrong = [(path, method) for path, method, scope in _asked(as_written=True) if method not in ("GET", "HEAD") and scope in reading]

    assert [each for each in wrong if not searching.search(each[0])] == []


def _asked(*, as_written: bool = False) -> Iterator[tuple[str, str, Any]]:
    for pattern, _, view in addresses():
        for method, scope in (
            {} if pattern.endswith(":rest>") else getattr(view, "scopes", {}).items()
        ):  # that is nowhere: 404, whoever asks
            yield pattern if as_written else filled(pattern), method, scope
