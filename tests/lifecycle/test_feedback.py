from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import F

from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, AuditPayload
from memadmin.lifecycle import feedback, suspects
from memadmin.lifecycle.feedback import BadReport, NotEvicted, NotOpen, Report, match, record, reopen, set_aside
from memadmin.lifecycle.forgetting import by_day, by_version
from memadmin.lifecycle.models import Run, RunRange, RunState, RunVictim
from memadmin.lifecycle.suspects import suspects_of
from memadmin.store import archive
from memadmin.store.models import Archived, Container, Feedback, FeedbackKind, FeedbackState, HistoryEntry, LongTermMemory, Subject
from memadmin.store.removal import remove_archived
from tests.factories import ACTOR, NOON, a_change, a_memory, days, make_memory, make_session, store, subject_of
from tests.runs import a_policy, carry_out, governed, preview, publish

pytestmark = pytest.mark.django_db
POLICY = {"long_term": {"retention_days": 30}, "sessions": {"retention_days": 30}}
TEXTS = ("Is allergic to penicillin", "Likes green tea in the morning", "Wants the parcel at the back door")


@pytest.fixture
def container(db):
    made = governed(a_policy(**POLICY))
    store(made, *(a_memory(text, days_old=40 + at) for at, text in enumerate(TEXTS)), a_memory("likes tea still", days_old=1))
    return made


def evict(container):
    return carry_out(preview(container))


def report(container, words="It forgot the allergy to penicillin", *, kind=FeedbackKind.FORGOT, days_later=1.0, **details):
    now = NOON + days(days_later)
    return record(subject_of(container), Report(kind=kind, words=words, noticed_at=now, **details), actor=ACTOR, now=now)


def texts(found):
    return [suspect.text for suspect in found.found]


def test_a_report_is_stored_with_its_words_and_logged_without_them(container):
    made = report(container, "  forgot the \0 allergy ")

    assert (made.words, made.state, made.kind, made.actor) == ("forgot the \N{REPLACEMENT CHARACTER} allergy", "open", "forgot", ACTOR)
    entry = AuditEntry.objects.get(action=Action.FEEDBACK_RECORDED)
    assert (entry.target, entry.reason_code) == (f"feedback/{made.uid}", "forgot")
    assert "allergy" not in entry.leaf
    assert not AuditPayload.objects.filter(body__contains="allergy").exists()


def test_the_likeliest_eviction_comes_first_and_what_is_still_there_is_none(container):
    evict(container)

    found = suspects_of(report(container))

    assert found.found[0].text == TEXTS[0]
    assert (found.found[0].words, found.asked, found.found[0].in_archive) == (2, 6, True)
    assert found.found[0].likeness > found.found[1].likeness
    assert set(texts(found)) == set(TEXTS)


def test_words_that_few_evicted_memories_have_say_more_than_common_ones(container):
    store(
        container, *(a_memory(f"the the agent number {number}", days_old=50) for number in range(6)), a_memory("about zebras", days_old=60)
    )
    evict(container)

    found = suspects_of(report(container, "the agent never knew about the zebras"))

    assert found.found[0].text == "about zebras"


def test_what_was_evicted_after_the_answer_was_noticed_is_not_the_cause(container):
    earlier = Report(kind=FeedbackKind.FORGOT, words="penicillin", noticed_at=NOON - days(1))
    made = record(subject_of(container), earlier, actor=ACTOR, now=NOON)
    evict(container)

    assert suspects_of(made).found == ()
    with pytest.raises(NotEvicted):
        match(made, Archived.objects.first().uid, actor=ACTOR, now=NOON)


def test_what_the_reporter_points_at_comes_first(container):
    evict(container)
    pointed = next(copy for copy in Archived.objects.all() if archive.unpack(copy.payload)["row"]["text"] == TEXTS[2])

    found = suspects_of(report(container, memory_uid=pointed.uid))

    assert (found.found[0].uid, found.found[0].pointed_at) == (pointed.uid, True)


def test_a_session_is_found_by_what_was_said_in_it(container):
    make_session(container, "s-old", days_old=50, messages=2)
    evict(container)

    found = suspects_of(report(container, "it did not know message 1"))

    assert found.found[0].item_type == "sessions"
    assert "message 1" in found.found[0].text


def test_without_a_copy_the_run_and_the_history_still_know_it(container):
    gone = LongTermMemory.objects.get(text=TEXTS[0])
    store(container, a_change(TEXTS[0], memory_uid=gone.uid))
    run = evict(container)
    remove_archived(list(Archived.objects.values_list("id", flat=True)))

    found = suspects_of(report(container)).found

    assert (found[0].uid, found[0].text, found[0].in_archive, found[0].run_number) == (gone.uid, TEXTS[0], False, run.number)
    assert found[0].version_number == 1
    assert {suspect.text for suspect in found[1:]} == {None}
    assert HistoryEntry.objects.filter(memory_uid=gone.uid).exists()


def test_what_has_come_back_or_was_kept_after_all_is_no_suspect(container):
    evict(container)
    archive.restore([copy.pk for copy in Archived.objects.all()], now=NOON)
    restored = list(LongTermMemory.objects.all())

    assert suspects_of(report(container)).found == ()
    assert len(restored) == 4


def test_other_users_evictions_are_none_of_ones_own(container):
    store(container, a_memory("bob is allergic to penicillin", user_id="bob", days_old=90))
    evict(container)

    assert "bob is allergic to penicillin" not in texts(suspects_of(report(container)))
    with pytest.raises(NotEvicted):
        match(report(container), Archived.objects.get(subject__user_id="bob").uid, actor=ACTOR, now=NOON + days(2))


def test_of_very_many_evictions_each_look_goes_on_behind_the_last_and_none_is_out_of_reach(container, monkeypatch):
    monkeypatch.setattr(suspects, "COMPARED", 2)
    evict(container)
    made = report(container)

    first, second = suspects_of(made), suspects_of(made, skip=2)

    assert (len(first.found), first.more, len(second.found), second.more) == (2, True, 1, False)
    assert {*texts(first), *texts(second)} == set(TEXTS)


def test_what_the_report_points_at_is_found_whatever_was_evicted_since(container, monkeypatch):
    monkeypatch.setattr(suspects, "COMPARED", 1)
    evict(container)
    oldest = Archived.objects.order_by("archived_at", "id").first().uid
    make_memory(container, "newer", days_old=90)
    evict(container)

    assert suspects_of(report(container, memory_uid=oldest)).found[0].uid == oldest


def test_what_has_a_word_in_common_is_shown_though_many_have(container, monkeypatch):
    monkeypatch.setattr(suspects, "SHOWN", 1)
    store(container, *(a_memory(f"about zebras {number}", days_old=50) for number in range(6)))
    evict(container)

    assert len(suspects_of(report(container, "zebras")).found) == 6


def test_an_index_leads_to_what_runs_took_of_a_user(container):
    evict(container)
    if connection.vendor == "postgresql":
        connection.cursor().execute("SET LOCAL enable_seqscan = off")  # which three rows are cheaper with

    assert "victim_by_subject" in RunVictim.objects.of_subject(subject_of(container)).explain()


def test_a_match_names_run_reason_and_policy_version_and_is_logged_by_numbers(container):
    run = evict(container)
    made = report(container)

    match(made, suspects_of(made).found[0].uid, actor=ACTOR, now=NOON + days(2))

    assert (made.state, made.run_number, made.reason, made.policy_version.number) == ("matched", run.number, "age", 1)
    assert (made.decided_by, made.evicted_at) == (ACTOR, Archived.objects.get(uid=made.matched_uid).archived_at)
    entry = AuditEntry.objects.get(action=Action.FEEDBACK_MATCHED)
    assert (entry.reason_code, entry.counts) == ("age", {"run": run.number, "version": 1})


def test_a_report_is_decided_once_until_the_decision_is_taken_back(container):
    evict(container)
    made = report(container)
    uid = suspects_of(made).found[0].uid
    set_aside(made, actor=ACTOR, now=NOON)

    with pytest.raises(NotOpen):
        match(made, uid, actor=ACTOR, now=NOON)
    reopen(made, actor=ACTOR, now=NOON)
    with pytest.raises(NotOpen):
        reopen(made, actor=ACTOR, now=NOON)
    match(made, uid, actor=ACTOR, now=NOON)
    reopen(made, actor=ACTOR, now=NOON)

    assert (made.state, made.matched_uid, made.run_number, made.policy_version) == (FeedbackState.OPEN, None, None, None)
    actions = list(AuditEntry.objects.filter(action__startswith="feedback.").order_by("seq").values_list("action", flat=True))
    assert actions == [f"feedback.{verb}" for verb in ("recorded", "set_aside", "reopened", "matched", "reopened")]


@pytest.mark.parametrize(
    ("details", "field"),
    [
        ({"words": " \u200b "}, "words"),
        ({"words": "x" * 4_001}, "words"),
        ({"days_later": 2.0}, "noticed_at"),
        ({"days_later": -60_000}, "noticed_at"),
        ({"memory_uid": uuid4()}, "memory_uid"),
        ({"session_uid": uuid4()}, "session_uid"),
    ],
    ids=["no words", "too many", "future", "long ago", "no memory", "no session"],
)
def test_a_report_that_cannot_be_used_is_refused_with_its_field(container, details, field):
    given = {"kind": FeedbackKind.FORGOT, "words": "forgot it", "noticed_at": NOON + days(details.pop("days_later", 0)), **details}

    with pytest.raises(BadReport) as refused:
        record(subject_of(container), Report(**given), actor=ACTOR, now=NOON)

    assert refused.value.field == field
    assert Feedback.objects.count() == 0


def test_nothing_is_reported_of_somebody_who_is_being_erased(container):
    Subject.objects.filter(container=container).update(suppressed="block")

    with pytest.raises(BadReport, match="being erased"):
        report(container)
    assert {"fence", "block", "quarantine"} == feedback.SHUT


def test_a61_evictions_are_counted_by_day_and_so_are_reports(container):
    evict(container)
    report(container)
    report(container, kind=FeedbackKind.WRONG)
    other = governed(a_policy(**POLICY), "other")
    make_memory(other, days_old=90)
    evict(other)

    shown = by_day(Container.objects.filter(pk=container.pk), now=NOON + days(1), days=3)

    assert [(day.on.day, day.evicted, dict(day.noticed)) for day in shown] == [(28, 0, {}), (1, 3, {}), (2, 0, {"forgot": 1, "wrong": 1})]
    assert shown[-1].reports == 2


def test_a61_the_rate_of_a_version_is_matched_reports_by_evictions_and_unknown_without_reports(container):
    evict(container)
    mine = Container.objects.filter(pk=container.pk)
    (before,) = by_version(mine)
    made = report(container)
    (unmatched,) = by_version(mine)
    match(made, suspects_of(made).found[0].uid, actor=ACTOR, now=NOON + days(1))
    (matched,) = by_version(mine)

    assert (before.version.number, before.evicted, before.is_known) == (1, 3, False)
    assert (unmatched.is_known, unmatched.share) == (True, 0.0)
    assert (matched.missed, matched.share) == (1, pytest.approx(1 / 3))


def test_a61_an_eviction_that_two_people_report_was_missed_once(container):
    evict(container)
    first, second, third = (report(container) for _ in range(3))
    same, other = (suspect.uid for suspect in suspects_of(first).found[:2])
    for made, uid in ((first, same), (second, same), (third, other)):
        match(made, uid, actor=ACTOR, now=NOON + days(1))

    (rate,) = by_version(Container.objects.filter(pk=container.pk))

    assert (rate.evicted, rate.missed, rate.reports) == (3, 2, 3)


def test_a61_each_version_has_its_own_rate(container):
    evict(container)
    made = report(container)
    match(made, suspects_of(made).found[0].uid, actor=ACTOR, now=NOON + days(1))
    publish(container, a_policy(long_term={"retention_days": 29}))
    make_memory(container, "newer", days_old=29.5)
    evict(container)

    shown = by_version(Container.objects.all())

    assert [(rate.version.number, rate.evicted, rate.missed) for rate in shown] == [(2, 1, 0), (1, 3, 1)]


def test_what_a_run_named_and_did_not_come_to_is_no_suspect(container):
    run = evict(container)
    remove_archived(list(Archived.objects.values_list("id", flat=True)))
    Run.objects.filter(pk=run.pk).update(state=RunState.CANCELLED, cursor=1, removed=1, kept=0)
    RunRange.objects.filter(run=run).update(cursor=F("first"))

    assert len(suspects_of(report(container)).found) == 1


def test_of_very_many_that_only_runs_remember_the_latest_are_compared_first(container, monkeypatch):
    evict(container)
    make_memory(container, "newer", days_old=90)
    newest = evict(container)
    remove_archived(list(Archived.objects.values_list("id", flat=True)))
    monkeypatch.setattr(suspects, "COMPARED", 1)
    made = report(container)

    looks = [[suspect.run_number for suspect in suspects_of(made, skip=skip).found] for skip in range(4)]

    assert looks == [[newest.number], *[[newest.number - 1]] * 3]
