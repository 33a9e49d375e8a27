"""Invented occurrences with vectors: words whose vectors are known, and speakers who differ."""

from __future__ import annotations

import numpy as np

import laplex as lx

WORDS = ["tax", "war", "health", "school", "peace"]
DIMENSIONS = 8


def usages(
    seed=0, speakers=24, each=6, moved=("health",), size=2.0, words=WORDS, by_speaker=0.5, spread=1.0, years=("1", "2")
):
    """Rows and vectors: speakers of two parties use every word; words that are `moved` differ by `size` by party."""
    random = np.random.default_rng(seed)
    means = {word: 4 * random.standard_normal(DIMENSIONS) for word in words}
    rows, vectors = [], []
    for speaker in range(speakers):
        party = "DR"[speaker % 2]
        for word in words:
            own = by_speaker * random.standard_normal(DIMENSIONS)
            for number in range(each):
                side = size * (word in moved) * (1 if party == "D" else -1) / 2
                vectors.append(means[word] + own + spread * random.standard_normal(DIMENSIONS))
                vectors[-1][0] += side
                around = "family doctor" if side > 0 else "money budget" if side < 0 else "people nation"
                text = f"we say that {around} and {word} are what {around} need"
                start = text.index(f"and {word}") + 4
                row = {"word": word, "text": text, "start": start, "end": start + len(word), "party": party}
                rows.append(row | {"speaker": f"s{speaker:03}", "year": years[number % len(years)]})
    return rows, np.array(vectors, np.float32)


def read(*arguments, metadata=("party", "year"), **options):
    rows, vectors = usages(*arguments, **options)
    return lx.occurrences(rows, vectors, metadata=list(metadata), unit="speaker")
