"""Models that reports are made of: of random vectors, and of invented speeches in which one word differs by party."""

from __future__ import annotations

import numpy as np

import laplex as lx
from laplex.text.slices import Slices

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(1)>'


def model(keys=(("D", "2000"), ("D", "2001"), ("R", "2000"), ("R", "2001")), columns=("party", "year"), seed=0):
    random = np.random.default_rng(seed)
    words = ["tax", "war", "school", "army", "money", "child", SCRIPT, IMAGE, "the"]
    counts = np.tile(np.arange(len(words), 0, -1) * 100, (len(keys), 1))
    vectors = random.standard_normal((len(keys), len(words), 5))
    slices = Slices(columns, keys, np.empty(0, np.int32))
    vocabulary = lx.Vocabulary(words, counts.sum(0))
    return lx.Embeddings.of([vocabulary], [vectors], slices=slices, counts=[counts], contexts=[vectors[0]])


FAMILY, MONEY, ARMY = (
    ["child", "nurse", "mother", "doctor", "school", "teacher"],
    ["budget", "dollar", "debt", "wage", "cost", "income"],
    ["army", "navy", "treaty", "peace", "battle", "soldier"],
)


def speeches():
    """Speeches of 24 speakers about three topics; D speak of health with families, R with money."""
    random = np.random.default_rng(0)
    made = []
    for number in range(480):
        party, year, speaker = "DR"[number % 2], str(2000 + number // 2 % 3), f"s{number % 24}"
        topic = (FAMILY, MONEY, ARMY)[random.integers(3)]
        if topic is (FAMILY if party == "D" else MONEY):
            topic = [*topic, "health", "health"]
        words = random.choice(topic, 30)
        made.append({"text": [str(word) for word in words], "party": party, "year": year, "speaker": speaker})
    return made


def fit_speeches(cache, renamed=None):
    """A model of the speeches with its text beside it; the speaker has a party. Words and values may be renamed."""
    names = renamed or {}
    rows = [
        {
            name: names.get(value, value) if name != "text" else [names.get(word, word) for word in value]
            for name, value in row.items()
        }
        for row in speeches()
    ]
    corpus = lx.read(rows, metadata=["party", "year", "speaker"], unit="speaker")
    tokens = lx.Tokens.of(corpus, min_count=1, cache=cache, quiet=True)
    prior = lx.Ridge(1.0) + lx.Groups("party", 1.0) + lx.Chain("year", 1.0)
    chosen = lx.Model(vary=["party", "year"], prior=prior, dimensions=4, window=2, negatives=3, subsample=0)
    return lx.fit(chosen, tokens, epochs=3, threads=1, seed=1, holdout=0.05, quiet=True)
