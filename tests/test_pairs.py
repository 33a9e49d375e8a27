"""Pairs of words from wherever they are."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest

import laplex as lx
from laplex.lexicons.pairs import read_pairs


def triples(source):
    pairs = read_pairs(source)
    return list(zip(pairs.left, pairs.right, pairs.weight.tolist(), strict=True))


PLAIN = [("dog", "hound", 1.0), ("cat", "kitten", 1.0)]
WEIGHTED = [("dog", "hound", 0.5), ("hot", "cold", -2.0)]


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
        ("größe grootte".encode("latin-1"), "not utf-8"),
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
        (7, "cannot read pairs of words from int"),
        (nx.Graph(), "has no pairs"),
    ],
)
def test_what_holds_no_pairs_is_refused(source, message):
    with pytest.raises(lx.InputError, match=message):
        read_pairs(source)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(lx.InputError, match=r"cannot read .*nowhere\.tsv.*No such file"):
        read_pairs(tmp_path / "nowhere.tsv")
