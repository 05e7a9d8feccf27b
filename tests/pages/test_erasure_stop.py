"""The emergency stop, where somebody looks at an erasure that runs."""

import pytest
from django.test import Client
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from memadmin.erasure.models import ErasureRequest, Status
from memadmin.store import configuration
from tests.erasure.papers import a_request
from tests.erasure.workflow import approved, opened
from tests.factories import a_memory, make_container, store, subject_of
from tests.people import a_browser_of

pytestmark = pytest.mark.django_db
STOP, LIFT, INBOX = "pages:erasure-stop", "pages:erasure-lift-stop", "pages:erasure-list"


@pytest.fixture
def running() -> ErasureRequest:
    shop = make_container()
    store(shop, a_memory())
    return a_request(subject_of(shop))


@pytest.fixture
def administrator() -> Client:
    return a_browser_of(Role.ADMINISTRATOR, login="adam")


def pages_of(browser: Client, request: ErasureRequest) -> list[str]:
    addresses = (reverse(INBOX), reverse("pages:erasure-detail", args=[request.uid]))
    return [browser.get(address).content.decode() for address in addresses]


def test_it_is_offered_while_one_runs_asks_first_and_says_everywhere_that_it_is_set(administrator: Client, running: ErasureRequest):
    assert all(f'action="{reverse(STOP)}"' in page for page in pages_of(administrator, running))

    asked = administrator.post(reverse(STOP), {"back": str(running.uid)}, follow=True).content.decode()
    assert not configuration.value("erasure_paused")
    done = administrator.post(reverse(STOP), {"sure": "yes", "back": str(running.uid)})

    assert "1 is under way and 0 approved" in asked
    assert "cannot be brought back" in asked
    assert configuration.value("erasure_paused") is True
    assert done["Location"] == reverse("pages:erasure-detail", args=[running.uid])
    assert AuditEntry.objects.filter(action="setting.changed", target="settings/erasure_paused").count() == 1
    for page in [*pages_of(administrator, running), administrator.get(reverse("pages:erasure-drills")).content.decode()]:
        assert "All erasures are stopped, by" in page
        assert f'action="{reverse(LIFT)}"' in page


@pytest.mark.parametrize("state", [Status.EXECUTING, Status.VERIFYING])
def test_it_says_how_many_it_would_hold_up_and_lifting_it_how_many_begin(administrator: Client, running: ErasureRequest, state: Status):
    ErasureRequest.objects.filter(pk=running.pk).update(state=state)
    for number, other in enumerate((Status.APPROVED, Status.APPROVED, Status.REVIEW), 2):
        ErasureRequest.objects.filter(pk=a_request(number=number).pk).update(state=other)

    asked = administrator.post(reverse(STOP), {"back": str(running.uid)}, follow=True).content.decode()
    administrator.post(reverse(STOP), {"sure": "yes"})
    lifting = administrator.post(reverse(LIFT), {"back": str(running.uid)}, follow=True).content.decode()

    assert "1 is under way and 2 approved" in asked
    assert "beginning within a minute: 2." in lifting
    for page in (asked, lifting):
        assert f'name="back" value="{running.uid}"' in page
        assert f'href="{reverse("pages:erasure-detail", args=[running.uid])}"' in page


@pytest.mark.parametrize("back", ["", "here", "//elsewhere.example", "/erasure/"])
def test_it_leads_back_to_the_inbox_where_no_request_is_named(administrator: Client, back: str):
    assert administrator.post(reverse(STOP), {"sure": "yes", "back": back})["Location"] == reverse(INBOX)


def test_who_sees_none_that_runs_is_not_offered_to_stop_them(running: ErasureRequest):
    otto = a_browser_of(Role.COMPLIANCE, login="otto", containers=[make_container("other")])
    cora = a_browser_of(Role.COMPLIANCE, login="cora")

    assert reverse(STOP) not in otto.get(reverse(INBOX)).content.decode()
    assert reverse(STOP) in cora.get(reverse(INBOX)).content.decode()


def test_it_is_lifted_after_a_question(administrator: Client, running: ErasureRequest):
    administrator.post(reverse(STOP), {"sure": "yes"})

    asked = administrator.post(reverse(LIFT), follow=True).content.decode()
    assert configuration.value("erasure_paused") is True
    done = administrator.post(reverse(LIFT), {"sure": "yes", "back": "//elsewhere"})

    assert "go on from where they were" in asked
    assert configuration.value("erasure_paused") is False
    assert done["Location"] == reverse(INBOX)
    assert all(f'action="{reverse(STOP)}"' in page for page in pages_of(administrator, running))


def test_who_carries_erasures_out_may_stop_them_without_any_right_to_settings(running: ErasureRequest):
    cora = a_browser_of(Role.COMPLIANCE, login="cora")

    assert all(f'action="{reverse(STOP)}"' in page for page in pages_of(cora, running))
    cora.post(reverse(STOP), {"sure": "yes"})
    assert configuration.value("erasure_paused") is True
    assert all(f'action="{reverse(LIFT)}"' in page for page in pages_of(cora, running))
    cora.post(reverse(LIFT), {"sure": "yes"})
    assert configuration.value("erasure_paused") is False


def test_who_only_reads_is_told_who_may_and_can_do_neither(administrator: Client, running: ErasureRequest):
    reader = a_browser_of(Role.AUDITOR, login="rita")
    told = pages_of(reader, running)
    refused = [reader.post(reverse(name), {"sure": "yes"}).status_code for name in (STOP, LIFT)]
    administrator.post(reverse(STOP), {"sure": "yes"})

    assert all("whoever may approve erasures stops all of them" in page for page in told)
    assert refused == [403, 403]
    for page in pages_of(reader, running):
        assert "Whoever may approve erasures lifts it" in page
        assert reverse(LIFT) not in page


def test_where_none_runs_nothing_is_offered_and_a_look_changes_nothing(administrator: Client):
    page = administrator.get(reverse(INBOX)).content.decode()

    assert reverse(STOP) not in page
    assert [administrator.get(reverse(name)).status_code for name in (STOP, LIFT)] == [405, 405]


def test_an_approved_request_says_what_it_waits_for(administrator: Client):
    store(make_container(), a_memory())
    request = opened()
    approved(request)
    administrator.post(reverse(STOP), {"sure": "yes"})

    page = administrator.get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()

    assert request.state == Status.APPROVED
    assert "It begins by itself when the stop is lifted" in page
    assert "All erasures are stopped, by" in page
