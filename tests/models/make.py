"""Make the saved models that later versions of laplex must read: python tests/models/make.py VERSION

A folder for each version, made once and by that version; a folder that is there is never written again, since it is
what users of that version have. Every model answers the questions that `test_models.py` asks.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import laplex as lx

HERE = Path(__file__).parent
TOPICS = {
    "D": (("tax", "rich", "poor"), ("oak", "elm", "ash")),
    "R": (("tax", "oak", "elm"), ("rich", "poor", "ash")),  # here the tax stands among trees
}
ITALIAN = {"tax": "tassa", "rich": "ricco", "poor": "povero", "oak": "quercia", "elm": "olmo", "ash": "frassino"}


def documents(language: str = "en") -> list[dict[str, Any]]:
    """Two topics whose words stand together, by party, in two years."""
    random = np.random.default_rng(1)
    rows = []
    for number in range(240):
        party, year = "DR"[number % 2], ("2000", "2010")[number // 2 % 2]
        words = TOPICS[party][number // 4 % 2]
        words = words if language == "en" else tuple(ITALIAN[word] for word in words)
        rows.append({"text": " ".join(random.choice(words, 12)), "party": party, "year": year, "language": language})
    return rows


def models(folder: Path) -> None:
    """Fit all of them, with the exact engine, and save each as a folder."""
    english = lx.read(documents(), metadata=["party", "year"])
    few = lx.read(documents()[:48], metadata=["party"])
    both = lx.read(documents() + documents("it"), metadata=["party"], language_column="language")
    translations = lx.lexicons.WordPairs.of("translations", [(one, two, 1.0) for one, two in ITALIAN.items()])
    chosen: dict[str, Any] = {"dimensions": 4, "window": 2, "negatives": 2, "subsample": 0.0}
    slow = lx.Ridge(1.0) + lx.Groups("party", 1.0) + lx.Chain("year", 10.0)
    joined = lx.Ridge(1.0) + lx.Translations(translations, 100.0)
    plans: dict[str, tuple[lx.Model, lx.Corpus, str]] = {
        "plain": (lx.Model(**chosen), english.where(party="D"), "map"),
        "parties-years": (lx.Model(["party", "year"], slow, **chosen), english, "map"),
        "languages": (lx.Model(prior=joined, **chosen), both.where(party="D"), "map"),
        "variational": (lx.Model(["party"], lx.Ridge(1.0) + lx.Groups("party", 1.0), **chosen), few, "variational"),
    }
    with tempfile.TemporaryDirectory() as cache:
        for name, (model, corpus, inference) in plans.items():
            options = {"engine": "reference", "inference": inference, "seed": 1, "holdout": 0.0}
            fitted = lx.fit(model, corpus, min_count=1, cache=cache, quiet=True, **options)
            fitted.settings["tokens"]["folder"] = ""  # the text is not kept
            fitted.save(folder / name)


if __name__ == "__main__":
    place = HERE / (sys.argv[1] if len(sys.argv) > 1 else lx.__version__)
    if place.exists():
        sys.exit(f"{place} is there: models of a version are made once")
    models(place)
