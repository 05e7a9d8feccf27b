import pytest
from hypothesis import given
from hypothesis import strategies as st

from memadmin.pages import text
from memadmin.pages.text import EMPTY, excerpt, visible

FAMILY = "👨‍👩‍👧‍👦"
FLAG = "🇩🇪"
WAVE = "👋🏽"
SCOTLAND = "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
ACCENTED = "e\u0301"
SYLLABLE = "\u1112\u1161\u11ab"
KEYCAP = "1\ufe0f\u20e3"


@pytest.mark.parametrize("character", [FAMILY, FLAG, WAVE, SCOTLAND, ACCENTED, SYLLABLE, KEYCAP, "❤️‍🔥"])
def test_what_people_see_as_one_character_is_never_cut(character):
    assert list(text.clusters(character * 5)) == [character] * 5
    assert excerpt(character * 5, 3) == character * 3 + "…"


def test_what_is_taken_to_stand_alone_joins_nothing():
    alone = [char for char in map(chr, range(0x10000)) if text._ALONE.fullmatch(char)]

    assert [char for char in alone if len(list(text.clusters(f"a{char}"))) + len(list(text.clusters(f"\u1112{char}"))) < 4] == []


def test_a_short_text_stays_whole():
    assert excerpt("likes tea", 9) == "likes tea"


def test_an_excerpt_is_one_line():
    assert excerpt("  likes\n\n tea\t and\r\nmilk ") == "likes tea and milk"


def test_no_space_stands_before_the_dots():
    assert excerpt("likes tea", 6) == "likes…"


def test_what_the_database_cut_loses_its_last_character_which_may_be_half_of_one():
    assert excerpt("likes 👨‍👩", 20, more=True) == "likes…"


@pytest.mark.parametrize("nothing", ["", " \n\t ", None])
def test_nothing_is_called_empty(nothing):
    assert excerpt(nothing) == visible(nothing) == EMPTY


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("\x1b[31mred", "␛[31mred"),
        ("bell\x07", "bell␇"),
        ("\x00\x7f", "␀␡"),
        ("\x9b", "⟨U+009B⟩"),
        ("photo\u202egnp.exe", "photo⟨U+202E⟩gnp.exe"),
    ],
)
def test_control_characters_are_shown(given_text, shown):
    assert excerpt(given_text) == visible(given_text) == shown


def test_lines_and_tabs_of_the_whole_text_stay():
    assert visible("a\n\tb") == "a\n\tb"


def test_right_to_left_text_stays_as_it_is():
    assert visible("שלם \u200fעם") == "שלם \u200fעם"


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("data:image/png;base64," + "A" * 400_000, "[image/png, 300 kB]"),
        ("data:image/png;charset=x;base64," + "A" * 98 + "==", "[image/png, 73 bytes]"),
        ("data:," + "hello%20" * 20, "[text/plain, 160 bytes]"),
    ],
)
def test_embedded_files_are_named_with_their_size(uri, name):
    assert excerpt(f"see {uri} here") == f"see {name} here"


def test_a_short_data_uri_is_left_to_be_read():
    assert visible("data:,hello") == "data:,hello"


@pytest.mark.parametrize(
    ("size", "words"), [(0, "0 bytes"), (999, "999 bytes"), (1500, "2 kB"), (2_000_000, "2 MB"), (5_000_000_000, "5 GB")]
)
def test_sizes_are_said_in_the_largest_unit(size, words):
    assert text.file_size(size) == words


def test_a_pile_of_marks_is_cut():
    assert len(excerpt("e" + "\u0301" * 100_000, 5)) <= 5 * text.CLUSTER_LIMIT + 1


@given(st.text())
def test_clusters_lose_nothing(any_text):
    assert "".join(text.clusters(any_text)) == any_text


@given(st.text(), st.integers(1, 40))
def test_an_excerpt_is_never_longer_than_asked_and_never_empty(any_text, length):
    cut = excerpt(any_text, length)

    assert cut
    assert len(list(text.clusters(cut))) <= max(length + 1, len(EMPTY))


@pytest.mark.parametrize(
    ("given_id", "shown"),
    [
        ("ann", "ann"),
        (" ann ", "␣ann␣"),
        ("a b", "a b"),
        ("a  b", "a␣␣b"),
        ("a\u00a0b", "a⟨U+00A0⟩b"),
        ("ann\u200b", "ann⟨U+200B⟩"),
        ("an\u00adn", "an⟨U+00AD⟩n"),
        ("a\u200db", "a⟨U+200D⟩b"),
        ("\u2067ann", "⟨U+2067⟩ann"),
        ("a\ufe0f", "a⟨U+FE0F⟩"),
        ("\u3164", "⟨U+3164⟩"),
        ("\ufeffann", "⟨U+FEFF⟩ann"),
        ("a\u2028b", "a⟨U+2028⟩b"),
        ("e\u0301 \u05d0", "e\u0301 \u05d0"),
        ("ann\n", "ann␊"),
        ("   ", "␣␣␣"),
        ("", ""),
        ("a\x1b[31m", "a␛[31m"),
        ("x" * 61, "x" * 60 + "…"),
    ],
)
def test_ids_that_differ_in_what_cannot_be_seen_look_different(given_id, shown):
    assert text.shown_id(given_id) == shown


@pytest.mark.parametrize("emoji", [FAMILY, FLAG, WAVE, SCOTLAND, KEYCAP, "❤️‍🔥", "👩🏽‍🚀", "⚕️", "©️"])
def test_an_emoji_in_an_id_is_drawn(emoji):
    assert text.shown_id(emoji) == emoji


@given(st.text(max_size=50), st.text(max_size=50))
def test_two_ids_are_never_shown_alike_unless_one_shows_our_own_symbols(one, other):
    symbols = set("␣⟨⟩␡\ufffd") | {chr(0x2400 + point) for point in range(0x20)}

    assert one == other or symbols & set(one + other) or text.shown_id(one, 600) != text.shown_id(other, 600)
