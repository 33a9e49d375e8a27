"""laplex info and laplex cache: what is in a corpus or a model, and where the tokens of corpora are kept."""

from __future__ import annotations

import shutil
from typing import Annotated, Literal

import typer
from rich.markup import escape
from rich.table import Table

import laplex as lx
from laplex import storage
from laplex.cli.answers import show
from laplex.cli.app import Quiet, app
from laplex.cli.models import show_model
from laplex.corpus import Summary, in_order
from laplex.tokens import cache_folder

Text = Annotated[str, typer.Option(help="The column with the text.")]
Language = Annotated[str | None, typer.Option(help="The column that tells the language of each document.")]
Encoding = Annotated[str, typer.Option(help="The encoding of text files.")]
Pattern = Annotated[str | None, typer.Option("--tokenizer", help="A regular expression whose matches are the words.")]
Lines = Annotated[Literal["lines", "files"], typer.Option(help="Plain text: a document in each of these.")]
Missing = Annotated[Literal["error", "drop"], typer.Option(help="Documents that lack a metadata value.")]


@app.command(epilog="Example: [bold]laplex info speeches.csv --text speech[/bold]")
def info(
    file: Annotated[str, typer.Argument(help="A corpus: a file, a folder or a glob in quotes; or a saved model.")],
    text: Text = "text",
    column: Annotated[list[str] | None, typer.Option(help="A column to look at; all by default.")] = None,
    language_column: Language = None,
    tokenizer: Pattern = None,
    documents: Lines = "lines",
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
) -> None:
    """What is in this corpus: its documents, tokens, columns and their values; or how this model was made."""
    if storage.exists(file):
        show_model(file)
        return
    corpus = lx.read(
        file,
        text=text,
        metadata=column or "all",
        language_column=language_column,
        tokenizer=tokenizer,
        documents=documents,
        encoding=encoding,
    )
    show_summary(corpus.summary(quiet=quiet))


@app.command(epilog="Example: [bold]laplex cache --clear[/bold]")
def cache(clear: Annotated[bool, typer.Option("--clear", help="Delete what is there.")] = False) -> None:
    """Where the tokens of corpora are kept, and how much room they take."""
    folders = [path for path in cache_folder().glob("tokens-*") if path.is_dir()]
    size = sum(file.stat().st_size for folder in folders for file in folder.iterdir())
    if clear:
        for folder in folders:
            shutil.rmtree(folder)
    verb = "deleted from" if clear else "in"
    show(f"{len(folders)} corpora, {size / 1e6:,.1f} MB, {verb} {cache_folder()}")


def show_summary(summary: Summary) -> None:
    show(f"{summary.name}: {summary.documents:,} documents, {summary.tokens:,} tokens")
    if summary.empty:
        show(f"{summary.empty:,} documents without a word")
    columns = dict(summary.values)
    if set(summary.languages) != {""}:
        columns = {"language": summary.languages, **columns}
    if not columns:
        return
    table = Table("column", "values", "missing", "most frequent (documents)")
    for name, counts in columns.items():
        known = {value: count for value, count in counts.items() if value is not None}
        top = sorted(in_order(known), key=lambda value: -known[value])[:6]
        shown = ", ".join(f"{value} ({known[value]:,})" for value in top) + (" …" if len(known) > 6 else "")
        table.add_row(escape(name), f"{len(known):,}", f"{counts.get(None, 0):,}", escape(shown))
    show(table)
