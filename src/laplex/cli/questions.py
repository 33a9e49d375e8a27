"""laplex neighbors, contrast, distance and so on: questions to a saved model.

A slice is chosen by the names of its columns, which only the model knows: laplex neighbors MODEL health --party D.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import laplex as lx
from laplex.cli.answers import Csv, Plot, answer
from laplex.cli.app import app
from laplex.errors import InputError

Saved = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder that laplex fit made.")]
Words = Annotated[list[str], typer.Argument(metavar="WORD… [--COLUMN VALUE]…", help="Words, and which slice of them.")]
Slice = Annotated[list[str] | None, typer.Argument(metavar="[--COLUMN VALUE]…", help="Only these slices.")]
Column = Annotated[str, typer.Argument(help="A column that the vectors vary by.")]
In = Annotated[str | None, typer.Option("--language", help="If the model has several.")]
Measure = Annotated[Literal["euclidean", "cosine"], typer.Option(help="Of how far apart two vectors are.")]
Top = Annotated[int, typer.Option(help="How many words.")]
MinCount = Annotated[int | None, typer.Option(help="Only words that occur so often for each value.")]
Interval = Annotated[float | None, typer.Option(help="How sure: the share of samples that an interval holds in.")]
Cluster = Annotated[str | None, typer.Option(help="The column that says whose text it is, such as the speaker.")]
MinClusters = Annotated[int, typer.Option(help="Test words that so many of them use at each value.")]
Rank = Annotated[Literal["distance", "evidence"], typer.Option(help="What comes first.")]
FREE = {"ignore_unknown_options": True, "allow_interspersed_args": True}


@app.command(context_settings=FREE, epilog="Example: [bold]laplex neighbors speeches.laplex health --party D[/bold]")
def neighbors(
    model: Saved,
    words: Words,
    k: Annotated[int, typer.Option("-k", help="How many neighbors.")] = 10,
    by: Annotated[Literal["words", "contexts", "both"], typer.Option(help="Which vectors.")] = "words",
    negative: Annotated[list[str] | None, typer.Option(help="A word to go away from, for analogies.")] = None,
    language: In = None,
    to_language: Annotated[str | None, typer.Option(help="Look for translations into this language.")] = None,
    interval: Interval = None,
    cluster: Cluster = None,
    csv: Csv = None,
    plot: Plot = None,
) -> None:
    """The words most similar to a word (or to several together), in each slice side by side."""
    chosen, where = parted(words)
    frame = lx.load(model).neighbors(
        chosen,
        k,
        by=by,
        negative=negative,
        language=language,
        to_language=to_language,
        interval=interval,
        cluster=cluster,
        **where,
    )
    answer(frame, csv, plot, lx.plots.bars)


@app.command(context_settings=FREE, epilog="Example: [bold]laplex similarity speeches.laplex tax relief[/bold]")
def similarity(
    model: Saved,
    words: Words,
    language: In = None,
    interval: Interval = None,
    cluster: Cluster = None,
    csv: Csv = None,
    plot: Plot = None,
) -> None:
    """How similar two words are, in each slice."""
    chosen, where = parted(words)
    if len(chosen) != 2:
        raise InputError(f"similarity takes two words, not {len(chosen)}")
    frame = lx.load(model).similarity(*chosen, language=language, interval=interval, cluster=cluster, **where)
    answer(frame, csv, plot, lx.plots.lines)


@app.command(
    context_settings=FREE,
    epilog="Example: [bold]laplex contrast speeches.laplex party --cluster speaker --rank evidence[/bold]",
)
def contrast(
    model: Saved,
    column: Column,
    slice: Slice = None,
    top: Top = 15,
    word: Annotated[list[str] | None, typer.Option(help="Look at this word instead.")] = None,
    value: Annotated[list[str] | None, typer.Option(help="Compare this value, and others so named, only.")] = None,
    measure: Measure = "euclidean",
    min_count: MinCount = None,
    each: Annotated[bool, typer.Option("--each", help="Each of the other slices on its own.")] = False,
    rank: Rank = "distance",
    interval: Interval = None,
    cluster: Cluster = None,
    min_clusters: MinClusters = 25,
    joint: Annotated[bool, typer.Option("--joint", help="Test all values at once, not each pair.")] = False,
    permutations: Annotated[int | None, typer.Option(help="Count labellings, as 999, for p.")] = None,
    language: In = None,
    csv: Csv = None,
    plot: Plot = None,
) -> None:
    """The words whose vectors differ most between the values of a column."""
    frame = lx.load(model).contrast(
        column,
        top,
        words=word,
        values=value,
        measure=measure,
        min_count=min_count,
        each=each,
        rank=rank,
        interval=interval,
        cluster=cluster,
        min_clusters=min_clusters,
        joint=joint,
        permutations=permutations,
        language=language,
        **only(slice),
    )
    answer(frame, csv, plot, lx.plots.bars)


@app.command(
    context_settings=FREE,
    epilog="Example: [bold]laplex distance speeches.laplex health relief --across party --along period[/bold]",
)
def distance(
    model: Saved,
    words: Words,
    across: Annotated[str, typer.Option(help="The column whose values are compared.")],
    along: Annotated[str | None, typer.Option(help="The column that it is followed along, such as a period.")] = None,
    measure: Measure = "euclidean",
    interval: Interval = None,
    cluster: Cluster = None,
    min_clusters: MinClusters = 25,
    language: In = None,
    csv: Csv = None,
    plot: Plot = None,
) -> None:
    """How far apart the vectors of words are between groups, through time."""
    chosen, where = parted(words)
    frame = lx.load(model).distance(
        chosen,
        across,
        along,
        measure=measure,
        interval=interval,
        cluster=cluster,
        min_clusters=min_clusters,
        language=language,
        **where,
    )
    answer(frame, csv, plot, lx.plots.lines if along else lx.plots.bars)


@app.command(context_settings=FREE, epilog="Example: [bold]laplex drift speeches.laplex period --party D[/bold]")
def drift(
    model: Saved,
    column: Column,
    slice: Slice = None,
    top: Top = 15,
    word: Annotated[list[str] | None, typer.Option(help="Look at this word instead.")] = None,
    measure: Measure = "euclidean",
    min_count: MinCount = None,
    steps: Annotated[bool, typer.Option("--steps", help="Step by step.")] = False,
    rank: Rank = "distance",
    interval: Interval = None,
    cluster: Cluster = None,
    min_clusters: MinClusters = 25,
    language: In = None,
    csv: Csv = None,
    plot: Plot = None,
) -> None:
    """The words that moved most along an ordered column, with their neighbors before and after."""
    frame = lx.load(model).drift(
        column,
        top,
        words=word,
        measure=measure,
        min_count=min_count,
        steps=steps,
        rank=rank,
        interval=interval,
        cluster=cluster,
        min_clusters=min_clusters,
        language=language,
        **only(slice),
    )
    answer(frame, csv, plot, lx.plots.lines if steps else lx.plots.bars)


@app.command(context_settings=FREE, epilog="Example: [bold]laplex trajectory speeches.laplex health --to tax[/bold]")
def trajectory(
    model: Saved,
    words: Words,
    to: Annotated[list[str] | None, typer.Option(help="A word to compare it with; itself by default.")] = None,
    along: Annotated[str | None, typer.Option(help="The ordered column, if there are several.")] = None,
    language: In = None,
    csv: Csv = None,
    plot: Plot = None,
) -> None:
    """What a word was similar to, through time. The chart shows its path among its neighbors."""
    chosen, where = parted(words)
    if len(chosen) != 1:
        raise InputError(f"trajectory takes one word, not {len(chosen)}")
    fitted = lx.load(model)
    frame = fitted.trajectory(chosen[0], along=along, to=to, language=language, **where)
    answer(frame, csv, plot, lambda _: lx.plots.trajectory(fitted, chosen[0], along=along, language=language, **where))


@app.command(
    context_settings=FREE,
    epilog="Example: [bold]laplex project speeches.laplex opera boxing --plus rich --plus wealthy --minus poor[/bold]",
)
def project(
    model: Saved,
    words: Words,
    plus: Annotated[list[str], typer.Option(help="A word of the pole that counts as 1.")],
    minus: Annotated[list[str], typer.Option(help="A word of the pole that counts as −1.")],
    across: Annotated[str | None, typer.Option(help="How far apart the values of this column are on it.")] = None,
    interval: Interval = None,
    cluster: Cluster = None,
    language: In = None,
    csv: Csv = None,
    plot: Plot = None,
) -> None:
    """Where words stand on a dimension of meaning, such as rich to poor, in each slice."""
    chosen, where = parted(words)
    fitted = lx.load(model)
    axis = (plus, minus)
    frame = fitted.project(chosen, axis, across=across, interval=interval, cluster=cluster, language=language, **where)
    along = across is None and any(map(fitted.ordered, fitted.columns))
    answer(frame, csv, plot, lx.plots.lines if along else lx.plots.bars)


def parted(arguments: list[str]) -> tuple[list[str], dict[str, Any]]:
    """Words, and the values of columns: health --party D --period=2010."""
    words: list[str] = []
    where: dict[str, Any] = {}
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("--"):
            words.append(argument)
            continue
        column, given, value = argument[2:].partition("=")
        if not given and (found := next(rest, None)) is not None:
            value, given = found, "="
        if not given or not column:
            raise InputError(f"{argument} has no value: write {argument} VALUE")
        where[column] = value
    return words, where


def only(arguments: list[str] | None) -> dict[str, Any]:
    words, where = parted(arguments or [])
    if words:
        raise InputError(f'"{words[0]}" is one argument too many: slices are chosen as --COLUMN VALUE')
    return where
