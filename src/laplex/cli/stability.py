"""laplex stability: whether the neighbors of words come back when a model is fitted again from another seed."""

from __future__ import annotations

from typing import Annotated

import typer

import laplex as lx
from laplex.cli.answers import Csv, show_frame, write_csv
from laplex.cli.app import Quiet, app
from laplex.cli.questions import FREE, In, Top, parted
from laplex.errors import InputError
from laplex.stability import agreement, by_frequency, refitted


@app.command(
    context_settings=FREE,
    epilog="Example: [bold]laplex stability speeches.laplex --refits 4 --word health --word freedom[/bold]",
)
def stability(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL… [--COLUMN VALUE]…", help="Saved models, of several seeds; or one, to refit."),
    ],
    refits: Annotated[int, typer.Option(help="Fit the one model again so often, from other seeds.")] = 0,
    word: Annotated[list[str] | None, typer.Option(help="Look at this word.")] = None,
    k: Annotated[int, typer.Option("-k", help="How many neighbors.")] = 10,
    top: Top = 15,
    min_count: Annotated[int, typer.Option(help="Only words that occur so often in a slice.")] = 0,
    threads: Annotated[int | None, typer.Option(help="For refits; as the model was fitted by default.")] = None,
    language: In = None,
    csv: Csv = None,
    quiet: Quiet = False,
) -> None:
    """Which neighbors come back in another fit: by frequency, and of the least stable words or the ones given."""
    folders, where = parted(models)
    fits = [lx.load(folder) for folder in folders]
    if refits < 0 or (refits and len(fits) != 1) or (not refits and len(fits) < 2):
        raise InputError(f"{len(fits)} models and --refits {refits}: give several models, or one and --refits 4")
    for one in fits:
        one.chosen(where)  # complains about a slice that is not there
    if refits:
        seed = fits[0].settings.get("training", {}).get("seed", 1)
        seeds = range(seed + 1, seed + 1 + refits)
        fits += refitted(fits[0], seeds, threads=threads, quiet=quiet)
    table = agreement(fits, word, k, min_count=min_count, language=language, quiet=quiet)
    for column, value in where.items():
        table = table[table[column] == value]
    if word is None:
        show_frame(by_frequency(table))
    show_frame(table if word else table.head(top))
    if csv is not None:
        write_csv(table, csv)
