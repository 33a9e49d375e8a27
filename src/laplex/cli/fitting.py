"""laplex fit and laplex demo: from a corpus to a model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import laplex as lx
from laplex.cli.answers import show, show_frame
from laplex.cli.app import Quiet, app
from laplex.cli.corpora import Encoding, Language, Lines, Missing, Pattern, Text, show_summary
from laplex.tokens import Tokens
from laplex.training import DivergedError
from laplex.world import world

File = Annotated[str, typer.Argument(help="A corpus: a file, a folder or a glob in quotes.")]
Out = Annotated[Path, typer.Option(help="The folder to save the model in.")]
Group = Annotated[list[str] | None, typer.Option(help="A column whose values are groups, such as a party.")]
GroupStrength = Annotated[float, typer.Option(help="How alike a word is in all groups.")]
Column = Annotated[list[str] | None, typer.Option(help="A further column to keep, such as the speaker, for --cluster.")]
Time = Annotated[str | None, typer.Option(help="A column with dates or years.")]
Every = Annotated[str, typer.Option(help="The length of a period: 1y, 10y, 6m, 2w.")]
TimeStrength = Annotated[float, typer.Option(help="How slowly a word drifts.")]
PairFiles = Annotated[list[Path] | None, typer.Option(help="A file of words that belong together.")]
PairsStrength = Annotated[float, typer.Option(help="How much they do.")]
Joins = Annotated[
    Literal["word-word", "word-context", "context-context"], typer.Option(help="Which vectors pairs join.")
]
TranslationFile = Annotated[Path | None, typer.Option(help="A file of words and their translations.")]
TranslationsStrength = Annotated[float, typer.Option(help="How alike they are; with inf they share one vector.")]
RidgeStrength = Annotated[float, typer.Option(help="How short vectors are.")]
Likelihood = Annotated[Literal["cbow", "sgns"], typer.Option(help="What is predicted from what.")]
Dimensions = Annotated[int, typer.Option(help="The length of a vector.")]
Window = Annotated[int, typer.Option(help="Words on each side that are the context.")]
Negatives = Annotated[int, typer.Option(help="Words contrasted with each occurrence.")]
Absent = Annotated[
    Literal["kept", "filled"],
    typer.Option(help="Words where they do not occur: with vectors of their own, or made by the prior when asked for."),
]
Subsample = Annotated[float, typer.Option(help="Thin out words more frequent than this share.")]
MinCount = Annotated[int, typer.Option(help="Leave out words that occur less often.")]
MaxWords = Annotated[int | None, typer.Option(help="At most so many words.")]
Keep = Annotated[list[str] | None, typer.Option(help="A word to keep however rare.")]
Epochs = Annotated[int, typer.Option(help="Passes over the text.")]
Threads = Annotated[int | None, typer.Option(help="All cores by default.")]
Seed = Annotated[int, typer.Option(help="With one thread, the same seed gives the same model.")]
Folder = Annotated[Path | None, typer.Option(help="A folder to go on from after an interruption.")]


@app.command(
    epilog="Example: [bold]laplex fit speeches.parquet --text speech --group party --time date --every 2y "
    "--min-count 50 --out speeches.laplex[/bold]"
)
def fit(
    file: File,
    out: Out,
    text: Text = "text",
    group: Group = None,
    group_strength: GroupStrength = 100.0,
    column: Column = None,
    time: Time = None,
    every: Every = "1y",
    time_strength: TimeStrength = 100.0,
    pairs: PairFiles = None,
    pairs_strength: PairsStrength = 10.0,
    joins: Joins = "word-context",
    translations: TranslationFile = None,
    translations_strength: TranslationsStrength = math.inf,
    ridge: RidgeStrength = 1.0,
    likelihood: Likelihood = "cbow",
    dimensions: Dimensions = 100,
    window: Window = 5,
    negatives: Negatives = 5,
    subsample: Subsample = 1e-3,
    absent: Absent = "kept",
    language_column: Language = None,
    min_count: MinCount = 5,
    max_words: MaxWords = None,
    keep: Keep = None,
    tokenizer: Pattern = None,
    documents: Lines = "lines",
    missing: Missing = "error",
    encoding: Encoding = "utf-8",
    epochs: Epochs = 5,
    threads: Threads = None,
    seed: Seed = 1,
    engine: Annotated[Literal["auto", "cpu", "torch", "reference"], typer.Option(help="What computes it.")] = "auto",
    device: Annotated[str | None, typer.Option(help="Of the engine torch: cuda, mps or cpu.")] = None,
    precision: Annotated[
        Literal["full", "mixed"], typer.Option(help="Of the engine torch: mixed has products in half precision.")
    ] = "full",
    rotate: Annotated[
        bool | None, typer.Option(help="Rotate languages onto each other after an epoch. By default where it helps.")
    ] = None,
    merge_tokens: Annotated[int, typer.Option(help="Of several processes: tokens of each between merges.")] = 1_000_000,
    inference: Annotated[Literal["map", "variational"], typer.Option(help="With deviations, or without.")] = "map",
    checkpoint: Folder = None,
    checkpoint_minutes: Annotated[float | None, typer.Option(help="Save there every so many minutes, too.")] = None,
    quiet: Quiet = False,
) -> None:
    """Fit a model of how words are used, by group and through time, and save it.

    Several processes, on one machine or many, work on it together: torchrun --nproc-per-node 4 -m laplex fit ...
    """
    first = world().rank == 0
    quiet = quiet or not first
    groups = list(group or [])
    prior = prior_of(
        ridge=ridge,
        groups=dict.fromkeys(groups, group_strength),
        time=time_strength if time else None,
        pairs=dict.fromkeys(pairs or [], pairs_strength),
        joins=joins,
        translations=(translations, translations_strength) if translations else None,
    )
    vary = [*groups, *(["period"] if time else [])]
    model = lx.Model(vary, prior, likelihood, dimensions, window, negatives, subsample, absent=absent)
    corpus = corpus_of(
        file,
        [*groups, *(column or [])],
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
    training = lx.Training(
        engine=engine,
        epochs=epochs,
        threads=threads,
        seed=seed,
        checkpoint=checkpoint,
        checkpoint_minutes=checkpoint_minutes,
        inference=inference,
        device=device,
        precision=precision,
        rotate="auto" if rotate is None else rotate,
        merge_tokens=merge_tokens,
    )
    try:
        fitted = lx.fit(model, tokens, training, quiet=quiet)
    except DivergedError as error:
        if error.last_good is not None and first:
            error.last_good.save(out)
            show(f"the model after epoch {len(error.history)} is saved in {out}")
        raise
    if first:
        fitted.save(out)
        show(f"{fitted!r}, saved in {out}")


def prior_of(
    *,
    ridge: float,
    groups: Mapping[str, float],
    time: float | None,
    pairs: Mapping[Path, float],
    joins: Any,
    translations: tuple[Path, float] | None,
) -> lx.Prior:
    """The beliefs that the options name, with their strengths."""
    prior: lx.Prior = lx.Ridge(ridge)
    for column, strength in groups.items():
        prior = prior + lx.Groups(column, strength)
    if time is not None:
        prior = prior + lx.Chain("period", time)
    for path, strength in pairs.items():
        prior = prior + lx.Pairs(path, strength, joins=joins)
    if translations is not None:
        prior = prior + lx.Translations(*translations)
    return prior


def corpus_of(file: str, columns: Sequence[str], time: str | None, every: str, **reading: Any) -> lx.Corpus:
    """The corpus with the columns that the options name, in periods if there is time."""
    corpus = lx.read(file, metadata=[*columns, *([time] if time else [])], **reading)
    return corpus.periods(time, every=every) if time else corpus


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
    page = out.with_suffix(".html")
    lx.report(fitted, page, title="State of the Union", quiet=quiet)
    show(f"a report is in {page}")
