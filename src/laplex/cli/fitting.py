"""`laplex fit`, `update`, `tune` and `demo`: estimate a model from a corpus and save it."""

from __future__ import annotations

import math
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

import laplex as lx
from laplex.cli.app import Csv, Plot, Quiet, command
from laplex.cli.corpora import (
    Documents,
    Encoding,
    LanguageColumn,
    Missing,
    Number,
    PhraseOptions,
    Tags,
    TextColumn,
    Tokenizer,
    Unit,
    are_occurrences,
    phrases_of,
)
from laplex.cli.options import SavedModel
from laplex.cli.printing import answer, explorer, show, suggest
from laplex.errors import InputError

if TYPE_CHECKING:
    from laplex.fitting.grid import Values

TranslationsStrength = Annotated[
    float,
    Option(
        help="The strength of the prior that translations have similar vectors; with inf, a word and its first "
        "translation share one."
    ),
]
Epochs = Annotated[int, Option(help="The number of passes over the text.")]
Threads = Annotated[int | None, Option(help="The number of threads. Default: all processors it may use.")]
Seed = Annotated[int, Option(help="The random seed; with one thread, the same seed gives the same model.")]
Checkpoint = Annotated[Path | None, Option(help="A folder for checkpoints, from which an interrupted run continues.")]

FINDINGS_OF_FIT = 3
OF_OCCURRENCES = {  # the options of a fit that occurrences with vectors have a use for
    *("file", "group", "group_strength", "time", "time_strength", "ridge", "dimensions"),
    *("out", "tests", "threads", "quiet"),
}
FINDINGS_OF_DEMO = 5
CHOSEN = "Default: chosen by held-out documents."
READ_OPTIONS = ("text", "unit", "language_column", "tokenizer", "tags", "documents", "missing", "encoding")
MODEL_OPTIONS = ("likelihood", "dimensions", "window", "negatives", "subsample", "absent")
TRAINING_OPTIONS = (
    *("engine", "epochs", "threads", "seed", "checkpoint", "checkpoint_minutes"),
    *("inference", "device", "precision", "merge_tokens", "pooled_epochs"),
)


def model_and_tokens(
    file: Annotated[
        str,
        Argument(help="A corpus: a file, a folder, a glob in quotes, or an address of Parquet (s3://, https://, ...)."),
    ],
    text: TextColumn = "text",
    unit: Unit = None,
    group: Annotated[list[str] | None, Option(help="A column of groups, such as the party; may be repeated.")] = None,
    group_strength: Annotated[
        float | None,
        Option(help=f"The strength of the prior that groups use a word alike. {CHOSEN}"),
    ] = None,
    time: Annotated[str | None, Option(help="A column that holds dates or years.")] = None,
    every: Annotated[str, Option(help="The length of a period: 1y, 10y, 6m, 2w.")] = "1y",
    time_strength: Annotated[
        float | None,
        Option(help=f"The strength of the prior that successive periods use a word alike. {CHOSEN}"),
    ] = None,
    bins: Annotated[
        list[str] | None,
        Option(
            help="A column of numbers and the number of bins that documents fall into, income:5, or the edges of the "
            "bins, age:18,35,50,65; may be repeated."
        ),
    ] = None,
    bins_strength: Annotated[
        float | None,
        Option(help=f"The strength of the prior that neighboring bins use a word alike. {CHOSEN}"),
    ] = None,
    pairs: Annotated[
        list[Path] | None, Option(help="A file of pairs of words of similar meaning; may be repeated.")
    ] = None,
    pairs_strength: Annotated[
        float, Option(help="The strength of the prior that paired words have similar vectors.")
    ] = 10.0,
    joins: Annotated[
        Literal["word-word", "word-context", "context-context"],
        Option(help="Which vectors of the two words of a pair are joined."),
    ] = "word-context",
    translations: Annotated[
        list[str] | None,
        Option(
            help="A file of words and their translations; may be repeated. Its languages are found by its words, or "
            "named before it: en,it=FILE."
        ),
    ] = None,
    translations_strength: TranslationsStrength = math.inf,
    ridge: Annotated[
        float | None,
        Option(help="The strength of the prior that vectors are short. Default: by the size of the text, 10 to 30."),
    ] = None,
    likelihood: Annotated[str, Option(help="How a word depends on the words around it: cbow or sgns.")] = "cbow",
    dimensions: Annotated[int, Option(help="The number of dimensions of a vector.")] = 100,
    window: Annotated[int, Option(help="The number of words on each side that form the context of a word.")] = 5,
    negatives: Annotated[int, Option(help="The number of negative samples for each occurrence of a word.")] = 5,
    subsample: Annotated[float, Option(help="Subsample words whose share of the text is larger; 0 keeps all.")] = 1e-3,
    language_column: LanguageColumn = None,
    min_count: Annotated[int, Option(help="Leave out words that occur less often than this.")] = 5,
    max_words: Annotated[int | None, Option(help="Keep at most this number of words, the most frequent.")] = None,
    keep: Annotated[list[str] | None, Option(help="A word to keep even if it is rare; may be repeated.")] = None,
    tokenizer: Tokenizer = None,
    tags: Tags = False,
    phrases: PhraseOptions = None,
    originals: Annotated[
        bool, Option(help="Keep a compressed copy of the text, with which passages are shown as they were written.")
    ] = True,
    documents: Documents = "lines",
    missing: Missing = "error",
    encoding: Encoding = "utf-8",
    column: list[str] | None = None,
    number: list[str] | None = None,
    absent: Literal["kept", "filled"] = "kept",
    quiet: bool = False,
) -> Any:
    """The model and the tokens that the options of `laplex fit` and `laplex tune` describe.

    Their classes are not in the signature, since that is evaluated for every help, which needs nothing else of them.
    """
    options = locals()
    groups = dict.fromkeys(group or [])
    prior: lx.Prior = lx.Ridge(ridge)
    for name in groups:
        prior = prior + lx.Groups(name, group_strength)
    if time:
        prior = prior + lx.Chain("period", time_strength)
    numbers = dict(map(_column_and_bins, bins or []))
    for name in numbers:
        prior = prior + lx.Chain(f"{name}_bin", bins_strength)
    for path in dict.fromkeys(pairs or []):
        prior = prior + lx.Pairs(path, pairs_strength, joins=joins)
    for path, languages in dict.fromkeys(map(_file_and_languages, translations or [])):
        prior = prior + lx.Translations(path, translations_strength, languages)
    vary = [*groups, *(["period"] if time else []), *(f"{name}_bin" for name in numbers)]
    model = lx.Model(vary, prior, **{name: options[name] for name in MODEL_OPTIONS})
    metadata = [*(group or []), *(column or []), *([time] if time else [])]
    read_options = {name: options[name] for name in READ_OPTIONS} | {"phrases": phrases_of(phrases) or False}
    corpus = lx.read(file, metadata=metadata, numbers=[*(number or []), *numbers], **read_options)
    if time:
        corpus = corpus.periods(time, every=every)
    for name, count_or_edges in numbers.items():
        corpus = corpus.bins(name, count_or_edges, quiet=quiet)
    return model, lx.Tokens.of(
        corpus, min_count=min_count, max_words=max_words, keep=keep or (), originals=originals, quiet=quiet
    )


@command(
    "laplex fit speeches.parquet --text speech --group party --time date --every 2y "
    "--min-count 50 --out speeches.laplex",
    shared=model_and_tokens,
)
def fit(
    out: Annotated[Path, Option(help="The folder to save the model in.")],
    *,
    column: Annotated[
        list[str] | None, Option(help="A further column to keep, such as the speaker for later tests; may be repeated.")
    ] = None,
    number: Number = None,
    absent: Annotated[
        Literal["kept", "filled"],
        Option(
            help="Estimate vectors also in slices without the word (kept), or derive those from the prior (filled)."
        ),
    ] = "kept",
    epochs: Epochs = 5,
    threads: Threads = None,
    seed: Seed = 1,
    engine: Annotated[
        Literal["auto", "cpu", "torch", "reference"],
        Option(help="The engine that maximizes the posterior; auto uses a GPU if there is one, else the CPU."),
    ] = "auto",
    device: Annotated[str | None, Option(help="The device of the torch engine: cuda, mps or cpu.")] = None,
    precision: Annotated[
        Literal["full", "mixed"],
        Option(help="The precision of the torch engine; mixed computes products in half precision."),
    ] = "full",
    rotate: Annotated[
        bool | None, Option(help="Rotate languages onto each other after an epoch. Default: if a prior joins them.")
    ] = None,
    start: Annotated[
        Path | None,
        Option(help="Vectors to start from: a file of word2vec, GloVe or fastText, or a saved model. For little text."),
    ] = None,
    pooled_epochs: Annotated[
        int | None,
        Option(
            help="The number of first epochs without groups and periods, which begin from there. Default: one, and "
            "another for every five epochs."
        ),
    ] = None,
    merge_tokens: Annotated[
        int, Option(help="With several processes: tokens that each reads before their vectors are merged.")
    ] = 1_000_000,
    tests: Annotated[
        bool, Option(help="Test all words for each column of groups and periods, and keep what is found.")
    ] = True,
    inference: Annotated[
        Literal["map", "variational"], Option(help="Estimate the posterior mode, or also standard deviations.")
    ] = "map",
    checkpoint: Checkpoint = None,
    checkpoint_minutes: Annotated[
        float | None, Option(help="Minutes between checkpoints, in addition to one after each epoch.")
    ] = None,
    quiet: Quiet = False,
    **shared: Any,
) -> None:
    """Fit word embeddings by group and through time, and save the model.

    Several processes, on one machine or many, can fit one model: torchrun --nproc-per-node 4 -m laplex fit ...
    """
    from laplex.fitting.estimation import DivergedError
    from laplex.runtime.distributed import communicator

    options = locals()
    is_first_rank = communicator().rank == 0
    quiet = quiet or not is_first_rank
    if are_occurrences(shared["file"]):
        _fit_occurrences(options | shared, out)
        return
    model, tokens = model_and_tokens(**shared, column=column, number=number, absent=absent, quiet=quiet)
    training = lx.Training(
        rotate="auto" if rotate is None else rotate, **{name: options[name] for name in TRAINING_OPTIONS}
    )
    try:
        fitted = lx.fit(model, tokens, training, start=start, tests=tests, quiet=quiet)
    except DivergedError as error:
        if error.last_good is not None and is_first_rank:
            error.last_good.save(out)
            show(f"the model after epoch {len(error.last_good.history)} is saved in {out}")
        raise
    if is_first_rank:
        from laplex.cli.highlights import show_findings, suggest_questions

        fitted.save(out)
        show(f"{fitted!r}, saved in {out}")
        suggest_questions(out, fitted, show_findings(fitted, FINDINGS_OF_FIT), quiet=quiet)


def _fit_occurrences(options: dict[str, Any], out: Path) -> None:
    """Fit saved occurrences; options of text are an error if they are given."""
    from laplex.cli.highlights import show_findings, suggest_questions

    for name, option in signature(fit).parameters.items():
        if name not in OF_OCCURRENCES and options.get(name, option.default) not in (option.default, None, [], ()):
            file = options["file"]
            raise InputError(f'--{name.replace("_", "-")} is of text, and "{file}" holds occurrences: leave it out')
    prior: lx.Prior = lx.Ridge(options["ridge"])
    vary = list(dict.fromkeys(options["group"] or []))
    for name in vary:
        prior = prior + lx.Groups(name, options["group_strength"])
    if time := options["time"]:
        prior, vary = prior + lx.Chain(time, options["time_strength"]), [*vary, time]
    model = lx.Model(vary, prior, dimensions=options["dimensions"])
    asked = {name: options[name] for name in ("tests", "threads", "quiet")}
    fitted = lx.fit(model, lx.Occurrences.load(options["file"]), **asked)
    fitted.save(out)
    show(f"{fitted!r}, saved in {out}")
    suggest_questions(out, fitted, show_findings(fitted, FINDINGS_OF_FIT), quiet=options["quiet"])


@command("laplex update speeches.laplex speeches-2025.csv --text speech --time date --every 2y --out new.laplex")
def update(
    model: SavedModel,
    file: Annotated[str, Argument(help="The new text alone: a file, a folder or a glob in quotes.")],
    *,
    out: Annotated[Path, Option(help="The folder to save the updated model in.")],
    text: TextColumn = "text",
    time: Annotated[str | None, Option(help="A column that holds dates or years, if the model has periods.")] = None,
    every: Annotated[str, Option(help="The length of a period, as that of the model: 1y, 10y, 6m, 2w.")] = "1y",
    bins: Annotated[
        list[str] | None, Option(help="A column of numbers and the edges of the model's bins; may be repeated.")
    ] = None,
    language_column: LanguageColumn = None,
    tokenizer: Tokenizer = None,
    documents: Documents = "lines",
    missing: Missing = "error",
    encoding: Encoding = "utf-8",
    min_count: Annotated[
        int | None, Option(help="How often a new word must occur. Default: that of the model.")
    ] = None,
    epochs: Annotated[int | None, Option(help="The number of passes. Default: that of the model.")] = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Go on from a saved model with new text, which alone is read: a new period or group, or more of the same."""
    options = locals()
    fitted = lx.load(model)
    numbers = dict(map(_column_and_bins, bins or []))
    made = {*(["period"] if time else []), *(f"{name}_bin" for name in numbers)}
    metadata = [*(name for name in fitted.columns if name not in made), *([time] if time else [])]
    read = {name: options[name] for name in READ_OPTIONS if name in options}
    corpus = lx.read(file, metadata=metadata, numbers=list(numbers), **read)
    if time:
        corpus = corpus.periods(time, every=every)
    for name, count_or_edges in numbers.items():
        corpus = corpus.bins(name, count_or_edges, quiet=quiet)
    chosen = {name: options[name] for name in ("min_count", "epochs", "threads") if options[name] is not None}
    updated = fitted.update(corpus, quiet=quiet, **chosen)
    updated.save(out)
    show(f"{updated!r}, saved in {out}")


@command(
    "laplex tune speeches.parquet --text speech --group party --time date --strength "
    "party=1,10,100,1000 --strength period=auto --plot curve.pdf --out speeches.laplex",
    shared=model_and_tokens,
)
def tune(
    out: Annotated[Path | None, Option(help="The folder to save the chosen model in.")] = None,
    strength: Annotated[
        list[str] | None,
        Option(
            help='Strengths to try: "1,10,100", or for one prior, named by its column or kind, "party=1,10" or '
            '"pairs=auto"; may be repeated. Default: auto for all priors except the ridge.'
        ),
    ] = None,
    rule: Annotated[
        Literal["best", "one-se"],
        Option(help="Choose the best strengths, or the largest within one standard error of the best."),
    ] = "best",
    holdout: Annotated[float | None, Option(help="The share of documents to hold out. Default: 0.01 to 0.2.")] = None,
    *,
    translations_strength: TranslationsStrength = 1e4,
    epochs: Epochs = 5,
    threads: Threads = None,
    seed: Seed = 1,
    checkpoint: Checkpoint = None,
    csv: Csv = None,
    plot: Plot = None,
    quiet: Quiet = False,
    **shared: Any,
) -> None:
    """Choose the strengths of priors by how well the model predicts held-out documents."""
    grid = _grid(strength or [])
    model, tokens = model_and_tokens(**shared, translations_strength=translations_strength, quiet=quiet)
    training = lx.Training(epochs=epochs, threads=threads, seed=seed)
    tuning = lx.tune(model, tokens, grid, training, rule=rule, holdout=holdout, checkpoint=checkpoint, quiet=quiet)
    answer(tuning.table, csv, plot, lambda _: tuning.plot())
    show(repr(tuning))
    if out is not None:
        tuning.fitted.save(out)
        show(f"{tuning.fitted!r}, saved in {out}")


def _column_and_bins(option: str) -> tuple[str, int | list[float]]:
    """Parse `--bins`: "income:5" is a column and a number of bins, "age:18,35,50" a column and edges."""
    column, _, text = option.rpartition(":")
    try:
        if column:
            return column, int(text) if "," not in text else [float(edge) for edge in text.split(",")]
    except ValueError:
        pass
    raise InputError(f'--bins "{option}": write a column and the number of bins, income:5, or edges, age:18,35,50,65')


def _file_and_languages(option: str) -> tuple[Path, tuple[str, str] | None]:
    """Parse `--translations`: "en-it.tsv" is a file, "en,it=words.tsv" one whose languages are named."""
    names, separator, file = option.partition("=")
    if not separator or Path(option).exists():
        return Path(option), None
    languages = names.split(",")
    if len(languages) != 2 or not all((*languages, file)):
        raise InputError(f'--translations "{option}": write a file, or its two languages and the file, en,it=words.tsv')
    return Path(file), (languages[0], languages[1])


def _grid(options: list[str]) -> dict[str, Values] | list[float] | Literal["auto"]:
    """Parse `--strength`: ["1,10"] is a list, ["party=1,10", "period=auto"] a grid by name, and [] is "auto"."""
    grid: dict[str, Values] = {}
    for option in options:
        name, separator, values = option.rpartition("=")
        if not separator and len(options) == 1:
            return _strengths(option)
        if not name or name in grid:
            raise InputError(f'--strength "{option}": write each as NAME=1,10,100, with its name once')
        grid[name] = _strengths(values)
    return grid or "auto"


def _strengths(values: str) -> list[float] | Literal["auto"]:
    if values == "auto":
        return "auto"
    try:
        return [float(value) for value in values.split(",")]
    except ValueError:
        raise InputError(f'--strength "{values}": write numbers with commas between them, or auto') from None


@command("laplex demo --out union.laplex")
def demo(
    out: Annotated[Path, Option(help="The folder to save the model in.")] = Path("demo.laplex"), quiet: Quiet = False
) -> None:
    """Fit the built-in State of the Union addresses through time, and show words whose use has changed.

    Presidents are the sampled units: a change counts if it would be found with other presidents as well.
    """
    from laplex.cli.highlights import show_findings

    corpus = lx.demo().periods("year", every="40y", start=1781)
    summary = corpus.summary(quiet=quiet)
    presidents, years = summary.units, [str(year) for year in summary.values["year"]]
    size = f"{summary.documents:,} passages by {presidents} presidents, {min(years)} to {max(years)}"
    show(f"The State of the Union addresses: {size}.")
    model = lx.Model(vary=["period"], prior=lx.Ridge() + lx.Chain("period", 100.0))
    fitted = lx.fit(model, corpus, min_count=10, epochs=10, quiet=quiet)
    fitted.save(out)
    found = show_findings(fitted, FINDINGS_OF_DEMO, passages=True)
    page = out.with_suffix(".html")
    lx.report(fitted, page, title="State of the Union", quiet=quiet)
    show(f"\nThe model is saved in {out}, and a report of all findings in {page}.")
    word = found[0].word
    suggest([["explain", out, word, "period"], ["neighbors", out, word], *explorer(out)], quiet=quiet)
