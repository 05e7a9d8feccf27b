import uuid

import pytest

from memadmin.store.identity import canonical_id, item_uid
from memadmin.store.text import clean
from memadmin.store.tokens import estimate

HOME = uuid.UUID(int=1)


def test_joined_names_do_not_collide():
    assert item_uid(HOME, "long-term", "a:b", "c") != item_uid(HOME, "long-term", "a", "b:c")
    assert item_uid(HOME, "long-term", None, "x") != item_uid(HOME, "long-term", "", "x")


def test_the_same_parts_give_the_same_uid():
    assert item_uid(HOME, "sessions", "ann", "s-1") == item_uid(HOME, "sessions", "ann", "s-1")


@pytest.mark.parametrize(("left", "right"), [("Alice", "ALICE"), (" Jason ", "jason"), ("ﬁ", "fi"), ("STRASSE", "straße")])
def test_ids_that_look_alike_have_one_canonical_form(left, right):
    assert canonical_id(left) == canonical_id(right)


def test_text_that_no_database_stores_is_marked_not_cut():
    assert clean("code 4417\0 and \ud83d dog") == "code 4417\ufffd and \ufffd dog"


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("tea", 1), ("likes tea", 3), ("爬山", 2), ("x" * 400, 100)])
def test_tokens_are_estimated_by_script(text, tokens):
    assert estimate(text) == tokens
