"""Which concepts divide political groups in two languages, and when? Groups, time and a dictionary in one model.

    python experiments/joint.py --data ../shared/data --out results/joint

The European Parliament by political group × year × language. English and Italian are read on different sitting days,
so that no speech is in both, and what holds in both languages was seen twice. A word has a vector in each group and
year; groups are joined by a complete graph, years by a chain, the languages by translations.

strengths    of the three kinds of edges, chosen by documents that were held out of the days that are read
likelihood   text of days that were not read, by the whole model and with each kind of edge taken away
concepts     pairs of translations, by the evidence in both languages that groups use them differently: all groups at
             once, and the two largest
time         the first of them by year, in each language, with bands: the distance between those two groups that
             differ most clearly
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from report import Report
from scipy import stats

import laplex as lx

GROUPS = ("ALDE", "ECR_UEN", "EPP", "GREENS", "GUE", "S&D")
PAIR = ("EPP", "S&D")
LANGUAGES = {"en": "english", "it": "italian"}
UNREAD = 10  # one in so many days of each language is held out


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
    """The text to read, and the text to judge by."""
    parts: list[list[lx.Corpus]] = [[], []]
    for place, language in enumerate(LANGUAGES):
        frame = pl.read_parquet(folder / f"europarl-{language}.parquet", columns=["date", "family", "speaker", "text"])
        frame = frame.filter(pl.col("family").is_in(scale.groups) & (pl.col("speaker") != ""))
        days = frame["date"].unique().sort().to_list()[: scale.days]
        mine = days[place::2]
        unread = mine[UNREAD // 2 :: UNREAD]
        for part, chosen in zip(parts, ([day for day in mine if day not in unread], unread)):
            rows = frame.filter(pl.col("date").is_in(chosen)).with_columns(year=pl.col("date").str.slice(0, 4))
            part.append(lx.read(rows, metadata=["family", "speaker", "year"], language=language))
    text, unread_text = (part[0] + part[1] for part in parts)
    return text, unread_text


def model(prior: lx.Prior, scale: Scale) -> lx.Model:
    return lx.Model(["family", "year"], prior, dimensions=scale.dimensions)


def chosen_strengths(
    report: Report, translations: lx.lexicons.WordPairs, tokens: lx.Tokens, scale: Scale
) -> dict[str, float]:
    """Strengths by held-out documents; those that are not in the grid stay as they are."""
    start = {"family": 100.0, "year": 100.0, "translations": 100.0}
    whole = next(prior for _, prior in priors(translations, start))
    tuned = lx.tune(model(whole, scale), tokens, scale.grid, epochs=scale.epochs)
    report.table("strengths", tuned.table, "Strengths of the edges, by held-out documents", digits=4)
    [best] = tuned.table[tuned.table["chosen"]].to_dict("records")
    return start | {name: best[name] for name in scale.grid}


def priors(translations: lx.lexicons.WordPairs, strengths: Mapping[str, float]) -> Iterator[tuple[str, lx.Prior]]:
    """The whole prior, and with each of its edges taken away."""
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
    found = {}
    for language, words in (("en", translations.right), ("it", translations.left)):
        vocabulary = fitted.rows.vocabularies[fitted.language(language)]
        frame = fitted.contrast(
            "family",
            words=[word for word in dict.fromkeys(words) if word in vocabulary],
            values=groups,
            joint=len(groups) > 2,
            rank="evidence",
            cluster="speaker",
            min_clusters=scale.clusters,
            language=language,
            tokens=tokens,
        )
        found[language] = frame.dropna(subset="p").set_index("word")[["estimate", "lower", "upper", "p", "n"]]
    rows = []
    for italian, english in zip(translations.left, translations.right, strict=True):
        if italian in found["it"].index and english in found["en"].index and italian != english:
            it, en = found["it"].loc[italian], found["en"].loc[english]
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
    whole = pd.DataFrame(rows, columns=list(COLUMNS)).sort_values("p", kind="stable")
    whole = whole.drop_duplicates("english").drop_duplicates("italian")
    whole["p_adjusted"] = stats.false_discovery_control(whole["p"]) if len(whole) else np.nan
    return whole.reset_index(drop=True)


def run(report: Report, folder: Path, scale: Scale) -> None:
    translations = lx.lexicons.translations(folder / "translations" / "it-en.train5000.tsv")
    text, unread = read(folder, scale)
    tokens = lx.Tokens.of(text, min_count=scale.min_count)
    strengths = chosen_strengths(report, translations, tokens, scale)
    report.settings["strengths"] = strengths
    models: dict[str, lx.Embeddings] = {}
    for name, prior in priors(translations, strengths):
        models[name] = lx.fit(model(prior, scale), tokens, epochs=scale.epochs, holdout=0.0)
    likelihood = lx.evaluation.held_out(models, unread, subsample=1e-3)
    report.table("likelihood", likelihood, "Log likelihood of a token of days not read", digits=4)
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
    found = []
    for language, column in LANGUAGES.items():
        words = divided[column].tolist()
        pairs = fitted.contrast(
            "family",
            words=words,
            values=scale.groups,
            cluster="speaker",
            min_clusters=scale.clusters,
            language=language,
            tokens=tokens,
        )
        found.append(pairs.pivot(index="word", columns="family", values="p").loc[words].reset_index(drop=True))
    return pd.concat(found).groupby(level=0).max().idxmin(axis=1).tolist()


def over_time(report: Report, fitted: lx.Embeddings, divided: pd.DataFrame, tokens: lx.Tokens, scale: Scale) -> None:
    divided, frames = divided.head(scale.shown), []
    pairs = widest(fitted, divided, tokens, scale)
    for language, column in LANGUAGES.items():
        words = divided[column].tolist()
        gap = fitted.distance(
            words,
            "family",
            "year",
            cluster="speaker",
            interval=0.9,
            min_clusters=max(2, scale.clusters // 2),  # a year has fewer speakers
            min_count=50,
            language=language,
            tokens=tokens,
        )
        gap = gap[gap["family"] == gap["word"].map(dict(zip(words, pairs, strict=True)))]
        frames.append(gap.assign(language=language))
        if gap["estimate"].notna().any():
            report.chart(f"time-{language}", lx.plots.lines(gap))
    title = "Distance by year of the groups between which a concept differs most clearly, 90% intervals"
    report.table("time", pd.concat(frames), title)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--quick", action="store_true", help="a minute, to see that it runs")
    asked = parser.parse_args()
    scale = QUICK if asked.quick else FULL
    with Report(asked.out, {**vars(asked), **vars(scale), "pair": PAIR}) as report:
        run(report, asked.data, scale)


if __name__ == "__main__":
    main()
