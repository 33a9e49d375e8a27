"""`laplex encode`: occurrences of words with vectors of an encoder, which `laplex fit` and `change` take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

import laplex as lx
from laplex.cli.app import Quiet, command
from laplex.cli.corpora import Missing, TextColumn, Tokenizer, Unit
from laplex.cli.printing import show, suggest


@command(
    "laplex encode speeches.csv --text speech --unit speaker --word tax --word health "
    "--group party --encoder all-MiniLM-L6-v2/ --out tax.occurrences"
)
def encode(
    file: Annotated[str, Argument(help="A corpus: a file, a folder or a glob in quotes.")],
    word: Annotated[list[str], Option(help="A word whose occurrences are encoded; may be repeated.")],
    encoder: Annotated[str, Option(help="The folder of an encoder in the format of Hugging Face's transformers.")],
    out: Annotated[Path, Option(help="The folder to save the occurrences in.")],
    text: TextColumn = "text",
    unit: Unit = None,
    group: Annotated[
        list[str] | None, Option(help="A column of groups, whose values get equally many occurrences; may be repeated.")
    ] = None,
    time: Annotated[str | None, Option(help="A column that holds dates or years.")] = None,
    every: Annotated[str, Option(help="The length of a period: 1y, 10y, 6m, 2w.")] = "1y",
    column: Annotated[list[str] | None, Option(help="A further column to keep; may be repeated.")] = None,
    tokenizer: Tokenizer = None,
    missing: Missing = "error",
    most: Annotated[int, Option(help="How many occurrences of a word are encoded at most.")] = 2_000,
    layer: Annotated[
        list[int] | None, Option(help="The layer whose vectors are taken; of several, their mean. Default: the last.")
    ] = None,
    pooling: Annotated[Literal["mean", "first", "last"], Option(help="Which of the pieces of a word counts.")] = "mean",
    download: Annotated[bool, Option("--download", help="Fetch the encoder from the hub if it is not here.")] = False,
    threads: Annotated[int | None, Option(help="The number of threads. Default: all processors it may use.")] = None,
    seed: Annotated[int, Option(help="The random seed by which occurrences are chosen.")] = 1,
    quiet: Quiet = False,
) -> None:
    """Encode occurrences of words by a contextual encoder such as BERT, for laplex fit and change.

    An encoding that is interrupted goes on where it stopped.
    """
    metadata = [*(group or []), *(column or []), *([time] if time else [])]
    corpus = lx.read(file, text=text, metadata=metadata, unit=unit, tokenizer=tokenizer, missing=missing)
    by = list(group or [])
    if time:
        corpus, by = corpus.periods(time, every=every), [*by, "period"]
    options: dict[str, Any] = {"by": by, "most": most, "layers": layer or -1, "pooling": pooling}
    options |= {"download": download, "threads": threads, "seed": seed, "quiet": quiet}
    made = lx.encode(corpus, word, encoder, **options).save(out)
    show(f"{made!r}, saved in {out}")
    groups = [part for name in group or [] for part in ("--group", name)]
    periods = ["--time", "period"] if time else []
    suggest([["fit", out, *groups, *periods, "--out", f"{out.stem}.laplex"]], quiet=quiet)
