"""Several explanations at once, on three corpora: is it the party, or the time, or what is written about?

    python experiments/regression.py --data DATA --out results/regression [--parts senate europarl sotu]

senate     press releases of the Senate by senator: parties without controls, given the quarter, and given the quarter
           and the topic (which of the words differ because a party writes about other things?); changes over the
           quarters with and without the topic; one word in detail
europarl   speeches of the European Parliament by speaker: political groups, the year, and the country
sotu       the addresses of the presidents: the year as a number, and the party
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
from report import Report

import laplex as lx

COUNTRIES = ("DE", "ES", "FR", "GB", "IT", "PL")
SHOWN = ["word", "estimate", "lower", "upper", "p_adjusted", "context", "context_against"]


@dataclass(frozen=True)
class Scale:
    documents: int | None
    dimensions: int
    epochs: int
    min_units: int | None
    min_count: int
    topics: int
    shown: int = 15


FULL = Scale(None, 100, 5, None, 1_000, 20)
QUICK = Scale(600, 10, 1, 3, 20, 3, 5)


def fit(corpus: lx.Corpus, column: str, scale: Scale) -> Any:
    """What tests share, of a model whose vectors vary by a column."""
    prior = lx.Ridge(1.0) + lx.Groups(column, 100.0)
    model = lx.Model([column], prior, dimensions=scale.dimensions)
    fitted = lx.fit(model, corpus, epochs=scale.epochs, tests=False)
    return fitted.inference(min_units=scale.min_units, min_count=scale.min_count)


def holding(table: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """The first rows of a table, those that hold first."""
    return table[SHOWN].head(scale.shown)


def sample(frame: pl.DataFrame, scale: Scale) -> pl.DataFrame:
    return frame if scale.documents is None else frame.sample(min(scale.documents, len(frame)), seed=1)


def counts(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """How many words were tested, have a p under 5%, and hold."""
    rows = []
    for name, table in tables.items():
        p = table["p"].dropna()
        rows.append(
            {"question": name, "tested": len(p), "under 5%": (p < 0.05).mean(), "hold": int(table["holds"].sum())}
        )
    return pd.DataFrame(rows)


def senate(report: Report, folder: Path, scale: Scale) -> None:
    frame = sample(pl.read_parquet(folder / "senate-press.parquet"), scale)
    month = pl.col("date").str.slice(5, 2).cast(pl.Int32)
    frame = frame.with_columns(quarter=pl.format("{}-Q{}", pl.col("date").str.slice(0, 4), (month + 2) // 3))
    releases = lx.read(frame, metadata=["party", "quarter"], unit="senator").topics(scale.topics)
    asked = fit(releases, "party", scale)
    tables = {
        "party": asked.contrast("party"),
        "party, given quarter": asked.contrast("party", given="quarter"),
        "party, given quarter and topic": asked.contrast("party", given=["quarter", "topic"]),
        "change over the quarters": asked.regress("~ quarter"),
        "change over the quarters, given party and topic": asked.regress("~ quarter + party + topic", terms="quarter"),
        "parties that change apart": asked.regress("~ party * quarter + topic", terms="party:quarter"),
    }
    report.table("senate", counts(tables), "Press releases of the Senate, by senator")
    for name, table in tables.items():
        report.table(f"senate-{name.replace(' ', '-').replace(',', '')}", holding(table, scale), name)
    plain, given = (tables[name].set_index("word") for name in ("party", "party, given quarter and topic"))
    both = plain.join(given[["estimate", "p_adjusted", "holds"]], rsuffix="_given", how="inner")
    lost = both[both["holds"] & ~both["holds_given"]].sort_values("p_adjusted_given", ascending=False)
    kept = both[both["holds"] & both["holds_given"]]
    report.settings["senate: hold without controls, and given quarter and topic"] = len(kept), len(lost)
    columns = ["word", "estimate", "estimate_given", "p_adjusted", "p_adjusted_given"]
    report.table(
        "senate-topics", lost.reset_index()[columns].head(scale.shown), "Differences of subjects, not of words"
    )
    first = tables["party, given quarter and topic"]["word"].iloc[0]
    explained = asked.explain(first, "party", given=["quarter", "topic"])
    report.table(
        "senate-explained", explained.context.head(scale.shown), f"What the difference of “{first}” is made of"
    )
    report.chart("senate-explained", explained.plot())
    report.chart("senate-volcano", lx.plots.volcano(tables["party, given quarter and topic"]))


def europarl(report: Report, folder: Path, scale: Scale) -> None:
    frame = pl.read_parquet(folder / "europarl-en.parquet").filter(pl.col("family").is_in(["EPP", "S&D"]))
    if scale.documents is None:
        frame = frame.filter(pl.col("country").is_in(COUNTRIES))
    frame = sample(frame, scale).with_columns(year=pl.col("date").str.slice(0, 4))
    speeches = lx.read(frame, metadata=["family", "country", "year"], unit="speaker", missing="drop")
    asked = fit(speeches, "family", scale)
    country = " + country" if len(frame["country"].unique()) > 1 else ""
    table = asked.regress(f"~ family * year{country}")
    by_term = {term: table[table["term"] == term] for term in table["term"].unique()}
    report.table("europarl", counts(by_term), "Speeches of the European Parliament, by speaker: all terms at once")
    for term, rows in by_term.items():
        shown = rows[["level", *SHOWN]].head(scale.shown)
        report.table(f"europarl-{term.replace(':', '-')}", shown, f"term: {term}")


def sotu(report: Report, folder: Path, scale: Scale) -> None:
    scale = replace(scale, min_count=100)  # there is less text
    addresses = lx.demo().where(party=["Democratic", "Republican"])
    asked = fit(addresses, "party", scale)
    table = asked.regress("~ year + party")
    by_term = {term: table[table["term"] == term] for term in table["term"].unique()}
    report.table("sotu", counts(by_term), "State of the Union addresses, by president")
    for term, rows in by_term.items():
        report.table(f"sotu-{term}", holding(rows, scale), f"term: {term}")
    word = by_term["year"]["word"].iloc[0]
    effect = asked.effect(word, "year", given="party")
    report.table("sotu-effect", effect, f"Where “{word}” stands in each year, given the party")
    report.chart("sotu-effect", lx.plots.lines(effect, x="year"))
    explained = asked.explain(word, "year", given="party")
    report.table("sotu-neighbors", explained.neighbors.groupby("value").head(8), f"The words “{word}” moves towards")


PARTS = {"senate": senate, "europarl": europarl, "sotu": sotu}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--quick", action="store_true", help="a small run of about a minute, as a test")
    arguments = parser.parse_args()
    scale = QUICK if arguments.quick else FULL
    with Report(arguments.out, {**vars(arguments), **vars(scale)}) as report:
        for part in arguments.parts:
            PARTS[part](report, arguments.data, scale)


if __name__ == "__main__":
    main()
