"""Plain functions for tests of summaries that take the place of what is evicted."""

import json

from memadmin.lifecycle.summarising.switch import switch
from memadmin.store.models import LongTermMemory
from tests.factories import ACTOR, NOON, a_memory, store, subject_of
from tests.model_server import says_json
from tests.runs import a_policy, governed

CAP = {"max_records": 4}
HOURS = ["asked about the opening hours on Sunday", "asked about the opening hours on Monday", "asked about the opening hours at Easter"]
SUMMARY = "asked about the opening hours on Sunday, Monday and at Easter"


def covering(body):
    """What a good model says: one text that covers all it was shown."""
    shown = json.loads(body["messages"][-1]["content"])["memories"]
    return says_json({"summary": SUMMARY, "covers": [each["id"] for each in shown]})(body)


def a_container(relevance=CAP, *, at_least=3, **details):
    container = governed(a_policy(relevance=relevance), **details)
    switch(container, at_least, actor=ACTOR, now=NOON)
    return container


def fill(container, *, user_id="ann", kept=4, texts=HOURS, **details):
    """Weak memories that are alike, and strong ones that are not."""
    weak = {"importance": 0.1, "days_old": 300, "tokens": 40, **details}
    strong = ("likes green tea", "walks two dogs", "born in Graz", "plays the cello", "fears flying", "reads Kafka")
    store(
        container,
        *(a_memory(text, user_id=user_id, **weak) for text in texts),
        *(a_memory(text, user_id=user_id, importance=0.9, days_old=1, tokens=10) for text in strong[:kept]),
    )


def texts_of(container, user_id="ann"):
    return set(LongTermMemory.objects.filter(subject=subject_of(container, user_id)).values_list("text", flat=True))


def runs_started(run):
    type(run).objects.filter(pk=run.pk).update(state="running", started_at=NOON, started_by=ACTOR)
    run.refresh_from_db()
