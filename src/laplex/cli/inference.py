"""Commands that test how words differ: between groups, along an order, what a difference is made of, and passages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import laplex as lx
from laplex.cli.app import Csv, Plot, command
from laplex.cli.options import (
    Column,
    Given,
    Language,
    SavedModel,
    Slice,
    Test,
    Top,
    Value,
    Word,
    Words,
    given_options,
    inference_options,
    only_columns,
    repeated,
    split_options,
)
from laplex.cli.printing import explorer, show, show_frame, suggest, write_csv
from laplex.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


@command("laplex contrast speeches.laplex party --unit speaker", column_options=True, shared=inference_options)
def contrast(
    model: SavedModel,
    column: Column,
    slice: Slice = None,
    *,
    word: Word = None,
    value: Value = None,
    against: Annotated[
        str | None, Option(help="What values are compared with: rest, pairs, joint, or a value.")
    ] = None,
    given: Given = None,
    test: Test = True,
    top: Top = 15,
    csv: Csv = None,
    plot: Plot = None,
    **shared: Any,
) -> None:
    """Show the words that are used differently at the values of a column: how much, how surely, and with what words."""
    from laplex.cli.findings import answer_findings, explain_first

    inference = lx.load(model).inference(**inference_options(**shared))
    comparison = {"values": value, "against": against, "given": given}
    frame = inference.contrast(column, word, **comparison, at=only_columns(slice), test=test)
    answer_findings(frame, top, csv, plot, lx.plots.bars)
    options = [*(slice or ()), *repeated("--given", given), *given_options(shared)]
    others = [name for name in inference.fitted.columns if name != column]
    controlled = [["contrast", model, column, "--given", name, *options] for name in others[:1] if test and not given]
    suggest([*explain_first(model, column, frame, options), *controlled, *explorer(model)], quiet=inference.quiet)


@command(
    "laplex distance speeches.laplex health relief --across party --along period",
    column_options=True,
    shared=inference_options,
)
def distance(
    model: SavedModel,
    words: Words,
    *,
    across: Annotated[str, Option(help="The column whose values are compared.")],
    along: Annotated[str | None, Option(help="A column, such as the period, to show the distance along.")] = None,
    given: Given = None,
    test: Test = True,
    csv: Csv = None,
    plot: Plot = None,
    **shared: Any,
) -> None:
    """Show how different words are between the values of a column, also through time."""
    from laplex.cli.findings import answer_findings, explain_first

    chosen, at = split_options(words)
    inference = lx.load(model).inference(**inference_options(**shared))
    frame = inference.distance(chosen, across, along, given=given, at=at, test=test)
    answer_findings(frame, len(frame), csv, plot, lx.plots.lines if along else lx.plots.bars)
    options = [
        part
        for name, value in at.items()
        for part in repeated(f"--{name}", value if isinstance(value, list) else [value])
    ]
    options += [*repeated("--given", given), *given_options(shared)]
    suggest([] if along else explain_first(model, across, frame, options), quiet=inference.quiet)


@command("laplex drift speeches.laplex period --party D", column_options=True, shared=inference_options)
def drift(
    model: SavedModel,
    column: Column,
    slice: Slice = None,
    *,
    word: Word = None,
    given: Given = None,
    test: Test = True,
    top: Top = 15,
    csv: Csv = None,
    plot: Plot = None,
    **shared: Any,
) -> None:
    """Show the words whose use changes along an ordered column: how far, how surely, and from what to what."""
    from laplex.cli.findings import answer_findings, explain_first

    inference = lx.load(model).inference(**inference_options(**shared))
    frame = inference.drift(column, word, given=given, at=only_columns(slice), test=test)
    answer_findings(frame, top, csv, plot, lx.plots.bars)
    options = [*(slice or ()), *repeated("--given", given), *given_options(shared)]
    commands = explain_first(model, column, frame, options)
    if column in inference.fitted.columns:
        path = [*(slice or ()), *given_options(shared)]
        commands += [["trajectory", model, name, *path] for name in frame["word"].head(1)]
    suggest(commands, quiet=inference.quiet)


@command(
    'laplex regress speeches.laplex "~ party * year" --term party --unit speaker',
    column_options=True,
    shared=inference_options,
)
def regress(
    model: SavedModel,
    formula: Annotated[
        str, Argument(help='A formula of columns, in quotes, such as "~ party * year + s(age) + C(chamber)".')
    ],
    slice: Slice = None,
    *,
    word: Word = None,
    term: Annotated[
        list[str] | None, Option(help='A term to show, such as party or "party:year"; may be repeated. Default: all.')
    ] = None,
    top: Top = 15,
    csv: Csv = None,
    plot: Plot = None,
    **shared: Any,
) -> None:
    """Show how words differ with several columns at once, each given all others.

    The text is restricted by --COLUMN VALUE, which may be repeated: --party D --party R. The chart shows all words by
    size and evidence, or with --word the coefficients of these words.
    """
    from laplex.cli.findings import answer_findings

    inference = lx.load(model).inference(**inference_options(**shared))
    frame = inference.regress(formula, word, terms=term, at=only_columns(slice))
    draw = lx.plots.coefficients if word else lx.plots.volcano
    answer_findings(frame, top, csv, plot, lambda _: draw(frame))
    again: list[Any] = ["regress", model, formula, *(slice or ()), *given_options(shared)]
    first = [[*again, "--word", name, "--plot", "words.svg"] for name in frame["word"].head(1) if not word]
    suggest([*first, *([[*again, "--plot", "terms.svg"]] if not plot and not word else [])], quiet=inference.quiet)


@command("laplex explain speeches.laplex war party --value D --value R", column_options=True, shared=inference_options)
def explain(
    model: SavedModel,
    word: Annotated[str, Argument(help="The word to explain.")],
    column: Annotated[
        str,
        Argument(help='The column whose values are compared, or a term "party:year" with --given "~ party + year".'),
    ],
    slice: Slice = None,
    *,
    value: Value = None,
    given: Given = None,
    top: Annotated[int, Option(help="The number of context words to show.")] = 15,
    passages: Annotated[int, Option(help="The number of passages to show for each group.")] = 3,
    csv: Csv = None,
    **shared: Any,
) -> None:
    """Show which context words and passages make a word differ between two groups."""
    inference = lx.load(model).inference(**inference_options(**shared))
    found = inference.explain(word, column, values=value, given=given, at=only_columns(slice), passages=passages)
    show_frame(_shares(found).head(top) if found.total > 0 else found.context.head(top))
    if len(found.passages):
        show("")
    show_passages(found.passages, column)
    if csv is not None:
        write_csv(found.context, csv)
    fitted, language = inference.fitted, [inference.language] if inference.language else None
    options = given_options(shared)
    near = [["neighbors", model, word, *options], ["passages", model, word, *repeated("--language", language)]]
    tests = [[inference.question(name), model, name, "--word", word, *options] for name in fitted.columns]
    suggest([*near, *[test for test in tests if column not in test][:1]], quiet=inference.quiet)


def _shares(found: Any) -> pd.DataFrame:
    """The context words of an explanation, each with its share of the difference."""
    import pandas as pd

    table, percent = found.context, 100 / found.total
    ends = zip(table["contribution"] * percent, table["lower"] * percent, table["upper"] * percent)
    return pd.DataFrame(
        {
            "word": table["word"],
            "more with": table["value"],
            "share (interval)": [f"{share:.1f}% ({low:.1f} to {high:.1f})" for share, low, high in ends],
            "uses there": table["uses"],
            "on the other side": table["uses_other"],
        }
    )


@command("laplex passages speeches.laplex health --party D", column_options=True)
def passages(
    model: SavedModel,
    words: Words,
    top: Annotated[int, Option(help="The number of passages to show.")] = 10,
    language: Language = None,
    csv: Csv = None,
) -> None:
    """Show typical passages with a word, in the original text."""
    chosen, at = split_options(words)
    if len(chosen) != 1:
        raise InputError(f"passages takes one word, not {len(chosen)}")
    frame = lx.load(model).inference(language=language).passages(chosen[0], at=at, top=top)
    show_passages(frame)
    if csv is not None:
        write_csv(frame, csv)


def show_passages(frame: pd.DataFrame, column: str | None = None) -> None:
    """Print passages as sentences, each with the metadata of its document; the sides of a column stand before them."""
    for row in frame.to_dict("records"):
        left_out = ("value", "before", "word", "after", "document", column)
        source = ", ".join(dict.fromkeys(str(row[name]) for name in row if name not in left_out))
        label = f"{row['value']}: " if "value" in row else ""
        show(f"{label}… {row['before']}{row['word']}{row['after']} … ({source})", "   ", "")
