"""Groups, time and a dictionary in one model: concepts that divide political groups in two languages, and when.

    python experiments/joint.py --data DATA --out results/joint

The text is the European Parliament by political group × year × language. English and Italian are from different sitting
days, so that no speech is in both, and a difference in both languages was observed twice. A word has a vector in each
group and year; groups are joined by a complete graph, years by a chain, and the languages by translations.

strengths    strengths of the three kinds of edges, chosen by held-out documents
likelihood   log likelihood of held-out days, with all edges and without each kind of edge
concepts     pairs of translations, by the evidence in both languages that groups use them differently: all groups
             jointly, and the two largest
time         the first of these pairs by year, in each language, with intervals: the distance between the two groups
             that differ most clearly
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from report import Report
from scipy import stats

import laplex as lx

GROUPS = ("ALDE", "ECR_UEN", "EPP", "GREENS", "GUE", "S&D")
PAIR = ("EPP", "S&D")
LANGUAGES = {"en": "english", "it": "italian"}
SEPARATOR = " – "  # between the names of two groups
DAYS_PER_HELD_OUT_DAY = 10  # in each language


@dataclass(frozen=True)
class Scale:
    days: int | None
    groups: tuple[str, ...]
    dimensions: int
    epochs: int
    min_count: int
    clusters: int
    grid: dict[str, list[float]]
    shown: int = 4


FULL = Scale(
    None,
    GROUPS,
    100,
    8,
    50,
    25,
    {"family": [100.0, 1e3], "year": [100.0, 1e3, 1e4], "translations": [0.1, 1.0, 10.0, 100.0]},
)
QUICK = Scale(30, PAIR, 20, 2, 10, 3, {"translations": [1.0, 100.0]}, 2)
COLUMNS = ("english", "italian", "estimate_en", "estimate_it", "p_en", "p_it", "p", "n_en", "n_it")


def read(folder: Path, scale: Scale) -> tuple[lx.Corpus, lx.Corpus]:
    """The training text and the held-out text."""
    parts: list[list[lx.Corpus]] = [[], []]
    for place, language in enumerate(LANGUAGES):
        frame = pl.read_parquet(folder / f"europarl-{language}.parquet", columns=["date", "family", "speaker", "text"])
        frame = frame.filter(pl.col("family").is_in(scale.groups) & (pl.col("speaker") != ""))
        days = frame["date"].unique().sort().to_list()[: scale.days]
        days_of_language = days[place::2]
        held_out = days_of_language[DAYS_PER_HELD_OUT_DAY // 2 :: DAYS_PER_HELD_OUT_DAY]
        for part, chosen in zip(parts, ([day for day in days_of_language if day not in held_out], held_out)):
            rows = frame.filter(pl.col("date").is_in(chosen)).with_columns(year=pl.col("date").str.slice(0, 4))
            part.append(lx.read(rows, metadata=["family", "speaker", "year"], language=language))
    text, held_out_text = (part[0] + part[1] for part in parts)
    return text, held_out_text


def model(prior: lx.Prior, scale: Scale) -> lx.Model:
    return lx.Model(["family", "year"], prior, dimensions=scale.dimensions)


def chosen_strengths(
    report: Report, translations: lx.lexicons.WordPairs, tokens: lx.Tokens, scale: Scale
) -> dict[str, float]:
    """Strengths chosen by held-out documents; those that are not in the grid are unchanged."""
    start = {"family": 100.0, "year": 100.0, "translations": 100.0}
    full = next(prior for _, prior in priors(translations, start))
    tuned = lx.tune(model(full, scale), tokens, scale.grid, epochs=scale.epochs)
    report.table("strengths", tuned.table, "Strengths of the edges, by held-out documents", digits=4)
    [best] = tuned.table[tuned.table["chosen"]].to_dict("records")
    return start | {name: best[name] for name in scale.grid}


def priors(translations: lx.lexicons.WordPairs, strengths: Mapping[str, float]) -> Iterator[tuple[str, lx.Prior]]:
    """The prior with all edges, without each kind of edge, and without any."""
    ridge = lx.Ridge(1.0)
    edges: dict[str, lx.Prior] = {
        "groups": lx.Groups("family", strengths["family"]),
        "years": lx.Chain("year", strengths["year"]),
        "translations": lx.Translations(translations, strengths["translations"], languages=("it", "en")),
    }
    yield "all edges", ridge + edges["groups"] + edges["years"] + edges["translations"]
    for name in edges:
        rest = [edge for other, edge in edges.items() if other != name]
        yield f"without {name}", ridge + rest[0] + rest[1]
    yield "no edges", ridge


def concepts(
    fitted: lx.Embeddings,
    translations: lx.lexicons.WordPairs,
    tokens: lx.Tokens,
    scale: Scale,
    groups: tuple[str, ...],
) -> pd.DataFrame:
    """Translations that differ among groups in both languages: p is the larger of the two."""
    tests = {}
    for language, words in (("en", translations.right), ("it", translations.left)):
        vocabulary = fitted.rows.vocabularies[fitted.language(language)]
        asked = fitted.inference(unit="speaker", min_units=scale.clusters, language=language, tokens=tokens)
        chosen = [word for word in dict.fromkeys(words) if word in vocabulary]
        frame = asked.contrast("family", chosen, values=groups, against="joint" if len(groups) > 2 else None)
        frame["n"] = frame["uses"] + frame["uses_against"]
        tests[language] = frame.dropna(subset="p").set_index("word")[["estimate", "lower", "upper", "p", "n"]]
    rows = []
    for italian, english in zip(translations.left, translations.right, strict=True):
        if italian in tests["it"].index and english in tests["en"].index and italian != english:
            it, en = tests["it"].loc[italian], tests["en"].loc[english]
            rows.append(
                {
                    "english": english,
                    "italian": italian,
                    "estimate_en": en["estimate"],
                    "estimate_it": it["estimate"],
                    "p_en": en["p"],
                    "p_it": it["p"],
                    "p": max(en["p"], it["p"]),
                    "n_en": int(en["n"]),
                    "n_it": int(it["n"]),
                }
            )
    table = pd.DataFrame(rows, columns=list(COLUMNS)).sort_values("p", kind="stable")
    table = table.drop_duplicates("english").drop_duplicates("italian")
    table["p_adjusted"] = stats.false_discovery_control(table["p"]) if len(table) else np.nan
    return table.reset_index(drop=True)


def run(report: Report, folder: Path, scale: Scale) -> None:
    translations = lx.lexicons.translations(folder / "translations" / "it-en.train5000.tsv")
    text, held_out = read(folder, scale)
    tokens = lx.Tokens.of(text, min_count=scale.min_count)
    strengths = chosen_strengths(report, translations, tokens, scale)
    report.settings["strengths"] = strengths
    models: dict[str, lx.Embeddings] = {}
    for name, prior in priors(translations, strengths):
        models[name] = lx.fit(model(prior, scale), tokens, epochs=scale.epochs, holdout=0.0, tests=False)
    likelihood = lx.evaluation.held_out(models, held_out, subsample=1e-3)
    report.table("likelihood", likelihood, "Log likelihood per token of held-out days", digits=4)
    fitted = models["all edges"]
    correlations = {}
    for name, groups in (("concepts", scale.groups), ("pair", PAIR)):
        divided = concepts(fitted, translations, tokens, scale, groups)
        title = f"Concepts that divide {', '.join(groups)} in both languages, of {len(divided):,}"
        report.table(name, divided.head(25), title, digits=4)
        if len(divided) > 2:
            agreement = stats.spearmanr(divided["estimate_en"], divided["estimate_it"])
            correlations[name] = round(float(agreement.statistic), 3)
            if name == "concepts":
                over_time(report, fitted, divided, tokens, scale)
    report.settings["rank correlation of the distances in the two languages"] = correlations


def widest(fitted: lx.Embeddings, divided: pd.DataFrame, tokens: lx.Tokens, scale: Scale) -> list[str]:
    """For each concept the two groups between which it differs most clearly in both languages."""
    tests = []
    for language, column in LANGUAGES.items():
        words = divided[column].tolist()
        asked = fitted.inference(unit="speaker", min_units=scale.clusters, language=language, tokens=tokens)
        pairs = asked.contrast("family", words, values=scale.groups, against="pairs")
        pairs["pair"] = pairs["value"] + SEPARATOR + pairs["against"]
        tests.append(pairs.pivot(index="word", columns="pair", values="p").loc[words].reset_index(drop=True))
    return pd.concat(tests).groupby(level=0).max().idxmin(axis=1).tolist()


def pair_over_years(asked: Any, word: str, pair: str, tokens: lx.Tokens) -> pd.DataFrame:
    """How different a word is between two groups in each year that has both."""
    frames = []
    for year in tokens.values("year"):
        try:
            frame = asked.contrast("family", word, values=pair.split(SEPARATOR), at={"year": year})
        except lx.InputError:  # one of the groups says nothing
            continue
        frame.insert(1, "year", year)
        frames.append(frame)
    return pd.concat(frames)


def over_time(report: Report, fitted: lx.Embeddings, divided: pd.DataFrame, tokens: lx.Tokens, scale: Scale) -> None:
    divided, frames = divided.head(scale.shown), []
    pairs = widest(fitted, divided, tokens, scale)
    for language, column in LANGUAGES.items():
        words = divided[column].tolist()
        asked = fitted.inference(
            unit="speaker",
            min_units=max(2, scale.clusters // 2),  # a year has fewer speakers
            min_count=50,
            language=language,
            tokens=tokens,
        )
        gap = pd.concat([pair_over_years(asked, *question, tokens) for question in zip(words, pairs, strict=True)])
        frames.append(gap.assign(language=language))
        if gap["estimate"].notna().any():
            report.chart(f"time-{language}", lx.plots.lines(gap))
    title = "Distance by year of the groups between which a concept differs most clearly, 90% intervals"
    report.table("time", pd.concat(frames), title)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--quick", action="store_true", help="a small run of about a minute, as a test")
    arguments = parser.parse_args()
    scale = QUICK if arguments.quick else FULL
    with Report(arguments.out, {**vars(arguments), **vars(scale), "pair": PAIR}) as report:
        run(report, arguments.data, scale)


if __name__ == "__main__":
    main()
