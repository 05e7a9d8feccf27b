import pytest

from memadmin.store.listing import MemoryFilter, Sort, State, keyed, memories_of
from memadmin.store.models import LongTermMemory
from memadmin.store.paging import slice_by_key
from retention.rules import RelevanceRule
from tests.factories import NOON, a_memory, a_pin, days, make_container, store, subject_of

pytestmark = pytest.mark.django_db
RULE = RelevanceRule()


@pytest.fixture
def ann(db):
    container = make_container()
    store(
        container,
        a_memory("old tea", days_old=400, strategy_type="SEMANTIC", tokens=1),
        a_memory("pinned tea", days_old=500, pin=a_pin(), tokens=2),
        a_memory("read Coffee", days_old=30, hits=9, last_accessed_at=NOON - days(1), tokens=3),
        a_memory("no date", created_at=None, tokens=4),
        a_memory("100% wool_", days_old=2, tokens=5),
        a_memory("of somebody else", user_id="bob"),
    )
    return subject_of(container)


def texts(ann, **wanted):
    return set(memories_of(ann, MemoryFilter(**wanted), RULE, now=NOON).values_list("text", flat=True))


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"state": State.PINNED}, {"pinned tea"}),
        ({"state": State.EXPIRED}, {"old tea"}),
        ({"state": State.UNREAD}, {"old tea", "pinned tea", "no date", "100% wool_"}),
        ({"state": State.UNDATED}, {"no date"}),
        ({"text": "TEA"}, {"old tea", "pinned tea"}),
        ({"text": "tea", "state": State.PINNED}, {"pinned tea"}),
        ({"text": "%"}, {"100% wool_"}),
        ({"text": "_"}, {"100% wool_"}),
        ({"text": "somebody"}, set()),
        ({"strategy": "SEMANTIC"}, {"old tea"}),
    ],
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value),  # xdist needs the same order in every process
)
def test_each_filter_finds_its_memories_of_this_user_only(ann, wanted, found):
    assert texts(ann, **wanted) == found


def test_no_filter_finds_all_of_the_user(ann):
    assert len(texts(ann)) == ann.long_term == 5


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        (Sort.SCORE, ["pinned tea", "old tea", "100% wool_", "no date", "read Coffee"]),
        (Sort.CREATED, ["pinned tea", "old tea", "read Coffee", "100% wool_", "no date"]),
        (Sort.ACCESSED, ["pinned tea", "old tea", "100% wool_", "read Coffee", "no date"]),
        (Sort.TOKENS, ["old tea", "pinned tea", "read Coffee", "no date", "100% wool_"]),
    ],
)
def test_each_order_pages_by_a_whole_number_and_missing_times_come_last(ann, sort, order):
    rows = keyed(memories_of(ann, MemoryFilter(), RULE, now=NOON), sort, RULE, now=NOON)

    first = slice_by_key(rows, key="key", size=3)
    second = slice_by_key(rows, key="key", size=3, token=first.next)

    names = LongTermMemory.objects.in_bulk(first.ids + second.ids)
    assert [names[row].text for row in first.ids + second.ids] == order


def test_two_characters_of_a_script_without_blanks_are_found(ann):
    store(ann.container, a_memory("\u6211\u559c\u6b22\u5728\u5468\u672b\u53bb\u722c\u5c71"))

    assert len(texts(ann, text="\u722c\u5c71")) == 1
