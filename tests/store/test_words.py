import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memadmin.store.words import has_word, is_dense, word_pattern, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Green-tea, please!", ["green", "tea", "please"]),
        ("don't", ["don", "t"]),
        ("user_id 42", ["user_id", "42"]),
        ("tea TEA Tea", ["tea"]),
        ("日本茶 ok", ["日", "本", "茶", "ok"]),
        ("Ärzte ÉTÉ", ["ärzte", "été"]),
        ("नमस्ते", ["नमस्ते"]),
        ("yes😀no", ["yes", "😀", "no"]),
        ("…—、", []),
    ],
)
def test_texts_are_cut_into_words(text, words):
    assert words_of(text) == words


@pytest.mark.parametrize("word", ["tea", "été", "茶", "x_1", "42"])
def test_the_expression_finds_the_word_and_not_a_part_of_one(word):
    pattern = re.compile(word_pattern(word))

    assert pattern.search(f"one {word.upper()}.")
    assert pattern.search(word)
    assert bool(pattern.search(f"x{word}y")) == (word == "茶")


LETTERS = "aAbéÉßẞſsSσςΣıİiIK\u212akǆǅЯя_9²\u0301 -—.'\n茶ไ😀\U0001fb00\U0001fbf0\U000e0001\U00020001\U0002fffe\U000f0000ﬁ\u200d"


@given(st.text(st.sampled_from(LETTERS) | st.characters(codec="utf-8", exclude_characters="\0"), max_size=12), st.data())
def test_the_quick_look_finds_just_what_the_expression_finds(text, data):
    for word in words_of(text) + words_of(data.draw(st.text(st.sampled_from(LETTERS), min_size=1, max_size=2))):
        if not is_dense(word[0]):
            for where in (text, text.swapcase(), f"x{text}", f"{text}9"):
                assert has_word(word, where) == (re.search(word_pattern(word), where) is not None)


def test_the_quick_look_folds_what_a_whole_text_would_fold_otherwise():
    assert has_word("οδοσ", "ΟΔΟΣ")
    assert has_word("x", "İ x")


@pytest.mark.parametrize("text", ["two words", "Tea", "", "-", "日本"])
def test_what_is_no_word_stands_nowhere(text):
    assert word_pattern(text) is None
