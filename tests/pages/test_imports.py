import gzip
import html
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from memadmin.pages import imports
from memadmin.store import suppression
from memadmin.store.models import Container, LongTermMemory, Mode, PolicyVersion
from memadmin.store.suppression import Terms
from tests.factories import ACTOR, NOON, make_container
from tests.people import a_browser_of, support

pytestmark = pytest.mark.django_db
RECORDS = [{"user_id": "ann", "id": str(n), "memory": f"fact {n}"} for n in range(3)]


def lines(records=RECORDS):
    return "\n".join(json.dumps(record) for record in records).encode()


def administrator(**details):
    return a_browser_of(Role.ADMINISTRATOR, login="ali", **details)


def send(client, content=None, *, name="memories.jsonl", container="shop", kind="jsonl"):
    file = SimpleUploadedFile(name, lines() if content is None else content)
    return client.post(reverse("pages:import-run"), {"file": file, "format": kind, "container": container}, follow=True)


def text_of(response):
    return html.unescape(response.content.decode())


def test_a_file_is_imported_into_a_new_container_and_the_page_says_what_came():
    response = send(administrator())

    page = text_of(response)
    assert response.status_code == 200
    assert "3 records read" in page
    assert set(LongTermMemory.objects.filter(container__name="shop").values_list("text", flat=True)) == {"fact 0", "fact 1", "fact 2"}
    assert AuditEntry.objects.filter(action="import.finished", actor__startswith="person/").count() == 1


def test_the_page_says_that_a_policy_of_the_file_became_a_draft_and_leads_to_it():
    source = {"name": "shop", "created_time": 1682553600000, "configuration": {"retention_policy": {"long-term": {"max_count": 500}}}}
    dump = lines([{"_index": ".plugins-ml-memory-container", "_id": "c-1", "_source": source}])

    page = text_of(send(administrator(), dump, kind="opensearch"))

    version = PolicyVersion.objects.get()
    assert "version 1, a draft" in page
    assert "not in force until somebody publishes it" in page
    assert reverse("pages:policy-version", args=[version.container.uid, 1]) in page


def test_the_same_file_again_adds_nothing():
    client = administrator()
    send(client)

    send(client)

    assert LongTermMemory.objects.count() == 3


def test_a_packed_file_is_read_too_whatever_its_name_says():
    send(administrator(), gzip.compress(lines()), name="../../etc/passwd.gz")

    assert LongTermMemory.objects.count() == 3


def test_a_bad_record_costs_only_itself_and_is_named_by_its_line_and_not_by_its_content():
    page = text_of(send(administrator(), lines([RECORDS[0], {"user_id": "canary", "memory": 5}, RECORDS[1]])))

    assert "1 record was refused. Everything else is stored." in page
    assert "Line 2" in page
    assert "canary" not in page
    assert LongTermMemory.objects.count() == 2


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"content": b"%PDF-1.7 nothing for us"}, "PDF"),
        ({"content": b""}, "This file is empty."),
        ({"container": ""}, "required"),
        ({"container": " "}, "1 to 512 characters"),
        ({"kind": "fax"}, "fax is not one of the available choices"),
    ],
)
def test_what_cannot_be_imported_says_why_and_stores_nothing(sent, said):
    response = send(administrator(), **sent)

    assert response.status_code == 422
    assert said in text_of(response)
    assert not Container.objects.exists()


def test_a_file_that_is_too_large_for_a_page_is_sent_to_the_command(monkeypatch):
    monkeypatch.setattr(imports, "LARGEST", 10)

    page = text_of(send(administrator()))

    assert "A page takes files up to 10 bytes." in page
    assert "import_memories" in page
    assert not LongTermMemory.objects.exists()


def test_who_sees_some_containers_imports_into_these_alone():
    seen, unseen = make_container("seen"), make_container("unseen")
    client = administrator(containers=[seen])

    assert send(client, container="unseen").status_code == 422
    assert send(client, container="brand new").status_code == 422
    assert send(client, container="seen").status_code == 200
    assert LongTermMemory.objects.filter(container=unseen).count() == 0
    assert Container.objects.count() == 2


def test_imports_are_for_those_with_the_right():
    client = support()

    assert send(client).status_code == 403
    assert client.get(reverse("pages:import-new")).status_code == 403
    assert "Import…" not in text_of(client.get(reverse("pages:container-list")))
    assert "Import…" in text_of(administrator().get(reverse("pages:container-list")))


def test_what_was_set_aside_since_it_was_erased_is_counted_and_leads_to_where_it_is_decided_on():
    terms = Terms(mode=Mode.QUARANTINE)
    suppression.suppress_users(["ann"], container=None, terms=terms, request_ref="erasure/7f0c", actor=ACTOR, now=NOON)

    page = text_of(send(administrator()))

    assert "items were set aside: erased on request before" in page
    assert reverse("pages:returned-list") in page
