"""Every address and verb of erasure, tried by those who may not and in ways that are none. The numbers are those of the list of attacks."""

import hashlib
import io
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import URLPattern, reverse
from django.utils import timezone

from memadmin.access.actors import actor_of
from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from memadmin.erasure import approving
from memadmin.erasure.models import ErasureRequest, Status
from memadmin.pages.urls import urlpatterns
from memadmin.store.models import Container, LongTermMemory
from tests.api.v1.calls import caller_of
from tests.erasure.workflow import a_word, approved, officer, opened, submitted
from tests.factories import a_memory, make_container, store
from tests.people import PASSWORD, a_browser_of

pytestmark = pytest.mark.django_db
ADDRESSES = [each for each in urlpatterns if isinstance(each, URLPattern) and (each.name or "").startswith("erasure-")]
ABOUT_ONE = sorted(str(each.name) for each in ADDRESSES if str(each.pattern).startswith("erasure/<uuid:uid>/"))
ABOUT_ITEMS = {str(each.name) for each in ADDRESSES if "<uuid:item>" in str(each.pattern)}
VERBS_OF_SHELL = ("search", "freeze", "cancel", "refuse", "go-on", "receipt", "run")


@pytest.fixture
def request_of_shop() -> ErasureRequest:
    now = timezone.now()
    store(make_container("shop"), a_memory("words"), now=now)
    return opened(now=now)


def everything() -> str:
    """Return a digest of all rows of requests and memories."""
    digest = hashlib.sha256()
    for model in apps.get_models():
        table = model._meta.db_table
        if table.startswith("erasure_") or table in ("store_longtermmemory", "store_subject", "store_suppression"):
            with connection.cursor() as cursor:
                cursor.execute(f'SELECT * FROM "{table}" ORDER BY 1')
                digest.update(repr((table, cursor.fetchall())).encode())
    return digest.hexdigest()


def address(name: str, request: ErasureRequest) -> str:
    of_item = ["long-term", LongTermMemory.objects.get().uid] if name in ABOUT_ITEMS else []
    of_place = [1] if name in ("erasure-correct-take-out", "erasure-correct-leave", "erasure-decision-undo") else []
    return reverse(f"pages:{name}", args=[request.uid, *of_item, *of_place])


@pytest.mark.parametrize("name", ABOUT_ONE)
def test_54_an_address_reads_or_acts_and_acts_for_no_get_and_no_form_of_another_site(request_of_shop: ErasureRequest, name: str):
    cora = a_browser_of(Role.COMPLIANCE, login="cora2")
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(Person.objects.get(login="cora2"))
    before = everything()

    if cora.get(address(name, request_of_shop)).status_code != 405:
        assert cora.post(address(name, request_of_shop)).status_code == 405
    else:
        assert strict.post(address(name, request_of_shop)).status_code == 403
        assert strict.post(address(name, request_of_shop), headers={"Origin": "https://elsewhere.example"}).status_code == 403
    assert everything() == before


@pytest.mark.parametrize("name", ABOUT_ONE)
def test_55_what_another_tenant_asks_does_not_exist(request_of_shop: ErasureRequest, name: str):
    otto = a_browser_of(Role.COMPLIANCE, login="otto", containers=[make_container("other")])
    before = everything()

    answers = {method(address(name, request_of_shop)).status_code for method in (otto.get, otto.post)}

    assert answers == {404, 405}
    assert everything() == before


@pytest.mark.parametrize("name", ABOUT_ONE)
def test_55_who_only_reads_changes_nothing(request_of_shop: ErasureRequest, name: str):
    ada = a_browser_of(Role.AUDITOR, login="ada")
    before = everything()

    assert ada.post(address(name, request_of_shop)).status_code in (403, 405)
    assert everything() == before


def test_54_no_page_of_erasure_can_be_put_into_a_frame_or_kept(request_of_shop: ErasureRequest):
    cora = a_browser_of(Role.COMPLIANCE, login="cora2")
    for name in ("erasure-detail", "erasure-items"):
        answer = cora.get(address(name, request_of_shop))
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert "no-store" in answer.headers["Cache-Control"]


def test_54_55_the_api_follows_and_takes_in_and_has_no_verb_that_approves(request_of_shop: ErasureRequest):
    ana = caller_of("ana")
    before = everything()

    assert ana.get(f"/erasure-requests/{request_of_shop.number}").status_code in (403, 404)
    assert ana.post(f"/erasure-requests/{request_of_shop.number}", {}).status_code in (403, 405)
    assert ana.post(f"/erasure-requests/{request_of_shop.number}/approve", {}).status_code == 404
    assert ana.get(f"/erasure-requests/{request_of_shop.number}/go-on").status_code == 405
    assert ana.post(f"/erasure-requests/{request_of_shop.number}/go-on", {}).status_code == 403
    assert everything() == before


def shell(*arguments: str, login: str, monkeypatch: Any, password: str = PASSWORD) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{password}\n"))
    call_command("erasure", *arguments, "--as", login, "--password-stdin", "--json", stdout=io.StringIO())


def words_of(verb: str, request: ErasureRequest, letter: str) -> list[str]:
    more = {"refuse": ["--code", "unfounded", "--letter", letter]}.get(verb, [])
    commit = ["--commit"] if verb in ("cancel", "refuse", "go-on", "run") else []
    return [verb, str(request.number), *more, *commit]


@pytest.mark.parametrize("verb", VERBS_OF_SHELL)
def test_55_in_a_shell_password_right_and_tenant_are_asked_too(request_of_shop: ErasureRequest, verb: str, monkeypatch: Any, tmp_path: Any):
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Ann")
    a_browser_of(Role.AUDITOR, login="ada"), a_browser_of(Role.COMPLIANCE, login="otto", containers=[make_container("other")])
    before, words = everything(), words_of(verb, request_of_shop, str(letter))

    for login, password, refused in (
        ("cora", "wrong", "do not match"),
        ("ada", PASSWORD, "You need the right"),
        ("otto", PASSWORD, "no request"),
    ):
        with pytest.raises(CommandError, match=refused):
            shell(*words, login=login, password=password, monkeypatch=monkeypatch)
    assert everything() == before


def test_47_51_what_is_refused_to_an_approver_is_in_the_log_and_changes_nothing(request_of_shop: ErasureRequest):
    now = timezone.now()
    submitted(request_of_shop, now=now)
    word, carl = a_word(request_of_shop, now=now), officer("carl")
    before = everything()
    with pytest.raises(approving.SamePerson):
        approving.approve(request_of_shop, word, actor=actor_of(officer()), now=now)
    assert everything() == before

    approving.approve(request_of_shop, word, actor=actor_of(carl), now=now)
    before = everything()
    with pytest.raises(approving.WrongState):
        approving.approve(request_of_shop, word, actor=actor_of(carl), now=now)

    assert everything() == before
    refused = AuditEntry.objects.filter(action="erasure.approved", outcome="refused").order_by("seq")
    assert list(refused.values_list("reason_code", flat=True)) == ["same_person", "wrong_state"]


def test_50_a_right_revoked_before_the_run_stops_the_shell_too(request_of_shop: ErasureRequest, monkeypatch: Any):
    now = timezone.now()
    carl = officer("carl")
    approved(request_of_shop, now=now, by=carl)
    Person.objects.filter(pk=carl.pk).update(roles=["auditor"])

    with pytest.raises(CommandError, match="lost the right"):
        shell("run", str(request_of_shop.number), "--commit", login="cora", monkeypatch=monkeypatch)

    request_of_shop.refresh_from_db()
    assert request_of_shop.state == Status.AWAITING_APPROVAL
    assert LongTermMemory.objects.filter(container=Container.objects.get(name="shop")).exists()
    assert AuditEntry.objects.filter(action="erasure.claimed", outcome="refused", reason_code="right_lost").exists()
