"""How texts become words."""

from __future__ import annotations

import os
import subprocess
import sys

import gensim.utils
import polars as pl
import pytest

import laplex as lx
from laplex.text.vocabulary import Tokenizer


def words(text, rule=None, **settings):
    return Tokenizer(rule, **settings).split(pl.Series([text]))[0].to_list()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The CAT, the dog!", ["the", "cat", "the", "dog"]),
        ("Élan naïve Straße ÇA", ["élan", "naïve", "straße", "ça"]),
        ("E\u0301lan", ["e\u0301lan"]),
        ("in 1984, room 101b", ["in", "1984", "room", "101b"]),
        ("don't l’homme", ["don", "t", "l", "homme"]),
        ("snake_case well-known", ["snake", "case", "well", "known"]),
        ("नमस्ते दुनिया, हिन्दी", ["नमस्ते", "दुनिया", "हिन्दी"]),
        ("Всё ПО-русски", ["всё", "по", "русски"]),
        ("a\0b\tc\u00a0d", ["a", "b", "c", "d"]),
        ("?! ...", []),
        ("", []),
    ],
)
def test_words_are_runs_of_letters_and_digits_in_lower_case(text, expected):
    assert words(text) == expected


def test_a_regular_expression_gives_the_words():
    assert words("don't a1 stop", r"[a-z']+") == ["don't", "a", "stop"]


def test_empty_matches_are_no_words():
    assert words("aab a", "a*") == ["aa", "a"]


def test_a_function_gives_the_words():
    assert words("One-two  three", str.split) == ["one-two", "three"]


def test_a_function_may_give_any_iterable_and_empty_words_are_dropped():
    assert words("a--b", lambda text: (word for word in text.split("-"))) == ["a", "b"]


@pytest.mark.parametrize("rule", [None, r"\w+", str.split])
def test_upper_case_can_be_kept(rule):
    assert words("Mr Smith", rule, lowercase=False) == ["Mr", "Smith"]


def test_lists_of_words_are_taken_as_they_are(decode):
    rows = [{"text": ["New York", "", None, "IS"]}, {"text": []}, {"text": None}]
    assert decode(lx.Tokens.of(lx.read(rows), min_count=1)) == [["New York", "IS"], [], []]


@pytest.mark.parametrize("rule", [None, "[a-z]", str.split, lambda text: list(text)])
def test_a_corpus_is_counted_with_its_tokenizer(rule):
    corpus = lx.read([{"text": "it's so-so"}, {"text": ""}], tokenizer=rule)
    tokens = lx.Tokens.of(corpus, min_count=1)
    assert corpus.summary().tokens == len(tokens) == len(words("it's so-so", rule))
    assert corpus.summary().empty == 1


def test_what_is_no_regular_expression_is_refused():
    with pytest.raises(lx.InputError, match=r"'\[a' is not a regular expression"):
        lx.read([{"text": "a"}], tokenizer="[a")


def test_what_is_no_rule_is_refused():
    with pytest.raises(lx.InputError, match="a regular expression or a function, not int"):
        lx.read([{"text": "a"}], tokenizer=5)


@pytest.mark.parametrize("given", ["a b", ["a", None], [1]])
def test_a_function_that_gives_no_list_of_strings_is_named_with_its_text(given):
    with pytest.raises(lx.InputError, match="must return a list of strings; for 'some text' it returned"):
        lx.Tokens.of(lx.read([{"text": "Some text"}], tokenizer=lambda text: given), min_count=1)


# Which functions are recognised in another run


SCRIPT = """
import re
from laplex.text.vocabulary import Tokenizer
STOP = {STOP}
PATTERN = re.compile(r"{PATTERN}")
def helper(text): return {HELPER}
def again(text): return again(text[1:]) if text else []
def tokenize(text, smallest={SMALLEST}):
    chosen = [word for word in PATTERN.findall(helper(text)) if word not in STOP and word not in {{"x", "y", "z"}}]
    return [word for word in chosen if len(word) >= smallest] + again(text)
identity = Tokenizer(tokenize).identity
"""
VALUES = {"STOP": '{"the", "a", "an"}', "PATTERN": r"\w+", "HELPER": "text.strip()", "SMALLEST": "1"}


def identity(**changes):
    defined = {"__name__": "__main__"}
    exec(SCRIPT.format(**VALUES | changes), defined)
    return defined["identity"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2"])
def test_a_plain_function_is_recognised_in_another_run(seed):
    script = SCRIPT.format(**VALUES) + "print(identity, end='')"
    environment = os.environ | {"PYTHONHASHSEED": seed}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout == identity()


@pytest.mark.parametrize(
    ("name", "value"),
    [("STOP", '{"the", "a"}'), ("PATTERN", r"\S+"), ("HELPER", "text"), ("SMALLEST", "2"), ("STOP", "[object()]")],
)
def test_a_function_that_uses_other_values_is_another_function(name, value):
    assert identity(**{name: value}) != identity()


@pytest.mark.parametrize("stop", ["range(3)", "[]; STOP.append(STOP)"])
def test_a_function_that_uses_an_unknown_object_is_never_recognised(stop):
    assert identity(STOP=stop) != identity(STOP=stop)


def closure(separator):
    return lambda text: text.split(separator)


@pytest.mark.parametrize("rule", [closure("a"), str.split, "a b".split], ids=["closure", "method", "bound method"])
def test_what_is_no_plain_function_is_never_recognised(rule):
    assert Tokenizer(rule).identity != Tokenizer(rule).identity


def test_a_function_of_a_library_is_recognised():
    assert Tokenizer(gensim.utils.tokenize).identity == Tokenizer(gensim.utils.tokenize).identity
