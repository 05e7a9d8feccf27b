import gzip
import html
import json

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from tests.factories import a_memory, make_container, store, subject_of
from tests.people import a_browser_of, editor, support

pytestmark = pytest.mark.django_db


@pytest.fixture
def container(db):
    container = make_container('Shop "north" / \u202eevil\n.exe')
    store(container, a_memory("of ann"), a_memory("of ben", user_id="ben"), a_memory("of nobody", user_id=None))
    store(make_container("other"), a_memory("elsewhere"))
    return container


def officer(**details):
    return a_browser_of(Role.COMPLIANCE, login="cora", **details)


def url(view, *args):
    return reverse(f"pages:{view}", args=args)


def records_in(response):
    lines = gzip.decompress(b"".join(response.streaming_content)).decode().splitlines()
    return [json.loads(line) for line in lines]


def texts_in(response):
    return {record["text"] for record in records_in(response) if record.get("type") == "long-term"}


def test_a_container_is_downloaded_whole_and_alone(container):
    client = officer()

    page = html.unescape(client.get(url("container-export", container.uid)).content.decode())
    texts = texts_in(client.post(url("container-download", container.uid)))

    assert "3 long-term memories" in page
    assert texts == {"of ann", "of ben", "of nobody"}


def test_one_user_is_downloaded_without_the_others(container):
    subject, client = subject_of(container, "ann"), officer()

    page = html.unescape(client.get(url("user-export", subject.uid)).content.decode())
    texts = texts_in(client.post(url("user-download", subject.uid)))

    assert "1 long-term memory" in page
    assert texts == {"of ann"}


def test_the_name_of_the_file_is_harmless_and_names_no_user(container):
    client = officer()
    whole = client.post(url("container-download", container.uid))
    one = client.post(url("user-download", subject_of(container, "ann").uid))

    for response, name in ((whole, "memadmin-shop-north-evil-exe-"), (one, "memadmin-user-")):
        header = response["Content-Disposition"]
        assert header.startswith(f'attachment; filename="{name}')
        assert header.endswith('.jsonl.gz"')
        assert "ann" not in header
        assert response["Cache-Control"] == "private, no-store"
        assert records_in(response)


def test_an_export_is_audited_before_the_first_byte_leaves(container):
    subject, client = subject_of(container, "ann"), officer()

    unread = [client.post(url("container-download", container.uid)), client.post(url("user-download", subject.uid))]

    assert all(response.streaming for response in unread)
    targets = list(AuditEntry.objects.filter(action="export.finished").order_by("seq").values_list("target", flat=True))
    assert targets == [f"containers/{container.uid}", f"subjects/{subject.uid}"]


def test_looking_at_the_page_exports_nothing_and_only_post_downloads(container):
    client = officer()

    client.get(url("container-export", container.uid))

    assert client.get(url("container-download", container.uid)).status_code == 405
    assert not AuditEntry.objects.filter(action="export.finished").exists()


def test_exports_are_for_those_with_the_right(container):
    subject = subject_of(container, "ann")
    for client in (support(), editor()):
        assert client.post(url("container-download", container.uid)).status_code == 403
        assert client.post(url("user-download", subject.uid)).status_code == 403
        assert url("user-export", subject.uid) not in client.get(url("user-memories", subject.uid)).content.decode()
    assert not AuditEntry.objects.filter(action="export.finished").exists()


def test_what_a_person_may_not_see_cannot_be_exported(container):
    client = officer(containers=[make_container("third")])

    assert client.post(url("container-download", container.uid)).status_code == 404
    assert client.post(url("user-download", subject_of(container, "ann").uid)).status_code == 404


def test_what_names_no_user_is_not_exported_as_one(container):
    assert officer().get(url("user-export", subject_of(container, None).uid)).status_code == 404
