"""How texts become words."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata

import gensim.utils
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import laplex as lx
from laplex.text import formats
from laplex.text.spelling import MAYBE_DECOMPOSED, composed
from laplex.text.tokenizer import Tokenizer


def words(text, rule=None, **settings):
    return Tokenizer(rule, **settings).split(pl.Series([text]))[0].to_list()


COMMON = [
    ("The CAT, the dog!", ["the", "cat", "the", "dog"]),
    ("Élan naïve Straße ÇA", ["élan", "naïve", "straße", "ça"]),
    ("E\u0301lan", ["élan"]),
    ("in 1984, room 101b", ["in", "1984", "room", "101b"]),
    ("snake_case well-known", ["snake", "case", "well", "known"]),
    ("नमस्ते दुनिया, हिन्दी", ["नमस्ते", "दुनिया", "हिन्दी"]),
    ("Всё ПО-русски", ["всё", "по", "русски"]),
    ("a\0b\tc\u00a0d", ["a", "b", "c", "d"]),
    ("?! ...", []),
    ("", []),
]


@pytest.mark.parametrize(
    ("text", "expected"), [*COMMON, ("don't l’homme", ["don", "t", "l", "homme"]), ("1,000", ["1", "000"])]
)
def test_the_words_of_the_paper_are_runs_of_letters_and_digits_in_lower_case(text, expected):
    assert words(text, "paper") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *COMMON,
        ("Don't I'd've o'clock rock’n’roll", ["don't", "i'd've", "o'clock", "rock'n'roll"]),
        ("'tis the 'quoted' word' ''", ["tis", "the", "quoted", "word"]),
        ("the people's, senators' PEOPLE’S O'Brien's", ["the", "people", "senators", "people", "o'brien"]),
        ("It's that’s let's who's everyone's", ["it's", "that's", "let's", "who's", "everyone"]),
        ("rabbit's s's's", ["rabbit", "s"]),
        ("the 1990's, 1990s", ["the", "1990s", "1990s"]),
        ("$1,000 1,000,000. 12,345, and", ["1000", "1000000", "12345", "and"]),
        ("1,000th 2,000's", ["1000th", "2000s"]),
        (
            "1,2 1,234,5 5,1,234 12,3456 1234,567",
            ["1", "2", "1", "234", "5", "5", "1", "234", "12", "3456", "1234", "567"],
        ),
        ("a1,000 1,a 1,,2 ,1,", ["a1", "000", "1", "a", "1", "2", "1"]),
        ("L'homme d’État qu'il c'est aujourd'hui", ["l", "homme", "d", "état", "qu", "il", "c", "est", "aujourd'hui"]),
        ("dell'arte un'amica C'È po'", ["dell", "arte", "un", "amica", "c", "è", "po"]),
        ("c'mon m'lady м'ята Ankara'da", ["c'mon", "m'lady", "м'ята", "ankara'da"]),
    ],
)
def test_words_keep_apostrophes_and_lose_possessives(text, expected):
    assert words(text) == expected


def test_case_does_not_change_what_an_apostrophe_means():
    assert words("It's IT'S L'Homme People'S", lowercase=False) == ["It's", "IT'S", "L", "Homme", "People"]


ALPHABET = st.sampled_from("aelsdtxEÉéß1ݼ20,,'’ .-\u0301\u0323\u1100\u1161\u212bㄱक़")
TEXTS = st.text(ALPHABET | st.characters(exclude_categories=["Cs"]), max_size=30)


@given(TEXTS, st.sampled_from([None, "paper", r"\S+"]), st.booleans())
def test_words_are_not_empty_composed_and_their_own_words(text, rule, lowercase):
    found = words(text, rule, lowercase=lowercase)
    assert all(found)
    assert all(unicodedata.is_normalized("NFC", word) for word in found)
    assert words(" ".join(found), rule, lowercase=lowercase) == found
    assert Tokenizer(rule, lowercase).counts(pl.Series([text])).to_list() == [len(found)]


@given(texts=st.lists(TEXTS, min_size=1, max_size=5), rows=st.integers(1, 3))
def test_tokens_have_the_words_of_the_tokenizer(texts, rows, decode):
    expected = [words(text) for text in texts]
    assume(any(expected))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formats, "MAX_BATCH_ROWS", rows)
        tokens = lx.Tokens.of(lx.read([{"text": text} for text in texts]), min_count=1, quiet=True)
    assert decode(tokens) == expected
    assert tokens.vocabularies[0].counts.sum() == sum(map(len, expected))


def test_a_word_of_a_list_is_not_changed_by_the_text_of_another_corpus(decode):
    text, lists = lx.read([{"text": "people's 1,2"}]), lx.read([{"text": ["people's", "1,2"]}])
    assert decode(lx.Tokens.of(text + lists, min_count=1)) == [["people", "1", "2"], ["people's", "1,2"]]
    assert decode(lx.Tokens.of(lists + text, min_count=1)) == [["people's", "1,2"], ["people", "1", "2"]]


def test_every_character_that_unicode_composes_is_noticed():
    changing = [
        c for c in map(chr, range(0x110000)) if unicodedata.normalize("NFC", c) != c and not "\ud800" <= c < "\ue000"
    ]
    pairs = [c + unicodedata.normalize("NFD", c)[-1] for c in changing]
    assert len(changing) > 1000
    assert composed(pl.Series(changing)).to_list() == [unicodedata.normalize("NFC", c) for c in changing]
    assert pl.Series(changing + pairs).str.contains(MAYBE_DECOMPOSED).all()


@pytest.mark.parametrize("rule", [None, "paper", r"\w+", str.split])
def test_every_rule_reads_composed_text(rule):
    assert words("cafe\u0301 e\u0301te\u0301", rule) == ["café", "été"]


def test_lists_and_metadata_are_composed(decode):
    rows = [{"text": ["E\u0301tat", "It’s"], "country": "Perou\u0301"}, {"text": ["a"], "country": "Perou\u0301"}]
    tokens = lx.Tokens.of(lx.read(rows, metadata=["country"]).where(country="Peroú"), min_count=1)
    assert decode(tokens) == [["État", "It’s"], ["a"]]
    assert tokens.values("country") == ["Peroú"]


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
    with pytest.raises(lx.InputError, match=r"'\[a' is neither a name \(paper, simpl.*\) nor a regular expression"):
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
from laplex.text.tokenizer import Tokenizer
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
