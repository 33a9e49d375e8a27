"""What commands on saved models share: their arguments and options, those of all tests, and how slices are chosen.

A slice is chosen by options that are named after its columns, which only the model knows, so these commands accept
unknown options and `split_options` sorts them: laplex neighbors MODEL health --party D.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from laplex.cli.app import Quiet
from laplex.errors import InputError

SavedModel = Annotated[Path, Argument(metavar="MODEL", help="The folder of a saved model.")]
SavedModels = Annotated[list[str], Argument(metavar="MODEL… [--COLUMN VALUE]…", help="Saved models, and a slice.")]
Words = Annotated[list[str], Argument(metavar="WORD… [--COLUMN VALUE]…", help="Words, and optionally a slice.")]
Slice = Annotated[list[str] | None, Argument(metavar="[--COLUMN VALUE]…", help="The slices to look at.")]
Column = Annotated[str, Argument(help="A column that the vectors vary by.")]
Vectors = Annotated[Literal["words", "contexts", "both"], Option(help="Use word vectors, context vectors, or both.")]
Language = Annotated[str | None, Option("--language", help="The language of the words, if there are several.")]
Top = Annotated[int, Option(help="The number of rows to show; a CSV file has all of them.")]
Word = Annotated[list[str] | None, Option(help="A word to show instead of all; may be repeated.")]
Test = Annotated[bool, Option("--test/--no-test", help="Test, or show only the bare distances of the vectors.")]
Intervals = Annotated[bool, Option("--test/--no-test", help="Add intervals, or show the fitted vectors alone.")]
Across = Annotated[str | None, Option(help="A column: test the differences between its values.")]
Given = Annotated[
    list[str] | None,
    Option(
        metavar="COLUMN",
        help='A column to compare like with like, such as year; may be repeated, or one formula "~ year * chamber".',
    ),
]
Value = Annotated[list[str] | None, Option(help="A value to compare; repeat it for others. Default: all.")]

OLD_OPTIONS = {  # of earlier versions, and what to write instead
    "cluster": "write --unit",
    "min-clusters": "write --min-units",
    "rank": "what holds comes first",
    "joint": "write --against joint",
    "each": "name a slice, or write laplex distance --along COLUMN",
    "steps": "write laplex trajectory",
    "measure": "with --no-test the table has both distances",
}


def inference_options(
    unit: Annotated[
        str | None, Option(help="The column that says who was sampled. Default: that of the fit, or documents.")
    ] = None,
    interval: Annotated[float, Option(help="The coverage of intervals in repeated samples.")] = 0.9,
    level: Annotated[float, Option(help="The false discovery rate at which a finding holds.")] = 0.1,
    min_effect: Annotated[float, Option(help="The smallest size that the lower end of an interval must have.")] = 0.1,
    min_units: Annotated[int | None, Option(help="The number of units on each side that must use a word.")] = None,
    min_count: Annotated[int, Option(help="The number of times that a word must occur.")] = 100,
    function_words: Annotated[bool, Option("--function-words", help="Also list function words.")] = False,
    permutations: Annotated[
        int | None, Option(help="Count this many permutations for p-values. Default: 999 to a million, as needed.")
    ] = None,
    language: Language = None,
    threads: Annotated[int | None, Option(help="The number of threads. Default: all processors it may use.")] = None,
    seed: Annotated[int, Option(help="The random seed of permutations.")] = 1,
    quiet: Quiet = False,
) -> dict[str, Any]:
    """The options that all tests share."""
    options = locals()
    return {name: value for name, value in options.items() if name != "function_words"} | {
        "exclude": () if function_words else None
    }


def given_options(shared: Mapping[str, Any]) -> list[Any]:
    """The options of tests that were given, as a command that goes on from the answer needs them."""
    defaults, options = signature(inference_options).parameters, []
    for name, value in shared.items():
        if name not in ("quiet", "threads") and value != defaults[name].default:
            options += [f"--{name.replace('_', '-')}", *([] if value is True else [value])]
    return options


def repeated(option: str, values: Sequence[Any] | None) -> list[Any]:
    """An option that is given once for each value.

    >>> repeated("--given", ["year", "chamber"])
    ['--given', 'year', '--given', 'chamber']
    """
    return [part for value in values or () for part in (option, value)]


def split_options(arguments: list[str]) -> tuple[list[str], dict[str, Any]]:
    """Separate words from the values of columns: ["health", "--party", "D", "--period=2010"].

    A column that is named several times has a list of values.
    """
    words: list[str] = []
    where: dict[str, list[str]] = {}
    remaining = iter(arguments)
    for argument in remaining:
        if not argument.startswith("--"):
            words.append(argument)
            continue
        column, separator, value = argument[2:].partition("=")
        following = value if separator else next(remaining, None)
        if column in OLD_OPTIONS:
            raise InputError(f"--{column} is no longer an option: {OLD_OPTIONS[column]}")
        if not column or following is None:
            raise InputError(f"{argument} has no value: write {argument} VALUE")
        where.setdefault(column, []).append(following)
    return words, {column: values[0] if len(values) == 1 else values for column, values in where.items()}


def only_columns(arguments: list[str] | None) -> dict[str, Any]:
    """The values of columns, where no word is expected."""
    words, where = split_options(arguments or [])
    if words:
        raise InputError(f'"{words[0]}" is one argument too many: slices are chosen as --COLUMN VALUE')
    return where
