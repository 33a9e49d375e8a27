"""Readers of synonyms, antonyms, paraphrases, translations and graphs; and sums of lists."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small import documents, layout

import laplex as lx
from laplex.lexicons.pairs import antonyms, paraphrases, read_pairs, synonyms, translations
from laplex.lexicons.wordpairs import WordPairs


def triples(pairs):
    return list(zip(pairs.left, pairs.right, pairs.weight.tolist(), strict=True))


# Synonyms, antonyms, paraphrases


def test_synonyms_have_weight_one_or_their_own(write):
    path = write("synonyms.txt", "Car auto automobile\nhot warm\n")
    assert triples(synonyms(path)) == [("car", "auto", 1.0), ("car", "automobile", 1.0), ("hot", "warm", 1.0)]
    assert synonyms(path, lowercase=False).left == ["Car", "Car", "hot"]
    assert triples(synonyms([("hot", "warm", 0.5)])) == [("hot", "warm", 0.5)]


def test_a_synonym_of_negative_weight_is_refused():
    with pytest.raises(lx.InputError, match="hot and cold have the weight -1, so they are no synonyms"):
        synonyms([("hot", "warm"), ("hot", "cold", -1)])


def test_antonyms_are_negative(write):
    path = write("antonyms.txt", "hot cold\nUp\tdown \n")
    assert triples(antonyms(path)) == [("hot", "cold", -1.0), ("up", "down", -1.0)]
    assert triples(antonyms([("hot", "cold", 2.0), ("up", "down", -3.0)])) == [("hot", "cold", -2), ("up", "down", -3)]


def test_antonyms_become_edges_of_negative_sign():
    rows = layout(documents())
    graph = lx.Pairs(antonyms([("0", "1")]), 3.0).graph(rows)
    assert (graph.sign.tolist(), graph.weight.tolist()) == ([-1], [3.0])


def test_in_a_list_of_paraphrases_numbers_are_words(write):
    path = write("ppdb.txt", "1,800 1800 1.8\nsix 6\nten 10 10.0\n")
    assert triples(paraphrases(path)) == [
        *[("1,800", "1800", 1.0), ("1,800", "1.8", 1.0), ("six", "6", 1.0)],
        *[("ten", "10", 1.0), ("ten", "10.0", 1.0)],
    ]


PPDB = """\
[NN] ||| car ||| automobile ||| PPDB2.0Score=5.5 AGigaSim=0.7 p(e|f)=1 ||| 0-0 ||| Equivalence
[NP] ||| the car ||| automobile ||| PPDB2.0Score=4.5 AGigaSim=0.1 p(e|f)=1 ||| 1-0 ||| Equivalence
[JJ] ||| Hot ||| warm ||| PPDB2.0Score=2.25 AGigaSim=NA p(e|f)=2 ||| 0-0 ||| ForwardEntailment
"""


def test_ppdbs_own_format(write):
    path = write("ppdb-2.0-s-lexical", PPDB)
    plain = paraphrases(path)
    assert triples(plain) == [("car", "automobile", 1.0), ("hot", "warm", 1.0)]
    assert plain.skipped == 1
    assert repr(plain) == f'WordPairs of "{path}": 2 pairs, 1 skipped'
    assert triples(paraphrases(path, "PPDB2.0Score")) == [("car", "automobile", 5.5), ("hot", "warm", 2.25)]
    assert triples(paraphrases(path, "p(e|f)")) == [("car", "automobile", 1.0), ("hot", "warm", 2.0)]
    known = paraphrases(path, "AGigaSim")
    assert triples(known) == [("car", "automobile", 0.7)]
    assert known.skipped == 2


@pytest.mark.parametrize(
    ("score", "content", "message"),
    [
        ("Nothing", PPDB, r'line 1: there is no feature "Nothing"; there are: PPDB2\.0Score, AGigaSim, p\(e\|f\)'),
        ("a", "[NN] ||| car ||| auto\n", 'line 1: there is no feature "a"; there are: none'),
        ("a", "[NN] ||| car ||| auto ||| a=much\n", "line 1: 'much' is not a weight"),
        ("a", "[NN] ||| car ||| auto ||| a=1\n\n[NN] ||| car\n", "line 3: .* is not a phrase"),
        ("a", "[NN] ||| car ||| auto ||| a=NA\n", "has no pairs"),
        ("a", "", "has no pairs"),
    ],
)
def test_malformed_lines_of_ppdb(write, score, content, message):
    with pytest.raises(lx.InputError, match=message):
        paraphrases(write("ppdb", content), score)


def test_a_score_needs_a_file():
    with pytest.raises(lx.InputError, match="pass its path"):
        paraphrases([("a", "b")], "PPDB2.0Score")


# Translations


def test_muse_lists(write):
    several_lines = write("en-it.txt", "dog cane\ndog\tcagna\n1984 1984\n")
    assert triples(translations(several_lines)) == [("dog", "cane", 1.0), ("dog", "cagna", 1.0), ("1984", "1984", 1.0)]
    one_line = write("it-en.tsv", "Cane\tdog hound\ndue\ttwo 2\nsei\tsix you are\n")
    assert translations(one_line).left == ["cane", "cane", "due", "due", "sei", "sei", "sei"]
    assert translations(one_line).right == ["dog", "hound", "two", "2", "six", "you", "are"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.tei", r"laplex reads no \.tei files such as .*a\.tei.*: pass its words as tuples, or as a table"),
        ("a.XML", r"laplex reads no \.xml files"),
        ("a.graphml", "pass the graph that networkx.read_graphml reads from it"),
        ("a.gml", "pass the graph that networkx.read_gml reads from it"),
        ("a.edgelist", "pass the graph that networkx.read_edgelist reads from it"),
    ],
)
def test_files_that_laplex_does_not_read(write, name, message):
    with pytest.raises(lx.InputError, match=message):
        read_pairs(write(name, "dog hound\n"))


def test_separators_that_mean_something_in_regular_expressions(write):
    path = write("a.txt", "word1|word2|weight\ndog|hound|2\n")
    assert triples(read_pairs(path, separator="|")) == [("dog", "hound", 2.0)]


@settings(max_examples=200)
@given(st.binary(max_size=60), st.sampled_from(["txt", "csv", "tsv", "jsonl", "parquet", "xml"]))
def test_any_bytes_give_pairs_or_an_input_error(tmp_path_factory, content, ending):
    path = tmp_path_factory.mktemp("bytes") / f"a.{ending}"
    path.write_bytes(content)
    try:
        pairs = read_pairs(path)
    except lx.InputError as error:
        assert str(path) in str(error)  # noqa: PT017
    else:
        assert len(pairs.left) == len(pairs.right) == len(pairs.weight) > 0


# Sums, differences, files

WORDS = st.sampled_from([str(k) for k in range(6)])
LISTS = st.lists(
    st.tuples(WORDS, WORDS, st.sampled_from([-2.0, -1.0, 0.5, 1.0])).filter(lambda pair: pair[0] != pair[1]),
    min_size=1,
    max_size=12,
)
ROWS = layout(documents())


@settings(max_examples=60)
@given(LISTS, LISTS)
def test_the_prior_of_a_sum_is_the_sum_of_the_priors(one, two):
    a, b = WordPairs.of("a", one), WordPairs.of("b", two)
    together = lx.Pairs(a + b, 2.0).graph(ROWS).laplacian().toarray()
    apart = (lx.Pairs(a, 2.0) + lx.Pairs(b, 2.0)).graph(ROWS).laplacian().toarray()
    np.testing.assert_allclose(together, apart)


@settings(max_examples=60)
@given(LISTS, LISTS)
def test_a_sum_holds_each_pair_once_for_each_sign(one, two):
    result = triples(WordPairs.of("a", one) + WordPairs.of("b", two))
    expected: dict[tuple[frozenset[str], bool], float] = {}
    for left, right, weight in one + two:
        key = frozenset((left, right)), weight < 0
        expected[key] = expected.get(key, 0.0) + weight
    assert [(frozenset((left, right)), weight < 0) for left, right, weight in result] == list(expected)
    assert [weight for *_, weight in result] == pytest.approx(list(expected.values()))


def test_the_sum_of_directed_pairs_keeps_the_order():
    one, two = (WordPairs.of(name, [pair], directed=True) for name, pair in (("a", ("x", "y")), ("b", ("y", "x"))))
    assert triples(one + two) == [("x", "y", 1.0), ("y", "x", 1.0)]
    assert (one + two).directed
    with pytest.raises(lx.InputError, match="a is directed and c is not: they cannot be one list"):
        WordPairs.of("c", [("x", "y")]) + one
    with pytest.raises(TypeError):
        one + [("x", "y")]


@settings(max_examples=60)
@given(LISTS, LISTS, st.booleans(), st.booleans())
def test_without_takes_pairs_away_in_either_order(one, two, directed_one, directed_two):
    a, b = WordPairs.of("a", one, directed=directed_one), WordPairs.of("b", two, directed=directed_two)
    gone = {frozenset(pair[:2]) for pair in two}
    rest = a.without(b)
    assert triples(rest) == [pair for pair in one if frozenset(pair[:2]) not in gone]
    assert rest.directed == directed_one
    assert triples(a) == one


def test_normalized_weights_are_those_of_the_normalized_laplacian():
    pairs = WordPairs.of("a", [("x", "y", 2), ("z", "x", -1), ("y", "z", 3), ("x", "u", 0)])
    words = ["x", "y", "z", "u"]
    adjacency = np.zeros((4, 4))
    for left, right, weight in zip(pairs.left, pairs.right, pairs.weight):
        adjacency[words.index(left), words.index(right)] = adjacency[words.index(right), words.index(left)] = weight
    root = np.sqrt(np.abs(adjacency).sum(0))
    root[root == 0] = 1.0
    expected = adjacency / np.outer(root, root)
    result = pairs.normalized()
    for left, right, weight in zip(result.left, result.right, result.weight):
        assert weight == pytest.approx(expected[words.index(left), words.index(right)])
    tenfold = replace(pairs, weight=10 * pairs.weight)
    assert tenfold.normalized().weight.tolist() == pytest.approx(result.weight.tolist())
    assert len(pairs.without(pairs).normalized()) == 0


def test_unweighted_keeps_only_the_sign():
    assert WordPairs.of("a", [("x", "y", 3), ("x", "z", -0.5)]).unweighted().weight.tolist() == [1.0, -1.0]


LETTERS = st.sampled_from("#\"',a1 |é") | st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n")
TEXT = st.text(LETTERS, min_size=1).filter(lambda text: text.strip(" ") == text)


@settings(max_examples=150)
@given(
    st.lists(st.tuples(TEXT, TEXT, st.floats(allow_nan=False, allow_infinity=False)), min_size=1),
    st.booleans(),
)
def test_what_is_saved_is_read_again(tmp_path_factory, pairs, directed):
    path = tmp_path_factory.mktemp("saved") / "pairs.tsv"
    pairs = WordPairs.of("mine", pairs, directed=directed)
    pairs.save(path)
    again = read_pairs(path)
    assert triples(again) == triples(pairs)
    assert again.directed == directed
    assert os.listdir(path.parent) == ["pairs.tsv"]


def test_a_saved_file_is_a_table_with_tabs(tmp_path):
    pairs = WordPairs.of("mine", [("dog", "hound", 0.5), ("hot", "cold", -2)])
    pairs.save(tmp_path / "a.tsv")
    assert (tmp_path / "a.tsv").read_text() == "left\tright\tweight\ndog\thound\t0.5\nhot\tcold\t-2.0\n"
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "a.tsv", sep="\t"), pairs.to_frame())
    assert triples(read_pairs(pairs.to_frame())) == triples(pairs)
    directed = WordPairs.of("mine", [("dog", "hound")], directed=True)
    assert directed.to_frame().columns.tolist() == ["from", "to", "weight"]
    assert read_pairs(directed.to_frame()).directed


def test_saving_replaces_a_file_in_one_step(tmp_path, monkeypatch):
    path = tmp_path / "a.tsv"
    path.write_text("old")
    monkeypatch.setattr("os.replace", stopped)
    with pytest.raises(lx.StorageError, match=r'cannot write ".*a\.tsv": no more'):
        WordPairs.of("mine", [("dog", "hound")]).save(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.tsv"]


def stopped(*_):
    raise OSError("no more")


def test_words_that_no_list_can_hold(tmp_path):
    with pytest.raises(lx.InputError, match=r"mine: a word of \('dog', 'ho\\nund'\) has a tab or a new line"):
        WordPairs.of("mine", [("dog", "ho\nund")]).save(tmp_path / "a.tsv")
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written(tmp_path):
    pairs = WordPairs.of("mine", [("dog", "hound")])
    with pytest.raises(lx.StorageError, match="is a folder"):
        pairs.save(tmp_path)
    with pytest.raises(lx.StorageError, match=r"cannot write .*No such file"):
        pairs.save(tmp_path / "nowhere" / "a.tsv")


def test_pairs_of_different_lengths_are_refused():
    with pytest.raises(lx.InputError, match="mine: 1 left words, 2 right words, 1 weights"):
        WordPairs("mine", ["a"], ["b", "c"], np.ones(1))


def test_pairs_print_in_a_line():
    assert (
        repr(WordPairs.of("mine", [("dog", "hound")] * 1500, directed=True))
        == "WordPairs of mine: 1,500 directed pairs"
    )
