"""Simulated speeches in which words differ by time, age, topic, camp or chamber, and labels follow time or topic.

A document has sentences about eight scenes, all in equal parts. What differs is in which of two scenes a word is used:
"time…" words move from one to the other with the year, "theme…" words are in one or the other by what the document is
about, "slight" and "strong" move with the speaker's age, "camp" differs by camp at all times, "both" with camp and
year together, "chamber" by chamber, and "same…" words are in both scenes alike.

The camp of a speaker and the side of a document follow the year, and its wing what it is about, but no word cares.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import laplex as lx

YEARS = (1900, 1910, 1920, 1930)
TIME = tuple(f"time{number}" for number in range(8))
THEME = tuple(f"theme{number}" for number in range(6))
SAME = tuple(f"same{number}" for number in range(8))
WORDS = (*TIME, *THEME, *SAME, "slight", "strong", "camp", "both", "chamber")
FOLLOWS = (0.1, 0.4, 0.6, 0.9)
SCENES = [[f"scene{scene}{letter}" for letter in "abc"] for scene in range(8)]
FILLERS = [f"filler{number}" for number in range(30)]
METADATA = ["speaker", "year", "age", "camp", "side", "wing", "chamber"]
OPTIONS: dict[str, Any] = {"unit": "speaker", "min_units": 5, "min_count": 50, "exclude": (), "quiet": True}
OPTIONS |= {"threads": 2, "permutations": 499}


def speeches(seed: int = 1, speakers: int = 80, each: int = 10) -> list[dict[str, Any]]:
    random = np.random.default_rng(seed)
    rows = []
    for speaker in range(speakers):
        time, age = speaker % 4, int(random.integers(20, 80))
        camp = "L" if (speaker // 4) % 10 < 10 * FOLLOWS[time] else "R"
        chamber, own = "xyz"[speaker // 4 % 3], dict(zip(WORDS, random.normal(0, 0.08, len(WORDS))))
        for _ in range(each):
            theme = int(random.integers(4))
            chances = dict.fromkeys(TIME, 0.1 + 0.8 * time / 3) | dict.fromkeys(THEME, 0.1 + 0.8 * theme / 3)
            chances |= dict.fromkeys(SAME, 0.5)
            chances |= {"slight": 0.45 * (age - 20) / 60, "strong": 0.9 * (age - 20) / 60}
            chances |= {"camp": 0.9 if camp == "L" else 0.2, "chamber": 0.1 + 0.4 * "xyz".index(chamber)}
            chances |= {"both": 0.1 + 0.8 * (time if camp == "L" else 3 - time) / 3}
            words = [[f"about{theme}{letter}" for letter in random.choice(list("abcdef"), 8)]]
            for word in random.choice(WORDS, 12, replace=False).tolist():
                scene = WORDS.index(word) % 8
                here, other = scene, (scene + 3) % 8
                if random.random() < chances[word] + own[word]:
                    here, other = other, here
                fillers = random.choice(FILLERS, 3).tolist()
                words.append(random.permutation([*SCENES[here], word, fillers[0]]).tolist())
                words.append(random.permutation([*SCENES[other], *fillers[1:]]).tolist())
            text = " ".join(word for i in random.permutation(len(words)) for word in words[i])
            side, wing = ("A" if random.random() < FOLLOWS[place] else "B" for place in (time, theme))
            found = {"text": text, "speaker": f"s{speaker:02}", "year": YEARS[time], "age": age, "camp": camp}
            rows.append({**found, "side": side, "wing": wing, "chamber": chamber})
    return rows


@cache
def rows() -> tuple[dict[str, Any], ...]:
    """The speeches that the model is of."""
    return tuple(speeches())


@cache
def fit(likelihood: str = "cbow", dimensions: int = 10) -> lx.Embeddings:
    """A model of these speeches without slices, the same for all tests."""
    tokens = lx.Tokens.of(lx.read(list(rows()), metadata=METADATA, numbers=["year", "age"]), min_count=5, quiet=True)
    model = lx.Model(likelihood=likelihood, dimensions=dimensions, window=3, subsample=0.0)
    return lx.fit(model, tokens, epochs=15, rate=0.17, drawn=8, holdout=0.0, threads=1, seed=2, tests=False, quiet=True)


def inference(**options: Any) -> Any:
    """Its questions, with few permutations."""
    return fit().inference(**OPTIONS | options)
