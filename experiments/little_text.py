"""How good are vectors of little text? laplex's defaults beside gensim, from 300,000 tokens to 40 million.

    python experiments/little_text.py --data DATA --out results/little-text [--quick]

For each size, part of the English Wikipedia is judged by word similarity and analogies, and parts of the European
Parliament in Italian and in English, from alternate sitting dates, by translation: separate fits, joined by a rotation
from 1,000 pairs of words. Both programs get the same tokens, epochs, window, negatives, dimensions and subsampling.

The default ridge and the number of negatives for a block were chosen on Wikipedia of 0.3 to 10 million tokens, and on
the last fifth of the training list of translations in Europarl of 1 to 4 million tokens. Scores are those on the test
list. Sets of word similarity with fewer than 40 known pairs are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from crosslingual import LANGUAGES, Vectors, center, ids_of, mapped, pairs_of, read_list, scores
from peers import Gensim
from report import Report

import laplex as lx

SIZES = (300_000, 1_000_000, 3_000_000, 10_000_000, 40_000_000)
MAX_EUROPARL_TOKENS = 9_000_000  # of one language on every other date
PAIRS = 1_000
MIN_KNOWN_PAIRS = 40
READOUTS = {"words": "words", "words + contexts": "both"}


def cut(frame: pl.DataFrame, tokens: int, seed: int) -> pl.DataFrame:
    """Documents in random order, until they have this number of tokens."""
    order = np.random.default_rng([seed, 4]).permutation(len(frame))
    lengths = frame["text"].str.count_matches(r"\S+").to_numpy()[order]
    return frame[order[: int(np.searchsorted(np.cumsum(lengths), tokens)) + 1]]


def texts(data: Path, size: int, seed: int, cache: Path) -> dict[str, lx.Tokens]:
    """The tokens of Wikipedia, and those of the parliament in both languages, if there are as many."""
    wikipedia = pl.read_parquet(data / "wikipedia-en.parquet", columns=["text"])
    frames = {"wikipedia": (cut(wikipedia, size, seed), "en")}
    for start, language in enumerate(LANGUAGES if size <= MAX_EUROPARL_TOKENS else ()):
        speeches = pl.read_parquet(data / f"europarl-{language}.parquet", columns=["date", "text"])
        dates = speeches["date"].unique().sort()[start::2]
        frames[language] = cut(speeches.filter(pl.col("date").is_in(dates.implode())), size, seed), language
    return {
        name: lx.Tokens.of(lx.read(frame, language=language), cache=cache, originals=False, quiet=True)
        for name, (frame, language) in frames.items()
    }


def fit_laplex(tokens: lx.Tokens, model: lx.Model, epochs: int, seed: int, threads: int) -> lx.Embeddings:
    return lx.fit(model, tokens, epochs=epochs, seed=seed, threads=threads, tests=False, quiet=True)


def fit_gensim(tokens: lx.Tokens, model: lx.Model, epochs: int, seed: int, threads: int) -> lx.Embeddings:
    """gensim's vectors; what it calls word vectors are those of the context in CBOW, and of the word in skip-gram."""
    peer = Gensim(tokens, model, epochs=epochs, threads=threads, seed=seed)
    trained = peer.train()
    inputs, outputs = peer.vectors(trained), peer.vectors(trained, outputs=True)
    return lx.Embeddings.of([tokens.vocabularies[0]], [inputs], contexts=[outputs])


def judge_wikipedia(fitted: lx.Embeddings, data: Path) -> Iterator[tuple[str, dict[str, float]]]:
    """Similarity and analogies, by readout."""
    for readout, by in READOUTS.items():
        table = lx.evaluation.similarity(fitted, data / "similarity", by=by, bootstrap=0, quiet=True)  # type: ignore[arg-type]
        known = table[~table["set"].isin(["mean", "weighted mean"]) & (table["pairs"] >= MIN_KNOWN_PAIRS)]
        solved = lx.evaluation.analogies(fitted, data / "analogies" / "google.txt", by=by, quiet=True)  # type: ignore[arg-type]
        total = solved.set_index("section").loc["total"]
        yield readout, {"similarity": known["spearman"].mean(), "analogies": 100 * float(total["accuracy"])}


def judge_translation(fits: dict[str, lx.Embeddings], data: Path) -> Iterator[tuple[str, dict[str, float]]]:
    """P@5 in both directions by CSLS, after a rotation, by readout."""
    words = {language: fits[language].rows.vocabularies[0] for language in LANGUAGES}
    both = lx.Embeddings.of(list(words.values()), [fits[language].matrix() for language in LANGUAGES])
    train, test = (read_list(data / "translations" / f"it-en.{name}.tsv") for name in ("train5000", "test1000"))
    lists = {"test": ids_of(pairs_of(test), words)}
    for readout in READOUTS:
        contexts = {name: one.contexts() if readout != "words" else 0.0 for name, one in fits.items()}
        vectors: Vectors = {name: center(fits[name].matrix() + contexts[name]) for name in LANGUAGES}
        found = scores(mapped(vectors, both, pairs_of(train[:PAIRS])), lists)
        yield readout, {f"P@5 {row['direction']}": row["P@5"] for row in found if row["method"] == "csls"}


def measure(data: Path, size: int, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each seed, program and readout."""
    for seed in range(1, arguments.seeds + 1):
        tokens = texts(data, size, seed, arguments.out / "cache")
        options = {"likelihood": arguments.likelihood, "subsample": arguments.subsample}
        models = {
            "laplex": (fit_laplex, lx.Model(**options)),
            "laplex, ridge 1": (fit_laplex, lx.Model(prior=lx.Ridge(1.0), **options)),
            "gensim": (fit_gensim, lx.Model(**options)),
        }
        for program, (fit, model) in models.items():
            fits = {name: fit(text, model, arguments.epochs, seed, arguments.threads) for name, text in tokens.items()}
            held_out = (
                {} if program == "gensim" else {"held-out": float(fits["wikipedia"].history["held_out"].iloc[-1])}
            )
            translated = dict(judge_translation(fits, data)) if "en" in fits else {}
            for readout, results in judge_wikipedia(fits["wikipedia"], data):
                labels = {"tokens": size, "seed": seed, "program": program, "readout": readout}
                yield labels | results | translated.get(readout, {}) | held_out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--quick", action="store_true", help="the smallest size alone, and two epochs")
    parser.add_argument("--sizes", type=float, nargs="+", default=SIZES, help="numbers of tokens")
    parser.add_argument("--likelihood", choices=("cbow", "sgns"), default="cbow")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--subsample", type=float, default=1e-4)
    parser.add_argument("--seeds", type=int, default=1, help="of the choice of documents and of the fits")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.sizes, arguments.epochs = SIZES[:1], 2
    with Report(arguments.out, vars(arguments)) as report:
        rows: list[dict[str, Any]] = []
        for size in map(int, arguments.sizes):
            rows += measure(arguments.data, size, arguments)
            frame = pd.DataFrame(rows)
            means = frame.drop(columns="seed").groupby(["tokens", "readout", "program"], sort=False).mean()
            report.table(f"scores-{size}", means.reset_index(), f"Up to {size:,} tokens, means over seeds")


if __name__ == "__main__":
    main()
