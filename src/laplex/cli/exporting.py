"""Score a model or pass it on: `laplex evaluate`, `export`, `explore` and `report`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import pandas as pd
from typer import Argument, Option

import laplex as lx
from laplex.cli.app import Csv, Quiet, command, show, show_frame, write_csv
from laplex.cli.questions import Cluster, Language, SavedModel, SavedModels, Slice, Vectors, only_columns, split_options
from laplex.errors import InputError
from laplex.explorer.launching import PORT


@command("laplex evaluate a.laplex b.laplex --similarity sets/ --csv scores.csv", column_options=True)
def evaluate(
    models: SavedModels,
    similarity: Annotated[
        list[Path] | None,
        Option(help="A file or folder of word pairs with ratings; may be repeated. Default: WordSim-353."),
    ] = None,
    analogies: Annotated[Path | None, Option(help="A file of analogy questions.")] = None,
    translations: Annotated[Path | None, Option(help="A file of words and their translations.")] = None,
    leave_out: Annotated[
        Path | None, Option(help="A file of pairs to leave out of similarity scores, such as those of the prior.")
    ] = None,
    by: Vectors = "words",
    csv: Csv = None,
    quiet: Quiet = False,
) -> None:
    """Score models side by side on word similarity, analogies or translations."""
    folders, where = split_options(models)
    loaded = {Path(folder).name: lx.load(folder) for folder in folders}
    if len(loaded) < len(folders):
        raise InputError("two of the models have the same name: rename the folder of one")
    frames: dict[str, pd.DataFrame] = {}
    if similarity or not (analogies or translations):
        paths: list[Path | None] = [*similarity] if similarity else [None]
        scores = [
            lx.evaluation.similarity(loaded, path, by=by, leave_out=leave_out, quiet=quiet, **where) for path in paths
        ]
        frames["similarity"] = pd.concat(scores, ignore_index=True)
    if analogies:
        frames["analogies"] = lx.evaluation.analogies(loaded, analogies, by=by, quiet=quiet, **where)
    if translations:
        frames["translation"] = lx.evaluation.translation(loaded, translations, by=by, quiet=quiet, **where)
    for frame in frames.values():
        show_frame(frame)
    if csv is not None:
        labeled = [frame.assign(evaluation=name) for name, frame in frames.items()]
        write_csv(pd.concat(labeled, ignore_index=True), csv)


@command("laplex export speeches.laplex d.vec --party D", column_options=True)
def export(
    model: SavedModel,
    file: Annotated[Path, Argument(help="A file that ends in .txt, .vec, .bin, .npz, .parquet or .csv.")],
    slice: Slice = None,
    language: Language = None,
) -> None:
    """Write the vectors of a model for other programs: word2vec text or binary, NumPy, Parquet or CSV."""
    lx.load(model).export(file, language, **only_columns(slice))
    show(f"written to {file}")


@command("laplex explore speeches.laplex")
def explore(
    model: SavedModel,
    port: Annotated[int, Option(help="The port to serve at; if it is taken, the next free one.")] = PORT,
    browser: Annotated[bool, Option("--browser/--no-browser", help="Whether to open the page in a browser.")] = True,
    quiet: Quiet = False,
) -> None:
    """Explore a model in the browser: words, contrasts, change, dimensions, a map. Ctrl-C stops it."""
    lx.explore(model, port=port, browser=browser, wait=True, quiet=quiet)


@command('laplex report speeches.laplex --words "health tax" --cluster speaker')
def report(
    model: SavedModel,
    out: Annotated[Path, Option(help="The file to write; its name ends in .html.")] = Path("report.html"),
    words: Annotated[list[str] | None, Option(help="Words to describe one by one.")] = None,
    column: Annotated[str | None, Option(help="The column to compare. Default: all columns.")] = None,
    cluster: Cluster = None,
    language: Language = None,
    title: Annotated[str | None, Option(help="The title. Default: the name of the model.")] = None,
    quiet: Quiet = False,
) -> None:
    """Write a report on a model as one HTML file, which can be sent, opened and printed."""
    fitted = lx.load(model)
    title = title or model.resolve().stem
    chosen = [word for part in words or [] for word in re.split(r"[,;\s]+", part) if word] or None
    lx.report(fitted, out, title=title, words=chosen, column=column, cluster=cluster, language=language, quiet=quiet)
    show(f"report written to {out}")
