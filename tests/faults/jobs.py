"""What is killed: reading text, fitting, keeping checkpoints, saving, tuning; each ends with what it made.

A job works in a folder of its own and says what its result is, in numbers and hashes that a second run must repeat.
Run in processes that are forked, so Polars may only be used by the jobs themselves: its threads do not outlive a fork.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

import laplex as lx
from laplex.embeddings import Embeddings
from laplex.runtime import storage

PRIOR = lx.Ridge(1.0) + lx.Groups("party", 10.0)
MODEL = lx.Model(["party"], PRIOR, dimensions=8, window=2, negatives=3, subsample=0.0)
CHOICES: dict[str, Any] = {"epochs": 3, "threads": 1, "seed": 1, "holdout": 0.05, "quiet": True}


def write_text(path: Path, documents: int = 2500, length: int = 40, words: int = 60) -> None:
    """A hundred thousand tokens, which are five pieces of an epoch."""
    random = np.random.default_rng(1)
    chance = 1.0 / (5.0 + np.arange(words))
    chosen = random.choice(words, (documents, length), p=chance / chance.sum())
    lines = [f"{' '.join(f'w{word}' for word in row)},{'DR'[number % 2]}" for number, row in enumerate(chosen)]
    path.write_text("text,party\n" + "\n".join(lines) + "\n")


def tokens_in(folder: Path) -> lx.Tokens:
    """The tokens that `ingest` left in a cache, read without Polars."""
    [tokens_folder] = (folder / "cache").glob("tokens-*")
    return lx.Tokens(storage.load(tokens_folder, "tokens"))


def content_hash(fitted: Embeddings) -> str:
    """A hash of all vectors."""
    return hashlib.sha256(np.ascontiguousarray(fitted.theta).tobytes()).hexdigest()


def ingest(home: Path, folder: Path) -> Any:
    corpus = lx.read(home / "text.csv", metadata=["party"])
    return lx.Tokens.of(corpus, min_count=1, cache=folder / "cache", threads=2, quiet=True).digest


def fit(home: Path, folder: Path) -> Any:
    """A checkpoint after every epoch, then the model."""
    fitted = lx.fit(MODEL, tokens_in(home), checkpoint=folder / "state", **CHOICES)
    fitted.save(folder / "model")
    return content_hash(lx.load(folder / "model"))


def checkpoint(home: Path, folder: Path) -> Any:
    """A checkpoint after every piece of an epoch, and then those of the deviations."""
    choices = CHOICES | {"epochs": 2, "inference": "variational"}
    fitted = lx.fit(MODEL, tokens_in(home), checkpoint=folder / "state", checkpoint_minutes=1e-9, **choices)
    assert fitted.spread is not None
    return [content_hash(fitted), hashlib.sha256(fitted.spread.tobytes()).hexdigest()]


def save(home: Path, folder: Path) -> Any:
    """Two models in turns at one place, and their exports at another."""
    models = [lx.load(home / name) for name in ("one", "two")]
    for turn in range(5):
        fitted = models[turn % 2]
        fitted.save(folder / "model")
        fitted.export(folder / "vectors.vec.gz", at={"party": "D"})
        fitted.export(folder / "vectors.parquet")
    return [
        content_hash(lx.load(folder / "model")),
        hashlib.sha256((folder / "vectors.vec.gz").read_bytes()).hexdigest(),
        hashlib.sha256((folder / "vectors.parquet").read_bytes()).hexdigest(),
    ]


def tune(home: Path, folder: Path) -> Any:
    """With results that are kept."""
    choices = CHOICES | {"holdout": 0.1}
    tuned = lx.tune(MODEL, tokens_in(home), {"party": [1.0, 10.0, 100.0]}, checkpoint=folder / "tuning", **choices)
    table = tuned.table.drop(columns=[name for name in tuned.table if "second" in name])
    return [content_hash(tuned.fitted), json.loads(table.to_json())]


def scratch(home: Path, folder: Path) -> Any:
    """A tuning that keeps nothing has a folder for the time being."""
    tuned = lx.tune(MODEL, tokens_in(home), {"party": [1.0, 10.0]}, **CHOICES | {"epochs": 1, "holdout": 0.1})
    return content_hash(tuned.fitted)


JOBS = {job.__name__: job for job in (ingest, fit, checkpoint, save, tune, scratch)}


def prepare(home: Path) -> None:
    """What jobs find: the text, its tokens, and two models. Polars is used, so this runs in a process of its own."""
    write_text(home / "text.csv")
    ingest(home, home)
    for name, seed in (("one", 1), ("two", 2)):
        lx.fit(MODEL, tokens_in(home), **CHOICES | {"seed": seed, "epochs": 1}).save(home / name)


def compile_kernels(home: Path) -> None:
    """What all jobs need of Numba, so that they start at once."""
    lx.fit(MODEL, tokens_in(home), **CHOICES | {"epochs": 1, "inference": "variational"})
