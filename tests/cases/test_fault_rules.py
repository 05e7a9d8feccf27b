"""Faults of time, score and policy that others had: numbers as in docs/cases.md."""

import time

import pytest

from memadmin.audit.models import AuditEntry
from memadmin.jobs.models import Job
from memadmin.jobs.runner import NotFree, run_inline
from memadmin.lifecycle import planning, runs
from memadmin.lifecycle.models import Run, RunState
from memadmin.store.models import Archived, LongTermMemory
from retention.policy import InvalidPolicy, parse_policy
from retention.victims import Reason
from tests.cases.governing import NO_LIMITS, address, form, post, under, words
from tests.cases.seen import look
from tests.factories import NOON, a_memory, a_pin, a_session, days, make_container, make_memory, make_session, store, subject_of
from tests.runs import a_policy, carry_out, fill, named_by, pin, preview, switch_on
from tests.transfer.running import import_memories, write_lines

pytestmark = pytest.mark.django_db
ZONES = ["UTC", "Asia/Shanghai", "America/Los_Angeles"]


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.fixture
def in_zone(monkeypatch):
    """Let the process believe that it is somewhere."""

    def move(zone):
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


def test_f50_the_zone_of_the_process_changes_neither_who_goes_nor_what_is_said(in_zone, reader):
    container = under(ttl_days=10)
    store(container, a_memory("just past", days_old=10.01), a_memory("just before", days_old=9.99))
    memories = list(LongTermMemory.objects.order_by("id"))

    seen = []
    for zone in ZONES:
        in_zone(zone)
        pages = [look(reader, "memory-detail", memory.uid).flat for memory in memories]
        seen.append((named_by(preview(container)), pages, look(reader, "user-memories", memories[0].subject.uid, sort="created").flat))

    assert seen[0][0] == {memories[0].pk}
    assert seen[1:] == seen[:1] * 2
    assert "UTC" in seen[0][1][0]


def test_f50_one_instant_written_in_two_zones_is_judged_once(tmp_path):
    container = under(ttl_days=10)
    same = ["2026-02-19T19:30:00+08:00", "2026-02-19T03:30:00-08:00"]
    path = write_lines(tmp_path / "m.jsonl", *({"user_id": "ann", "id": when, "memory": "tea", "created_at": when} for when in same))

    import_memories("jsonl", path)

    assert len(set(LongTermMemory.objects.values_list("created_at", flat=True))) == 1
    assert len(named_by(preview(container))) == 2


def test_f52_past_its_time_but_not_yet_gone_is_called_expired_with_the_moment_of_the_next_run(reader):
    container = under(ttl_days=10)
    memory = make_memory(container, created_at=NOON - days(10) - days(1 / 1440))

    listed = look(reader, "user-memories", memory.subject.uid)
    opened = look(reader, "memory-detail", memory.uid)

    assert "expired, goes at the next run, 02 Mar 03:00 UTC" in listed.words_in("marks")[0]
    assert "It goes at the next run, 02 Mar 2026, 03:00 UTC" in opened.flat


def test_f53_a_pin_counts_in_the_preview_and_again_when_it_is_carried_out():
    container = under(ttl_days=10)
    before = make_memory(container, "pinned before", days_old=900, pin=a_pin())
    after, gone = (make_memory(container, text, days_old=900) for text in ("pinned after", "gone"))

    run = preview(container)
    pin(after)
    carry_out(run)

    assert before.pk not in named_by(run)
    assert set(LongTermMemory.objects.values_list("id", flat=True)) == {before.pk, after.pk}
    assert not LongTermMemory.objects.filter(pk=gone.pk).exists()


def test_f54_what_a_pin_keeps_past_its_limit_is_a_line_of_its_own_in_the_preview_and_on_the_overview(reader, boss):
    container = under(ttl_days=10)
    make_memory(container, days_old=900, pin=a_pin())

    run = preview(container)

    assert "1 past a limit and kept by a pin or a hold." in look(boss, "run-detail", run.number).flat
    assert "Past a limit and kept by a pin or a hold, by the latest run or preview of each container: 1." in look(reader, "overview").flat


def test_f54_who_pins_something_past_its_limit_is_told_so(reader, boss):
    container = under(a_policy(sessions={"retention_days": 30}, relevance={"ttl_days": 10}))
    memory, session = make_memory(container, days_old=11), make_session(container, days_old=31)

    of_memory = words(post(reader, "memory-pin", memory.uid, reason="allergy"))
    of_session = words(post(boss, "session-pin", session.uid, reason="complaint"))

    assert "until it is unpinned, although it is past its time to live." in of_memory
    assert "this session and its messages, although it is past its age limit." in of_session
    assert "Pinned: no run evicts it, although it is past its age limit." in of_session


def test_f54_who_publishes_over_pins_is_told_how_many_stay(boss):
    switch_on()
    container = make_container()
    store(container, *(a_memory(f"old {number}", days_old=900, pin=a_pin()) for number in range(2)), a_session(days_old=900, pin=a_pin()))

    said = words(post(boss, "policy-publish", container.uid, **form(ttl_days="10", sessions_days="10"), sure="yes"))

    assert "3 items are past a limit of it and kept by a pin or a hold." in said


@pytest.mark.parametrize("access", [None, "", "NaN", "not-a-date", "2026-02-30"])
def test_f56_an_unreadable_last_access_costs_no_memory_its_place(tmp_path, access, reader):
    container = under(ttl_days=10, max_records=5)
    record = {"user_id": "ann", "id": "m-1", "memory": "likes tea", "created_at": "2026-02-28T12:00:00Z", "last_accessed_at": access}

    done = import_memories("jsonl", write_lines(tmp_path / "m.jsonl", record))

    assert done.answer["new"]["long_term"] == 1
    assert bool(done.answer["noted"]) == bool(access)
    assert "likes tea" in look(reader, "user-memories", subject_of(container).uid).words
    assert named_by(preview(container)) == set()


def test_c08_what_has_no_date_is_no_victim_of_age_and_last_for_a_number(reader):
    container = under(a_policy(long_term={"retention_days": 1}, sessions={"retention_days": 1}, relevance={"ttl_days": 1}))
    store(container, a_memory("undated", created_at=None), a_session(created_at=None))
    by_number = preview(container, a_policy(long_term={"max_count": 1}))
    make_memory(container, "dated", days_old=0)

    assert (preview(container).planned, by_number.planned) == (0, 0)
    assert named_by(preview(container, a_policy(long_term={"max_count": 1}))) == {LongTermMemory.objects.get(text="dated").pk}
    assert "no date" in look(reader, "user-memories", subject_of(container).uid).words


@pytest.mark.parametrize("sure", [None, "", "false", "0"])
def test_f57_looking_and_doing_are_two_addresses_and_no_value_turns_one_into_the_other(sure, boss):
    container = under(ttl_days=10)
    make_memory(container, days_old=11)
    run = preview(container)

    flags = {} if sure is None else {"sure": sure, "dry_run": sure, "commit": sure}
    post(boss, "policy-preview", container.uid, **form(ttl_days="1"), **flags)
    asked = boss.get(address("run-start", run.number))

    assert asked.status_code == 405
    assert Run.objects.exclude(state=RunState.READY).count() == 0
    assert LongTermMemory.objects.count() == 1


@pytest.mark.parametrize("sure", ["", "false", "0", "true"])
def test_f57_a_start_that_is_not_confirmed_asks(sure, boss):
    container = under(ttl_days=10)
    make_memory(container, days_old=11)
    run = preview(container)

    asked = post(boss, "run-start", run.number, sure=sure)

    assert "Evict 1 item" in words(asked)
    assert not Job.objects.filter(kind="run").exists()


def test_f59_a_time_in_any_unit_is_the_same_instant_and_never_1970(tmp_path):
    seconds = 1_752_400_000
    written = [
        seconds,
        seconds * 1_000,
        seconds * 1_000_000,
        str(seconds),
        "2025-07-13T09:46:40Z",
        "2025-07-13T09:46:40",
        "2025-07-13 11:46:40+02:00",
    ]
    records = ({"user_id": "ann", "id": f"m-{n}", "memory": "tea", "created_at": when} for n, when in enumerate(written))

    import_memories("jsonl", write_lines(tmp_path / "m.jsonl", *records))

    assert {f"{at:%Y-%m-%d %H:%M:%S}" for at in LongTermMemory.objects.values_list("created_at", flat=True)} == {"2025-07-13 09:46:40"}


def test_f59_a_preview_that_takes_much_of_a_store_shouts_in_the_form_on_its_own_page_and_before_the_run(boss):
    container = under(ttl_days=10)
    fill(container, 20)
    run = preview(container)

    pages = [look(boss, "policy-detail", container.uid), look(boss, "run-detail", run.number)]
    asked = words(post(boss, "run-start", run.number))

    loud = "This would evict 10 of 20 long-term memories (50 %)."
    assert [page.words_in("notice-warning")[0] for page in pages] == [loud] * 2
    assert f"</svg> {loud}</p>" in asked


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(
            ("ttl_days", value)
            for value in ["0", "-1", "", " ", "null", None, "0.5", "1e9", "1000000000", "\u0663\u0660", "30d", "for ever"]
        ),
        *((field, "0") for field in NO_LIMITS),
    ],
)
def test_f60_only_the_choice_no_limit_means_for_ever(field, value, boss):
    switch_on()
    container, sent = make_container(), form(**{field: value})
    if value is None:
        del sent[field]

    answer = boss.post(address("policy-publish", container.uid), {**sent, "sure": "yes"})

    assert answer.status_code == 422
    assert "no limit" in words(answer)
    container.refresh_from_db()
    assert container.policy_state == "never_set"


def test_f60_blanks_around_a_number_do_not_matter(boss):
    container = make_container()

    assert "go when 30 days have passed" in look(boss, "policy-detail", container.uid, **form(sessions_days="30 ")).flat


def test_f61_a_preview_and_its_run_are_one_list_and_what_changed_between_is_told(boss):
    container = under(ttl_days=10)
    store(container, *(a_memory(f"old {number}", days_old=20) for number in range(5)))
    run = preview(container)
    pinned, read, *others = LongTermMemory.objects.order_by("id")
    pin(pinned)
    LongTermMemory.objects.filter(pk=read.pk).update(last_accessed_at=NOON, hits=1)
    make_memory(container, "added", days_old=20)

    shown = look(boss, "run-detail", run.number).flat
    carry_out(run)

    assert "1 was pinned since" in shown
    assert "1 was recalled by an agent since" in shown
    assert "1 was added to the container since" in shown
    assert (run.removed, run.kept) == (len(others), 2)
    assert not LongTermMemory.objects.filter(pk__in=[row.pk for row in others]).exists()


@pytest.mark.parametrize("rule", [{"ttl": 86_400}, {"ttl_days": 86_400}, {"ttl_seconds": 7}, {"half_life_hours": 2_592_000}])
def test_f63_a_limit_carries_its_unit_in_its_name_and_an_absurd_one_is_refused(rule):
    with pytest.raises(InvalidPolicy) as refused:
        parse_policy({"relevance": rule})

    assert any(said in refused.value.message for said in ("It is counted in days", "has no field", "up to 87,600 (10 years)"))


def test_f64_what_a_number_leaves_for_later_runs_is_told_on_the_preview_and_taken_by_the_next_one(monkeypatch, boss):
    monkeypatch.setattr("memadmin.lifecycle.warnings.COUNT_CAP", 4)
    container = under(a_policy(long_term={"max_count": 2}))
    fill(container, 12)

    opened = planning.open_run(container, a_policy(long_term={"max_count": 2}), now=NOON, trigger="preview", actor="person/x")
    first = planning.record(opened, now=NOON, count_cap=4)
    shown = look(boss, "run-detail", first.number).flat
    carry_out(first)

    assert (first.planned, preview(container).planned) == (4, 6)
    assert "this is run 1 of 3, 6 are left for later ones" in shown


def test_f66_pins_count_inside_the_cap_and_when_only_they_are_left_the_user_stays_over_it(reader, boss):
    container = under(max_records=3)
    store(container, *(a_memory(f"pinned {number}", pin=a_pin()) for number in range(5)))

    run = preview(container)
    pages = [look(boss, "run-detail", run.number), look(reader, "user-memories", subject_of(container).uid)]

    assert run.planned == 0
    assert "1 user stays over cap by 2, all pinned" in pages[0].flat
    assert "Over the cap by 2 memories, all pinned: no run evicts any of them." in pages[1].flat


def test_f66_with_three_of_five_pinned_the_two_others_go():
    container = under(max_records=3)
    store(container, *(a_memory(f"fact {number}", pin=a_pin() if number < 3 else None) for number in range(5)))

    run = carry_out(preview(container))

    assert run.removed == 2
    assert set(LongTermMemory.objects.values_list("pinned", flat=True)) == {True}


def test_f67_of_equal_scores_the_same_go_however_the_rows_lie():
    container = under(max_records=7)
    store(container, *(a_memory(f"fact {number}", days_old=5) for number in range(10)))
    keys = sorted(LongTermMemory.objects.values_list("id", flat=True))

    first = named_by(preview(container))
    for key in reversed(keys):  # writes each row anew, behind the others
        LongTermMemory.objects.filter(pk=key).update(author="somebody")

    run = preview(container)
    assert first == named_by(run) == set(keys[:3])
    carry_out(run)
    assert set(LongTermMemory.objects.values_list("id", flat=True)) == set(keys[3:])


def test_f68_a_preview_is_started_once_and_each_victim_has_one_entry(boss):
    container = under(ttl_days=10)
    store(container, *(a_memory(f"old {number}", days_old=20) for number in range(3)))
    run = preview(container)

    first, second = (words(post(boss, "run-start", run.number, sure="yes")) for _ in range(2))
    with pytest.raises(runs.WrongState):
        runs.start(run, actor="person/x", now=NOON)

    assert "is queued" in first
    assert f"Run {run.number} is waiting for a worker." in second
    job = Job.objects.get(kind="run")
    run_inline(job, now=NOON)
    with pytest.raises(NotFree):  # another worker, a moment later
        run_inline(job, now=NOON)
    run.refresh_from_db()
    assert (run.removed, Archived.objects.filter(run_number=run.number).count(), subject_of(container).long_term) == (3, 3, 0)
    assert AuditEntry.objects.filter(action="run.finished", target=f"runs/{run.number}").count() == 1


def test_c09_a_cap_is_for_each_user_and_over_all_their_rows():
    container = under(max_records=1_050)
    for user_id in ("ann", "ben"):
        store(container, *(a_memory(f"fact {number}", user_id=user_id, days_old=number / 24) for number in range(1_100)))

    run = preview(container)

    oldest = LongTermMemory.objects.filter(created_at__lt=NOON - days(1_049.5 / 24))
    assert run.summary.by_reason == {Reason.MAX_RECORDS: 100}
    assert named_by(run) == set(oldest.values_list("id", flat=True))


def test_c10_a_button_says_what_it_does_and_a_share_is_shown_in_hundredths(reader, boss):
    container = under(max_records=1)
    make_memory(container, "kept", importance=0.9)
    memory = make_memory(container, days_old=0, importance=0.55, last_accessed_at=NOON)
    run = preview(container)

    buttons = look(boss, "run-detail", run.number).words_in(tag="button")
    scores = look(reader, "user-memories", memory.subject.uid, sort="tokens").words_in("score-number")

    assert "Evict 1 item\u2026" in buttons
    assert "62" in scores  # 0.4 for recency, 0.22 for importance


def test_s01_the_numbers_of_the_worked_example_stand_on_the_page(reader):
    container = under(max_records=100)
    old = make_memory(container, importance=0.1, hits=1, days_old=300, last_accessed_at=NOON - days(243))
    never, read = (make_memory(container, importance=0.1, days_old=0, last_accessed_at=at) for at in (None, NOON))

    shown = [look(reader, "memory-row", memory.uid, htmx=True).words_in("score-number") for memory in (old, never, read)]

    assert shown == [["7"], ["24"], ["44"]]


def test_s03_a_cap_of_tokens_takes_the_weakest_until_it_holds_and_a_row_without_a_length_is_counted():
    container = under(max_tokens=250)
    rows = [make_memory(container, f"fact {number}", days_old=30 - number, tokens=100) for number in range(3)]
    store(container, a_memory("weighs nothing", tokens=0, days_old=60), a_memory("x" * 400, user_id="ben"))

    run = preview(container)

    assert {rows[0].pk} < named_by(run) == {rows[0].pk, LongTermMemory.objects.get(tokens=0).pk}
    assert 0 < LongTermMemory.objects.get(subject__user_id="ben").tokens <= 400


def test_s03_one_pinned_memory_larger_than_the_cap_stays_alone_and_is_told(boss):
    container = under(max_tokens=250)
    make_memory(container, "large", tokens=300, pin=a_pin())
    small = make_memory(container, "small", tokens=10)

    run = preview(container)

    assert named_by(run) == {small.pk}
    assert "1 user stays over cap by 50, all pinned: the cap is 250 tokens" in look(boss, "run-detail", run.number).flat
