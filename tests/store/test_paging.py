import base64
import json

import pytest

from memadmin.store.models import LongTermMemory
from memadmin.store.paging import InvalidPlace, slice_by_key
from tests.factories import a_memory, make_container, store

pytestmark = pytest.mark.django_db


@pytest.fixture
def rows(db):
    """45 memories, most of them with equal keys."""
    store(make_container(), *(a_memory(f"fact {number}", tokens=number // 20) for number in range(45)))
    return LongTermMemory.objects.all()


def walk(rows, *, descending=False, size=20):
    seen, token, pages = [], "", []
    while True:
        page = slice_by_key(rows, key="tokens", descending=descending, token=token, size=size)
        pages.append(page)
        seen += page.ids
        if not page.next:
            return seen, pages
        token = page.next


@pytest.mark.parametrize("descending", [False, True])
def test_every_row_is_reached_once_although_most_keys_are_equal(rows, descending):
    seen, pages = walk(rows, descending=descending)

    assert len(seen) == len(set(seen)) == 45
    assert [(page.first, page.last) for page in pages] == [(1, 20), (21, 40), (41, 45)]


def test_the_way_back_shows_the_same_pages(rows):
    _, pages = walk(rows)

    second = slice_by_key(rows, key="tokens", token=pages[2].previous, size=20)
    first = slice_by_key(rows, key="tokens", token=second.previous, size=20)

    assert (second.ids, first.ids) == (pages[1].ids, pages[0].ids)
    assert (second.first, first.first, first.previous) == (21, 1, None)


def test_a_deletion_between_two_pages_skips_no_row(rows):
    first = slice_by_key(rows, key="tokens", size=20)
    expected = set(rows.values_list("id", flat=True)) - set(first.ids)
    LongTermMemory.objects.filter(id=first.ids[4])._raw_delete("default")

    second = slice_by_key(rows, key="tokens", token=first.next, size=20)
    third = slice_by_key(rows, key="tokens", token=second.next, size=20)

    assert set(second.ids) | set(third.ids) == expected


def test_an_empty_list_is_an_empty_page(rows):
    page = slice_by_key(rows.none(), key="tokens")

    assert (page.ids, page.first, page.last, page.next, page.previous) == ([], 0, 0, None, None)


def packed(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


@pytest.mark.parametrize(
    "token",
    [
        "x",
        "%00",
        "\N{SNOWMAN}",
        packed([]),
        packed(["a", 1, 0, 1]),
        packed([1.5, 1, 0, 1]),
        packed([10**30, 1, 0, 1]),
        packed({}),
        "=" * 50,
    ],
)
def test_a_made_up_place_is_refused(rows, token):
    with pytest.raises(InvalidPlace):
        slice_by_key(rows, key="tokens", token=token)
