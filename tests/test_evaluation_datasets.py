"""Test sets from wherever they are."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

import laplex as lx
from laplex.evaluation.datasets import read_questions, read_rated_pairs


def triples(rated):
    return list(zip(rated.left, rated.right, rated.score.tolist(), strict=True))


TWO = [("dog", "cat", 7.5), ("dog", "stone", 0.0)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("dog\tcat\t7.5\ndog\tstone\t0\n", TWO),
        ("dog,cat,7.5\ndog, stone, 0", TWO),
        ("dog cat 7.5\ndog   stone 0\n\n", TWO),
        ("dog\tcat\t7.5\r\ndog\tstone\t0\r\n", TWO),
        ("\ufeffdog\tcat\t7.5\ndog\tstone\t0\n", TWO),
        ("word1\tword2\tscore\ndog\tcat\t7.5\ndog\tstone\t0\n", TWO),
        ("# a set\n# Word 1\tWord 2\tHuman\n\ndog\tcat\t7.5\ndog\tstone\t0\n", TWO),
        ("Word 1,Word 2,Human (mean)\ndog,cat,7.5\ndog,stone,0\n", TWO),
        ("dog\tcat\t7.5\t8\t7\ndog\tstone\t0\t0\t0\n", TWO),
        ("word1\tword2\tPOS\tscore\tconc\ndog\tcat\tN\t7.5\t2\ndog\tstone\tN\t0\t3\n", TWO),
        ('"dog","cat",7.5\ndog,stone,0\n', TWO),
        ("new york\tlos angeles\t6\n", [("new york", "los angeles", 6.0)]),
        ("große\tGröße\t-1e1\n", [("große", "Größe", -10.0)]),
    ],
)
def test_files_in_many_shapes(write, content, expected):
    (rated,) = read_rated_pairs(write("set.tsv", content))
    assert triples(rated) == expected
    assert rated.name == "set"


def test_a_folder_gives_a_set_for_each_file_in_the_order_of_names(write):
    path = write("sets/b.tsv", "dog\tcat\t7.5\ndog\tstone\t0\n")
    write("sets/a.csv", "dog,cat,7.5\n")
    write("sets/c.txt", "dog cat 7.5\n")
    write("sets/other.json", "[]")
    assert [(rated.name, len(rated)) for rated in read_rated_pairs(path.parent)] == [("a", 1), ("b", 2), ("c", 1)]


def test_two_files_of_one_name_keep_their_endings(write):
    path = write("sets/a.tsv", "dog\tcat\t7.5\n")
    write("sets/a.csv", "dog,stone,0\n")
    assert [rated.name for rated in read_rated_pairs(path.parent)] == ["a.csv", "a.tsv"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_and_tuples_by_name(write, frame):
    table = frame({"one": ["dog", "dog"], "two": ["cat", "stone"], "score": [7.5, 0.0], "more": [1, 2]})
    path = write("set.tsv", "dog\tcat\t7.5\ndog\tstone\t0\n")
    found = read_rated_pairs({"frame": table, "tuples": TWO, "path": str(path)})
    assert [rated.name for rated in found] == ["frame", "tuples", "path"]
    assert all(triples(rated) == TWO for rated in found)
    assert triples(read_rated_pairs(table)[0]) == TWO


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("dog\tcat\t7.5\ndog\tstone\n", 2),
        ("dog\tcat\t7.5\n\ndog\tstone\tfar\n", 3),
        ("one\ttwo\tscore\nanother\theader\tline\n", 2),
        ("dog\tcat\t7.5\ndog\t\t3\n", 2),
        ("dog\tcat\t7.5\ndog\tstone\tN\t3\n", 2),
        ("dog\tcat\tnan\n", 1),
        ("# note\ndog cat\n", 2),
    ],
)
def test_a_malformed_line_is_named(write, content, line):
    path = write("set.tsv", content)
    with pytest.raises(lx.InputError, match=f'"{path}", line {line}: '):
        read_rated_pairs(path)


def test_what_cannot_be_read_as_rated_pairs(write, tmp_path):
    with pytest.raises(lx.InputError, match="cannot read"):
        read_rated_pairs(tmp_path / "nothing.tsv")
    with pytest.raises(lx.InputError, match="not utf-8"):
        read_rated_pairs(write("set.tsv", "größe\tgroß\t7\n", encoding="latin-1"))
    with pytest.raises(lx.InputError, match="has no pairs"):
        read_rated_pairs(write("set.tsv", "word1\tword2\tscore\n"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(lx.InputError, match=r"has no .tsv, .txt, .csv file"):
        read_rated_pairs(tmp_path / "empty")
    with pytest.raises(lx.InputError, match=r'set "x", pair 2: .* is not two words and a score'):
        read_rated_pairs({"x": [("dog", "cat", 1), ("dog", "cat")]})
    with pytest.raises(lx.InputError, match='set "x", pair 1: the score of dog and cat is inf'):
        read_rated_pairs({"x": [("dog", "cat", float("inf"))]})
    with pytest.raises(lx.InputError, match="no set"):
        read_rated_pairs({})
    with pytest.raises(lx.InputError, match="cannot read rated pairs from int"):
        read_rated_pairs(3)


def test_the_shipped_sets_are_what_they_are_said_to_be():
    (rated,) = read_rated_pairs()
    assert (rated.name, len(rated)) == ("WordSim-353", 353)
    assert triples(rated)[:2] == [("love", "sex", 6.77), ("tiger", "cat", 7.35)]
    assert (rated.score.min(), rated.score.max()) == (0.23, 10.0)
    sections = read_questions()
    assert len(sections) == 14
    assert sections["capital-common-countries"][0] == ("Athens", "Greece", "Baghdad", "Iraq")
    syntactic = sum(len(questions) for name, questions in sections.items() if name.startswith("gram"))
    assert (sum(map(len, sections.values())), syntactic) == (19544, 10675)


def test_questions_of_a_file_and_of_a_dict(write):
    path = write("own.txt", "man king woman queen\n: gram plural\ncat cats dog dogs\n\ncat cats cow cows\n: empty\n")
    sections = read_questions(path)
    assert {name: len(questions) for name, questions in sections.items()} == {"own": 1, "gram plural": 2}
    assert read_questions(sections) == sections


def test_what_cannot_be_read_as_questions(write, tmp_path):
    path = write("own.txt", ": one\nman king woman queen\nman king woman\n")
    with pytest.raises(lx.InputError, match=f'"{path}", line 3: .* is not four words'):
        read_questions(path)
    with pytest.raises(lx.InputError, match=r'section "x": .* is not four words'):
        read_questions({"x": [("man", "king")]})
    with pytest.raises(lx.InputError, match="no questions"):
        read_questions(write("none.txt", ": one\n"))
    with pytest.raises(lx.InputError, match="cannot read questions from int"):
        read_questions(3)
    with pytest.raises(lx.InputError, match="cannot read"):
        read_questions(tmp_path / "nothing.txt")
