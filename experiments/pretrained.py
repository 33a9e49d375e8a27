"""What vectors estimated on much more text bring to a model of little text.

    python experiments/pretrained.py --data DATA --vectors glove.txt --out results/pretrained

Press releases of US senators and English Wikipedia, cut to 0.1 to 10 million tokens. Three models of each cut, with the
defaults of the package: one that knows nothing else, one whose words are anchored to the given vectors, and one that
starts from them (`lx.fit(..., start=)`). Each is judged by

similarity   Spearman's correlation with human ratings, mean over all sets, for word vectors and words + contexts. The
             given vectors are judged beside them: they have read thousands of times as much text, which is the point
held out     the log likelihood of a token of documents that no model has read, of the cut's own source
planted      senators' labels are permuted and words exchanged in one group, at a share of their occurrences (see
             `planting.py`); average precision of the words' distances and of the evidence that `contrast` tests
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
import polars as pl
from planting import Planted, average_precision, plant
from report import Report

import laplex as lx

ANCHOR_STRENGTH = 10.0
HELD_OUT_DOCUMENTS = 1500
PASSAGE_WORDS = 300  # into which articles are cut, so that little text is of many articles
TEXTS = ("senate", "wikipedia")
MODELS = ("nothing", "anchor", "start")


@dataclass(frozen=True)
class Scale:
    tokens: Sequence[float]  # millions
    planted_tokens: Sequence[float]
    shares: tuple[float, ...]
    dimensions: int
    epochs: int
    min_count: int
    planted_words: int
    min_clusters: int
    models: Sequence[str] = MODELS


FULL = Scale((0.1, 0.3, 1.0, 3.0, 10.0), (0.3, 1.0, 3.0), (0.5, 1.0), 100, 5, 5, 100, 10)
QUICK = Scale((0.01, 0.02), (0.02,), (1.0,), 20, 2, 2, 10, 3)


def documents(data: Path, name: str, seed: int) -> pl.DataFrame:
    """The documents of a source in random order, with the number of words before each."""
    if name == "senate":
        frame = pl.read_parquet(data / "senate-press.parquet", columns=["party", "senator", "text"])
    else:
        frame = pl.read_parquet(data / "wikipedia-en.parquet", columns=["text"])
        passages = pl.col("text").str.extract_all(rf"(?:\S+\s*){{1,{PASSAGE_WORDS}}}")
        frame = frame.select(passages).explode("text").drop_nulls()
    return frame.sample(fraction=1.0, shuffle=True, seed=seed)


def cut(frame: pl.DataFrame, millions: float) -> pl.DataFrame:
    words = frame["text"].str.count_matches(r"\S+").cum_sum()
    return frame.filter(words <= millions * 1e6)


def models(given: lx.Embeddings, chosen: Sequence[str]) -> Iterator[tuple[str, lx.Prior | None, lx.Embeddings | None]]:
    """The name, what the prior has besides its default, and the start of each model."""
    for name in chosen:
        yield name, lx.Anchor(given, ANCHOR_STRENGTH) if name == "anchor" else None, given if name == "start" else None


def fit(
    tokens: lx.Tokens, more: lx.Prior | None, start: lx.Embeddings | None, scale: Scale, seed: int
) -> lx.Embeddings:
    prior = lx.Model().prior if more is None else lx.Model().prior + more
    model = lx.Model(prior=prior, dimensions=scale.dimensions)
    return lx.fit(model, tokens, start=start, epochs=scale.epochs, seed=seed, holdout=0.0, threads=1, quiet=True)


def similarity(fitted: lx.Embeddings, data: Path, by: str) -> float:
    scores = lx.evaluation.similarity(fitted, data / "similarity", by=by, bootstrap=0, quiet=True)  # type: ignore[arg-type]
    return float(scores.set_index("set").loc["mean", "spearman"])


def given_alone(tokens: lx.Tokens, vectors: lx.Embeddings) -> lx.Embeddings:
    """The given vectors of the words of a text."""
    vocabulary = tokens.vocabularies[0]
    known = [word for word in vocabulary if word in vectors]
    counts = vocabulary.counts[vocabulary.ids(known)]
    matrix = vectors.matrix()[vectors.ids(known, 0)]
    return lx.Embeddings.of([lx.Vocabulary(known, counts)], [matrix - matrix.mean(0)])


def curve(data: Path, name: str, given: lx.Embeddings, scale: Scale, seed: int) -> pd.DataFrame:
    """Similarity and held-out likelihood of each model at each size."""
    frame, rows = documents(data, name, seed), []
    unread = frame.tail(min(HELD_OUT_DOCUMENTS, len(frame) // 5))
    read = frame.head(len(frame) - len(unread))
    held_out = lx.Tokens.of(lx.read(unread.select("text")), min_count=1, quiet=True)
    for millions in scale.tokens:
        tokens = lx.Tokens.of(lx.read(cut(read, millions).select("text")), min_count=scale.min_count, quiet=True)
        alone = similarity(given_alone(tokens, given), data, "words")
        for kind, prior, start in models(given, scale.models):
            began = time.process_time()
            fitted = fit(tokens, prior, start, scale, seed)
            row = {"text": name, "millions": millions, "vocabulary": len(fitted), "model": kind}
            row |= {by: similarity(fitted, data, by) for by in ("words", "both")} | {"given alone": alone}
            row["held out"] = lx.evaluation.held_out(fitted, held_out, quiet=True)["log_likelihood"].iloc[0]
            rows.append(row | {"seconds": time.process_time() - began})
            print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def planted(data: Path, given: lx.Embeddings, scale: Scale, seed: int) -> pd.DataFrame:
    """Average precision of words that were exchanged in one group, by size, share and model."""
    rows = []
    frame = documents(data, "senate", seed)
    for millions in scale.planted_tokens:
        corpus = lx.read(cut(frame, millions), metadata=["party", "senator"], unit="senator")
        tokens = lx.Tokens.of(corpus, min_count=scale.min_count, quiet=True)
        for share in scale.shares:
            case = plant(tokens, "party", "senator", share, scale.planted_words, seed, scale.min_clusters)
            for kind, prior, start in models(given, scale.models):
                scores = precision(case, prior, start, scale, seed)
                rows.append(
                    {"millions": millions, "share": share, "model": kind, "chance": case.changed.mean()} | scores
                )
                print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def precision(
    case: Planted, more: lx.Prior | None, start: lx.Embeddings | None, scale: Scale, seed: int
) -> dict[str, float]:
    prior = lx.Model().prior + lx.Groups("party", 100.0)
    model = lx.Model(["party"], prior if more is None else prior + more, dimensions=scale.dimensions)
    options = {"epochs": scale.epochs, "seed": seed, "holdout": 0.0, "threads": 1, "quiet": True, "tests": False}
    fitted = lx.fit(model, case.tokens, start=start, **options)  # type: ignore[arg-type]
    words = [fitted.words()[word] for word in case.candidates]
    inference = fitted.inference(tokens=case.tokens, min_units=scale.min_clusters, threads=1, seed=seed, quiet=True)
    found = inference.contrast("party", words).set_index("word").reindex(words)
    bare = fitted.contrast("party", words, test=False).set_index("word").reindex(words)
    evidence = -found["p"].fillna(1.0).to_numpy() + 1e-6 * found["estimate"].fillna(0.0).to_numpy()
    return {
        "by evidence": average_precision(evidence, case.changed),
        "by bare distance": average_precision(bare["distance"].fillna(0.0).to_numpy(), case.changed),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the texts and similarity sets")
    parser.add_argument("--vectors", type=Path, required=True, help="word vectors: word2vec, GloVe or fastText")
    parser.add_argument("--out", type=Path, required=True, help="the folder for the results")
    parser.add_argument("--texts", nargs="+", default=TEXTS, choices=TEXTS)
    parser.add_argument("--parts", nargs="+", default=("curve", "planted"), choices=("curve", "planted"))
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--tokens", nargs="+", type=float, help="millions of tokens")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a small run that shows that everything works")
    arguments = parser.parse_args()
    scale = replace(QUICK if arguments.quick else FULL, models=arguments.models)
    data, given = arguments.data, lx.load_word2vec(arguments.vectors)
    if arguments.tokens:
        scale = replace(scale, tokens=arguments.tokens, planted_tokens=arguments.tokens)
    with Report(arguments.out, vars(arguments) | {"scale": scale}) as report:
        if "curve" in arguments.parts:
            parts = [curve(data, name, given, scale, arguments.seed) for name in arguments.texts]
            report.table("curve", pd.concat(parts), "Word similarity and held-out likelihood")
        if "planted" in arguments.parts:
            table = planted(data, given, scale, arguments.seed)
            report.table("planted", table, "Planted differences, average precision")


if __name__ == "__main__":
    main()
