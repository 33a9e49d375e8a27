"""Commands on saved models: similarities with their intervals, the stability of neighbors, scores, and files.

Commands that test how words differ are in `inference.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import laplex as lx
from laplex.cli.app import Csv, Plot, Quiet, command
from laplex.cli.options import (
    Across,
    Given,
    Intervals,
    Language,
    SavedModel,
    SavedModels,
    Slice,
    Top,
    Vectors,
    Words,
    given_options,
    inference_options,
    only_columns,
    split_options,
)
from laplex.cli.printing import answer, save, show, show_frame, suggest, without_repetition, write_csv
from laplex.errors import InputError
from laplex.explorer.launching import PORT

if TYPE_CHECKING:
    import pandas as pd

ToLanguage = Annotated[str | None, Option(help="Search in this language, for translations.")]


@command("laplex neighbors speeches.laplex health --party D", column_options=True, shared=inference_options)
def neighbors(
    model: SavedModel,
    words: Words,
    *,
    k: Annotated[int, Option("-k", help="The number of nearest neighbors to show.")] = 10,
    by: Vectors = "words",
    negative: Annotated[list[str] | None, Option(help="A word to subtract, for analogies; may be repeated.")] = None,
    to_language: ToLanguage = None,
    test: Intervals = True,
    csv: Csv = None,
    plot: Plot = None,
    **shared: Any,
) -> None:
    """Show the words most similar to a word, or to several words together, in each slice."""
    chosen, at = split_options(words)
    inference = lx.load(model).inference(**inference_options(**shared))
    frame = inference.neighbors(chosen, k, negative=negative, by=by, to_language=to_language, at=at, test=test)
    keys = list(frame.columns[: frame.columns.get_loc("rank")])
    if frame.groupby(keys, sort=False).ngroups > 1:
        show_frame(without_repetition(_neighbors_by_slice(frame, keys)))
        save(frame, csv, plot, lx.plots.bars)
    else:
        answer(frame, csv, plot, lx.plots.bars)
    options, commands = given_options(shared), []
    if len(chosen) == 1 and not negative and to_language is None and len(frame):
        columns = [name for name in inference.fitted.columns if name not in at]
        commands += [[inference.question(name), model, name, "--word", chosen[0], *options] for name in columns[:1]]
        commands += [["similarity", model, chosen[0], frame["neighbor"].iloc[0], *options]]
    suggest(commands, quiet=inference.quiet)


def _neighbors_by_slice(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """A row for each slice, with all neighbors and their similarities in one cell."""
    named = frame.assign(neighbors=[f"{word} {size:.2f}" for word, size in zip(frame["neighbor"], frame["similarity"])])
    return named.groupby(keys, sort=False)["neighbors"].agg(", ".join).reset_index()


@command("laplex similarity speeches.laplex health insurance --party D", column_options=True, shared=inference_options)
def similarity(
    model: SavedModel,
    words: Words,
    *,
    across: Across = None,
    given: Given = None,
    test: Intervals = True,
    csv: Csv = None,
    plot: Plot = None,
    **shared: Any,
) -> None:
    """Show the cosine similarity of two words in each slice, or how it differs between the values of a column."""
    chosen, at = split_options(words)
    if len(chosen) != 2:
        raise InputError(f"similarity takes two words, not {len(chosen)}")
    inference = lx.load(model).inference(**inference_options(**shared))
    frame = inference.similarity(chosen[0], chosen[1], across=across, given=given, at=at, test=test)
    answer(frame, csv, plot, lx.plots.lines if across is None else lx.plots.bars)


@command(
    "laplex association speeches.laplex --targets 'career office' --targets 'home family' "
    "--attributes 'he man' --attributes 'she woman'",
    column_options=True,
    shared=inference_options,
)
def association(
    model: SavedModel,
    slice: Slice = None,
    *,
    targets: Annotated[list[str], Option(help="A set of words, in quotes; give two.")],
    attributes: Annotated[list[str], Option(help="A set of words, in quotes; give two.")],
    across: Across = None,
    given: Given = None,
    csv: Csv = None,
    plot: Plot = None,
    **shared: Any,
) -> None:
    """Show how much more one set of words is associated with an attribute than another set is (WEAT)."""
    inference = lx.load(model).inference(**inference_options(**shared))
    words_in = _vocabulary(inference.fitted, inference.language).words_in
    sets = [tuple(map(words_in, both)) for both in (targets, attributes)]
    frame = inference.association(*sets, across=across, given=given, at=only_columns(slice))
    answer(frame, csv, plot, lx.plots.bars)


@command("laplex trajectory speeches.laplex health --to tax", column_options=True, shared=inference_options)
def trajectory(
    model: SavedModel,
    words: Words,
    *,
    to: Annotated[list[str] | None, Option(help="A word to compare with; may be repeated. Default: itself.")] = None,
    along: Annotated[str | None, Option(help="The ordered column to follow, if there are several.")] = None,
    test: Intervals = True,
    csv: Csv = None,
    plot: Plot = None,
    **shared: Any,
) -> None:
    """Show what a word was similar to through time; the chart shows its path among its neighbors."""
    chosen, at = split_options(words)
    if len(chosen) != 1:
        raise InputError(f"trajectory takes one word, not {len(chosen)}")
    fitted, options = lx.load(model), inference_options(**shared)
    frame = fitted.inference(**options).trajectory(chosen[0], to=to, along=along, at=at, test=test)
    path = {"along": along, "language": options["language"], "at": at}
    answer(frame, csv, plot, lambda _: lx.plots.trajectory(fitted, chosen[0], **path))


@command(
    "laplex project speeches.laplex opera boxing --plus rich --plus wealthy --minus poor",
    column_options=True,
    shared=inference_options,
)
def project(
    model: SavedModel,
    words: Words,
    *,
    plus: Annotated[list[str], Option(help="A word of the positive pole; may be repeated.")],
    minus: Annotated[list[str], Option(help="A word of the negative pole; may be repeated.")],
    across: Across = None,
    given: Given = None,
    test: Intervals = True,
    csv: Csv = None,
    plot: Plot = None,
    **shared: Any,
) -> None:
    """Show the position of words on a dimension of meaning, such as poor to rich, in each slice."""
    chosen, at = split_options(words)
    fitted = lx.load(model)
    inference = fitted.inference(**inference_options(**shared))
    frame = inference.project(chosen, (plus, minus), across=across, given=given, at=at, test=test)
    through_time = across is None and any(map(fitted.ordered, fitted.columns))
    answer(frame, csv, plot, lx.plots.lines if through_time else lx.plots.bars)


@command("laplex stability speeches.laplex --refits 4 --word health --word freedom", column_options=True)
def stability(
    models: SavedModels,
    refits: Annotated[int, Option(help="The number of times to refit a single model, from other seeds.")] = 0,
    word: Annotated[list[str] | None, Option(help="A word to show; may be repeated. Default: least stable.")] = None,
    k: Annotated[int, Option("-k", help="The number of nearest neighbors to compare.")] = 10,
    top: Top = 15,
    min_count: Annotated[int, Option(help="Show only words that occur at least this often in a slice.")] = 0,
    threads: Annotated[int | None, Option(help="The threads of refits. Default: those of the first fit.")] = None,
    language: Language = None,
    csv: Csv = None,
    quiet: Quiet = False,
) -> None:
    """Show which nearest neighbors recur in another fit: by word frequency, and for the least stable words."""
    from laplex.fitting.stability import refitted

    folders, where = split_options(models)
    fits = [lx.load(folder) for folder in folders]
    if refits < 0 or (refits and len(fits) != 1) or (not refits and len(fits) < 2):
        raise InputError(f"{len(fits)} models and --refits {refits}: give several models, or one and --refits 4")
    for fitted in fits:
        fitted.chosen(where)  # raises an error for a slice that does not exist, before any refit
    if refits:
        seed = fits[0].settings.get("training", {}).get("seed", 1)
        fits += refitted(fits[0], range(seed + 1, seed + 1 + refits), threads=threads, quiet=quiet)
    table = lx.agreement(fits, word, k, min_count=min_count, language=language, quiet=quiet)
    for column, value in where.items():
        table = table[table[column] == value]
    if word is None:
        show_frame(lx.by_frequency(table))
    show_frame(table if word else table.head(top))
    if csv is not None:
        write_csv(table, csv)


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
    language: Language = None,
    to_language: ToLanguage = None,
    csv: Csv = None,
    quiet: Quiet = False,
) -> None:
    """Score models side by side on word similarity, analogies or translations.

    With several languages, --language is that of the words, and --to-language that of their translations.
    """
    import pandas as pd

    folders, where = split_options(models)
    loaded = {Path(folder).name: lx.load(folder) for folder in folders}
    if len(loaded) < len(folders):
        raise InputError("two of the models have the same name: rename the folder of one")
    if to_language and not translations:
        raise InputError(f"--to-language {to_language} is for translations: give a list of them by --translations")
    frames: dict[str, pd.DataFrame] = {}
    shared: dict[str, Any] = {"by": by, "quiet": quiet, "at": where}
    if similarity or not (analogies or translations):
        paths: list[Path | None] = [*similarity] if similarity else [None]
        options = shared | {"leave_out": leave_out, "language": language}
        scores = [lx.evaluation.similarity(loaded, path, **options) for path in paths]
        frames["similarity"] = pd.concat(scores, ignore_index=True)
    if analogies:
        frames["analogies"] = lx.evaluation.analogies(loaded, analogies, language=language, **shared)
    if translations:  # beside other scores, --language is theirs, and the languages of the list are found by its words
        source = language if to_language or not frames else None
        frames["translation"] = lx.evaluation.translation(
            loaded, translations, source=source, target=to_language, **shared
        )
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
    lx.load(model).export(file, language, at=only_columns(slice))
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


@command('laplex report speeches.laplex --words "health tax" --unit speaker')
def report(
    model: SavedModel,
    out: Annotated[Path, Option(help="The file to write; its name ends in .html.")] = Path("report.html"),
    words: Annotated[list[str] | None, Option(help="Words to describe one by one.")] = None,
    column: Annotated[str | None, Option(help="The column to compare. Default: all columns.")] = None,
    unit: Annotated[
        str | None, Option(help="The column of the sampled unit, such as the speaker. Default: that of the text.")
    ] = None,
    language: Language = None,
    title: Annotated[str | None, Option(help="The title. Default: the name of the model.")] = None,
    quiet: Quiet = False,
) -> None:
    """Write a report on a model as one HTML file, which can be sent, opened and printed."""
    fitted = lx.load(model)
    title = title or model.resolve().stem
    chosen = [word for part in words or [] for word in _vocabulary(fitted, language).words_in(part)] or None
    lx.report(fitted, out, title=title, words=chosen, column=column, unit=unit, language=language, quiet=quiet)
    show(f"report written to {out}")


def _vocabulary(fitted: lx.Embeddings, language: str | None) -> lx.Vocabulary:
    return fitted.rows.vocabularies[fitted.language(language)]
