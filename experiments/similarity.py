"""Word vectors with dictionaries in the prior (the paper's Tables 5 and 6).

    python experiments/similarity.py --data DATA --out results/similarity
    python experiments/similarity.py --data DATA --out results/search --part search

tables   English Wikipedia with pairs of words that occur in each other's definitions, CBOW and SGNS: 13 sets of rated
         pairs and Google's analogies for laplex with word–context edges, laplex without a graph, gensim, and gensim
         retrofitted to the same pairs
search   other graphs and settings (see `settings.py`), chosen by the mean over the DEVELOPMENT sets; the best one is
         reported on the other sets and on all

Every table of similarity is given twice: for all pairs, and without those that are edges of the model's graph.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from peers import Gensim
from report import Report
from settings import GRAPHS, Likelihood, Setting, candidates, pairs_of, paper, skipgram

import laplex as lx

DEVELOPMENT = ("MEN-TR-3k", "MTurk-771", "SimLex999", "RW-STANFORD", "YP-130", "MC-30")
PAPER = {  # Table 5, 50M tokens
    "Card-660": (0.284, 0.334, 0.247),
    "MC-30": (0.778, 0.761, 0.673),
    "MEN-TR-3k": (0.723, 0.686, 0.636),
    "MTurk-287": (0.670, 0.575, 0.600),
    "MTurk-771": (0.664, 0.606, 0.564),
    "RG-65": (0.802, 0.793, 0.594),
    "RW-STANFORD": (0.447, 0.441, 0.387),
    "SimLex999": (0.361, 0.393, 0.321),
    "SimVerb-3500": (0.270, 0.315, 0.195),
    "WS-353-ALL": (0.740, 0.686, 0.635),
    "WS-353-REL": (0.697, 0.626, 0.559),
    "WS-353-SIM": (0.756, 0.718, 0.685),
    "YP-130": (0.476, 0.489, 0.250),
    "mean": (0.590, 0.571, 0.488),
}

DICT2VEC = {  # the original program on this text and these strong pairs, five epochs; measured once, not run here
    "Card-660": 0.486,
    "MC-30": 0.692,
    "MEN-TR-3k": 0.657,
    "MTurk-287": 0.601,
    "MTurk-771": 0.592,
    "RG-65": 0.744,
    "RW-STANFORD": 0.430,
    "SimLex999": 0.396,
    "SimVerb-3500": 0.370,
    "WS-353-ALL": 0.688,
    "WS-353-REL": 0.629,
    "WS-353-SIM": 0.740,
    "YP-130": 0.522,
    "mean": 0.581,
}


@dataclass(frozen=True)
class Scale:
    documents: int | None
    dimensions: int
    epochs: int
    search_epochs: int
    peer_epochs: int


FULL = Scale(None, 100, 20, 5, 5)
QUICK = Scale(150, 20, 2, 1, 1)


def read(folder: Path, scale: Scale) -> lx.Tokens:
    frame = pl.read_parquet(folder / "wikipedia-en.parquet", columns=["text"])
    return lx.Tokens.of(lx.read(frame if scale.documents is None else frame.head(scale.documents)), min_count=5)


def fit(tokens: lx.Tokens, setting: Setting, folder: Path, scale: Scale, epochs: int) -> tuple[lx.Embeddings, float]:
    """The fitted model, and the minutes it took."""
    model = setting.model(folder, tokens.vocabularies[0], scale.dimensions)
    start = time.perf_counter()
    fitted = lx.fit(model, tokens, epochs=epochs, holdout=0.0, quiet=True)
    return fitted, (time.perf_counter() - start) / 60


def of_gensim(tokens: lx.Tokens, model: lx.Model, epochs: int, threads: int) -> lx.Embeddings:
    gensim = Gensim(tokens, model, epochs=epochs, threads=threads)
    trained = gensim.train()
    return lx.Embeddings.of(tokens.vocabularies, [gensim.vectors(trained)])


def scored(
    models: Mapping[str, lx.Embeddings], folder: Path, leave_out: lx.lexicons.WordPairs | None, by: str = "words"
) -> pd.DataFrame:
    """Spearman's correlation: a row for each set and for the means, a column for each model."""
    scores = lx.evaluation.similarity(
        dict(models),
        folder / "similarity",
        by=by,  # type: ignore[arg-type]
        leave_out=leave_out,
        bootstrap=0,
        quiet=True,
    )
    wide = scores.pivot(index="set", columns="model", values="spearman")
    return wide.loc[scores["set"].unique(), list(models)].drop(index="weighted mean")


def analogies(models: Mapping[str, lx.Embeddings], folder: Path) -> pd.DataFrame:
    scores = lx.evaluation.analogies(dict(models), folder / "analogies" / "google.txt", quiet=True)
    return scores.pivot(index="section", columns="model", values="accuracy").loc[:, list(models)]


def tables(
    report: Report, tokens: lx.Tokens, folder: Path, scale: Scale, threads: int, likelihoods: Sequence[Likelihood]
) -> None:
    strong = pairs_of("strong", folder)
    for likelihood in likelihoods:
        setting = paper if likelihood == "cbow" else skipgram
        graph, minutes = fit(tokens, setting, folder, scale, scale.epochs)
        plain, _ = fit(tokens, replace(setting, graph=()), folder, scale, scale.epochs)
        model = setting.model(folder, tokens.vocabularies[0], scale.dimensions)
        gensim = of_gensim(tokens, replace(model, subsample=1e-3), scale.peer_epochs, threads)
        models = {
            "laplex": graph,
            "laplex, no graph": plain,
            "gensim": gensim,
            "gensim, retrofitted": lx.baselines.retrofit(gensim, strong, quiet=True),
        }
        all_pairs = scored(models, folder, None)
        untold = scored(models, folder, strong)
        for by, name in (("both", "words + contexts"), ("contexts", "contexts")):
            others = {f"laplex, {name}": graph, f"laplex, no graph, {name}": plain}
            all_pairs = all_pairs.join(scored(others, folder, None, by))
            untold = untold.join(scored(others, folder, strong, by))
        if likelihood == "cbow":
            for place, name in enumerate(("paper: PELP", "paper: dict2vec", "paper: word2vec")):
                all_pairs[name] = [PAPER.get(row, (float("nan"),) * 3)[place] for row in all_pairs.index]
        fitting = f"{scale.epochs} epochs, {minutes:.1f} minutes of fitting"
        title = f"Word similarity, {likelihood.upper()}, {fitting} (Table 5)"
        report.table(f"similarity-{likelihood}", all_pairs.reset_index(), title)
        title = f"The same without pairs that are edges, {likelihood.upper()}"
        report.table(f"similarity-{likelihood}-untold", untold.reset_index(), title)
        report.table(
            f"analogies-{likelihood}", analogies(models, folder).reset_index(), f"Analogies, {likelihood.upper()}"
        )


def summary(wide: pd.Series) -> dict[str, float]:
    sets = wide.drop(index="mean")
    chosen = [name for name in sets.index if name in DEVELOPMENT]
    return {"development": sets[chosen].mean(), "other": sets.drop(index=chosen).mean(), "all": sets.mean()}


def search(report: Report, tokens: lx.Tokens, folder: Path, scale: Scale, quick: bool) -> None:
    rows = []
    plain, _ = fit(tokens, replace(paper, graph=()), folder, scale, scale.search_epochs)
    for setting in candidates(quick):
        fitted, minutes = fit(tokens, setting, folder, scale, scale.search_epochs)
        pairs = setting.pairs(folder) if setting.graph else None
        for by in ("words", "both"):
            part = summary(scored({"it": fitted}, folder, None, by)["it"])
            untold = scored({"it": fitted, "plain": plain}, folder, pairs, by)
            part |= {"all, untold": summary(untold["it"])["all"], "no graph, untold": summary(untold["plain"])["all"]}
            rows.append({"setting": setting.name, "vectors": by, **part, "minutes": minutes})
            print(rows[-1], flush=True)
        pd.DataFrame(rows).to_csv(report.out / "search-so-far.csv", index=False)
    table = pd.DataFrame(rows).sort_values("development", ascending=False, kind="stable")
    report.table(
        "search", table, f"Settings at {scale.search_epochs} epochs, by the mean over {', '.join(DEVELOPMENT)}"
    )
    setting = next(one for one in candidates(quick) if one.name == table["setting"].iloc[0])
    fitted, minutes = fit(tokens, setting, folder, scale, scale.epochs)
    plain, _ = fit(tokens, replace(setting, graph=()), folder, scale, scale.epochs)
    best(report, setting, {"laplex": fitted, "no graph": plain}, folder, scale, minutes)


def best(
    report: Report, setting: Setting, models: dict[str, lx.Embeddings], folder: Path, scale: Scale, minutes: float
) -> None:
    """Choose the readout of the best setting by the development sets, and report its scores."""
    rows = []
    for by, components in product(("words", "both"), range(6)):
        read = {name: read_out(model, by, components) for name, model in models.items()}
        wide = scored(read, folder, None)
        rows += [{"model": m, "vectors": by, "components": components, **summary(wide[m])} for m in models]
    readouts = pd.DataFrame(rows)
    report.table("readouts", readouts, f"{setting.name}, {scale.epochs} epochs ({minutes:.1f} minutes), by readout")
    read = {}
    for name, model in models.items():
        rows_of_model = readouts[readouts["model"] == name]
        chosen = rows_of_model.loc[rows_of_model["development"].idxmax()]
        read[f"{name}: {chosen['vectors']} without {chosen['components']}"] = read_out(
            model, chosen["vectors"], chosen["components"]
        )
    all_pairs, untold = scored(read, folder, None), scored(read, folder, setting.pairs(folder))
    final = all_pairs.join(untold, rsuffix=", untold")
    final["dict2vec"] = [DICT2VEC[name] for name in final.index]
    report.table("best", final.reset_index(), "The best setting in its best readout, set by set")
    means = pd.DataFrame([{"model": name, **summary(final[name])} for name in final.columns])
    report.table("best-means", means, "Its means: sets it was chosen on, other sets, all")
    readout_models = models | {f"{name}, as read": vectors for name, vectors in zip(models, read.values(), strict=True)}
    report.table("best-analogies", analogies(readout_models, folder).reset_index(), "Its analogies")


def read_out(model: lx.Embeddings, by: str, components: int) -> lx.Embeddings:
    """Unit word vectors, or their sum with unit context vectors, without the mean and the main axes."""
    words, contexts = model.matrix(), model.contexts()
    vectors = _unit(words) + (_unit(contexts) if by == "both" else 0.0)
    vectors = vectors - vectors.mean(0)
    axes = np.linalg.eigh(vectors.T @ vectors)[1][:, -components:] if components else np.zeros((vectors.shape[1], 0))
    return lx.Embeddings.of(model.rows.vocabularies, [(vectors - vectors @ axes @ axes.T).astype(np.float32)])


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    long = vectors.astype(np.float64)
    return np.asarray(long / np.maximum(np.linalg.norm(long, axis=1, keepdims=True), 1e-12))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--part", choices=["tables", "search"], nargs="+", default=["tables", "search"])
    parser.add_argument("--quick", action="store_true", help="a small run of about a minute, as a test")
    parser.add_argument("--likelihood", choices=["cbow", "sgns"], nargs="+", default=["cbow", "sgns"])
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    scale = QUICK if arguments.quick else FULL
    scale = replace(scale, epochs=arguments.epochs or scale.epochs)
    with Report(arguments.out, {**vars(arguments), **vars(scale), "graphs": ", ".join(GRAPHS)}) as report:
        tokens = read(arguments.data, scale)
        if "tables" in arguments.part:
            tables(report, tokens, arguments.data, scale, arguments.threads, arguments.likelihood)
        if "search" in arguments.part:
            search(report, tokens, arguments.data, scale, arguments.quick)


if __name__ == "__main__":
    main()
