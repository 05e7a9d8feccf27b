import pytest
from django.db import connection

from memadmin.lifecycle import planning
from memadmin.store.models import Container
from memadmin.store.policies import opt_out
from tests.factories import ACTOR, NOON, make_container, make_memory, make_session, subject_of
from tests.runs import a_policy, carry_out, fill, governed, pin, preview

pytestmark = pytest.mark.django_db
KEEP_THREE = a_policy(relevance={"max_records": 3})


def warned(container, policy):
    return {each.code: each for each in planning.estimate(container, policy, now=NOON).warnings}


def test_a_preview_says_that_nothing_will_run_while_retention_is_off():
    assert warned(make_container(), KEEP_THREE)["retention_off"].text == "Nothing will run: retention is off."


def test_a_preview_of_a_container_that_opted_out_says_so():
    container = governed(KEEP_THREE)
    opt_out(container, actor=ACTOR, now=NOON, base=1)

    assert "opted_out" in warned(container, KEEP_THREE)


def test_a_run_over_much_of_a_store_is_told_loudly_and_first():
    container = governed(KEEP_THREE)
    fill(container, 10)

    first = planning.estimate(container, KEEP_THREE, now=NOON).warnings[0]

    assert (first.loud, first.text) == (True, "This would evict 7 of 10 long-term memories (70 %).")


def test_a_small_run_is_not_loud():
    container = governed(KEEP_THREE)
    fill(container, 20)

    assert not any(each.loud for each in warned(container, a_policy(relevance={"max_records": 19})).values())


def test_rules_that_do_nothing_are_named():
    container = governed(KEEP_THREE)
    Container.objects.filter(pk=container.pk).update(sessions_enabled=False, history_enabled=False)
    container.refresh_from_db()

    codes = warned(container, a_policy(sessions={"retention_days": 9}, history={"max_count": 9}, relevance={"ttl_days": 9})).keys()

    assert {"idle.sessions", "idle.history", "idle.long_term"} <= codes


def test_limits_in_each_others_shadow_are_named():
    both = a_policy(long_term={"retention_days": 365, "max_count": 100}, relevance={"ttl_days": 365, "max_records": 500})

    assert {"shadowed.age", "shadowed.max_records"} <= warned(governed(both), both).keys()


def test_more_pinned_ones_than_max_count_are_told():
    container = governed(KEEP_THREE)
    for name in ("one", "two"):
        pin(make_session(container, name))

    found = warned(container, a_policy(sessions={"max_count": 1}))["pinned.sessions"]

    assert found.text.startswith("pinned count (2) exceeds max_count (1) for sessions")


def test_what_only_a_pin_keeps_is_told():
    container = governed(KEEP_THREE)
    pin(make_memory(container, days_old=400))

    assert (
        warned(container, a_policy(relevance={"ttl_days": 365}))["pinned.past_limit"].text
        == "1 item is past a limit and kept by a pin or a hold."
    )


def test_a_memory_larger_than_the_token_limit_is_told():
    container = governed(KEEP_THREE)
    make_memory(container, tokens=50)

    assert warned(container, a_policy(relevance={"max_tokens": 40}))["oversized"].text.startswith("1 memory is alone larger")


def test_ten_thousand_over_a_new_number_go_in_one_run():
    container = governed(a_policy(sessions={"max_count": 100}))
    many_sessions(container, 10_000)

    run = preview(container)

    assert run.planned == 9_900


@pytest.mark.slow
def test_one_run_takes_fifty_thousand_for_a_number_and_says_how_many_runs_it_needs():
    policy = a_policy(sessions={"max_count": 100})
    container = governed(policy, archive_days=None)
    many_sessions(container, 60_100)

    first = warned(container, policy)["capped.sessions"].text
    run = carry_out(preview(container))
    second = preview(container)

    assert "this is run 1 of 2, 10,000 are left for later ones" in first
    assert (run.removed, second.planned) == (50_000, 10_000)
    assert "capped.sessions" not in warned(container, policy)


def many_sessions(container, number):
    """Copies of one session, a minute apart, made by the database."""
    session = make_session(container)
    number -= 1
    series = (
        f"generate_series(1, {number}) AS s(n)"
        if connection.vendor == "postgresql"
        else f"(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {number}) SELECT n FROM s)"
    )
    fresh = {
        "uid": "gen_random_uuid()" if connection.vendor == "postgresql" else "lower(hex(randomblob(16)))",
        "external_id": "CAST(n AS varchar)",
        "last_updated_at": "last_updated_at - n * INTERVAL '1 minute'"
        if connection.vendor == "postgresql"
        else "datetime(last_updated_at, '-' || n || ' minutes')",
    }
    columns = [field.column for field in session._meta.concrete_fields if not field.primary_key]
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO store_session ({', '.join(columns)}) SELECT {', '.join(fresh.get(name, name) for name in columns)} "
            f"FROM store_session, {series} WHERE id = {session.pk}"
        )
    subject = subject_of(container)
    subject.sessions += number
    subject.save()
