import re

import pytest

from memadmin.store.words import word_pattern, words_of


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


@pytest.mark.parametrize("text", ["two words", "Tea", "", "-", "日本"])
def test_what_is_no_word_stands_nowhere(text):
    assert word_pattern(text) is None
