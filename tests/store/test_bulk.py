"""Rows made column by column are the rows that were meant, whatever their values look like to COPY."""

import uuid
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memadmin.store.models import Archived, LongTermMemory, Pin
from memadmin.store.querysets import with_uids
from tests.factories import a_memory, a_pin, make_container, store

pytestmark = pytest.mark.django_db
NASTY = ["\\N", "\\.", "a\tb", "a\nb", "a\r\nb", "\\", "\\\\t", "", " ", "é\u2028\U0001f600", "'; --", '"{}"', "\x0b\x08\x0c", "null"]
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXTS,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(TEXTS, part, max_size=3),
)


def test_texts_that_mean_something_to_copy_come_back_as_they_are():
    container = make_container()

    store(container, *[a_memory(text, external_id=f"{number}{text}", author=text, tags={text: text}) for number, text in enumerate(NASTY)])

    rows = LongTermMemory.objects.order_by("id").values_list("text", "external_id", "author", "tags")
    assert list(rows) == [(text, f"{number}{text}", text, {text: text}) for number, text in enumerate(NASTY)]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(TEXTS, DOCUMENTS, DOCUMENTS), min_size=1, max_size=4))
def test_any_text_and_any_document_comes_back_as_it_is(db, rows):
    items = [a_memory(text, uid=uuid.uuid4(), metadata=metadata, parts=parts) for text, metadata, parts in rows]

    store(make_container(f"c-{uuid.uuid4()}"), *items)

    found = {row.uid: (row.text, row.metadata, row.parts) for row in with_uids(LongTermMemory, [item.uid for item in items])}
    assert [found[item.uid] for item in items] == rows


def test_documents_that_compare_as_equal_stay_apart():
    store(make_container(), *[a_memory(str(number), metadata={"n": value}) for number, value in enumerate([1, 1.0, True])])

    assert [repr(row.metadata["n"]) for row in LongTermMemory.objects.order_by("id")] == ["1", "1.0", "True"]


def test_a_column_that_differs_in_one_row_only_is_right_in_every_row():
    pin = a_pin()

    store(make_container(), a_memory("plain"), a_memory("pinned", pin=pin), a_memory("heavy", importance=1, hits=3, tokens=7))

    assert list(LongTermMemory.objects.order_by("id").values_list("text", "pinned", "importance", "importance_source", "hits")) == [
        ("plain", False, 0.5, "default", 0),
        ("pinned", True, 0.5, "default", 0),
        ("heavy", False, 1.0, "source", 3),
    ]
    assert Pin.objects.get().created_at == pin.created_at


def test_times_of_any_year_come_back_to_the_microsecond():
    times = [datetime(1, 1, 1, tzinfo=UTC), datetime(999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC), None]

    store(make_container(), *[a_memory(str(number), created_at=time, last_updated_at=None) for number, time in enumerate(times)])

    assert list(LongTermMemory.objects.order_by("id").values_list("created_at", "last_updated_at")) == [(time, time) for time in times]


def test_rows_are_found_by_any_number_of_uids():
    container = make_container()
    store(container, *[a_memory(str(number), uid=uuid.UUID(int=number + 1)) for number in range(3)])

    wanted = [uuid.UUID(int=number) for number in range(2, 40_000)]

    assert set(LongTermMemory.objects.with_uids(wanted).values_list("text", flat=True)) == {"1", "2"}
    assert not LongTermMemory.objects.with_uids([]).exists()
    assert not with_uids(Archived, wanted).exists()


def test_rows_are_found_by_their_uids_inside_a_query_of_the_same_table():
    container = make_container()
    store(container, *[a_memory(str(number), uid=uuid.UUID(int=number + 1)) for number in range(3)])

    inner = LongTermMemory.objects.with_uids([uuid.UUID(int=2)]).values("pk")

    assert [row.text for row in LongTermMemory.objects.filter(pk__in=inner)] == ["1"]
    assert set(LongTermMemory.objects.exclude(pk__in=inner).values_list("text", flat=True)) == {"0", "2"}
