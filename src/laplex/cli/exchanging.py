"""laplex evaluate, export and pairs: scores of a model, files for others, pairs from a dictionary."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pandas as pd
import typer

import laplex as lx
from laplex.cli.answers import Csv, show, show_frame, write_csv
from laplex.cli.app import Quiet, app
from laplex.cli.questions import FREE, In, Saved, Slice, only, parted
from laplex.errors import InputError


@app.command(
    context_settings=FREE,
    epilog="Example: [bold]laplex evaluate a.laplex b.laplex --similarity sets/ --csv scores.csv[/bold]",
)
def evaluate(
    models: Annotated[list[str], typer.Argument(metavar="MODEL… [--COLUMN VALUE]…", help="Saved models.")],
    similarity: Annotated[
        list[Path] | None, typer.Option(help="A file or folder of rated word pairs; WordSim-353 by default.")
    ] = None,
    analogies: Annotated[Path | None, typer.Option(help="A file of analogies.")] = None,
    translations: Annotated[Path | None, typer.Option(help="A file of words and their translations.")] = None,
    leave_out: Annotated[
        Path | None, typer.Option(help="Pairs not to be judged by, such as those of the prior.")
    ] = None,
    by: Annotated[Literal["words", "contexts", "both"], typer.Option(help="Which vectors.")] = "words",
    csv: Csv = None,
    quiet: Quiet = False,
) -> None:
    """Scores of models side by side: word similarity, analogies, translations."""
    folders, where = parted(models)
    loaded = {Path(folder).name: lx.load(folder) for folder in folders}
    if len(loaded) < len(folders):
        raise InputError("two of the models have the same name: rename the folder of one")
    frames: dict[str, pd.DataFrame] = {}
    if similarity or not (analogies or translations):
        chosen: list[Path | None] = [*similarity] if similarity else [None]
        found = [
            lx.evaluation.similarity(loaded, sets, by=by, leave_out=leave_out, quiet=quiet, **where) for sets in chosen
        ]
        frames["similarity"] = pd.concat(found, ignore_index=True)
    if analogies:
        frames["analogies"] = lx.evaluation.analogies(loaded, analogies, by=by, quiet=quiet, **where)
    if translations:
        frames["translation"] = lx.evaluation.translation(loaded, translations, by=by, quiet=quiet, **where)
    for frame in frames.values():
        show_frame(frame)
    if csv is not None:
        whole = [frame.assign(evaluation=name) for name, frame in frames.items()]
        write_csv(pd.concat(whole, ignore_index=True), csv)


@app.command(context_settings=FREE, epilog="Example: [bold]laplex export speeches.laplex d.vec --party D[/bold]")
def export(
    model: Saved,
    file: Annotated[Path, typer.Argument(help="It ends in .txt, .vec, .bin, .npz, .parquet or .csv.")],
    slice: Slice = None,
    language: In = None,
) -> None:
    """Write vectors for other programs: word2vec text or binary, NumPy, Parquet, CSV."""
    lx.load(model).export(file, language, **only(slice))
    show(f"written to {file}")


@app.command(epilog="Example: [bold]laplex pairs definitions.tsv --out strong.tsv --weak weak.tsv[/bold]")
def pairs(
    files: Annotated[list[Path], typer.Argument(help="Tables of words and their definitions.")],
    out: Annotated[Path, typer.Option(help="The file for strong pairs, each word in the other's definition.")],
    weak: Annotated[Path | None, typer.Option(help="The file for weak pairs, one word in the other's.")] = None,
    language: Annotated[str, typer.Option(help="Whose stop words are left out.")] = "en",
    promote: Annotated[int, typer.Option(help="Make weak pairs strong that are among so many nearest words.")] = 0,
    vectors: Annotated[Path | None, typer.Option(help="Word vectors that tell which are near.")] = None,
    quiet: Quiet = False,
) -> None:
    """Pairs of words from dictionary definitions, for the prior."""
    given = lx.word2vec.read(vectors) if vectors else None
    found = lx.lexicons.definitions(files, language=language, promote=promote, vectors=given, quiet=quiet)
    found.strong.save(out)
    if weak:
        found.weak.save(weak)
    show(found.summary())
