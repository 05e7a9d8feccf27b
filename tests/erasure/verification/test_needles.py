import base64
import json
import zlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memadmin.erasure.verification import packed
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


@example("\x7f\x1f", True, False, False)
@example('zoë"s', True, False, False)
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


@pytest.mark.parametrize("pack", [base64.b64encode, base64.urlsafe_b64encode])
def test_what_is_in_base_64_is_found_in_both_alphabets(pack):
    raw = b"\xfb\xef\xbe user1 \xff\xfe"
    text = pack(zlib.compress(raw)).decode(), pack(raw).decode()
    assert any(sign in "".join(text) for sign in "-_+/")

    assert raw in list(unfolded(text[0]))
    assert raw in list(unfolded(text[1]))


def test_what_unfolds_to_more_than_anybody_stores_is_no_silence(monkeypatch):
    monkeypatch.setattr(packed, "MOST", 100)

    with pytest.raises(packed.TooLarge):
        list(unfolded(zlib.compress(b"x" * 10_000)))


def test_bytes_that_are_not_packed_are_themselves():
    assert list(unfolded(b"plain")) == [b"plain"]
    assert list(unfolded("a sentence with blanks")) == [b"a sentence with blanks"]
