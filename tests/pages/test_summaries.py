import html
import json

import pytest
from django.urls import reverse

from memadmin.audit.models import AuditEntry
from memadmin.lifecycle.summarising.switch import switch
from memadmin.llm import client as llm
from memadmin.store.models import LongTermMemory
from tests import model_server
from tests.factories import ACTOR, NOON, a_memory, store
from tests.model_server import fails, says_json
from tests.people import auditor, editor, support
from tests.runs import a_policy, carry_out, governed, preview

pytestmark = pytest.mark.django_db
HOURS = ["asked about the opening hours on Sunday", "asked about the opening hours on Monday", "asked about the opening hours at Easter"]
SUMMARY = "asked about the opening hours on Sunday, Monday and at Easter"


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.fixture
def model(settings, monkeypatch):
    monkeypatch.setattr(llm, "PAUSE", 0)
    with model_server.running() as server:
        settings.LLM_URL, settings.LLM_MODEL, settings.LLM_API_KEY = server.url, "small", ""
        server.answer(says_json({"summary": SUMMARY, "covers": [0, 1, 2]}))
        yield server


@pytest.fixture
def container(db):
    made = governed(a_policy(relevance={"max_records": 1}))
    store(made, *(a_memory(text, importance=0.1, days_old=300, tokens=40) for text in HOURS), a_memory("likes tea", importance=0.9))
    return made


def text_of(response):
    return html.unescape(response.content.decode())


def policy_page(container, client):
    return text_of(client.get(reverse("pages:policy-detail", args=[container.uid])))


def set_switch(container, client, **given):
    return client.post(reverse("pages:container-summarise", args=[container.uid]), given, follow=True)


def run_page(run, client):
    return text_of(client.get(reverse("pages:run-detail", args=[run.number])))


def test_the_switch_is_on_the_policy_page_and_audited(container, model):
    client = editor()

    set_switch(container, client, on="on", at_least="3")
    container.refresh_from_db()
    page = policy_page(container, client)
    set_switch(container, client, at_least="3")
    again = policy_page(container, client)

    assert container.summarise_from == 3
    assert "from 3 on; they themselves go to the archive" in page
    assert "Off: what goes for a cap goes one by one" in again
    assert AuditEntry.objects.filter(action="container.changed").count() == 2


@pytest.mark.parametrize("at_least", ["", "1", "13", "x", "-3", "٣x"])
def test_nonsense_changes_nothing_and_says_what_to_write(container, at_least):
    answer = text_of(set_switch(container, editor(), on="on", at_least=at_least))

    container.refresh_from_db()
    assert container.summarise_from is None
    assert "Write a whole number from 2 to 12" in answer


def test_only_who_may_publish_changes_the_switch(container):
    assert set_switch(container, support(), on="on", at_least="3").status_code == 403
    assert "container-summarise" not in policy_page(container, auditor())
    assert editor().get(reverse("pages:container-summarise", args=[container.uid])).status_code == 405


def test_switching_it_on_says_at_once_when_it_does_nothing(container, model, settings):
    client = editor()
    works = text_of(set_switch(container, client, on="on", at_least="3"))
    settings.LLM_URL = None
    does_nothing = text_of(set_switch(container, client, on="on", at_least="4"))

    assert "Runs summarise before they evict from now on." in works
    assert "It is switched on. Summarising is inactive: no model endpoint is set (LLM_URL)." in does_nothing
    assert "Runs summarise before they evict" not in does_nothing


def test_without_an_endpoint_the_page_says_that_it_is_inactive_and_why(container, settings):
    settings.LLM_URL = None
    switch(container, 3, actor=ACTOR, now=NOON)

    assert "Summarising is inactive: no model endpoint is set (LLM_URL)." in policy_page(container, editor())


def test_the_preview_shows_what_would_be_summarised_and_the_run_what_became_of_it(container, model):
    switch(container, 3, actor=ACTOR, now=NOON)
    client = editor()
    run = preview(container)

    before = run_page(run, client)
    carry_out(run)
    after = run_page(run, client)

    assert "would be summarised" in before
    assert before.count("part of summary 1") == 3
    assert "3 memories became 1 summary" in after
    assert str(LongTermMemory.objects.get(text=SUMMARY).uid) in after
    assert SUMMARY not in after  # a policy editor reads no texts


def test_a_failed_summary_stands_on_the_run_and_on_the_overview(container, model):
    switch(container, 3, actor=ACTOR, now=NOON)
    model.answer(fails(500))
    client = editor()

    run = carry_out(preview(container))
    page, overview = run_page(run, client), text_of(client.get(reverse("pages:overview")))

    assert "memories stayed because no summary could be made: 1 cluster" in page
    assert "the model did not answer" in page
    assert "kept: unsummarised" in page
    assert "No summary could be made, so they stayed and their users are over a cap" in overview


def test_the_archive_says_what_a_source_became(container, model):
    switch(container, 3, actor=ACTOR, now=NOON)
    carry_out(preview(container))
    subject = LongTermMemory.objects.first().subject

    page = text_of(support().get(reverse("pages:user-archive", args=[subject.uid])))

    assert page.count("Became part of a summary") == 3
    assert json.dumps(HOURS[0])[1:-1] in page
