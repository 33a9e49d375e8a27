"""Commands that read a corpus or other input of a fit: `laplex info`, `change`, `cache` and `pairs`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

import laplex as lx
from laplex.cli.app import Csv, Plot, Quiet, command
from laplex.cli.options import Top, Word
from laplex.cli.printing import answer, show, suggest, write_csv
from laplex.errors import StorageError

if TYPE_CHECKING:
    import pandas as pd

TextColumn = Annotated[str, Option("--text", help="The column that holds the text.")]
Unit = Annotated[
    str | None, Option(help="The column that says who was sampled, such as the speaker; tests count each once.")
]
LanguageColumn = Annotated[str | None, Option(help="The column that holds the language of each document.")]
Encoding = Annotated[str, Option(help="The character encoding of text files.")]
Tokenizer = Annotated[
    str | None,
    Option(
        help='A regular expression whose matches are the words, "paper" for the rule of the paper, or lemmas by '
        '"simplemma:en" or by a pipeline of spaCy, "spacy:en_core_web_sm".'
    ),
]
Tags = Annotated[bool, Option("--tags", help="Add the part of speech to each word, as in attack_NOUN; with spaCy.")]
PhraseOptions = Annotated[
    list[str] | None,
    Option(
        "--phrases",
        metavar="[FILE]",
        help="Make phrases words, such as human_rights: those found in the text, or with a file those that it lists, "
        "one per line. Repeat it for both.",
    ),
]
Documents = Annotated[
    Literal["lines", "files"], Option(help="Whether each line or each file of plain text is a document.")
]
Missing = Annotated[
    Literal["error", "drop"], Option(help="Whether a document that lacks a metadata value is an error or is dropped.")
]
Number = Annotated[
    list[str] | None,
    Option(help="A column of numbers, such as the age; what is no number is missing; may be repeated."),
]


MAX_GROUPS = 12  # values of a column that are suggested as groups


@command("laplex info speeches.csv --text speech")
def info(
    file: Annotated[
        str, Argument(help="A corpus (a file, a folder or a glob in quotes) or the folder of a saved model.")
    ],
    text: TextColumn = "text",
    column: Annotated[
        list[str] | None, Option(help="A column to describe; may be repeated. Default: all columns.")
    ] = None,
    number: Number = None,
    unit: Unit = None,
    language_column: LanguageColumn = None,
    tokenizer: Tokenizer = None,
    tags: Tags = False,
    phrases: PhraseOptions = None,
    documents: Documents = "lines",
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
) -> None:
    """Describe a corpus (documents, tokens, columns and their values), or how a saved model was made."""
    from laplex.cli.describing import show_model, show_phrases, show_summary
    from laplex.runtime import storage

    if storage.exists(file):
        show_model(file, quiet)
        return
    corpus = lx.read(
        file,
        text=text,
        metadata=column or "all",
        unit=unit,
        numbers=number or (),
        language_column=language_column,
        tokenizer=tokenizer,
        tags=tags,
        phrases=phrases_of(phrases) or False,
        documents=documents,
        encoding=encoding,
    )
    summary = corpus.summary(quiet=quiet)
    show_summary(summary)
    if phrases:
        show_phrases(lx.Tokens.of(corpus, originals=False, quiet=True))
    groups = [name for name, counts in summary.values.items() if 1 < len(counts) <= MAX_GROUPS and name != unit]
    fit = ["fit", file, *(["--text", text] if text != "text" else []), *(["--unit", unit] if unit else [])]
    fit += [part for name in groups[:1] for part in ("--group", name)]
    suggest([[*fit, "--out", f"{Path(file).stem}.laplex"]], quiet=quiet)


@command("laplex change speeches.csv period --text speech --value 1900 --value 1950 --csv change.csv")
def change(
    file: Annotated[str, Argument(help="A corpus: a file, a folder or a glob in quotes.")],
    column: Annotated[str, Argument(help="The column whose values are compared, such as a period.")],
    text: TextColumn = "text",
    word: Word = None,
    value: Annotated[
        list[str] | None, Option(help="A value to compare; give two. Default: the first and the last.")
    ] = None,
    time: Annotated[str | None, Option(help='A column of dates; COLUMN is then "period", periods of these.')] = None,
    every: Annotated[str, Option(help="The length of the periods of --time, such as 10y or 6m.")] = "1y",
    unit: Unit = None,
    tokenizer: Tokenizer = None,
    phrases: PhraseOptions = None,
    missing: Missing = "error",
    encoding: Encoding = "utf-8",
    refits: Annotated[int, Option(help="The number of fits over which results are averaged.")] = 5,
    min_uses: Annotated[int, Option(help="How often a word must be used at each of the two values.")] = 10,
    seed: Annotated[int, Option(help="The random seed of the first fit.")] = 1,
    threads: Annotated[int | None, Option(help="The number of threads. Default: all processors it may use.")] = None,
    top: Top = 15,
    csv: Csv = None,
    plot: Plot = None,
    quiet: Quiet = False,
) -> None:
    """Show how far words have moved between two periods of little text, averaged over several fits, with intervals."""
    if are_occurrences(file):
        found = lx.Occurrences.load(file)
        frame = lx.change(found, column, word, values=value, unit=unit, min_uses=min_uses, quiet=quiet)
        _show_change(frame, top, csv, plot)
        return
    corpus = lx.read(
        file,
        text=text,
        metadata=[column if time is None else time],
        unit=unit,
        tokenizer=tokenizer,
        phrases=phrases_of(phrases) or False,
        missing=missing,
        encoding=encoding,
    )
    if time is not None:
        corpus = corpus.periods(time, every=every, name=column)
    frame = lx.change(
        corpus, column, word, values=value, refits=refits, min_uses=min_uses, seed=seed, threads=threads, quiet=quiet
    )
    _show_change(frame, top, csv, plot)
    read = [*(["--text", text] if text != "text" else []), *(["--unit", unit] if unit else [])]
    periods = ["--time", time, "--every", every] if time else ["--group", column]
    suggest([["fit", file, *read, *periods, "--out", f"{Path(file).stem}.laplex"]], quiet=quiet)


def _show_change(frame: pd.DataFrame, top: int, csv: Path | None, plot: Path | None) -> None:
    from laplex.cli.findings import show_rest

    if csv is not None:
        write_csv(frame, csv)
    answer(frame.head(top), None, plot, lx.plots.bars)
    show_rest(frame, top, csv)


def are_occurrences(file: str | Path) -> bool:
    """Whether a folder holds saved occurrences."""
    from laplex.runtime import storage

    return storage.exists(file) and storage.read_manifest(Path(file))["kind"] == "occurrences"


def phrases_of(options: list[str] | None) -> lx.Phrases | None:
    """The settings that values of `--phrases` stand for: files, and "auto" for those in the text."""
    files = [option for option in options or [] if option != "auto"]
    listed = [phrase for file in files for phrase in lx.Phrases(Path(file), find=False).listed]
    return lx.Phrases(listed, find="auto" in (options or [])) if options else None


@command("laplex cache --clear")
def cache(clear: Annotated[bool, Option("--clear", help="Delete the contents of the cache.")] = False) -> None:
    """Show where tokenized corpora, their text, label-free fits and maps are cached, and their disk space."""
    from laplex.runtime import storage
    from laplex.text.tokens import cache_folder

    corpora, texts, fits, maps = (_cached(kind) for kind in ("tokens", "originals", "pooled", "map"))
    size, text_size = (
        sum(file.stat().st_size for folder in folders for file in folder.iterdir())
        for folders in ((*corpora, *texts, *fits, *maps), texts)
    )
    if clear:
        for folder in (*corpora, *texts, *fits, *maps):
            storage.delete(folder)
    counts = f"{len(corpora)} corpora and {len(fits)} label-free fits"
    sizes = f"{size / 1e6:,.1f} MB (original text: {text_size / 1e6:,.1f} MB)"
    show(f"{counts}, {sizes}, {'deleted from' if clear else 'in'} {cache_folder()}")


def _cached(kind: str) -> list[Path]:
    """The folders of the cache whose manifest says that laplex saved an object of this kind there."""
    from laplex.runtime import storage
    from laplex.text.tokens import cache_folder

    folders = []
    for folder in sorted(cache_folder().glob(f"{kind}-*")):
        with suppress(StorageError):
            storage.read_manifest(folder, kind)
            folders.append(folder)
    return folders


@command("laplex pairs definitions.tsv --out strong.tsv --weak weak.tsv")
def pairs(
    files: Annotated[list[Path], Argument(help="Tables of words and their definitions.")],
    out: Annotated[Path, Option(help="The file for strong pairs: each word occurs in the definition of the other.")],
    weak: Annotated[
        Path | None, Option(help="The file for weak pairs: one word occurs in the definition of the other.")
    ] = None,
    language: Annotated[str, Option(help="The language whose stop words are left out.")] = "en",
    quiet: Quiet = False,
) -> None:
    """Extract pairs of words from dictionary definitions, for use in a prior (laplex fit --pairs)."""
    definitions = lx.lexicons.definitions(files, language=language, quiet=quiet)
    definitions.strong.save(out)
    if weak:
        definitions.weak.save(weak)
    show(definitions.summary())
