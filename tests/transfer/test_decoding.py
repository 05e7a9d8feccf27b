import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memadmin.transfer.decoding import DEEPEST, LONGEST_TEXT, decode
from memadmin.transfer.problems import Refused


def refusal(raw):
    with pytest.raises(Refused) as refused:
        decode(raw)
    return refused.value


def test_a_byte_order_mark_is_not_part_of_the_record():
    assert decode(b'\xef\xbb\xbf{"a": 1}').record == {"a": 1}


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (rb'{"t": "4417\u0000 and"}', "4417\ufffd and"),
        (b'{"t": "4417\x00 and"}', "4417\ufffd and"),
        (rb'{"t": "Great \ud83d"}', "Great \ufffd"),
        (rb'{"t": "Great \uDC31!"}', "Great \ufffd!"),
    ],
)
def test_nul_and_half_surrogates_become_the_replacement_character_and_it_is_noted(raw, text):
    decoded = decode(raw)

    assert decoded.record == {"t": text}
    assert [(noted.code, noted.field) for noted in decoded.noted] == [("characters_replaced", "t")]


def test_replaced_characters_are_named_where_they_are_even_in_keys():
    decoded = decode(rb'{"m": [{"x": "ok"}, {"k\u0000": "v"}], "t": "\ud800"}')

    assert decoded.record == {"m": [{"x": "ok"}, {"k\ufffd": "v"}], "t": "\ufffd"}
    assert [noted.field for noted in decoded.noted] == ["m[1].k\ufffd", "t"]


@pytest.mark.parametrize("text", ["\u001b[31mFAILED\u001b[0m\u0007", "whole \U0001f431", "\u200f\u05d4", "a\u2028b\u0085c", "\ud83d\ude00"])
def test_every_other_character_stays(text):
    text = text.encode("utf-16", "surrogatepass").decode("utf-16")

    assert decode(json.dumps({"t": text}).encode()) == ({"t": text}, ())
    assert decode(json.dumps({"t": text}, ensure_ascii=False).encode()) == ({"t": text}, ())


def test_raw_control_characters_inside_a_text_are_taken_as_they_are():
    assert decode(b'{"t": "a\tb\x1b[0m"}').record == {"t": "a\tb\x1b[0m"}


def test_windows_1252_bytes_are_refused_with_their_place():
    refused = refusal(b'{"memory":"caf\xe9 \x93quoted\x94"}')

    assert refused.code == "not_utf8"
    assert "byte 15 " in refused.words
    assert "0xe9" in refused.words


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999"])
def test_numbers_that_are_not_finite_are_refused_by_field(number):
    refused = refusal(b'{"metadata": {"list": [1, {"score": ' + number + b"}]}}")

    assert (refused.code, refused.field) == ("not_finite", "metadata.list[1].score")


def test_nan_as_text_is_text():
    assert decode(b'{"a": "NaN", "b": "1e999"}').record == {"a": "NaN", "b": "1e999"}


def test_large_integers_keep_every_digit():
    assert decode(b'{"order": 9007199254740993, "big": 18446744073709551617}').record == {
        "order": 9007199254740993,
        "big": 18446744073709551617,
    }


def test_an_integer_of_five_thousand_digits_is_refused():
    assert refusal(b'{"a": ' + b"9" * 5000 + b"}").code == "number_too_long"


def test_floats_are_kept_as_both_databases_give_them_back():
    assert repr(decode(b'{"a": [1e16, 1e300, -0.0, 0.1, 1e5, 2.5e-7]}').record["a"]) == repr([10**16, 10**300, 0.0, 0.1, 100000.0, 2.5e-07])


def test_of_a_key_that_is_there_twice_the_last_value_counts():
    assert decode(b'{"user_id": "u-129", "user_id": "u-130"}').record == {"user_id": "u-130"}


@pytest.mark.parametrize("raw", [b"[]", b'"text"', b"5", b"null", b"true"])
def test_only_objects_are_records(raw):
    assert refusal(raw).code == "not_an_object"


@pytest.mark.parametrize("raw", [b'{"user_id":"u-135","memory":"thr', b"{'a': 1}", b"{", b"hello", b'{"a": 1} {"b": 2}', b'{"a": 1,}'])
def test_broken_json_is_refused(raw):
    assert refusal(raw).code == "not_json"


def test_two_hundred_levels_are_read():
    record = decode(b'{"a":' + b"[" * (DEEPEST - 1) + b"]" * (DEEPEST - 1) + b"}").record

    assert list(record) == ["a"]


@pytest.mark.parametrize("levels", [DEEPEST, 5_000, 1_000_000])
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_deeper_nesting_is_refused_with_the_limit(levels, opening, closing):
    refused = refusal(b'{"a":' + opening * levels + b"1" + closing * levels + b"}")

    assert refused.code == "too_deep"
    assert "200" in refused.words


def test_brackets_inside_texts_are_not_levels():
    text = '[{"' * 1000 + "\\"

    assert decode(json.dumps({"a": text}).encode()).record == {"a": text}


def test_a_text_over_the_limit_is_refused_with_both_numbers():
    refused = refusal(json.dumps({"messages": [{"content": "x" * (LONGEST_TEXT + 1)}]}).encode())

    assert (refused.code, refused.field) == ("text_too_long", "messages[0].content")
    assert str(LONGEST_TEXT + 1) in refused.words
    assert str(LONGEST_TEXT) in refused.words


def test_a_text_at_the_limit_is_kept_whole():
    assert len(decode(json.dumps({"t": "x" * LONGEST_TEXT}).encode()).record["t"]) == LONGEST_TEXT


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])), inner),
)


@given(st.dictionaries(st.sampled_from("abc"), JSON))
def test_every_proper_object_is_read_unchanged(record):
    assert decode(json.dumps(record, ensure_ascii=False).encode()) == (record, ())


@given(st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_bytes_do_more_than_be_refused(raw):
    with contextlib.suppress(Refused):
        decode(raw)
