"""laplex explore and laplex report: a model to be looked at, in the browser or on paper."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

import laplex as lx
from laplex.cli.answers import show
from laplex.cli.app import Quiet, app
from laplex.cli.questions import In, Saved
from laplex.explorer.launching import PORT
from laplex.explorer.launching import explore as start
from laplex.report import report as write


@app.command(epilog="Example: [bold]laplex explore speeches.laplex[/bold]")
def explore(
    model: Saved,
    port: Annotated[int, typer.Option(help="The first port that is tried.")] = PORT,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser.")] = True,
    quiet: Quiet = False,
) -> None:
    """Look at a model in the browser: words, contrasts, change, dimensions, a map. Ctrl-C ends it."""
    start(model, port=port, browser=browser, wait=True, quiet=quiet)


@app.command(epilog='Example: [bold]laplex report speeches.laplex --words "health tax" --cluster speaker[/bold]')
def report(
    model: Saved,
    out: Annotated[Path, typer.Option(help="The file to write, .html or .pdf.")] = Path("report.html"),
    words: Annotated[list[str] | None, typer.Option(help="Words to look at one by one.")] = None,
    column: Annotated[str | None, typer.Option(help="The column to compare; all by default.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="The column that says who speaks: differences are tested.")
    ] = None,
    language: In = None,
    title: Annotated[str | None, typer.Option(help="The heading; the name of the model by default.")] = None,
    quiet: Quiet = False,
) -> None:
    """Write a report on a model: one HTML file, to send to a colleague or to print."""
    chosen = [word for part in words or [] for word in re.split(r"[,;\s]+", part) if word]
    write(
        lx.load(model),
        out,
        title=title or model.resolve().stem,
        words=chosen or None,
        column=column,
        cluster=cluster,
        language=language,
        quiet=quiet,
    )
    show(f"report written to {out}")
