"""Frames and vectors to draw, and what was drawn of them."""

from __future__ import annotations

import re
from itertools import combinations, product

import numpy as np
import pandas as pd

import laplex as lx
from laplex.model.rows import Rows
from laplex.text.slices import Slices

WORDS = ["war", "peace", "army", "tax", "bank", "gold", "canal", "東京"]
ODD_WORDS = ["</script><script>alert(1)</script>", "東京", "مرحبا", 'it\'s "q"', "a.b[c]", "back\\"]
PERIODS = ("1861", "1901", "1941")


def distances(words=("war", "peace"), interval=False, along="period", values=PERIODS):
    """What `Embeddings.distance` gives."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(list(product(words, values)), columns=["word", along])
    frame = frame.assign(party="D – R", distance=1 + random.random(len(frame)), count_one=5, count_two=7)
    return frame.assign(lower=frame["distance"] - 0.25, upper=frame["distance"] + 0.5) if interval else frame


def differing(words=("war", "peace", "canal"), interval=False):
    """What `Embeddings.contrast` gives."""
    frame = pd.DataFrame({"word": words, "party": "D – R", "distance": np.linspace(2, 1, len(words)), "count_one": 3})
    return frame.assign(lower=frame["distance"] - 0.1, upper=frame["distance"] + 3) if interval else frame


def findings(words=("war", "peace", "canal"), pairs=(("D", "R"),), held=1, along=None):
    """What tests give: in each comparison, and at each value of `along`, the first words hold."""
    frames = []
    for value, against in pairs:
        frame = pd.DataFrame({"word": words, "value": value, "against": against})
        frame = frame.assign(estimate=np.linspace(2, 1, len(words)), p=0.001, p_adjusted=0.02, permutations=999)
        frame = frame.assign(lower=frame["estimate"] - 0.5, upper=frame["estimate"] + 1, holds=frame.index < held)
        frame = frame.assign(uses=300, uses_against=200, units=30, units_against=20, context="a, b", context_against="")
        frames += [frame] if along is None else [frame.assign(**{along: value}) for value in PERIODS]
    return pd.concat(frames, ignore_index=True)


def coefficients(words=("war", "peace"), terms=(("party", "R"), ("year", ""), ("party:year", "R")), held=1):
    """What `Embeddings.regress` gives: in each word, the first terms hold."""
    rows = [(word, *term, place < held) for word in words for place, term in enumerate(terms)]
    frame = pd.DataFrame(rows, columns=["word", "term", "level", "holds"])
    size = np.random.default_rng(0).random(len(frame))
    frame = frame.assign(estimate=size, standard_error=0.1, lower=size / 2, upper=size + 0.5, p=0.01, p_adjusted=0.02)
    return frame.assign(uses=300, uses_against=200, units=30, units_against=20, context="a, b", context_against="")


def layers(chart, mark=None):
    """The layers of a chart with one panel, in order; those with a mark of this type."""
    spec = chart.to_dict()
    return [layer for layer in spec["layer"] if mark in (None, layer["mark"]["type"])]


def data(chart, layer=None):
    """The rows that a layer draws, or those of the whole chart."""
    spec = chart.to_dict()
    return pd.DataFrame(spec["datasets"][(layer if layer and "data" in layer else spec)["data"]["name"]])


def svg(chart, tmp_path):
    chart.save(tmp_path / "chart.svg")
    return (tmp_path / "chart.svg").read_text()


def texts(picture):
    return [re.sub("&lt;", "<", re.sub("&gt;", ">", t)) for t in re.findall(r"<text[^>]*>([^<]*)</text>", picture)]


def some_vectors(columns=("party", "period"), keys=None, graph=None):
    """Embeddings with random vectors; the counts of a slice are those of its number, except that one word is absent."""
    keys = tuple(product("DR", PERIODS)) if keys is None else keys
    random = np.random.default_rng(0)
    slices = Slices(tuple(columns), tuple(keys), np.zeros(0, np.int32))
    counts = random.permutation(len(keys) * len(WORDS)).reshape(len(keys), len(WORDS)) + 1
    counts[-1, 0] = 0
    rows = Rows([lx.Vocabulary(WORDS, counts.sum(0))], slices)
    theta = random.standard_normal((len(rows), 6)).astype(np.float32)
    slot = np.arange(len(rows), dtype=np.int32)
    return lx.Embeddings(rows, theta, slot, [counts], graph or lx.Graph.of(len(rows)), {}, [])


def gaps(points):
    return np.array([np.linalg.norm(a - b) for a, b in combinations(np.asarray(points, float), 2)])
