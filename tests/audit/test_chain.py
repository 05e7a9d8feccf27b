from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from memadmin.audit import chain

LEAF = chain.Leaf(
    stream="governance",
    seq=1,
    at=datetime(2026, 3, 1, 12, 0, 0, 120, tzinfo=UTC),
    actor="person/6c1a1c1e-0000-4000-8000-000000000001",
    action="policy.published",
    outcome="ok",
    target="containers/6c1a1c1e-0000-4000-8000-000000000002",
    request_id="",
    reason_code="",
    counts={"number": 3, "long_term": 41},
    payload_digest="",
    prev_hash=chain.GENESIS,
)
TEXT = (
    '{"action":"policy.published","actor":"person/6c1a1c1e-0000-4000-8000-000000000001","at":"2026-03-01T12:00:00.000120Z",'
    '"counts":{"long_term":41,"number":3},"outcome":"ok","payload_digest":"",'
    '"prev_hash":"0000000000000000000000000000000000000000000000000000000000000000","reason_code":"","request_id":"",'
    '"seq":1,"stream":"governance","target":"containers/6c1a1c1e-0000-4000-8000-000000000002","v":1}'
)


RFC_4231_CASE_1 = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"


def test_the_leaf_is_these_bytes():
    assert LEAF.text() == TEXT


def test_the_hash_of_the_leaf_is_this_one():
    assert chain.row_hash(TEXT) == "1d5b1567af8c5c70d59f95013e32d1a5000c5d4c4e737d2d7f769995a17d93ad"


def test_the_commitment_to_a_payload_is_this_one():
    assert chain.payload_digest("0b" * 20, "Hi There") == RFC_4231_CASE_1


def test_the_zone_of_the_time_does_not_matter():
    there = LEAF.at.astimezone(timezone(timedelta(hours=5, minutes=45)))

    assert replace(LEAF, at=there).text() == TEXT


def test_moving_a_byte_from_one_field_to_the_next_is_another_hash():
    assert chain.digest(b"t", b"ab", b"c") != chain.digest(b"t", b"a", b"bc")
    assert chain.digest(b"t", b"ab") != chain.digest(b"t", b"ab", b"")


@pytest.mark.parametrize("value", [{"x": float("inf")}, {"x": object()}, {"x": b"bytes"}, {(1, 2): 3}, {"x": 1, 2: 3}])
def test_what_json_cannot_say_is_refused(value):
    with pytest.raises(chain.NotCanonical):
        chain.canonical(value)


def test_a_value_that_holds_itself_is_refused():
    ring: list[object] = []
    ring.append(ring)

    with pytest.raises(chain.NotCanonical):
        chain.canonical(ring)


def test_canonical_text_is_ascii_whatever_goes_in():
    text = chain.canonical({"b": "\x00 \ud800 é 😀", "a": 2**200})

    assert text == '{"a":1606938044258990275541962092341162602522202993782792835301376,"b":"\\u0000 \\ud800 \\u00e9 \\ud83d\\ude00"}'


def test_the_order_of_the_keys_does_not_matter():
    assert chain.canonical({"a": 1, "b": {"d": 2, "c": 3}}) == chain.canonical({"b": {"c": 3, "d": 2}, "a": 1})
