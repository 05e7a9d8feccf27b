import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from memadmin.lifecycle.backtesting import Backtest, Window, backtest, varied
from memadmin.recall.touching import Occasion, touch
from memadmin.store import policies
from memadmin.store.models import ItemType, LongTermMemory, RecallEvent
from memadmin.store.removal import remove_by_hand
from retention.backtest import Loss
from tests.factories import ACTOR, NOON, days, make_container, make_memory
from tests.runs import a_policy, governed

pytestmark = pytest.mark.django_db
WINDOW = Window(NOON - days(10), NOON)


def recalled(container, *days_ago, user_id="ann", **details):
    memory = make_memory(container, user_id=user_id, days_old=40, **details)
    for number in sorted(days_ago, reverse=True):
        touch([memory.pk], now=NOON - days(number), occasion=Occasion(session=f"s-{number}"))
    memory.refresh_from_db()
    return memory


def run(container, policy, **details):
    return backtest(container, {"it": policy}, window=WINDOW, **details)


def test_recalls_of_a_memory_that_the_policy_had_taken_are_lost_and_other_users_and_containers_are_not_touched():
    container, other = make_container(), make_container("other")
    recalled(container, 8, 3, importance=0.1)
    recalled(container, 4, importance=0.9)
    recalled(container, 4, user_id="bob", importance=0.1)
    recalled(other, 2, 1, importance=0.1)

    found = run(container, a_policy(relevance={"max_records": 1}))

    assert found.losses["it"] == Loss(recalls=4, lost=2, memories=1, records=2, tokens=found.losses["it"].tokens, users=1)
    assert (found.recorded, found.gone, found.users, found.is_sample) == (4, 0, 2, False)


def test_a_recall_of_a_memory_that_has_gone_is_counted_as_such_unless_its_fact_is_there_again():
    container = make_container()
    gone, keyed = recalled(container, 3), recalled(container, 4, 2, fact_key="plan")
    remove_by_hand(ItemType.LONG_TERM, [gone.pk, keyed.pk])
    recalled(container, fact_key="plan")

    found = run(container, a_policy(relevance={"max_records": 10}))

    assert (found.recorded, found.gone, found.losses["it"].recalls) == (3, 1, 2)


def test_the_number_of_a_containers_memories_is_not_replayed_and_the_answer_says_so():
    container = make_container()
    recalled(container, 3)

    found = run(container, a_policy(long_term={"max_count": 1, "retention_days": 20}))

    assert (found.not_replayed, found.losses["it"].lost) == (("long-term.max_count",), 1)


def test_a_sample_takes_whole_users_in_an_order_of_chance_that_stays_the_same():
    container = make_container()
    for user in ("ann", "bob", "cid", "dan"):
        recalled(container, 3, user_id=user)
        recalled(container, 2, user_id=user)

    found = run(container, a_policy(relevance={"max_records": 1}), most_memories=5)

    assert (found.users, found.users_recorded, found.is_sample, found.losses["it"].recalls) == (2, 4, True, 4)
    assert found == run(container, a_policy(relevance={"max_records": 1}), most_memories=5)


def test_a_window_that_is_no_whole_number_of_days_has_a_night_for_its_last_part():
    assert Window(NOON - timedelta(hours=25), NOON).nights == [NOON - timedelta(hours=25), NOON - timedelta(hours=1)]
    assert Window(NOON - days(1), NOON).nights == [NOON - days(1)]


def test_replaying_writes_nothing():
    container = make_container()
    recalled(container, 3)
    before = list(LongTermMemory.objects.values()), list(RecallEvent.objects.values())

    assert isinstance(run(container, a_policy(relevance={"max_records": 1})), Backtest)

    assert (list(LongTermMemory.objects.values()), list(RecallEvent.objects.values())) == before


def asked(*arguments):
    out = StringIO()
    call_command("backtest", "--container", "pharmacy", "--until", NOON.isoformat(), *arguments, stdout=out)
    return out.getvalue()


def test_the_command_prints_the_policy_in_force_and_each_variant_of_a_grid():
    container = governed(a_policy(relevance={"max_records": 2}))
    recalled(container, 8, 3, importance=0.1)
    recalled(container, 4, importance=0.9)

    plain = asked("--days", "10", "--max-records", "1,none", "--half-life-days", "30")
    answer = json.loads(asked("--days", "10", "--max-records", "1,2,none", "--weights", "0.4/0.2/0.4,1/0/0", "--json"))

    assert "3 recalls of 1 users' memories from 2026-02-19 12:00 to 2026-03-01 12:00 UTC." in plain
    assert [line.split()[:2] for line in plain.splitlines()[-3:]] == [["as", "it"], ["half_life_days", "30,"], ["half_life_days", "30,"]]
    assert [(row["name"], row["lost"]) for row in answer["policies"]] == [
        ("as it is", 0),
        ("weights 0.4/0.2/0.4, max_records 1", 2),
        ("weights 0.4/0.2/0.4, max_records 2", 0),
        ("weights 0.4/0.2/0.4, max_records none", 0),
        ("weights 1/0/0, max_records 1", 2),
        ("weights 1/0/0, max_records 2", 0),
        ("weights 1/0/0, max_records none", 0),
    ]
    assert answer["policies"][1]["policy"]["relevance"]["max_records"] == 1
    assert answer["replayed"] == 3


def test_the_command_replays_a_draft_and_a_file(tmp_path):
    container = governed(a_policy(relevance={"max_records": 2}))
    recalled(container, 3, importance=0.1)
    recalled(container, 4, importance=0.9)
    draft = policies.save_draft(container, a_policy(relevance={"max_records": 1}), actor=ACTOR, now=NOON)
    path = tmp_path / "policy.json"
    path.write_text('{"relevance": {"ttl_days": 20, "max_records": null, "max_tokens": null}}', encoding="utf8")

    of_draft, of_file = (
        json.loads(asked("--json", *which))["policies"] for which in (("--version-number", str(draft.number)), ("--policy", str(path)))
    )

    assert ([row["lost"] for row in of_draft], [row["lost"] for row in of_file]) == ([1], [2])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--days", "0"), "from 1 to 3650"),
        (("--version-number", "99"), "no policy version 99"),
        (("--policy", "/nowhere.json"), "cannot be read"),
        (("--weights", "1/1/1"), "weights 1/1/1: relevance.weights"),
        (("--max-records", "0"), "max_records 0"),
        (("--max-records", ",".join(map(str, range(1, 600)))), "599 variants"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_the_command_says_what_is_wrong(arguments, words):
    governed(a_policy(relevance={"max_records": 2}))

    with pytest.raises(CommandError, match=words):
        asked(*arguments)


@pytest.mark.parametrize("content", ["[]", "{", '{"relevance": 3}', "\udcff", "[" * 100_000, '{"relevance": {"max_records": 1e400}}'])
def test_a_file_that_is_no_policy_is_refused_with_its_name(tmp_path, content):
    governed(a_policy(relevance={"max_records": 2}))
    path = tmp_path / "policy.json"
    path.write_bytes(content.encode("utf8", "surrogateescape"))

    with pytest.raises(CommandError, match=r"policy\.json"):
        asked("--policy", str(path))


def test_a_container_that_is_not_there_is_named_with_those_that_are():
    make_container("pharmacy")

    with pytest.raises(CommandError, match="no container named 'nobody'"):
        call_command("backtest", "--container", "nobody")
    with pytest.raises(CommandError, match="no policy in force"):
        asked()


def test_a_varied_policy_keeps_the_rest():
    policy = a_policy(long_term={"max_count": 7}, relevance={"ttl_days": 9})

    changed = varied(policy, max_records=3)

    assert (changed.rules, changed.relevance.ttl_days, changed.relevance.max_records) == (policy.rules, 9, 3)
