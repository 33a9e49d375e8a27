"""Translations as edges: does a joint model of two languages find held-out translations? (Table 7, Figure 2)

    python experiments/crosslingual.py --data DATA --out results/crosslingual [--quick]
    python experiments/crosslingual.py --data DATA --out results/ridges --every 9 --seeds 2 \
        --pairs 500 1000 --ridges 1 10 30 --strengths inf 1e4

The text is the European Parliament in English and in Italian, on alternate sitting dates, so that nothing is parallel.
Compared are laplex with Translations of several strengths, and separate models of each language, joined by an
orthogonal mapping in its best form: vectors normalized, centered, normalized, then Procrustes. All use the same number
of epochs, and all vectors are centered in the same way before they are compared.

Lists are sorted by frequency: the first 500, 1,000, 2,000 or 5,000 entries of the training list are in the prior. The
strength and the readout are chosen on its last fifth, which is not in the priors of up to 2,000 entries; scores are
reported on the test list. A run continues from the `scores.csv` that it finds in its folder.

With `--ridges`, every combination of the pairs, strengths and ridges that are named is fitted, and the separate models
with each ridge; the ridge is then chosen on the development list as well, for either method. A strength "inf/1e4"
ties a word to its first translation and joins it to others by 1e4; "inf/inf" ties it to all.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from report import Report

import laplex as lx
from laplex.questions.cosine import search

LANGUAGES = ("it", "en")  # the order of the lists
MODEL = {"likelihood": "cbow", "dimensions": 100, "window": 5, "negatives": 5, "subsample": 1e-4}
STRENGTHS = (math.inf, 1e4, 1e6, 1e2)  # the first is the default
RANDOM_START_STRENGTH = 1e4  # as in the paper
SHARES = (0.1, 0.2, 0.4, 1.0)  # of the training list
DEVELOPMENT = 0.2  # its last part
EPOCHS = 10
MAPPING = "orthogonal mapping"
DEFAULT_RIDGE = "default"
K = (1, 5, 15)
PAPER = [  # Table 7: 5,000 pairs, nearest neighbors
    ("en → it", "laplex, 1e+06", 14.8, 38.9, 55.2),
    ("en → it", "laplex, 10000", 15.5, 43.2, 57.7),
    ("en → it", MAPPING, 16.0, 32.2, 40.3),
    ("it → en", "laplex, 1e+06", 27.5, 49.2, 58.7),
    ("it → en", "laplex, 10000", 29.5, 51.0, 61.5),
    ("it → en", MAPPING, 22.8, 37.8, 44.6),
]

Ids = NDArray[np.int64]
Vectors = dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Setting:
    """One fit and its scores; a mapping has no strength."""

    seed: int
    pairs: int
    strength: float | None
    rotate: bool = True
    epochs: int = EPOCHS
    ridge: str = DEFAULT_RIDGE
    others: float | None = None  # as of Translations, None for its default

    @property
    def model(self) -> str:
        if self.strength is None:
            return MAPPING
        start = "" if self.rotate else ", random start"
        others = "" if self.others is None else f"/{self.others:g}"
        return f"laplex, {self.strength:g}{others}{start}"

    def key(self) -> tuple[Any, ...]:
        return self.seed, self.pairs, self.model, self.epochs, self.ridge


def plan(sizes: Sequence[int], seeds: int, quick: bool) -> list[Setting]:
    """All settings, the most important first; the last ones add seeds."""
    first = STRENGTHS[0]
    if quick:
        settings = [
            Setting(1, size, strength, True, 3) for strength in (None, first, RANDOM_START_STRENGTH) for size in sizes
        ]
        return [*settings, Setting(1, sizes[-1], RANDOM_START_STRENGTH, False, 3)]
    numbers = range(1, seeds + 1)
    settings = [Setting(seed, size, strength) for seed in numbers for strength in (None, first) for size in sizes]
    settings += [Setting(1, sizes[1], strength) for strength in STRENGTHS]
    settings += [Setting(1, size, RANDOM_START_STRENGTH, rotate=False) for size in sizes]
    settings += [Setting(1, size, strength) for strength in STRENGTHS for size in sizes]
    settings += [Setting(1, sizes[1], one, True, n) for n in (EPOCHS // 2, EPOCHS * 2) for one in (None, first)]
    settings += [Setting(seed, size, strength) for seed in numbers for strength in STRENGTHS for size in sizes]
    settings += [Setting(seed, size, RANDOM_START_STRENGTH, rotate=False) for seed in numbers for size in sizes]
    return list(dict.fromkeys(settings))


def grid(pairs: Sequence[int], strengths: Sequence[str], ridges: Sequence[str], seeds: int) -> list[Setting]:
    """Every combination of what is named, and the mapping of separate models with each ridge."""
    models: list[tuple[float | None, float | None]] = [(None, None)]
    for name in strengths:
        strength, _, others = name.partition("/")
        models.append((float(strength), float(others) if others else None))
    return [
        Setting(seed, size, strength, ridge=ridge, others=others)
        for seed in range(1, seeds + 1)
        for ridge in ridges
        for strength, others in models
        for size in pairs
    ]


# Text and lists


def read_text(data: Path, out: Path, every: int, min_count: int) -> lx.Tokens:
    """Italian speeches of every other sitting and English ones of those between, thinned by `every`."""
    paths = {language: data / f"europarl-{language}.parquet" for language in LANGUAGES}
    dates = sorted(set(pl.read_parquet(paths["en"], columns=["date"])["date"]))
    corpora = [
        lx.read(path, text="text", metadata=["date"], language=language).where(date=dates[start :: 2 * every])
        for start, (language, path) in enumerate(paths.items())
    ]
    return lx.Tokens.of(corpora[0] + corpora[1], min_count=min_count, cache=out / "cache")


def read_list(path: Path) -> list[tuple[str, list[str]]]:
    """An Italian word and its accepted English translations, the most frequent first."""
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    return [(word, others.split()) for word, others in lines]


def pairs_of(entries: list[tuple[str, list[str]]]) -> list[tuple[str, str]]:
    return [(word, other) for word, others in entries for other in others]


def ids_of(pairs: list[tuple[str, str]], words: dict[str, lx.Vocabulary]) -> Ids:
    """(pairs, 2) The word ids of each pair whose words are both in the vocabularies."""
    it, en = (words[language] for language in LANGUAGES)
    return np.array([(it[a], en[b]) for a, b in pairs if a in it and b in en], np.int64).reshape(-1, 2)


# Vectors


def center(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Normalize, center, normalize."""
    unit = _unit(vectors.astype(np.float64))
    return _unit(unit - unit.mean(0)).astype(np.float32)


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)


def readouts(fitted: lx.Embeddings) -> Iterator[tuple[str, Vectors]]:
    """The word vectors of each language, and their sum with context vectors."""
    words = {language: fitted.matrix(language) for language in LANGUAGES}
    yield "words", {language: center(block) for language, block in words.items()}
    both = {language: block + fitted.contexts(language) for language, block in words.items()}
    yield "words + contexts", {language: center(block) for language, block in both.items()}


def mapped(vectors: Vectors, fitted: lx.Embeddings, pairs: list[tuple[str, str]]) -> Vectors:
    """The Italian vectors rotated onto the English ones."""
    source, target = (
        lx.Embeddings.of([vocabulary], [vectors[vocabulary.language]])
        for vocabulary in sorted(fitted.rows.vocabularies, key=lambda one: LANGUAGES.index(one.language))
    )
    both = lx.baselines.orthogonal_mapping(source, target, pairs)
    return {language: both.matrix(language) for language in LANGUAGES}


def scores(vectors: Vectors, lists: dict[str, Ids]) -> Iterator[dict[str, Any]]:
    """P@k of each list in both directions, by nearest neighbor and by CSLS.

    The same as lx.evaluation.translation, but the neighborhoods of CSLS are computed once for all lists.
    """
    for turn, (here, there) in enumerate((LANGUAGES, LANGUAGES[::-1])):
        x, y = vectors[here], vectors[there]
        crowd = search(y, x, 10)[1].mean(1) / 2
        for name, ids in lists.items():
            queries = np.unique(ids[:, turn])
            gold = ids[:, turn] * len(y) + ids[:, 1 - turn]
            for method, penalty in (("nearest", None), ("csls", crowd)):
                nearest, _ = search(x[queries], y, max(K), penalty=penalty)
                right = np.isin(queries[:, None] * len(y) + nearest, gold)
                shares = {f"P@{k}": 100 * right[:, :k].any(1).mean() for k in K}
                labels = {"list": name, "direction": f"{here} → {there}", "method": method}
                yield labels | shares | {"words": len(queries)}


# Fits


class Bench:
    """Fits and scores settings; keeps the last model without translations, from which all mappings start."""

    def __init__(self, tokens: lx.Tokens, train: list[Any], test: list[Any], threads: int) -> None:
        self.tokens = tokens
        self.train = train
        self.threads = threads
        words = {vocabulary.language: vocabulary for vocabulary in tokens.vocabularies}
        self.held_back = round(len(train) * (1 - DEVELOPMENT))
        self.development = ids_of(pairs_of(train[self.held_back :]), words)
        self.test = ids_of(pairs_of(test), words)
        self._alone: tuple[tuple[int, int, str], lx.Embeddings, float] | None = None

    def run(self, setting: Setting) -> Iterator[dict[str, Any]]:
        """The scores of a setting, with the seconds of its fit."""
        pairs = pairs_of(self.train[: setting.pairs])
        lists = {"test": self.test}
        if setting.pairs <= self.held_back:
            lists["development"] = self.development
        if setting.strength is None:
            fitted, seconds = self._apart(setting)
        else:
            others = {} if setting.others is None else {"others": setting.others}
            joins = lx.Translations(pairs, setting.strength, languages=LANGUAGES, **others)
            fitted, seconds = self._fit(setting, joins)
        for by, vectors in readouts(fitted):
            if setting.strength is None:
                vectors = mapped(vectors, fitted, pairs)
            for row in scores(vectors, lists):
                yield asdict(setting) | {"model": setting.model, "by": by} | row | {"seconds": round(seconds, 1)}

    def _apart(self, setting: Setting) -> tuple[lx.Embeddings, float]:
        key = setting.seed, setting.epochs, setting.ridge
        if self._alone is None or self._alone[0] != key:
            self._alone = (key, *self._fit(setting, None))
        return self._alone[1:]

    def _fit(self, setting: Setting, joins: lx.Prior | None) -> tuple[lx.Embeddings, float]:
        ridge = lx.Ridge() if setting.ridge == DEFAULT_RIDGE else lx.Ridge(float(setting.ridge))
        prior = ridge if joins is None else ridge + joins
        started = time.process_time()
        fitted = lx.fit(
            lx.Model(prior=prior, **MODEL),
            self.tokens,
            epochs=setting.epochs,
            seed=setting.seed,
            threads=self.threads,
            rotate="auto" if setting.rotate else False,
            holdout=0.0,
            quiet=True,
        )
        return fitted, time.process_time() - started


# Tables and charts


def over_seeds(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """The mean of P@k, and the range of P@5, over the seeds."""
    grouped = frame.groupby(keys, sort=False)
    means = grouped[[f"P@{k}" for k in K]].mean()
    extra = {"lower": grouped["P@5"].min(), "upper": grouped["P@5"].max(), "seeds": grouped["seed"].nunique()}
    return means.assign(**extra).reset_index()


def choose(development: pd.DataFrame) -> pd.DataFrame:
    """The mean P@5 of each model and readout on the development list, over pairs, directions and seeds, best first.

    Means over different settings are not comparable: in an unfinished run, models that lack some settings come last and
    are not chosen.
    """
    frame = development.assign(laplex=development["model"] != MAPPING)
    grouped = frame.groupby(["laplex", "model", "ridge", "by", "method"], sort=False)["P@5"]
    means = pd.DataFrame({"P@5": grouped.mean(), "scores": grouped.size()}).reset_index()
    return means.sort_values(["laplex", "scores", "P@5"], ascending=False)


def compare(ours: pd.DataFrame, mapping: pd.DataFrame) -> pd.DataFrame:
    """The lead of laplex over the mapping: the mean and the minimum over seeds, and the number of seeds it leads in."""
    keys = ["pairs", "direction"]
    both = ours.merge(mapping, on=[*keys, "seed"], suffixes=("", " mapping"))
    ahead = pd.DataFrame({f"P@{k} ahead": both[f"P@{k}"] - both[f"P@{k} mapping"] for k in K})
    grouped = both[[*keys, "seed"]].assign(**ahead).groupby(keys)
    table = grouped[list(ahead)].mean()
    table["worst seed, P@5"] = grouped["P@5 ahead"].min()
    table["seeds ahead at 5"] = grouped["P@5 ahead"].agg(lambda values: f"{(values > 0).sum()} of {len(values)}")
    return table.reset_index()


def show(report: Report, frame: pd.DataFrame, epochs: int) -> None:
    """Write the tables and charts of all scores so far."""
    main = frame[(frame["epochs"] == epochs)]
    dev = main[(main["list"] == "development") & main["rotate"]]
    chosen = choose(dev)
    report.table("development", chosen.drop(columns="laplex"), "Development list: mean P@5 by model and readout", 1)
    best = {ours: rows.iloc[0] for ours, rows in chosen.groupby("laplex", sort=False)}
    test = main[main["list"] == "test"]
    picked = {
        ours: test[(test["model"] == row["model"]) & (test["by"] == row["by"]) & (test["method"] == row["method"])]
        for ours, row in best.items()
    }
    both = over_seeds(pd.concat([picked[True], picked[False]]), ["pairs", "direction", "model", "by", "method"])
    both = both.sort_values(["pairs", "direction"], kind="stable")
    report.table("chosen", both, "Test list: the readout and the strength chosen on the development list", 1)
    report.table("ahead", compare(picked[True], picked[False]), "How many points laplex is ahead", 1)
    keys = ["by", "method", "direction", "pairs", "model"]
    report.table("test", over_seeds(test, keys).sort_values(keys[:4], kind="stable"), "Test list: everything", 1)
    at_most = test[(test["pairs"] == test["pairs"].max()) & (test["by"] == "words") & (test["method"] == "nearest")]
    paper = pd.DataFrame(PAPER, columns=["direction", "model", *(f"P@{k}, paper" for k in K)])
    ours = over_seeds(at_most, ["direction", "model"])[["direction", "model", *(f"P@{k}" for k in K)]]
    report.table("table7", paper.merge(ours, on=["direction", "model"], how="right"), "Table 7 of the paper", 1)
    for by, method in (("words", "nearest"), ("words + contexts", "csls")):
        drawn = test[(test["by"] == by) & (test["method"] == method)]
        table = over_seeds(drawn, ["direction", "model", "pairs"])[
            ["direction", "model", "pairs", "P@5", "lower", "upper"]
        ]
        chart = lx.plots.lines(table, x="pairs", y="P@5", color="model", width=640, height=380)
        report.chart(f"pairs-{by.replace(' + ', '-')}-{method}", chart)
    passes = frame[(frame["seed"] == 1) & frame["rotate"] & (frame["by"] == best[True]["by"])]
    passes = passes[
        (passes["method"] == best[True]["method"]) & passes["model"].isin([MAPPING, f"laplex, {STRENGTHS[0]:g}"])
    ]
    passes = passes[passes["pairs"].isin(passes.loc[passes["epochs"] != epochs, "pairs"])]
    if len(passes):
        columns = ["list", "pairs", "direction", "epochs", "model", *(f"P@{k}" for k in K), "seconds"]
        report.table("epochs", passes[columns].sort_values(columns[:4]), "Passes over the text (seed 1)", 1)


def show_grid(report: Report, frame: pd.DataFrame) -> None:
    """Write the tables of a grid, by CSLS: everything, and the best settings of the development list on the test list.

    What is compared by the mean over pairs, directions and seeds has a development list for each of them.
    """
    frame = frame[frame["method"] == "csls"].assign(laplex=frame["model"] != MAPPING)
    labels = ["by", "model", "ridge"]
    wide = frame.assign(column=frame["list"] + ", " + frame["pairs"].astype(str) + ", " + frame["direction"])
    table = wide.pivot_table("P@5", labels, "column", sort=False).reset_index()
    report.table("grid", table, "P@5 of all settings, mean over seeds, by CSLS", 1)
    means = frame[frame["list"] == "development"].groupby(["laplex", *labels], sort=False)["P@5"].mean().reset_index()
    best = means.loc[means.groupby(["by", "laplex"])["P@5"].idxmax()].drop(columns="P@5")
    report.table("chosen", best.drop(columns="laplex"), "Chosen on the development list: a mapping, a joint model", 1)
    test = frame[frame["list"] == "test"].merge(best, on=["laplex", *labels])
    keys = ["by", "pairs", "direction", "model", "ridge"]
    report.table("test", over_seeds(test, keys).sort_values(keys[:3], kind="stable"), "Test list, as chosen", 1)
    for by, rows in test.groupby("by", sort=False):
        ahead = compare(rows[rows["laplex"]], rows[~rows["laplex"]])
        report.table(f"ahead-{by.replace(' + ', '-')}", ahead, f"How many points laplex is ahead, {by}", 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--quick", action="store_true", help="little text, few settings: about a minute")
    parser.add_argument("--every", type=int, default=1, help="use only one in this number of sittings of each language")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, nargs="+", default=[1000], help="with --ridges: entries of the list")
    parser.add_argument("--strengths", nargs="+", default=["inf"], help="with --ridges, such as 1e4 inf/inf")
    parser.add_argument("--ridges", nargs="+", help=f"compare all combinations of these numbers, or {DEFAULT_RIDGE}")
    arguments = parser.parse_args()
    every = 10 * arguments.every if arguments.quick else arguments.every
    settings = {"model": MODEL, "every": every, "min_count": 10, "threads": arguments.threads, "quick": arguments.quick}
    with Report(arguments.out, settings) as report:
        train = read_list(arguments.data / "translations" / "it-en.train5000.tsv")
        test = read_list(arguments.data / "translations" / "it-en.test1000.tsv")
        tokens = read_text(arguments.data, arguments.out, every, settings["min_count"])
        settings["text"] = repr(tokens)
        bench = Bench(tokens, train, test, arguments.threads)
        sizes = [round(len(train) * share) for share in (SHARES[:2] if arguments.quick else SHARES)]
        path = arguments.out / "scores.csv"
        done = pd.read_csv(path, dtype={"ridge": str}) if path.exists() else pd.DataFrame()
        keys = ("seed", "pairs", "model", "epochs", "ridge")
        known = set(zip(*(done[name] for name in keys))) if len(done) else set()
        wanted = plan(sizes, arguments.seeds, arguments.quick)
        if arguments.ridges:
            wanted = grid(arguments.pairs, arguments.strengths, arguments.ridges, arguments.seeds)
        for number, setting in enumerate(wanted, 1):
            if setting.key() in known:
                continue
            done = pd.concat([done, pd.DataFrame(bench.run(setting))], ignore_index=True)
            done.to_csv(path, index=False)
            print(f"{number} of {len(wanted)}: {setting.model}, {setting.pairs} pairs, seed {setting.seed}", flush=True)
        if arguments.ridges:
            show_grid(report, done)
        else:
            show(report, done, wanted[0].epochs)


if __name__ == "__main__":
    main()
