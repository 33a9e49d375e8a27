"""Keywords of earlier versions are answered by what to write now; others by Python's own error."""

import inspect
import re

import numpy as np
import planted
import pytest

import laplex as lx
from laplex.errors import OLD_KEYWORDS
from laplex.questions.similarity import translate


@pytest.fixture(scope="module")
def fitted():
    return planted.plant().embeddings


QUESTIONS = {
    "matrix": lambda f, **o: f.matrix(**o),
    "vector": lambda f, **o: f.vector("w01", **o),
    "count": lambda f, **o: f.count("w01", **o),
    "deviation": lambda f, **o: f.deviation("w01", **o),
    "at": lambda f, **o: f.at(**o),
    "neighbors": lambda f, **o: f.neighbors("w01", **o),
    "similarity": lambda f, **o: f.similarity("w01", "w02", **o),
    "project": lambda f, **o: f.project("w01", ("w02", "w03"), **o),
    "contrast": lambda f, **o: f.contrast("party", **o),
    "distance": lambda f, **o: f.distance("w01", "party", **o),
    "group_mean": lambda f, **o: f.group_mean("w01", "party", **o),
    "drift": lambda f, **o: f.drift("year", **o),
    "trajectory": lambda f, **o: f.trajectory("w01", **o),
    "to_gensim": lambda f, **o: f.to_gensim(**o),
    "to_frame": lambda f, **o: f.to_frame(**o),
    "export": lambda f, **o: f.export("never.vec", **o),
    "translate": lambda f, **o: translate(f, "w01", None, "", **o),
    "only": lambda f, **o: lx.baselines.only(f, **o),
    "plots.map": lambda f, **o: lx.plots.map(f, **o),
    "plots.graph": lambda f, **o: lx.plots.graph(f, "w01", **o),
    "plots.trajectory": lambda f, **o: lx.plots.trajectory(f, "w01", **o),
    "evaluation.similarity": lambda f, **o: lx.evaluation.similarity(f, **o),
    "evaluation.analogies": lambda f, **o: lx.evaluation.analogies({"one": f}, **o),
    "evaluation.translation": lambda f, **o: lx.evaluation.translation({"one": f}, [("a", "b")], **o),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_slice_that_is_named_by_keywords_says_how_it_is_written(fitted, question, monkeypatch):
    with pytest.raises(lx.InputError, match=re.escape('party= names a slice, which is written at={"party": "D"} now')):
        QUESTIONS[question](fitted, party="D")
    both = 'party= and year= name a slice, which is written at={"party": "D", "year": 2000} now'
    with pytest.raises(lx.InputError, match=re.escape(both)):
        QUESTIONS[question](fitted, party="D", year=2000)
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        QUESTIONS[question](fitted, colour="red")
    monkeypatch.setitem(OLD_KEYWORDS, "colour", "write shade=")
    with pytest.raises(lx.InputError, match=r"^colour= is no longer a keyword: write shade=$"):
        QUESTIONS[question](fitted, colour="red")


@pytest.mark.parametrize("function", ["contrast", "drift", "explain", "passages"])
def test_tests_know_their_options_and_no_others(fitted, function, monkeypatch):
    arguments = {"explain": ["w01", "party"]}
    ask = getattr(lx.inference, function)
    given = arguments.get(function, ["year" if function == "drift" else "party"])
    with pytest.raises(lx.InputError, match=re.escape('party= names a slice, which is written at={"party": "D"} now')):
        ask(fitted, *given, party="D")
    with pytest.raises(lx.InputError, match=r"there is no option colour='red'; there are cluster, interval, .* quiet"):
        ask(fitted, *given, colour="red")
    monkeypatch.setitem(OLD_KEYWORDS, "colour", "write shade=")
    with pytest.raises(lx.InputError, match="colour= is no longer a keyword: write shade="):
        ask(fitted, *given, colour="red")


def test_a_column_may_have_the_name_of_a_keyword():
    made = planted.plant({"word": ("a", "b"), "k": ("1", "2")}).embeddings
    at = {"word": "b", "k": "2"}
    np.testing.assert_array_equal(made.vector("w03", at=at), made.matrix(at=at)[made.id("w03", 0)])
    assert made.neighbors("w03", 4, at=at)["neighbor"].tolist() == [
        word for word, _ in made.at(at).most_similar("w03", topn=4)
    ]


def test_signatures_and_descriptions_are_those_of_the_functions():
    assert list(inspect.signature(lx.Embeddings.vector).parameters) == ["self", "word", "language", "at"]
    assert lx.Embeddings.vector.__doc__.startswith("The vector of a word in a slice.")
    assert not any(
        parameter.kind is parameter.VAR_KEYWORD
        for name in (
            "contrast",
            "distance",
            "drift",
            "neighbors",
            "similarity",
            "project",
            "trajectory",
            "at",
            "export",
        )
        for parameter in inspect.signature(getattr(lx.Embeddings, name)).parameters.values()
    )
