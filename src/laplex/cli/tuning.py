"""laplex tune: strengths chosen by documents that were held out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

import laplex as lx
from laplex.cli import fitting
from laplex.cli.answers import Csv, Plot, answer, show
from laplex.cli.app import Quiet, app
from laplex.cli.corpora import Encoding, Language, Lines, Missing, Pattern, Text
from laplex.errors import InputError
from laplex.tokens import Tokens
from laplex.tuning import tune as choose_strengths
from laplex.tuning.grid import Values


@app.command(
    epilog="Example: [bold]laplex tune speeches.parquet --text speech --group party --time date "
    "--strength party=1,10,100,1000 --strength period=auto --plot curve.pdf --out speeches.laplex[/bold]"
)
def tune(
    file: fitting.File,
    out: Annotated[Path | None, typer.Option(help="The folder to save the chosen model in.")] = None,
    text: Text = "text",
    strength: Annotated[
        list[str] | None,
        typer.Option(help='What to try: "1,10,100", or by column or kind "party=1,10", "pairs=auto". All by default.'),
    ] = None,
    rule: Annotated[
        Literal["best", "one-se"], typer.Option(help="The best, or the strongest within a standard error of it.")
    ] = "best",
    holdout: Annotated[float | None, typer.Option(help="The share of documents to judge by.")] = None,
    group: fitting.Group = None,
    group_strength: fitting.GroupStrength = 100.0,
    time: fitting.Time = None,
    every: fitting.Every = "1y",
    time_strength: fitting.TimeStrength = 100.0,
    pairs: fitting.PairFiles = None,
    pairs_strength: fitting.PairsStrength = 10.0,
    joins: fitting.Joins = "word-context",
    translations: fitting.TranslationFile = None,
    translations_strength: fitting.TranslationsStrength = 1e4,
    ridge: fitting.RidgeStrength = 1.0,
    likelihood: fitting.Likelihood = "cbow",
    dimensions: fitting.Dimensions = 100,
    window: fitting.Window = 5,
    negatives: fitting.Negatives = 5,
    subsample: fitting.Subsample = 1e-3,
    language_column: Language = None,
    min_count: fitting.MinCount = 5,
    max_words: fitting.MaxWords = None,
    keep: fitting.Keep = None,
    tokenizer: Pattern = None,
    documents: Lines = "lines",
    missing: Missing = "error",
    encoding: Encoding = "utf-8",
    epochs: fitting.Epochs = 5,
    threads: fitting.Threads = None,
    seed: fitting.Seed = 1,
    checkpoint: fitting.Folder = None,
    csv: Csv = None,
    plot: Plot = None,
    quiet: Quiet = False,
) -> None:
    """Choose how strong beliefs are by how well they predict held-out documents. Options are those of laplex fit."""
    grid = _grid(strength or [])
    groups = list(group or [])
    prior = fitting.prior_of(
        ridge=ridge,
        groups=dict.fromkeys(groups, group_strength),
        time=time_strength if time else None,
        pairs=dict.fromkeys(pairs or [], pairs_strength),
        joins=joins,
        translations=(translations, translations_strength) if translations else None,
    )
    vary = [*groups, *(["period"] if time else [])]
    model = lx.Model(vary, prior, likelihood, dimensions, window, negatives, subsample)
    corpus = fitting.corpus_of(
        file,
        groups,
        time,
        every,
        text=text,
        language_column=language_column,
        tokenizer=tokenizer,
        documents=documents,
        missing=missing,
        encoding=encoding,
    )
    tokens = Tokens.of(corpus, min_count=min_count, max_words=max_words, keep=keep or (), quiet=quiet)
    training = lx.Training(epochs=epochs, threads=threads, seed=seed)
    tuning = choose_strengths(
        model, tokens, grid, training, rule=rule, holdout=holdout, checkpoint=checkpoint, quiet=quiet
    )
    answer(tuning.table, csv, plot, lambda table: tuning.plot())
    show(repr(tuning))
    if out is not None:
        tuning.fitted.save(out)
        show(f"{tuning.fitted!r}, saved in {out}")


def _grid(written: list[str]) -> dict[str, Values] | list[float] | Literal["auto"]:
    """["1,10"] is a list, ["party=1,10", "period=auto"] a grid by name, [] is "auto"."""
    grid: dict[str, Values] = {}
    for one in written:
        name, found, values = one.rpartition("=")
        if not found and len(written) == 1:
            return "auto" if one == "auto" else _numbers(one)
        if not name or name in grid:
            raise InputError(f'--strength "{one}": write each as NAME=1,10,100, with its name once')
        grid[name] = "auto" if values == "auto" else _numbers(values)
    return grid or "auto"


def _numbers(values: str) -> list[float]:
    try:
        return [float(value) for value in values.split(",")]
    except ValueError:
        raise InputError(f'--strength "{values}": write numbers with commas between them, or auto') from None
