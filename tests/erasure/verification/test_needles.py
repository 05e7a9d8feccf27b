import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memadmin.erasure.verification.needles import any_stands_in, forms, said_in, stands_in
from memadmin.erasure.verification.packed import unfolded

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)


@pytest.mark.parametrize("text", ["user1", " user1 ", "(user1)", "user1#visit", "x user10 user1"])
def test_a_word_stands_in_a_text(text):
    assert stands_in("user1", text)


@pytest.mark.parametrize("text", ["user10", "xuser1", "user_1", "user1_", "éuser1", "user1٣", ""])
def test_a_part_of_another_word_does_not(text):
    assert not stands_in("user1", text)


@pytest.mark.parametrize("word", ["@ann", "-x", "*", "(x)", "a:b", "q?"])
def test_a_word_that_begins_or_ends_with_a_sign_needs_no_border_there(word):
    assert stands_in(word, f"x{word}x") == (not word[0].isalnum() and not word[-1].isalnum())


@given(WORDS | st.sampled_from(["zoë", 'a"b', "a\\b", "日本", "tab\t"]), st.booleans(), st.booleans(), st.booleans())
def test_every_form_in_json_is_prefiltered_and_understood(word, is_inside, ascii_inside, ascii_only):
    said = json.dumps({word: 1}, ensure_ascii=ascii_inside) if is_inside else [f"- {word} -"]
    stored = json.dumps({"note": said}, ensure_ascii=ascii_only)

    assert any(form in stored for form in forms(word))
    assert any_stands_in([word], stored)


def test_json_says_its_keys_and_its_strings_at_any_depth():
    assert list(said_in('{"a": ["b", {"c": "{\\"d\\": 5}"}], "e": null, "f": true}')) == ["a", "b", "c", "d", "5", "e", "f"]


def test_two_hundred_levels_are_walked_to_their_end():
    assert any_stands_in(["user1"], "[" * 200 + '"user1"' + "]" * 200)


def test_bytes_that_are_not_packed_are_themselves():
    assert list(unfolded(b"plain")) == [b"plain"]
    assert list(unfolded("a sentence with blanks")) == [b"a sentence with blanks"]
