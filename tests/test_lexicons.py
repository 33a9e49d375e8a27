"""Readers of synonyms, antonyms, paraphrases, translations and graphs; and sums of lists."""

from __future__ import annotations

import os
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small import documents, layout

import laplex as lx
from laplex.lexicons import WordPairs, antonyms, paraphrases, read_pairs, synonyms, translations


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


TEI = """<?xml version="1.0" encoding="UTF-8"?>
<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><title>no <orth>word</orth></title></teiHeader><text><body>
<entry><form><orth>Hund</orth><orth>Köter</orth></form>
  <sense><cit type="trans"><quote>dog</quote></cit><cit type="trans"><quote>hound; cur</quote></cit></sense>
  <sense n="2"><cit type="translation"><quote>d<hi>o</hi>g</quote></cit>
    <cit type="example"><quote>beispiel</quote><cit type="trans"><quote>example</quote></cit></cit></sense>
  <re><form><orth>hundert</orth></form><sense><cit type="trans"><quote>hundred</quote></cit></sense></re>
</entry>
<entry><form><orth>auf Wiedersehen</orth></form><sense><cit type="trans"><quote>goodbye</quote></cit></sense></entry>
<entry><form><orth>gehen</orth></form><sense><cit type="trans"><quote>to go</quote></cit></sense></entry>
<entry><form><orth>leer</orth></form><sense><cit type="trans"><quote> </quote></cit></sense></entry>
</body></text></TEI>
"""
OLD_TEI = """<!DOCTYPE TEI.2 PUBLIC "-//TEI P3//DTD Main Document Type//EN" "nowhere.dtd" [
  <!ENTITY % TEI.dictionaries "INCLUDE" >
]>
<tei.2><text><body>
  <entry><form><orth>00-database-info</orth></form><def>some words</def></entry>
  <entry><form><orth>Abissinia</orth></form><trans><tr>Abyssinia</tr></trans></entry>
  <entry><form><orth>Africa</orth></form><trans><tr>Africa</tr><tr>the continent</tr></trans>
    <trans><tr>Africa</tr></trans></entry>
</body></text></tei.2>
"""


@pytest.mark.parametrize("name", ["deu-eng.tei", "deu-eng.xml"])
def test_dictionaries_of_freedict(write, name):
    pairs = read_pairs(write(name, TEI))
    assert set(triples(pairs)) == {
        *[(word, other, 1.0) for word in ("Hund", "Köter") for other in ("dog", "hound", "cur")],
        ("hundert", "hundred", 1.0),
    }
    assert len(pairs) == 7
    assert pairs.skipped == 2
    assert "hund" in translations(write(name, TEI)).left


def test_older_dictionaries_of_freedict(write):
    pairs = read_pairs(write("ita-eng.tei", OLD_TEI))
    assert triples(pairs) == [("Abissinia", "Abyssinia", 1.0), ("Africa", "Africa", 1.0)]
    assert pairs.skipped == 1


def test_xml_in_its_own_encoding(write):
    text = TEI.replace("UTF-8", "ISO-8859-1")
    assert "Köter" in read_pairs(write("a.tei", text, encoding="latin-1")).left


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaa"><!ENTITY b "&a;&a;&a;">]><x><entry><form><orth>&b;</orth></form></entry></x>'
OUTSIDE = '<!DOCTYPE x [<!ENTITY a SYSTEM "/etc/hostname">]><x><entry><form><orth>&a;</orth></form></entry></x>'
PARAMETER = '<!DOCTYPE x [<!ENTITY % a SYSTEM "http://localhost/a.dtd">%a;]><x><entry/></x>'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (BOMB, 'declares the entity "a"'),
        (OUTSIDE, 'declares the entity "a"'),
        (PARAMETER, 'declares the entity "a"'),
        ("<TEI><entry></TEI>", r'a\.tei", line 1: mismatched tag'),
        ("<TEI>\n<entry>", r'a\.tei", line 2: no element found'),
        ("", "line 1: no element found"),
        ("<html/>", "has no <entry>: it is not a dictionary in TEI"),
        ("<x><entry><form><orth>dog</orth></form></entry></x>", "has no pairs of words"),
        ('<?xml version="1.0" encoding="klingon"?><x/>', "unknown encoding"),
        ('<?xml version="1.0" encoding="shift_jis"?><x/>', "encoding"),
        (b"\xff\xfe\x00", r'a\.tei"'),
    ],
)
def test_xml_that_is_refused(write, content, message):
    with pytest.raises(lx.InputError, match=message):
        read_pairs(write("a.tei", content))


def test_a_dictionary_that_is_not_there(tmp_path):
    with pytest.raises(lx.InputError, match="there is no file"):
        read_pairs(tmp_path / "nowhere.tei")


# Graphs in files

GRAPH = nx.Graph()
GRAPH.add_edge("dog", "hound", weight=0.5)
GRAPH.add_edge("größe", "cold", weight=-2.0)
EDGES = [("dog", "hound", 0.5), ("größe", "cold", -2.0)]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(
    ("ending", "write_graph"),
    [("graphml", nx.write_graphml), ("gml", nx.write_gml), ("edgelist", nx.write_edgelist)],
)
def test_files_of_networkx(tmp_path, ending, write_graph, directed):
    path = tmp_path / f"graph.{ending}"
    write_graph(nx.DiGraph(list(GRAPH.edges(data=True))) if directed else GRAPH, path)
    pairs = read_pairs(path)
    assert triples(pairs) == EDGES
    assert pairs.directed == (directed and ending != "edgelist")  # an edge list does not tell
    assert pairs.name == f'"{path}"'


def test_plain_edge_lists(tmp_path, monkeypatch):
    monkeypatch.setattr("laplex.lexicons.graphs.import_module", without_networkx)
    path = tmp_path / "graph.edgelist"
    nx.write_weighted_edgelist(GRAPH, path)
    assert triples(read_pairs(path)) == EDGES
    nx.write_edgelist(GRAPH, path, data=False)
    assert triples(read_pairs(path)) == [(one, two, 1.0) for one, two, _ in EDGES]


def without_networkx(name):
    raise ImportError(name)


def test_without_networkx_its_files_cannot_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr("laplex.lexicons.graphs.import_module", without_networkx)
    nx.write_graphml(GRAPH, tmp_path / "a.graphml")
    with pytest.raises(lx.InputError, match=r'a\.graphml" takes networkx: pip install networkx'):
        read_pairs(tmp_path / "a.graphml")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.gml", "graph [", "is not gml that networkx reads"),
        ("a.graphml", "<graphml>", "line 1: no element found"),
        ("a.graphml", "<x/>", "is not graphml that networkx reads"),
        ("a.graphml", BOMB, 'declares the entity "a"'),
        ("a.edgelist", "dog hound {'weight': }", "is not edgelist that networkx reads"),
        ("a.edgelist", "dog hound\nalone", "line 2: 'alone' is not two words"),
        ("a.gml", 'graph [\n node [ id 1 label "x" ]\n]', "has no pairs"),
    ],
)
def test_graph_files_that_are_refused(write, name, content, message):
    with pytest.raises(lx.InputError, match=message):
        read_pairs(write(name, content))


@pytest.mark.parametrize("ending", ["graphml", "gml", "edgelist"])
def test_graph_files_that_are_not_there(tmp_path, ending):
    with pytest.raises(lx.InputError, match="nowhere"):
        read_pairs(tmp_path / f"nowhere.{ending}")


TAGS = ["<entry>", "<orth>", "<quote>", '<cit type="trans">', "<re>", "<tr>", "<x>"]
PIECES = ["dog", "&", "&#100;", "<!DOCTYPE x>", "graph [", "node [", "edge [", "id 1", "]", "{", "}"]
ENDS = ["</entry>", "</orth>", "</quote>", "</cit>", "</re>", "</tr>", "</x>"]
MARKS = st.lists(st.sampled_from(TAGS + ENDS + PIECES)).map(lambda parts: " ".join(parts).encode())


@settings(max_examples=400)
@given(
    st.binary(max_size=60) | MARKS | MARKS.map(lambda inner: b"<x>" + inner + b"</x>"),
    st.sampled_from(["tei", "xml", "graphml", "gml", "edgelist"]),
)
def test_any_bytes_give_pairs_or_an_input_error(tmp_path_factory, content, ending):
    path = tmp_path_factory.mktemp("bytes") / f"a.{ending}"
    path.write_bytes(content)
    try:
        found = read_pairs(path)
    except lx.InputError as error:
        assert str(path) in str(error)  # noqa: PT017
    else:
        assert len(found.left) == len(found.right) == len(found.weight) > 0


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
    found = triples(WordPairs.of("a", one) + WordPairs.of("b", two))
    expected: dict[tuple[frozenset[str], bool], float] = {}
    for left, right, weight in one + two:
        key = frozenset((left, right)), weight < 0
        expected[key] = expected.get(key, 0.0) + weight
    assert [(frozenset((left, right)), weight < 0) for left, right, weight in found] == list(expected)
    assert [weight for *_, weight in found] == pytest.approx(list(expected.values()))


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
    found = pairs.normalized()
    for left, right, weight in zip(found.left, found.right, found.weight):
        assert weight == pytest.approx(expected[words.index(left), words.index(right)])
    tenfold = replace(pairs, weight=10 * pairs.weight)
    assert tenfold.normalized().weight.tolist() == pytest.approx(found.weight.tolist())
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
