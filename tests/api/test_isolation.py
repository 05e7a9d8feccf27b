"""Every address of the API, asked with a token of another container: it sees, touches, pins, finds and counts nothing."""

import pytest

from tests.api.foreign import CANARY, Foreign, Request, ask, make_foreign, make_own, requests
from tests.tokens import ApiClient, api_of

pytestmark = pytest.mark.django_db
ANSWERS = {200, 201, 202, 204, 400, 403, 404, 405, 409, 415, 422}


@pytest.fixture
def theirs() -> Foreign:
    return make_foreign()


@pytest.fixture
def intruder(theirs: Foreign) -> ApiClient:
    """Same owner, all access, every scope: only the container is another one."""
    return api_of("ana", all_access=True, containers=[make_own()])


def is_about_theirs(theirs: Foreign, request: Request) -> bool:
    """True where the address names something of theirs but not their container: whatever the answer holds, it is a leak."""
    words = request[1].split("/")
    ids = {*theirs.uids.values(), *(mid for mids in theirs.items.values() for mid in mids)}
    numbered = any(f"v1/{word}/{number}" in request[1] for word, number in theirs.numbers.items())
    return "theirs" not in words and (numbered or bool(ids & set(words))) and words[-1] != "history"


def test_a_token_of_another_container_does_nothing_at_any_address(theirs, intruder):
    before, wrong = theirs.rows(), []

    for request in requests(theirs):
        status, text = ask(intruder, request)
        if CANARY in text or status not in ANSWERS or (status < 400 and is_about_theirs(theirs, request)):
            wrong.append((*request, status, text[:300]))

    assert wrong == []
    assert theirs.rows() == before


def test_a_token_of_the_container_is_shown_it_at_the_same_addresses(theirs):
    keeper, shown = api_of("ana", all_access=True, containers=[make_own(), theirs.container]), set()

    for method, path, body in requests(theirs):
        if method == "GET" or path.endswith(("_dry_run", "recall", "preview")):
            status, text = ask(keeper, (method, path, body))
            shown |= {path} if status == 200 and CANARY in text else set()

    assert len(shown) > 15, sorted(shown)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_nothing_of_it_is_found_or_counted(theirs, intruder, method):
    found = intruder.call(method, "/_search", {"query": {"match_all": {}}, "track_total_hits": True}).json()

    assert [hit["_source"]["name"] for hit in found["hits"]["hits"]] == ["own"]
    assert found["hits"]["total"]["value"] == 1
    assert [result["container_id"] for result in intruder.post("/_retention/_dry_run").json()["results"]] == ["own"]


def test_an_address_in_a_container_that_is_not_listed_answers_as_if_it_were_not_there(theirs, intruder):
    there, nowhere = f"/{theirs.container.uid}", "/00000000-0000-0000-0000-000000000000"

    for path in ("", "/memories/sessions/s-1", "/_retention/_dry_run"):
        method = "POST" if path.endswith("_dry_run") else "GET"
        found = [intruder.call(method, each + path) for each in (there, nowhere)]
        assert [answer.status_code for answer in found] == [404, 404]
        assert found[0].content.decode().replace(there[1:], "") == found[1].content.decode().replace(nowhere[1:], "")
