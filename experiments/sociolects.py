"""Words that two parties use differently, and how this changed (the paper's Tables 2 to 4 and Figure 1).

    python experiments/sociolects.py --data DATA --out results/sociolects
    python experiments/sociolects.py --data DATA --out results/planted --part planted --shares 0.1 0.5

tables    press releases of US senators by party, then by party and half-year: the most different words with and without
          the graph prior, and those with most evidence; distances through time, with intervals
planted   how well planted differences are found (see `planting.py`): average precision and precision at 100 of laplex
          by strength, without a graph and by evidence, and of gensim, aligned in two ways
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from peers import Gensim
from planting import Planted, average_precision, plant, precision_at
from report import Report

import laplex as lx
from laplex.fitting.rotation import rotation

PARTIES = ("D", "R")
WORDS = ("health", "iraq", "immigration", "taxes", "security", "energy")  # of the chart, chosen in advance


@dataclass(frozen=True)
class Scale:
    """The size of the experiment."""

    documents: int | None
    planted_documents: int | None
    dimensions: int
    epochs: int
    min_count: int
    strengths: tuple[float, ...]
    shares: tuple[float, ...]
    seeds: tuple[int, ...]
    planted: int
    clusters: int
    min_word_count: int = 100
    top: int = 15


FULL = Scale(None, 20_000, 100, 5, 20, (1.0, 10.0, 100.0, 1e3, 1e4), (0.1, 0.25, 0.5, 1.0), (1, 2, 3), 200, 25)
QUICK = Scale(1_500, 1_500, 20, 2, 20, (100.0,), (0.5,), (1,), 40, 8, 10)


def read(folder: Path, documents: int | None, min_count: int) -> lx.Tokens:
    frame = pl.read_parquet(folder / "senate-press.parquet", columns=["date", "party", "senator", "text"])
    frame = frame.filter(pl.col("party").is_in(PARTIES))
    if documents is not None and documents < len(frame):
        frame = frame.sample(documents, seed=1)
    corpus = lx.read(frame, metadata=["party", "senator", "date"]).periods("date", every="6m")
    return lx.Tokens.of(corpus, min_count=min_count)


def models(scale: Scale) -> Iterator[tuple[str, lx.Model]]:
    """The model without a graph, and with a graph of each strength."""
    plain = lx.Model(["party"], lx.Ridge(1.0), dimensions=scale.dimensions)
    yield "laplex, no graph", plain
    for strength in scale.strengths:
        yield f"laplex, strength {strength:g}", replace(plain, prior=lx.Ridge(1.0) + lx.Groups("party", strength))


def tables(report: Report, tokens: lx.Tokens, scale: Scale) -> None:
    prior = lx.Ridge(1.0) + lx.Groups("party", 100.0)
    chain = prior + lx.Chain("period", 100.0)
    columns = ("party", "period")
    training = lx.Training(epochs=scale.epochs)
    by_party, by_both = (
        {
            name: lx.fit(lx.Model(vary, chosen, dimensions=scale.dimensions), tokens, training, tests=False)
            for name, chosen in (("graph prior", graph), ("no graph", lx.Ridge(1.0)))
        }
        for vary, graph in ((columns[:1], prior), (columns, chain))
    )
    found = by_party["graph prior"].inference(unit="senator", min_units=scale.clusters).contrast("party")
    estimate = found.sort_values(["lower", "estimate"], ascending=False).head(scale.top)
    evidence = found.sort_values(["p", "lower"], ascending=[True, False]).head(scale.top).reset_index(drop=True)
    lists = {
        name: fitted.contrast("party", test=False)["word"].head(scale.top).tolist() for name, fitted in by_party.items()
    }
    lists |= {"largest distance without noise": estimate["word"].tolist(), "most evidence": evidence["word"].tolist()}
    report.table("by-party", pd.DataFrame(lists), "Most different words by party (Table 2)")
    report.table("evidence", evidence, "Words with most evidence, by senator, 90% intervals")
    report.chart("evidence", lx.plots.bars(evidence))
    for name, fitted in by_both.items():
        words = {
            period: fitted.contrast("party", at={"period": period}, test=False)["word"].head(10)
            for period in fitted.values("period")
        }
        title = f"Most different words by party in each half-year, {name} (Tables 3 and 4)"
        report.table(f"by-half-year-{name.replace(' ', '-')}", pd.DataFrame(words), title)
    known = tokens.vocabularies[0]
    words = [word for word in WORDS if word in known] or evidence["word"].head(3).tolist()
    options = {"unit": "senator", "min_units": scale.clusters, "min_count": scale.min_word_count}
    gap = by_both["graph prior"].inference(**options).distance(words, "party", "period")
    report.table("over-time", gap, "Distance between the parties over time, without noise, 90% intervals (Figure 1)")
    report.chart("over-time", lx.plots.lines(gap))
    plain = by_both["graph prior"].distance(words, "party", "period", test=False)
    report.chart("over-time-plain", lx.plots.lines(plain))


def gaps(one: NDArray[np.float32], two: NDArray[np.float32], chosen: NDArray[np.int64]) -> NDArray[np.float64]:
    """Cosine distances, as is usual for gensim, whose vectors have lengths that depend on frequency."""
    a, b = one[chosen].astype(np.float64), two[chosen].astype(np.float64)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.asarray(1.0 - (a * b).sum(1) / np.maximum(lengths, 1e-12))


def scores(planted: Planted, scale: Scale, seed: int, threads: int) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Each method, with its score of difference for each candidate."""
    tokens = planted.tokens
    names = [tokens.vocabularies[0].words[i] for i in planted.candidates]
    for name, model in models(scale):
        training = lx.Training(epochs=scale.epochs, seed=seed, threads=threads)
        fitted = lx.fit(model, tokens, training, tests=False, quiet=True)
        frame = fitted.contrast("party", names, test=False).set_index("word").reindex(names)
        for measure, column in (("euclidean", "distance"), ("cosine", "cosine")):
            yield f"{name}, {measure}", frame[column].to_numpy(np.float64)
    asked = fitted.inference(unit="senator", min_units=2, min_count=1, tokens=tokens)
    frame = asked.contrast("party", names).set_index("word").reindex(names)
    p = frame["p"].fillna(1.0).to_numpy(np.float64)
    yield "laplex, by evidence", -np.log(np.maximum(p, 1e-300))
    yield "laplex, distance without noise", frame["estimate"].fillna(0.0).to_numpy(np.float64)
    yield from peers(planted, scale, seed, threads)


def peers(planted: Planted, scale: Scale, seed: int, threads: int) -> Iterator[tuple[str, NDArray[np.float64]]]:
    tokens = planted.tokens
    model = lx.Model(dimensions=scale.dimensions)
    gensim = Gensim(tokens, model, epochs=scale.epochs, threads=threads, seed=seed)
    parts = [np.flatnonzero(tokens.codes("party") == label).tolist() for label in (0, 1)]
    one, two = (gensim.vectors(gensim.train(part)) for part in parts)
    yield "gensim, aligned", gaps(one @ rotation(one, two).astype(np.float32), two, planted.candidates)
    compass = gensim.train()
    one, two = (gensim.vectors(gensim.train(part, compass=compass), outputs=True) for part in parts)
    yield "gensim, compass", gaps(one, two, planted.candidates)


def planted(report: Report, tokens: lx.Tokens, scale: Scale, threads: int) -> None:
    rows = []
    for seed in scale.seeds:
        for share in scale.shares:
            made = plant(tokens, "party", "senator", share, scale.planted, seed, scale.clusters)
            for name, score in scores(made, scale, seed, threads):
                rows.append(
                    {
                        "method": name,
                        "share": share,
                        "seed": seed,
                        "average precision": average_precision(score, made.changed),
                        "precision at 100": precision_at(score, made.changed, min(100, int(made.changed.sum()))),
                    }
                )
                print(rows[-1], flush=True)
            size = f"{int(made.changed.sum())} of {len(made.candidates):,} words were planted"
            pd.DataFrame(rows).to_csv(report.out / "planted-runs.csv", index=False)
    runs = pd.DataFrame(rows)
    for measure in ("average precision", "precision at 100"):
        table = runs.groupby(["method", "share"], sort=False)[measure].mean().unstack("share").reset_index()
        table.columns = pd.Index([str(name) for name in table.columns])
        title = f"{measure.capitalize()} by planted share, mean over seeds {scale.seeds}; {size}"
        report.table(f"planted-{measure.replace(' ', '-')}", table, title)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--part", choices=["tables", "planted"], nargs="+", default=["tables", "planted"])
    parser.add_argument("--quick", action="store_true", help="a small run of about a minute, as a test")
    parser.add_argument("--shares", type=float, nargs="+")
    parser.add_argument("--seeds", type=int, nargs="+")
    parser.add_argument("--documents", type=int, help="the number of documents of the planted part")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    scale = QUICK if arguments.quick else FULL
    scale = replace(
        scale,
        shares=tuple(arguments.shares or scale.shares),
        seeds=tuple(arguments.seeds or scale.seeds),
        planted_documents=arguments.documents or scale.planted_documents,
    )
    with Report(arguments.out, {"command": "sociolects", **vars(arguments), **vars(scale)}) as report:
        if "tables" in arguments.part:
            tables(report, read(arguments.data, scale.documents, scale.min_count), scale)
        if "planted" in arguments.part:
            planted(report, read(arguments.data, scale.planted_documents, scale.min_count), scale, arguments.threads)


if __name__ == "__main__":
    main()
