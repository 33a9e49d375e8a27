"""Pairs of words from wherever they are."""

from __future__ import annotations

import gzip

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laplex as lx
from laplex.lexicons.pairs import read_pairs


def triples(source):
    pairs = read_pairs(source)
    return list(zip(pairs.left, pairs.right, pairs.weight.tolist(), strict=True))


PLAIN = [("dog", "hound", 1.0), ("cat", "kitten", 1.0)]
WEIGHTED = [("dog", "hound", 0.5), ("hot", "cold", -2.0)]
GRANDMA = [
    *[("grandma", "gran", 1.0), ("grandma", "nan", 1.0), ("cat", "tom", 1.0), ("cat", "kitty", 1.0)],
    *[("1800", "1.8", 1.0), ("1800", "1,800", 1.0)],
]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("dog\thound\ncat\tkitten\n", PLAIN),
        ("dog,hound\ncat,kitten\n", PLAIN),
        ("dog, hound\ncat , kitten", PLAIN),
        ("dog hound\ncat   kitten\n", PLAIN),
        ("dog\thound\r\ncat\tkitten\r\n", PLAIN),
        ("\ufeffdog\thound\ncat\tkitten\n", PLAIN),
        ("# a list\ndog hound\n\n   \n#another line\ncat kitten\n", PLAIN),
        ("dog\thound\t0.5\nhot\tcold\t-2\n", WEIGHTED),
        ("dog,hound,0.5\nhot,cold,-2\n", WEIGHTED),
        ("dog hound 5e-1\nhot cold -2.0\n", WEIGHTED),
        ("dog hound puppy\n", [("dog", "hound", 1.0), ("dog", "puppy", 1.0)]),
        ("dog\thound puppy\n", [("dog", "hound", 1.0), ("dog", "puppy", 1.0)]),
        ("dog hound puppy 0.5\n", [("dog", "hound", 0.5), ("dog", "puppy", 0.5)]),
        ("new york,london\n", [("new york", "london", 1.0)]),
        ("größe\tgrootte\n東京\tTokio\n", [("größe", "grootte", 1.0), ("東京", "Tokio", 1.0)]),
        ("1984 1949\n", [("1984", "1949", 1.0)]),
        ("new york\tlondon paris\n", [("new york", "london", 1.0), ("new york", "paris", 1.0)]),
        ('"dog","hound"\ncat,"kitten"\n', PLAIN),
        ("dog hound 0.5\ncat kitten\n", [("dog", "hound", 0.5), ("cat", "kitten", 1.0)]),
        ("grandma gran nan\ncat tom kitty\n1800 1.8 1,800\n", GRANDMA),
        ("dog hound\nx\u00a0y z\n\x1d \x16\n", [("dog", "hound", 1.0), ("x\u00a0y", "z", 1.0), ("\x1d", "\x16", 1.0)]),
        ("word1,word2\ndog,hound\ncat,kitten\n", PLAIN),
        ("weight,Word2,word1\n0.5,hound,dog\n-2,cold,hot\n", WEIGHTED),
        ("# said first\nword1\tword2\tscore\tpart\ndog\thound\t0.5\tn\nhot\tcold\t-2\ta\n", WEIGHTED),
        ("word1 word2 weight\ndog hound 0.5\nhot cold -2\n", WEIGHTED),
        ("# no words\nword1\tword2\n#metoo\tmovement\n", [("#metoo", "movement", 1.0)]),
        ('left,right,weight\n"dog",hound,0.5\nhot,"cold",-2\n', WEIGHTED),
        ('word1\tword2\n"new, ""york"""\tlondon town\n', [('new, "york"', "london town", 1.0)]),
        ("left right\nup down\n", [("left", "right", 1.0), ("up", "down", 1.0)]),
        ("[NN] ||| dog ||| hound ||| a=1 ||| 0-0 ||| X\n[JJ] ||| cat ||| kitten ||| a=2\n", PLAIN),
        ("dog ||| hound\ncat ||| kitten ||| a=2\n", PLAIN),
    ],
)
def test_files_in_many_shapes(write, content, expected):
    assert triples(write("pairs.txt", content)) == expected


def test_a_path_may_be_a_string(write):
    assert triples(str(write("pairs.txt", "dog hound\ncat kitten"))) == PLAIN


def test_the_name_is_for_messages(write):
    path = write("pairs.txt", "dog hound")
    assert read_pairs(path).name == f'"{path}"'


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_of_two_or_three_columns(frame):
    assert triples(frame({"a": ["dog", "cat"], "b": ["hound", "kitten"]})) == PLAIN
    assert triples(frame({"a": ["dog", "hot"], "b": ["hound", "cold"], "w": [0.5, -2.0]})) == WEIGHTED


def test_networkx_graphs():
    graph = nx.Graph([("dog", "hound")])
    graph.add_edge("hot", "cold", weight=-2.0)
    assert triples(graph) == [("dog", "hound", 1.0), ("hot", "cold", -2.0)]


def test_a_digraph_gives_directed_pairs():
    graph = nx.DiGraph([("dog", "hound")])
    graph.add_edge("hound", "dog", weight=2.0)
    assert read_pairs(graph).directed
    assert triples(graph) == [("dog", "hound", 1.0), ("hound", "dog", 2.0)]
    assert not read_pairs(nx.Graph(graph)).directed
    assert triples(nx.MultiGraph([("dog", "hound"), ("dog", "hound")])) == [("dog", "hound", 1.0)] * 2


def test_numbered_nodes_have_their_words_as_labels():
    graph = nx.Graph([(1, 2)])
    assert triples(graph) == [("1", "2", 1.0)]
    nx.set_node_attributes(graph, {1: "dog", 2: "hound"}, "label")
    assert triples(graph) == [("dog", "hound", 1.0)]


def test_frames_by_the_names_of_their_columns():
    frame = pl.DataFrame({"weight": [0.5, -2.0], "note": [1, 2], "word2": ["hound", "cold"], "word1": ["dog", "hot"]})
    assert (
        triples(frame) == triples(frame.lazy()) == triples(frame.to_pandas()) == triples(frame.to_arrow()) == WEIGHTED
    )
    assert read_pairs(frame.select(pl.col("word1").alias("from"), pl.col("word2").alias("to"), "weight")).directed
    years = pl.DataFrame({"a": [1984], "b": ["x"], "c": ["0.5"]}, {"a": pl.Int64, "b": pl.Categorical, "c": pl.String})
    assert triples(years) == [("1984", "x", 0.5)]


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_tables_in_files(tmp_path, ending):
    frame = pl.DataFrame({"word1": ["dog", "hot"], "word2": ["hound", "cold"], "weight": [0.5, -2.0]})
    path = tmp_path / f"pairs.{ending}"
    (frame.write_parquet if ending == "parquet" else frame.write_ndjson)(path)
    assert triples(path) == WEIGHTED


def test_compressed_files(write):
    assert triples(write("pairs.txt.gz", gzip.compress(b"dog hound\ncat kitten\n"))) == PLAIN


def test_dicts():
    assert triples({"dog": "hound", "cat": "kitten"}) == PLAIN
    assert triples({"dog": ["hound"], "cat": {"kitten"}}) == PLAIN
    assert triples({"dog": {"hound": 0.5}, "hot": {"cold": -2}}) == WEIGHTED


def test_whether_a_number_is_a_weight_can_be_said(write):
    path = write("pairs.txt", "1800 1.8 1.800\n")
    assert triples(path) == [("1800", "1.8", 1.8)]
    assert list(read_pairs(path, weights=False).right) == ["1.8", "1.800"]
    with pytest.raises(lx.InputError, match="'puppy' is not a weight"):
        read_pairs(write("pairs.txt", "dog hound puppy"), weights=True)


def test_another_separator_or_encoding(write):
    path = write("pairs.txt", "größe;grootte", encoding="latin-1")
    assert read_pairs(path, separator=";", encoding="latin-1").left == ["größe"]
    with pytest.raises(lx.InputError, match="separator='::': give one character"):
        read_pairs(path, separator="::", encoding="latin-1")
    with pytest.raises(lx.InputError, match='no encoding "klingon"'):
        read_pairs(path, encoding="klingon")


def test_words_in_lower_case():
    pairs = read_pairs([("Haus", "HOUSE")], lowercase=True)
    assert (pairs.left, pairs.right) == (["haus"], ["house"])


def test_tuples_from_anything_that_can_be_iterated_over():
    assert triples([("dog", "hound"), ["cat", "kitten"]]) == PLAIN
    assert triples(pair for pair in WEIGHTED) == WEIGHTED
    assert triples({("dog", "hound", np.float32(0.5))}) == WEIGHTED[:1]


def test_pairs_that_were_read_are_taken_as_they_are():
    pairs = read_pairs(PLAIN)
    assert read_pairs(pairs) is pairs
    assert len(pairs) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("dog hound\nalone\n", r"pairs\.txt.*line 2: 'alone' is not two words"),
        ("", "has no pairs"),
        ("# nothing but this\n", "has no pairs"),
        ("dog hound nan\n", "the weight of dog and hound is nan"),
        ("dog hound inf\n", "the weight of dog and hound is inf"),
        ("größe grootte".encode("latin-1"), "line 1: byte 0xf6 is not utf-8"),
        ("dog,hound\n\ncat kitten\n", "line 3: 'cat kitten' is not two words"),
        ("\thound\n", "line 1: 'hound' is not two words"),
        ('dog,"hound\ncat,kitten\n', "up to line 2: unexpected end of data"),
        ("dog hound 0.5\nhot cold much\n", "line 2: 'much' is not a weight.*weights=False"),
        ("word1,word2\ndog,hound,cat\n", "line 2: 3 values where the header has 2"),
        ("word1,word2\ndog,\n", "line 2: a word is missing"),
        ("word1,word2,weight\ndog,hound,much\n", "line 2: 'much' is not a weight"),
        ("word1,word2,weight\ndog,hound,nan\n", "line 2: the weight of dog and hound is nan"),
        ("word1,word2\n", "has no pairs"),
        ("[NN] ||| dog\n", r"line 1: '\[NN\] \|\|\| dog' is not a phrase"),
        ("[NN] ||| a dog ||| hound\n", "has no pairs of words, only 1 phrases"),
    ],
)
def test_files_without_pairs_are_refused(write, content, message):
    with pytest.raises(lx.InputError, match=message):
        read_pairs(write("pairs.txt", content))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([("dog", "hound"), ("cat",)], r"pair 2: \('cat',\) is not two words"),
        ([("dog", "hound", "much")], "is not two words and perhaps a weight"),
        ([("dog", "hound", float("inf"))], "the weight of dog and hound is inf"),
        ([1, 2], "is not two words"),
        ([], "has no pairs"),
        (pd.DataFrame({"a": ["dog"]}), "is not two words"),
        (["ab", "cd"], "pair 1: 'ab' is not two words"),
        ([("dog", None)], "is not two words"),
        ([("dog", " ")], "is not two words"),
        ([("dog", 0.5)], "is not two words"),
        ([("dog", "\ud800")], "is not two words"),
        ([("dog", "hound", 1, 2)], "is not two words and perhaps a weight"),
        ([("dog", "hound", 10**400)], "is not two words and perhaps a weight"),
        ({"dog": None}, "is not two words"),
        ({"dog": {"hound": "much"}}, "is not two words"),
        ({}, "has no pairs"),
        (pd.DataFrame({"a": ["dog"] * 2, "b": ["hound", None]}), 'row 2: there is no word in column "b"'),
        (pd.DataFrame({"a": ["dog"], "b": [0.5]}), 'column "b" holds Float64, not words'),
        (pl.DataFrame({"a": ["dog"], "b": ["hound"], "c": ["much"]}), "row 1: the weight in column \"c\" is 'much'"),
        (pl.DataFrame({"a": ["dog"], "b": ["hound"], "c": [None]}), 'row 1: the weight in column "c" is None'),
        (pl.DataFrame({"a": ["dog"], "b": ["hound"], "c": [np.inf]}), 'the weight in column "c" is inf'),
        (pl.DataFrame({"a": ["dog"], "b": ["hound"], "c": [[1.0]]}), "holds List.*, not weights"),
        (pl.DataFrame({"a": ["x"], "b": ["y"], "c": ["z"], "d": ["w"]}), "has 4 columns.*Name the columns word1"),
        (pl.DataFrame({"a": [], "b": []}), "has no pairs"),
        (nx.Graph([(("dog", "word"), "hound")]), "is not two words"),
        (nx.Graph([("dog", "hound", {"weight": "much"})]), "is not two words"),
        (7, "cannot read pairs of words from int"),
        (nx.Graph(), "has no pairs"),
    ],
)
def test_what_holds_no_pairs_is_refused(source, message):
    with pytest.raises(lx.InputError, match=message):
        read_pairs(source)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(lx.InputError, match=r"there is no file .*nowhere\.tsv"):
        read_pairs(tmp_path / "nowhere.tsv")


MARKS = st.text(st.sampled_from("ab1.-,;\t \n\"'#|[]={}é\r\x00\x1d"), max_size=40)


@settings(max_examples=400)
@given(st.binary(max_size=60) | MARKS.map(str.encode), st.sampled_from(["txt", "csv", "jsonl", "txt.gz", "parquet"]))
def test_any_bytes_give_pairs_or_an_input_error(tmp_path_factory, content, ending):
    path = tmp_path_factory.mktemp("bytes") / f"a.{ending}"
    path.write_bytes(content)
    try:
        result = read_pairs(path)
    except lx.InputError as error:
        assert str(path) in str(error)  # noqa: PT017
    else:
        assert len(result) == len(result.right) == len(result.weight) > 0
        assert all(word.strip(" \t\r\n") for word in result.left + result.right)
        assert np.isfinite(result.weight).all()
