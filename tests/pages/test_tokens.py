import html
import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from memadmin.access.models import ApiToken
from memadmin.access.roles import Role
from memadmin.access.tokens import MARK
from memadmin.audit.models import AuditEntry
from tests.factories import make_container
from tests.people import a_browser_of, auditor, support
from tests.tokens import ApiClient, make_token

pytestmark = pytest.mark.django_db


def administrator(**details):
    return a_browser_of(Role.ADMINISTRATOR, login="ali", **details)


def text_of(response):
    return html.unescape(response.content.decode())


def form_of(*containers, **details):
    given = {"label": "support agent", "owner_name": "ana", "scopes": ["container.read", "memory.write"], "reach": "some"}
    return {**given, "containers": [str(container.uid) for container in containers], **details}


def create(browser, form):
    return browser.post(reverse("pages:token-create"), form, follow=True)


def test_a_made_token_shows_its_secret_once_and_works():
    browser, container = administrator(), make_container(external_id="c1")

    page = text_of(create(browser, form_of(container)))

    secret = re.search(rf"{MARK}[\w-]+", page)
    assert secret
    assert ApiClient(secret[0]).get("/c1").status_code == 200
    assert secret[0] not in text_of(browser.get(reverse("pages:token-list")))
    assert "support agent" in text_of(browser.get(reverse("pages:token-list")))


def test_the_page_with_the_secret_is_kept_by_no_cache():
    assert "no-store" in create(administrator(), form_of(make_container()))["Cache-Control"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"label": ""}, "This field is required."),
        ({"scopes": []}, "Choose at least one thing"),
        ({"scopes": ["everything"]}, "everything is not one of the available choices"),
        ({"containers": []}, "Choose at least one container."),
        ({"containers": ["x"]}, "x is not one of the available choices"),
        ({"expires_on": "2001-01-01"}, "past its time already"),
        ({"label": "a\tb"}, "printable characters"),
    ],
)
def test_a_form_that_cannot_be_used_says_why_and_makes_nothing(change, words):
    answer = create(administrator(), {**form_of(make_container()), **change})

    assert answer.status_code == 422
    assert words in text_of(answer)
    assert not ApiToken.objects.exists()


def test_who_does_not_see_a_container_gives_no_token_for_it():
    mine, theirs = make_container("mine"), make_container("theirs")
    browser = administrator(containers=[mine])

    assert create(browser, form_of(theirs)).status_code == 422
    assert create(browser, form_of(reach="all")).status_code == 422
    assert create(browser, form_of(mine)).status_code == 200
    assert "theirs" not in text_of(browser.get(reverse("pages:token-new")))


def test_the_list_names_no_container_that_the_person_may_not_see():
    mine, theirs = make_container("mine"), make_container("theirs")
    make_token(containers=[mine, theirs])

    page = text_of(administrator(containers=[mine]).get(reverse("pages:token-list")))

    assert "theirs" not in page
    assert "and 1 more" in page


def test_a_token_is_revoked_after_a_question():
    token, secret = make_token(containers=[make_container(external_id="c1")])
    browser, url = administrator(), reverse("pages:token-revoke", args=[token.uid])

    assert "cannot be undone" in text_of(browser.post(url, follow=True))
    assert ApiClient(secret).get("/c1").status_code == 200
    browser.post(url, {"sure": "yes"})

    assert ApiClient(secret).get("/c1").status_code == 401
    assert "revoked" in text_of(browser.get(reverse("pages:token-list")))
    assert "was revoked already" in text_of(browser.post(url, {"sure": "yes"}, follow=True))


def test_a_token_past_its_time_says_so():
    make_token(expires_at=timezone.now() + timedelta(seconds=1))
    ApiToken.objects.update(expires_at=timezone.now())

    assert "past its time" in text_of(administrator().get(reverse("pages:token-list")))


@pytest.mark.parametrize("browser", [support, auditor])
def test_tokens_are_for_administrators(browser):
    token, _ = make_token()
    someone = browser()

    for name in ("token-list", "token-new"):
        assert someone.get(reverse(f"pages:{name}")).status_code == 403
    assert create(someone, form_of()).status_code == 403
    assert someone.post(reverse("pages:token-revoke", args=[token.uid]), {"sure": "yes"}).status_code == 403
    assert ApiToken.objects.get().revoked_at is None


def test_the_log_names_a_token_by_its_label():
    token, secret = make_token("ana")
    ApiClient(secret).post("/_create", {"name": "bot"})

    page = text_of(auditor().get(reverse("pages:audit-list")))

    assert f"API token {token.label}" in page
    assert AuditEntry.objects.get(action="container.created").actor == f"token/{token.uid}"


def test_a_container_that_was_deleted_over_the_api_is_marked():
    api = ApiClient(make_token("ana")[1])
    cid = api.post("/_create", {"name": "bot"}).json()["memory_container_id"]
    api.delete(f"/{cid}")

    assert "deleted over the API" in text_of(support().get(reverse("pages:container-list")))


def test_containers_of_names_that_look_alike_are_told_apart_by_their_uid():
    first, second, other = make_container("bot"), make_container("Bot"), make_container("alone")
    make_token("ana", containers=[second, other])
    admin = administrator()

    listed = text_of(admin.get(reverse("pages:token-list")))
    asked = text_of(admin.get(reverse("pages:token-new")))

    assert f"<bdi>Bot ({str(second.uid)[:8]}…)</bdi>" in listed
    assert "<bdi>alone</bdi>" in listed
    for container, name in ((first, "bot"), (second, "Bot")):
        assert f"<bdi>{name} ({str(container.uid)[:8]}…)</bdi>" in asked
