"""Strong and weak pairs from dictionary definitions."""

from __future__ import annotations

import gzip
import re
import time
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laplex as lx
from laplex.lexicons import definitions, stop_words

ROWS = [
    ("car", "A vehicle with four wheels; a motor car"),
    ("car", "Part of a train"),
    ("vehicle", "A car, a truck or a cart"),
    ("vehicle", "Something that carries, such as a car"),
    ("truck", "A large vehicle"),
    ("Wheel", 'A "round" part of a vehicle, car or cart'),
    ("motor car", "A car"),
]
FRAME = pl.DataFrame(ROWS, ["word", "definition"], orient="row")


def triples(pairs):
    return {(left, right): weight for left, right, weight in zip(pairs.left, pairs.right, pairs.weight, strict=True)}


def by_hand(rows, ignored, min_length=2):
    """The same in plain Python: Counters of the definitions that have a word."""
    seen = Counter()
    for word, definition in dict.fromkeys(rows):
        head = re.findall(r"\w+", word.lower())
        if len(head) == 1:
            seen.update((head[0], other) for other in set(re.findall(r"\w+", definition.lower())))
    seen = {
        pair: count
        for pair, count in seen.items()
        if pair[0] != pair[1] and not any(word in ignored or len(word) < min_length for word in pair)
    }
    strong = {(a, b): min(n, seen[b, a]) for (a, b), n in seen.items() if a < b and (b, a) in seen}
    weak = {(a, b): n for (a, b), n in seen.items() if (b, a) not in seen}
    return strong, weak


def test_strong_is_each_in_the_other_and_weak_is_one_in_the_other():
    result = definitions(ROWS)
    assert triples(result.strong) == {("car", "vehicle"): 1, ("truck", "vehicle"): 1}
    weak = triples(result.weak)
    assert weak["car", "wheels"] == weak["wheel", "car"] == 1
    assert not {("wheels", "car"), ("car", "vehicle"), ("vehicle", "car"), ("car", "car")} & set(weak)
    assert all(word not in stop_words("en") for pair in weak for word in pair)


def test_the_weight_is_how_many_definitions_agree():
    rows = [("a1", "b1 b1"), ("a1", "b1 too"), ("a1", "with b1"), ("b1", "a1"), ("b1", "an a1 c1"), ("b1", "c1")]
    result = definitions(rows)
    assert triples(result.strong) == {("a1", "b1"): 2}  # three one way, two the other
    assert triples(result.weak) == {("b1", "c1"): 2}


def test_a_definition_that_is_repeated_counts_once():
    result = definitions([("a1", "b1"), ("a1", "b1"), ("a1", "b1!")])
    assert triples(result.weak) == {("a1", "b1"): 2}
    assert (result.rows, result.repeated, result.several) == (3, 1, 0)


def test_definitions_of_all_sources_are_taken_together():
    one, two = [("car", "vehicle")], {"vehicle": "car"}
    assert len(definitions(one).strong) == len(definitions(two).strong) == 0
    assert triples(definitions([one, two]).strong) == {("car", "vehicle"): 1}


WORDS = st.sampled_from(["car", "Vehicle", "the", "cart", "x", "truck", "größe", "two", "1984", "motor-car", "naïve"])
TEXTS = st.lists(WORDS, max_size=6).map(", ".join)


@settings(max_examples=150)
@given(st.lists(st.tuples(WORDS, TEXTS), min_size=1, max_size=25), st.integers(1, 4))
def test_pairs_are_those_counted_by_hand(rows, min_length):
    result = definitions(rows, min_length=min_length)
    strong, weak = by_hand(rows, stop_words("en"), min_length)
    assert triples(result.strong) == strong
    assert triples(result.weak) == weak
    assert result.strong.left == sorted(result.strong.left)
    assert result.rows == len(rows)


def test_many_batches_are_one_list():
    random = np.random.default_rng(1)
    rows = [
        (f"w{random.integers(3000)}", " ".join(f"w{k}" for k in random.integers(0, 3000, 12))) for _ in range(20_000)
    ]
    result = definitions(rows)
    strong, weak = by_hand(rows, ())
    assert triples(result.strong) == strong
    assert triples(result.weak) == weak
    assert len(strong) > 1000


@pytest.mark.parametrize(
    ("name", "write_file"),
    [
        ("a.tsv", lambda path: FRAME.write_csv(path, separator="\t")),
        ("a.csv", FRAME.write_csv),
        ("b.csv", lambda path: FRAME.select("definition", pl.lit(1).alias("n"), "word").write_csv(path)),
        ("c.csv", lambda path: FRAME.write_csv(path, include_header=False)),
        ("d.csv", lambda path: FRAME.write_csv(path, separator=";")),
        ("a.txt", lambda path: path.write_text("".join(f"{w}\t{d}\r\n\n" for w, d in ROWS))),
        ("b.tsv", lambda path: path.write_text("\n".join(f"{w}\t{d}" for w, d in ROWS))),
        ("c.tsv.gz", lambda path: path.write_bytes(gzip.compress("\n".join(f"{w}\t{d}" for w, d in ROWS).encode()))),
        ("a.parquet", FRAME.write_parquet),
        ("b.parquet", lambda path: FRAME.rename({"word": "x", "definition": "y"}).write_parquet(path)),
        ("a.jsonl", FRAME.write_ndjson),
    ],
)
def test_files(tmp_path, name, write_file):
    write_file(tmp_path / name)
    expected, result = definitions(ROWS), definitions(tmp_path / name)
    assert triples(result.strong) == triples(expected.strong)
    assert triples(result.weak) == triples(expected.weak)
    assert result.summary() == expected.summary()
    assert name in result.strong.name


@pytest.mark.parametrize(
    "source",
    [
        FRAME,
        FRAME.lazy(),
        FRAME.to_pandas(),
        FRAME.to_arrow(),
        pd.DataFrame(ROWS),
        iter(ROWS),
        tuple(ROWS),
        {word: [d for w, d in ROWS if w == word] for word in dict.fromkeys(w for w, _ in ROWS)},
        [FRAME[:3], FRAME[3:].to_pandas()],
        [ROWS[:3], dict(ROWS[3:4]), FRAME[4:]],
    ],
    ids=lambda source: type(source).__name__,
)
def test_frames_dicts_tuples_and_lists_of_them(source):
    expected, result = definitions(ROWS), definitions(source)
    assert triples(result.weak) == triples(expected.weak)
    assert triples(result.strong) == triples(expected.strong)


def test_paths_in_a_list(write):
    one, two = write("1.tsv", "car\ta vehicle"), write("2.tsv", "vehicle\ta car")
    assert triples(definitions([str(one), two]).strong) == {("car", "vehicle"): 1}


def test_a_comma_in_a_definition_without_quotes(write):
    result = definitions(write("a.csv", "car,a vehicle, a cart\nvehicle,a car\n"))
    assert triples(result.weak) == {("car", "cart"): 1}


def test_words_are_those_of_the_tokenizer():
    corpus = lx.read([{"text": "Straßen-Bahn naïve 1984 don't"}])
    words = set(lx.Tokens.of(corpus, min_count=1, quiet=True).vocabularies[0].words)
    result = definitions({"Tram": "Straßen-Bahn naïve 1984 don't"}, stop_words=[], min_length=1)
    assert set(result.weak.right) == words


def test_the_tokenizer_of_a_corpus_can_be_given():
    rows = {"Free-lance": "a Knight"}
    assert triples(definitions(rows).weak) == {}
    assert triples(definitions(rows, tokenizer=r"[\w-]+").weak) == {("free-lance", "knight"): 1}
    assert triples(definitions(rows, tokenizer=str.split, lowercase=False).weak) == {("Free-lance", "Knight"): 1}


def test_headwords_of_several_words_are_skipped_and_counted():
    result = definitions([("motor car", "a vehicle"), ("t-shirt", "a shirt"), ("...", "dots"), ("car", "a vehicle")])
    assert triples(result.weak) == {("car", "vehicle"): 1}
    assert (result.several, result.skipped, result.words) == (3, 3, 1)


def test_rows_without_a_value_are_skipped():
    frame = pd.DataFrame({"word": ["car", None, "cart"], "definition": ["a vehicle", "nothing", None]})
    result = definitions(frame)
    assert triples(result.weak) == {("car", "vehicle"): 1}
    assert result.several == 1


def test_nothing_but_weak_pairs():
    result = definitions({"car": "a vehicle"})
    assert len(result.strong) == 0
    assert result.strong.to_frame().columns.tolist() == ["left", "right", "weight"]


def test_nothing_but_stop_words():
    result = definitions({"the": "a car", "car": "it is what it is"})
    assert len(result.strong) == len(result.weak) == 0


@pytest.mark.parametrize(
    ("language", "functional", "content"),
    [
        ("en", "the of and which don don't especially", "dog house not_a_word man"),
        ("de", "der und nicht für siehe", "hund haus mann"),
        ("fr", "le des qui l qu être", "chien maison homme"),
        ("es", "el los que y según", "perro casa hombre"),
        ("it", "il dell gli che è", "cane casa uomo"),
        ("nl", "de het niet", "hond huis"),
        ("pt", "o uma não", "cão casa"),
    ],
)
def test_stop_words_by_language(language, functional, content):
    words = stop_words(language)
    assert set(functional.split()) <= words
    assert not set(content.split()) & words
    tokens = lx.Tokens.of(lx.read([{"text": " ".join(sorted(words))}]), min_count=1, quiet=True)
    assert set(tokens.vocabularies[0].words) == words  # each is one word to the tokenizer


def test_stop_words_of_a_language_are_taken_out():
    rows = {"hund": "ein tier für das haus"}
    assert triples(definitions(rows, language="de").weak) == {("hund", "tier"): 1, ("hund", "haus"): 1}


def test_stop_words_of_ones_own(write):
    rows = {"car": "a vehicle of the road"}
    right = {"a", "vehicle", "of", "the", "road"}
    assert set(definitions(rows, stop_words=[], min_length=1).weak.right) == right
    assert set(definitions(rows, stop_words={"road"}, min_length=1).weak.right) == right - {"road"}
    path = write("stop.txt", "# mine\nroad\nof\n")
    assert set(definitions(rows, stop_words=path, min_length=1).weak.right) == right - {"road", "of"}
    assert set(definitions(rows, language="xx", stop_words=[]).weak.right) == right - {"a"}


def test_the_summary_has_all_counts():
    result = definitions([*ROWS, ROWS[0]])
    assert result.summary() == (
        "8 definitions, of 4 words\n"
        "2 skipped (1 of more than one word, 1 repeated)\n"
        f"{len(result.strong)} strong pairs\n"
        f"{len(result.weak)} weak pairs"
    )
    assert repr(result) == f"Definitions: {len(result.strong)} strong and {len(result.weak)} weak pairs"


def test_the_pairs_are_a_prior():
    rows = [{"text": "a car is a vehicle and a vehicle is a car"}]
    tokens = lx.Tokens.of(lx.read(rows), min_count=1, quiet=True)
    result = definitions(ROWS)
    layout = lx.Embeddings.of(tokens.vocabularies, [np.zeros((len(tokens.vocabularies[0]), 2))]).rows
    assert lx.Pairs(result.strong, 2.0, joins="word-context").graph(layout).edges == 2


def test_sixty_thousand_definitions_take_less_than_twenty_seconds():
    random = np.random.default_rng(5)
    ids = random.zipf(1.3, (60_000, 12)) % 40_000
    rows = pl.DataFrame({"word": [f"w{k}" for k in random.integers(0, 40_000, 60_000)], "ids": ids.tolist()})
    rows = rows.select(
        "word", definition=pl.concat_str(pl.lit("w"), pl.col("ids").cast(pl.List(pl.String)).list.join(" w"))
    )
    start = time.perf_counter()
    result = definitions(rows)
    assert time.perf_counter() - start < 20
    assert result.rows == 60_000


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "car\ta vehicle\n\nalone\n", r'a\.tsv", line 3: \'alone\' is not a word, a tab and its definition'),
        ("a.txt", "car a vehicle\n", "line 1: 'car a vehicle' is not a word, a tab"),
        ("a.csv", "car,a vehicle\nalone\n", "line 2: 'alone' is not a word, a comma"),
        ("b.csv", "word,definition\ncar,a vehicle,more\n", "line 2: 3 values where the header has 2"),
        ("a.tsv", "", r'a\.tsv" has no definitions'),
        ("a.csv", "\n\n", "has no definitions"),
        ("b.csv", "word,definition\n", "has no definitions"),
        ("a.parquet", b"", "is empty"),
        ("a.parquet", b"PAR1 no", "cannot read"),
        ("a.tsv", "größe\tx".encode("latin-1"), "line 1: byte 0xf6 is not utf-8"),
        ("a.jsonl", '{"word": 1}', "no columns .* its columns are: word"),
        ("a.jsonl", '{"word": "a", "definition": ["b"]}', "holds List"),
        ("a.tsv.gz", b"no gzip", "cannot be decompressed"),
    ],
)
def test_files_without_definitions_are_refused(write, name, content, message):
    with pytest.raises(lx.InputError, match=message):
        definitions(write(name, content))


def test_another_encoding(write):
    path = write("a.tsv", "größe\ttief", encoding="latin-1")
    assert triples(definitions(path, encoding="latin-1").weak) == {("größe", "tief"): 1}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([("car", "a vehicle"), ("cart",)], r"entry 2: \('cart',\) is not a word and its definition"),
        ([("car", 7)], "entry 1: .* is not a word and its definition"),
        ([7], "entry 1: 7 is not a word"),
        ([("car", "a \ud800")], "half a character"),
        ({"car": None}, "is not a word and its definition"),
        ([], "has no definitions"),
        ({}, "has no definitions"),
        (7, "cannot read definitions from int"),
        (b"car", "cannot read definitions from bytes"),
        (pd.DataFrame({"a": ["b"]}), 'no columns "word" and "definition"; its columns are: a'),
        (pd.DataFrame({"a": ["b"], "b": ["c"], "word": ["d"]}), "its columns are: a, b, word"),
        (pl.DataFrame({"word": ["a"], "definition": [["b"]]}), "holds List"),
        ("nowhere.tsv", r'there is no file "nowhere\.tsv"'),
    ],
)
def test_what_holds_no_definitions_is_refused(source, message):
    with pytest.raises(lx.InputError, match=message):
        definitions(source)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"language": "xx"}, 'no stop words for language="xx", only for de, en'),
        ({"stop_words": [7]}, "holds 7, which is not a word"),
        ({"stop_words": "nowhere.txt"}, "there is no file"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(lx.InputError, match=message):
        definitions(ROWS, **options)


@settings(max_examples=200)
@given(st.binary(max_size=120), st.sampled_from(["tsv", "csv", "txt", "jsonl", "parquet", "tsv.gz", "tsv.zst", "x"]))
def test_any_bytes_give_definitions_or_an_input_error(tmp_path_factory, content, ending):
    path = tmp_path_factory.mktemp("bytes") / f"a.{ending}"
    path.write_bytes(content)
    try:
        result = definitions(path)
    except lx.InputError as error:
        message = str(error)
    else:
        message = result.strong.name
    assert str(path) in message
