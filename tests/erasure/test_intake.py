"""Taking requests in: exact ids, look-alikes to tick, fixed lists, duplicates, keys, dates."""

import json
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memadmin.access.actors import actor_of
from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from memadmin.erasure import deadlines, deciding, intake, workflow
from memadmin.erasure.intake import BadReceipt, KeyReused, NobodyMeant, NotForThisKind, NothingWritten, TooMany
from memadmin.erasure.look_alikes import candidates, says_whom, skeleton
from memadmin.erasure.models import ErasureRequest, IdentityLevel, Kind, Profile, Status
from memadmin.erasure.moves import WrongState
from memadmin.erasure.visibility import visible_requests
from memadmin.erasure.workflow import NoPause, NotExtended, UnknownCode
from memadmin.store.models import LongTermMemory, Subject
from tests.erasure.workflow import discovered, officer, opened, opened_for
from tests.factories import NOON, a_memory, days, make_container, make_session, store
from tests.people import make_person

FEBRUARY_28 = date(2026, 2, 28)


@pytest.mark.parametrize(
    ("received", "due", "rolled", "extended"),
    [
        (date(2026, 1, 31), FEBRUARY_28, date(2026, 3, 2), date(2026, 4, 30)),
        (date(2026, 1, 30), FEBRUARY_28, date(2026, 3, 2), date(2026, 4, 30)),
        (date(2027, 1, 31), date(2027, 2, 28), date(2027, 3, 1), date(2027, 4, 30)),
        (date(2028, 2, 29), date(2028, 3, 29), date(2028, 3, 29), date(2028, 5, 29)),
        (date(2026, 5, 31), date(2026, 6, 30), date(2026, 6, 30), date(2026, 8, 31)),
        (date(2026, 12, 1), date(2027, 1, 1), date(2027, 1, 4), date(2027, 3, 1)),
        (date(2026, 3, 29), date(2026, 4, 29), date(2026, 4, 29), date(2026, 6, 29)),
    ],
)
def test_61_due_dates_are_calendar_months(received: date, due: date, rolled: date, extended: date):
    new_year = {date(2027, 1, 1)}

    found = deadlines.due(received, profile="gdpr", holidays=new_year)

    assert (found.conservative, found.rolled) == (due, rolled)
    assert deadlines.due(received, profile="gdpr", extended=True).conservative == extended


def test_61_a_pause_across_the_end_of_a_month_moves_all_dates_by_its_days():
    found = deadlines.due(date(2026, 1, 20), profile="uk", paused_days=10)

    assert (found.target, found.conservative) == (date(2026, 2, 27), date(2026, 3, 2))


def test_ccpa_has_45_days_and_no_pause():
    assert deadlines.due(date(2026, 1, 1), profile="ccpa").conservative == date(2026, 2, 15)
    assert deadlines.due(date(2026, 1, 1), profile="ccpa", extended=True).conservative == date(2026, 4, 1)
    assert deadlines.confirm_by(date(2026, 1, 1)) == date(2026, 1, 15)
    with pytest.raises(ValueError, match="no pause"):
        deadlines.due(date(2026, 1, 1), profile="ccpa", paused_days=1)


@given(st.dates(date(1990, 1, 1), date(2200, 1, 1)), st.booleans(), st.integers(0, 100))
def test_the_dates_of_a_request_keep_their_order(received: date, extended: bool, paused: int):
    found = deadlines.due(received, profile="gdpr", extended=extended, paused_days=paused)

    assert received < found.target <= found.conservative <= found.rolled <= found.conservative + timedelta(days=2)
    assert found.conservative - timedelta(days=paused) <= received + timedelta(days=92)


@given(st.dates(date(1990, 1, 1), date(2200, 1, 1)), st.integers(1, 30))
def test_a_later_receipt_is_never_due_earlier(received: date, later: int):
    assert deadlines.months_after(received, 1) <= deadlines.months_after(received + timedelta(days=later), 1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("alice", "Alice"),
        ("alice", "\N{FULLWIDTH LATIN SMALL LETTER A}lice"),
        ("alice", "ali\u200bce"),
        ("alice", "Al\u0131ce"),
        ("alice", "\u0430lice"),
        ("ann lee", "ann  lee "),
        ("ann@x.org", "ann+shop@x.org"),
        ("007", "7"),
        ("a-b", "a\u2010b"),
        ("jose", "jos\u00e9"),
    ],
)
def test_26_F93_ids_that_a_person_may_take_for_one_another_have_one_skeleton(one: str, other: str):
    assert skeleton(one) == skeleton(other)


@pytest.mark.parametrize("user_id", ["", "   ", "*", "%", " * ", "\u200b", "??", "__"])
def test_F03_an_id_that_names_nobody_is_refused(user_id: str):
    assert not says_whom(user_id)


@pytest.mark.parametrize("user_id", ["user/13", "../admin", "a b", "100% me", "a?b#c", "\N{GRINNING FACE}", "x" * 512, "a\n", "(x)", "-x"])
def test_F97_every_other_id_is_taken_as_it_is(user_id: str):
    assert says_whom(user_id)


@pytest.mark.django_db
class TestLookAlikes:
    def test_25_parts_are_listed_and_longer_names_are_not(self):
        shop = make_container()
        store(shop, *(a_memory(name, user_id=name) for name in ("pat", "patricia", "pat#visit1", "pat:thread-2")))

        found = {each.user_id: each.origin for each in candidates("pat", [shop.pk])}

        assert found == {"pat": "given", "pat#visit1": "part", "pat:thread-2": "part"}

    def test_26_look_alikes_keep_the_request_in_review_until_each_is_ticked(self):
        shop = make_container()
        store(shop, a_memory("one", user_id="Alice@X.org"), a_memory("two", user_id="alice@x.org"))
        request = opened("alice@x.org")
        other = request.subjects.get(ticked=None)
        discovered(request)
        with pytest.raises(deciding.NotReady, match="look alike"):
            deciding.submit(request, actor=actor_of(officer()), now=NOON)

        workflow.tick(request, {other.subject_ref: True}, actor=actor_of(officer()), now=NOON)

        assert request.state == Status.RECEIVED
        assert discovered(request).items.filter(location="store.long_term").count() == 2

    def test_27_two_accounts_are_never_merged(self):
        shop = make_container()
        store(shop, a_memory("one", user_id="Bob"), a_memory("two", user_id="bob"))

        manifest = discovered(opened("bob"))

        assert set(manifest.items.values_list("subject_id", flat=True)) == {Subject.objects.get(user_id="bob").pk}


@pytest.mark.django_db
class TestOpening:
    def test_nobody_is_refused(self):
        make_container()
        with pytest.raises(NobodyMeant):
            opened("ghost")

    def test_F21_the_id_of_a_session_is_no_memory(self):
        session = make_session(make_container())
        with pytest.raises(NotForThisKind):
            opened_for(session, kind=Kind.MEMORY)

    def test_a_topic_is_a_fixed_list(self):
        shop = make_container()
        store(shop, a_memory("tea one"), a_memory("tea two"))
        request = opened_for(*LongTermMemory.objects.all(), kind=Kind.TOPIC)
        store(shop, a_memory("tea three"))

        assert discovered(request).items.filter(location="store.long_term").count() == 2

    def test_one_key_is_one_request(self):
        store(make_container(), a_memory(), a_memory(user_id="bob"))

        first = opened(key="k-1")

        assert opened(key="k-1").pk == first.pk
        with pytest.raises(KeyReused):
            opened("bob", key="k-1")
        assert ErasureRequest.objects.count() == 1

    def test_numbers_go_up(self):
        store(make_container(), a_memory())

        assert [opened().number, opened().number] == [1, 2]

    def test_a_letter_that_came_earlier_counts_from_its_day(self):
        store(make_container(), a_memory())

        assert opened(received_on=NOON.date() - days(3)).due_on == date(2026, 3, 26)
        with pytest.raises(BadReceipt):
            opened(received_on=NOON.date() + days(1))

    def test_53_an_unverified_request_never_absorbs_a_verified_one(self):
        store(make_container(), a_memory())
        stranger = opened(identity=None)
        person = opened()

        stranger.refresh_from_db()

        assert (stranger.duplicate_of_id, person.duplicate_of_id) == (person.pk, None)
        discovered(person)
        assert person.state == Status.REVIEW

    def test_a_later_unverified_one_points_to_the_verified(self):
        store(make_container(), a_memory())
        person, stranger = opened(), opened(identity=None)

        assert stranger.duplicate_of_id == person.pk

    def test_89_no_name_of_the_person_is_in_the_log(self):
        store(make_container(), a_memory(user_id="canary-id"))
        request = opened("canary-id", note="canary note")
        workflow.refuse(request, "unfounded", letter="canary letter", actor=actor_of(officer()), now=NOON)

        assert "canary" not in "".join(AuditEntry.objects.values_list("leaf", flat=True))


@pytest.mark.django_db
class TestTime:
    def test_62_it_is_extended_once_in_time_and_with_notice(self):
        store(make_container(), a_memory())
        request, actor = opened(), actor_of(officer())
        told = NOON.date()
        with pytest.raises(NotExtended):
            workflow.extend(request, "complexity", noticed_on=told + days(1), actor=actor, now=NOON)
        with pytest.raises(NotExtended):
            workflow.extend(request, "complexity", noticed_on=told - days(1), actor=actor, now=NOON)
        with pytest.raises(UnknownCode):
            workflow.extend(request, "tired", noticed_on=told, actor=actor, now=NOON)

        workflow.extend(request, "complexity", noticed_on=told, actor=actor, now=NOON)

        assert request.due_on == date(2026, 6, 1)
        with pytest.raises(NotExtended):
            workflow.extend(request, "complexity", noticed_on=told, actor=actor, now=NOON)

    def test_62_not_after_it_was_due(self):
        store(make_container(), a_memory())
        with pytest.raises(NotExtended):
            workflow.extend(opened(), "number", noticed_on=NOON.date(), actor=actor_of(officer()), now=NOON + days(40))

    def test_the_time_stands_while_identity_is_proved(self):
        store(make_container(), a_memory())
        request, actor = opened(identity=None), actor_of(officer())
        workflow.pause(request, actor=actor, now=NOON)

        workflow.note_identity(request, IdentityLevel.DOCUMENTS, actor=actor, now=NOON + days(5))

        assert (request.paused_days, request.due_on, request.paused_on) == (5, date(2026, 4, 6), None)

    def test_63_a_clock_set_back_makes_no_date_earlier_or_later(self):
        store(make_container(), a_memory())
        request, actor = opened(identity=None), actor_of(officer())
        workflow.pause(request, actor=actor, now=NOON)

        workflow.resume(request, actor=actor, now=NOON - days(3))

        assert (request.paused_days, request.due_on) == (0, date(2026, 4, 1))

    def test_ccpa_does_not_pause(self):
        store(make_container(), a_memory())
        with pytest.raises(NoPause):
            workflow.pause(opened(identity=None, profile=Profile.CCPA), actor=actor_of(officer()), now=NOON)


@pytest.mark.django_db
class TestEnds:
    def test_a_refusal_needs_a_reason_in_law_and_a_letter(self):
        store(make_container(), a_memory())
        request, actor = opened(), actor_of(officer())
        with pytest.raises(UnknownCode):
            workflow.refuse(request, "busy", letter="No.", actor=actor, now=NOON)
        with pytest.raises(NothingWritten):
            workflow.refuse(request, "unfounded", letter=" ", actor=actor, now=NOON)

        workflow.refuse(request, "unfounded", letter="Dear Ann", actor=actor, now=NOON)

        assert (request.state, request.outcome_code) == (Status.REFUSED, "unfounded")

    def test_58_what_has_ended_never_opens_again(self):
        store(make_container(), a_memory())
        request, actor = opened(), actor_of(officer())
        workflow.cancel(request, actor=actor, now=NOON)

        for verb in (workflow.cancel, discovered):
            with pytest.raises(WrongState):
                verb(request) if verb is discovered else verb(request, actor=actor, now=NOON)
        assert AuditEntry.objects.filter(action="erasure.cancelled", outcome="refused", reason_code="wrong_state").exists()

    def test_F20_nothing_held_is_its_own_end_with_its_own_letter(self):
        make_container()
        request, actor = opened("ghost", ticked=[], unknown=["ghost"]), actor_of(officer())
        discovered(request)

        workflow.end_as_nothing_held(request, letter="We hold nothing about you.", actor=actor, now=NOON)
        certificate = request.certificates.get()
        assert (certificate.level, json.loads(certificate.document)["title"]) == ("nothing_held", "nothing was held")
        assert set(json.loads(certificate.document)["manifest"]["answers"]) <= {"absent", "cleared"}

        assert request.state == Status.NOTHING_HELD

    def test_something_held_is_not_nothing(self):
        store(make_container(), a_memory())
        request = opened()
        discovered(request)
        with pytest.raises(workflow.NotSoEnded):
            workflow.end_as_nothing_held(request, letter="Nothing.", actor=actor_of(officer()), now=NOON)


@pytest.mark.django_db
def test_notes_stand_apart_and_say_something():
    store(make_container(), a_memory())
    request = opened()

    workflow.add_note(request, "Called back on Monday", actor=actor_of(officer()), now=NOON)

    assert [note.text for note in request.notes.all()] == ["Called back on Monday"]


@pytest.mark.django_db
class TestLimits:
    def test_31_aliases_that_lead_back_to_each_other_count_once_and_ten_thousand_are_refused(self):
        store(make_container(), a_memory())

        request = opened(aliases=["A", "B", "A", "B"])

        assert sorted(row.user_id for row in request.subjects.filter(origin="alias")) == ["A", "B"]
        with pytest.raises(TooMany, match="10,000 are more than one request may name: 50"):
            opened(aliases=[f"alias {number}" for number in range(10_000)])

    def test_F23_a_person_named_as_their_own_alias_stays_one(self):
        store(make_container(), a_memory())

        request = opened("ann", aliases=["ann", "ann"])

        assert [(row.origin, row.user_id) for row in request.subjects.all()] == [("given", "ann")]

    def test_a_mass_of_requests_is_looked_at_before_more_is_taken_in(self, monkeypatch):
        monkeypatch.setattr(intake, "MOST_WAITING", 2)
        store(make_container(), a_memory())
        first = opened(key="k")
        opened()

        with pytest.raises(TooMany, match="Go on with these"):
            opened()
        assert opened(key="k") == first
        discovered(first)
        assert opened().number == 3


@pytest.mark.django_db
def test_a_request_about_somebody_whom_nobody_knows_is_seen_by_who_opened_it():
    ours, theirs = make_container("ours"), make_container("theirs")
    cora, carl = (make_person(Role.COMPLIANCE, login=login, containers=[ours]) for login in ("cora", "carl"))
    store(theirs, a_memory())

    unknown = opened("ghost", ticked=[], unknown=["ghost"], actor=actor_of(cora))
    elsewhere = opened("ann", containers=[theirs], actor=actor_of(cora))

    assert [set(visible_requests(person)) for person in (cora, carl, make_person(Role.COMPLIANCE, login="all"))] == [
        {unknown},
        set(),
        {unknown, elsewhere},
    ]
