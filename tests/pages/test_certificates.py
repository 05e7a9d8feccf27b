import json

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.erasure.certificates.checking import check
from memadmin.erasure.certificates.contents import Executed, PlaceResult
from memadmin.erasure.certificates.issuing import issue
from memadmin.erasure.models import Level
from memadmin.erasure.planting import plant_person
from memadmin.erasure.verification import looking
from memadmin.store.locations import Act
from tests.erasure.certificates.pdfs import words_on_pages
from tests.erasure.papers import a_manifest, a_request
from tests.factories import ACTOR, NOON, make_container
from tests.people import make_person

pytestmark = pytest.mark.django_db
DONE = [PlaceResult(location="store.long_term", reached="L2", method="deleted by key", erased=3)]


@pytest.fixture
def container():
    return make_container()


@pytest.fixture
def certificate(container, settings, tmp_path):
    settings.AUDIT_KEYS = str(tmp_path / "keys")
    person = plant_person(container, "rosa.delgado", actor=ACTOR, now=NOON).subject
    request = a_request(person)
    look = looking.begin(a_manifest(request, [("store.subjects", person)], acts={"store.subjects": Act.WITHHOLD}), now=NOON)
    look.outcome, look.ended_at = "clean", NOON
    look.save()
    executed = Executed(started_at=NOON, places=DONE, recipients={})
    return issue(request, Level.PARTLY, executed, actor="job/erasure", now=NOON)


def page(name, certificate):
    return reverse(f"pages:certificate-{name}", args=[certificate.serial])


@pytest.mark.parametrize("role", [Role.COMPLIANCE, Role.AUDITOR])
def test_a_certificate_is_read_by_who_may_see_requests(client, certificate, role):
    client.force_login(make_person(role))

    shown = client.get(page("detail", certificate)).content.decode()

    assert certificate.digest in shown
    assert "Partly refused" in shown
    assert "Long-term memories" in shown
    assert "rosa" not in shown


def test_the_file_that_is_downloaded_verifies(client, certificate):
    client.force_login(make_person(Role.COMPLIANCE))

    answer = client.get(page("file", certificate))

    assert check(answer.content).faults == []
    assert f"certificate-{certificate.serial}.json" in answer["Content-Disposition"]
    assert json.loads(answer.content)["digest"] == certificate.digest


def test_98_page_file_and_pdf_show_the_same_digest(client, certificate):
    client.force_login(make_person(Role.COMPLIANCE))

    answer = client.get(page("pdf", certificate))

    digest = check(client.get(page("file", certificate)).content).digest
    assert digest in client.get(page("detail", certificate)).content.decode()
    assert answer["Content-Type"] == "application/pdf"
    assert all(digest in words for words in words_on_pages(answer.content))


@pytest.mark.parametrize("name", ["detail", "file", "pdf"])
def test_55_a_certificate_about_another_container_is_not_there(client, certificate, name):
    client.force_login(make_person(Role.COMPLIANCE, containers=[make_container("other")]))

    assert client.get(page(name, certificate)).status_code == 404


@pytest.mark.parametrize("name", ["detail", "file", "pdf"])
def test_others_are_refused(client, certificate, name):
    client.force_login(make_person(Role.SUPPORT))

    assert client.get(page(name, certificate)).status_code == 403


def test_55_a_certificate_of_nobody_known_is_closed_to_who_sees_some_containers_only(client, certificate, container):
    certificate.request.subjects.update(container=None)  # as in a request about somebody whom no container knows
    client.force_login(make_person(Role.COMPLIANCE, containers=[container]))

    assert [client.get(page(name, certificate)).status_code for name in ("detail", "file", "pdf")] == [404] * 3
