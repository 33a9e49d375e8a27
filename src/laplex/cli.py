"""The command line: laplex info, laplex fit, laplex demo, laplex cache.

Answers go to standard output, everything said along the way to standard error. Exit codes: 0; 1 for an error of the
user's, told in one line; 2 for wrong usage; 130 after Ctrl-C.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import laplex as lx
from laplex.corpus import Summary, in_order
from laplex.errors import LaplexError
from laplex.tokens import Tokens, cache_folder


class _StoppedError(Exception):
    """Ctrl-C."""


class _Commands(typer.core.TyperGroup):
    """Hands Ctrl-C on to `main`: Typer would end without a word."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise _StoppedError from stop


app = typer.Typer(
    name="laplex",
    cls=_Commands,
    help="Word embeddings from text with metadata, under a graph prior.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Text = Annotated[str, typer.Option(help="The column with the text.")]
Language = Annotated[str | None, typer.Option(help="The column that tells the language of each document.")]
Encoding = Annotated[str, typer.Option(help="The encoding of text files.")]
Pattern = Annotated[str | None, typer.Option("--tokenizer", help="A regular expression whose matches are the words.")]
Lines = Annotated[Literal["lines", "files"], typer.Option(help="Plain text: a document in each of these.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but the answer.")]
Missing = Annotated[Literal["error", "drop"], typer.Option(help="Documents that lack a metadata value.")]


def _version(asked: bool) -> None:
    if asked:
        print(f"laplex {lx.__version__}")
        raise typer.Exit


@app.callback()
def _everywhere(
    debug: Annotated[bool, typer.Option("--debug", help="Show the whole traceback of an error.")] = False,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    pass


@app.command(epilog="Example: [bold]laplex info speeches.csv --text speech[/bold]")
def info(
    file: Annotated[str, typer.Argument(help="A corpus: a file, a folder or a glob in quotes.")],
    text: Text = "text",
    column: Annotated[list[str] | None, typer.Option(help="A column to look at; all by default.")] = None,
    language_column: Language = None,
    tokenizer: Pattern = None,
    documents: Lines = "lines",
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
) -> None:
    """What is in this corpus: its documents, tokens, columns and their values."""
    corpus = lx.read(
        file,
        text=text,
        metadata=column or "all",
        language_column=language_column,
        tokenizer=tokenizer,
        documents=documents,
        encoding=encoding,
    )
    _show_summary(corpus.summary(quiet=quiet))


@app.command(
    epilog="Example: [bold]laplex fit speeches.parquet --text speech --group party --time date --every 2y "
    "--min-count 50 --out speeches.laplex[/bold]"
)
def fit(
    file: Annotated[str, typer.Argument(help="A corpus: a file, a folder or a glob in quotes.")],
    out: Annotated[Path, typer.Option(help="The folder to save the model in.")],
    text: Text = "text",
    group: Annotated[list[str] | None, typer.Option(help="A column whose values are groups, such as a party.")] = None,
    group_strength: Annotated[float, typer.Option(help="How alike a word is in all groups.")] = 100.0,
    time: Annotated[str | None, typer.Option(help="A column with dates or years.")] = None,
    every: Annotated[str, typer.Option(help="The length of a period: 1y, 10y, 6m, 2w.")] = "1y",
    time_strength: Annotated[float, typer.Option(help="How slowly a word drifts.")] = 100.0,
    pairs: Annotated[list[Path] | None, typer.Option(help="A file of words that belong together.")] = None,
    pairs_strength: Annotated[float, typer.Option(help="How much they do.")] = 10.0,
    joins: Annotated[
        Literal["word-word", "word-context", "context-context"], typer.Option(help="Which vectors pairs join.")
    ] = "word-context",
    translations: Annotated[Path | None, typer.Option(help="A file of words and their translations.")] = None,
    translations_strength: Annotated[float, typer.Option(help="How alike they are.")] = 1e4,
    ridge: Annotated[float, typer.Option(help="How short vectors are.")] = 1.0,
    likelihood: Annotated[Literal["cbow", "sgns"], typer.Option(help="What is predicted from what.")] = "cbow",
    dimensions: Annotated[int, typer.Option(help="The length of a vector.")] = 100,
    window: Annotated[int, typer.Option(help="Words on each side that are the context.")] = 5,
    negatives: Annotated[int, typer.Option(help="Words contrasted with each occurrence.")] = 5,
    subsample: Annotated[float, typer.Option(help="Thin out words more frequent than this share.")] = 1e-3,
    language_column: Language = None,
    min_count: Annotated[int, typer.Option(help="Leave out words that occur less often.")] = 5,
    max_words: Annotated[int | None, typer.Option(help="At most so many words.")] = None,
    keep: Annotated[list[str] | None, typer.Option(help="A word to keep however rare.")] = None,
    tokenizer: Pattern = None,
    documents: Lines = "lines",
    missing: Missing = "error",
    encoding: Encoding = "utf-8",
    epochs: Annotated[int, typer.Option(help="Passes over the text.")] = 5,
    threads: Annotated[int | None, typer.Option(help="All cores by default.")] = None,
    seed: Annotated[int, typer.Option(help="With one thread, the same seed gives the same model.")] = 1,
    checkpoint: Annotated[Path | None, typer.Option(help="A folder to go on from after an interruption.")] = None,
    quiet: Quiet = False,
) -> None:
    """Fit a model of how words are used, by group and through time, and save it."""
    groups = list(group or [])
    prior: lx.Prior = lx.Ridge(ridge)
    for column in groups:
        prior = prior + lx.Groups(column, group_strength)
    if time:
        prior = prior + lx.Chain("period", time_strength)
    for path in pairs or []:
        prior = prior + lx.Pairs(path, pairs_strength, joins=joins)
    if translations:
        prior = prior + lx.Translations(translations, translations_strength)
    vary = [*groups, *(["period"] if time else [])]
    model = lx.Model(vary, prior, likelihood, dimensions, window, negatives, subsample)
    corpus = lx.read(
        file,
        text=text,
        metadata=[*groups, *([time] if time else [])],
        language_column=language_column,
        tokenizer=tokenizer,
        documents=documents,
        missing=missing,
        encoding=encoding,
    )
    if time:
        corpus = corpus.periods(time, every=every)
    tokens = Tokens.of(corpus, min_count=min_count, max_words=max_words, keep=keep or (), quiet=quiet)
    fitted = lx.fit(model, tokens, epochs=epochs, threads=threads, seed=seed, checkpoint=checkpoint, quiet=quiet)
    fitted.save(out)
    _print(f"{fitted!r}, saved in {out}")


@app.command(epilog="Example: [bold]laplex demo --out union.laplex[/bold]")
def demo(
    out: Annotated[Path, typer.Option(help="The folder to save the model in.")] = Path("demo.laplex"),
    quiet: Quiet = False,
) -> None:
    """Fit the built-in corpus, the State of the Union addresses, by party and period, and show what differs most."""
    corpus = lx.demo().where(party=["Democratic", "Republican"]).periods("year", every="40y", start=1861)
    _show_summary(corpus.summary(quiet=quiet))
    prior = lx.Ridge(1.0) + lx.Groups("party", 100.0) + lx.Chain("period", 100.0)
    model = lx.Model(vary=["party", "period"], prior=prior, likelihood="sgns")
    fitted = lx.fit(model, corpus, min_count=10, epochs=10, quiet=quiet)
    table = Table("word", "parties", "distance", "occurrences", "")
    for row in fitted.contrast("party", top=15, min_count=50).itertuples(index=False):
        table.add_row(escape(row[0]), escape(row[1]), f"{row[2]:.2f}", f"{row[3]:,}", f"{row[4]:,}")
    table.title = "Words that the parties use most differently"
    _print(table)
    fitted.save(out)
    _print(f"{fitted!r}, saved in {out}")


@app.command(epilog="Example: [bold]laplex cache --clear[/bold]")
def cache(clear: Annotated[bool, typer.Option("--clear", help="Delete what is there.")] = False) -> None:
    """Where the tokens of corpora are kept, and how much room they take."""
    folders = [path for path in cache_folder().glob("tokens-*") if path.is_dir()]
    size = sum(file.stat().st_size for folder in folders for file in folder.iterdir())
    if clear:
        for folder in folders:
            shutil.rmtree(folder)
    verb = "deleted from" if clear else "in"
    _print(f"{len(folders)} corpora, {size / 1e6:,.1f} MB, {verb} {cache_folder()}")


def _print(answer: str | Table) -> None:
    whole_lines = isinstance(answer, str)
    Console(soft_wrap=whole_lines, markup=not whole_lines, highlight=False).print(answer)


def _show_summary(summary: Summary) -> None:
    _print(f"{summary.name}: {summary.documents:,} documents, {summary.tokens:,} tokens")
    if summary.empty:
        _print(f"{summary.empty:,} documents without a word")
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
    _print(table)


def _fail(message: str, code: int) -> NoReturn:
    Console(stderr=True).print(f"laplex: {message}", style="red", markup=False, highlight=False, soft_wrap=True)
    sys.exit(code)


def main() -> None:
    """The `laplex` command."""
    debug = "--debug" in sys.argv[1:]
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]  # so that it may stand anywhere
    try:
        app(arguments)
    except (KeyboardInterrupt, _StoppedError):
        if debug:
            raise
        _fail("stopped", 130)
    except LaplexError as error:
        if debug:
            raise
        _fail(str(error), 1)
