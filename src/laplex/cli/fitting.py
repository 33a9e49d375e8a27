"""laplex fit and laplex demo: from a corpus to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

import laplex as lx
from laplex.cli.answers import show, show_frame
from laplex.cli.app import Quiet, app
from laplex.cli.corpora import Encoding, Language, Lines, Missing, Pattern, Text, show_summary
from laplex.tokens import Tokens
from laplex.training import DivergedError


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
    checkpoint_minutes: Annotated[float | None, typer.Option(help="Save there every so many minutes, too.")] = None,
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
    training = lx.Training(
        epochs=epochs, threads=threads, seed=seed, checkpoint=checkpoint, checkpoint_minutes=checkpoint_minutes
    )
    try:
        fitted = lx.fit(model, tokens, training, quiet=quiet)
    except DivergedError as error:
        if error.last_good is not None:
            error.last_good.save(out)
            show(f"the model after epoch {len(error.history)} is saved in {out}")
        raise
    fitted.save(out)
    show(f"{fitted!r}, saved in {out}")


@app.command(epilog="Example: [bold]laplex demo --out union.laplex[/bold]")
def demo(
    out: Annotated[Path, typer.Option(help="The folder to save the model in.")] = Path("demo.laplex"),
    quiet: Quiet = False,
) -> None:
    """Fit the built-in corpus, the State of the Union addresses, by party and period, and show what differs most."""
    corpus = lx.demo().where(party=["Democratic", "Republican"]).periods("year", every="40y", start=1861)
    show_summary(corpus.summary(quiet=quiet))
    prior = lx.Ridge(1.0) + lx.Groups("party", 100.0) + lx.Chain("period", 100.0)
    model = lx.Model(vary=["party", "period"], prior=prior, likelihood="sgns")
    fitted = lx.fit(model, corpus, min_count=10, epochs=10, quiet=quiet)
    show("Words that the parties use most differently")
    show_frame(fitted.contrast("party", top=15, min_count=50))
    fitted.save(out)
    show(f"{fitted!r}, saved in {out}")
