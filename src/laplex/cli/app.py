"""The Typer application: options of every command, printing of results, and conversion of errors to exit codes."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Collection
from inspect import Signature, signature
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_origin

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer import Option

import laplex as lx
from laplex.errors import LaplexError
from laplex.runtime import atomic
from laplex.runtime.processors import available_threads
from laplex.runtime.program import record_command

if TYPE_CHECKING:
    import pandas as pd

Csv = Annotated[Path | None, Option("--csv", help="Also write the table to this CSV file.")]
Plot = Annotated[Path | None, Option("--plot", help="Also draw a chart: a .pdf, .svg, .png or .html file.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Print the result, but no progress or messages.")]

# Threads of the linear algebra wait for work in a loop, by default long enough to double the work of a short command.
BLAS_SPIN = "20"  # the logarithm, to base 2, of how many cycles they do
OPTIONAL_VALUES = {"--phrases": "auto"}  # what an option means without a value
_CONTROL_CHARACTERS = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f]")


class _InterruptedError(Exception):
    """The user pressed Ctrl-C."""


class _Commands(typer.core.TyperGroup):
    """Passes Ctrl-C on to `main`, because Typer would exit without a message."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            raise _InterruptedError from interrupt


class _Command(typer.core.TyperCommand):
    """Lets options of OPTIONAL_VALUES stand without a value, for which Typer has no way."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        following = [*args[1:], "--"]
        values = {i: OPTIONAL_VALUES[arg] for i, arg in enumerate(args) if arg in OPTIONAL_VALUES}
        bare = {i: value for i, value in values.items() if following[i].startswith("-")}
        return super().parse_args(ctx, [f"{arg}={bare[i]}" if i in bare else arg for i, arg in enumerate(args)])


app = typer.Typer(
    name="laplex",
    cls=_Commands,
    help="Word embeddings from text with metadata, under a graph prior.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def command(
    example: str, *, column_options: bool = False, shared: Callable[..., Any] | None = None
) -> Callable[[Any], Any]:
    """Register a command whose help ends with an example.

    With `column_options` it accepts unknown options, which name the columns of a model: --party D. With `shared` it has
    the Annotated parameters of that function as well, before its own keyword-only ones, and passes them on to it.
    """
    settings = {"ignore_unknown_options": True, "allow_interspersed_args": True} if column_options else {}

    def register(function: Any) -> Any:
        if shared is not None:
            own = dict(signature(function, eval_str=True).parameters)
            first = {name: option for name, option in own.items() if option.kind is option.POSITIONAL_OR_KEYWORD}
            both = first | dict(signature(shared, eval_str=True).parameters) | own
            options = [option for option in both.values() if get_origin(option.annotation) is Annotated]
            function.__signature__ = Signature([option.replace(kind=option.KEYWORD_ONLY) for option in options])
        return app.command(cls=_Command, epilog=f"Example: [bold]{example}[/bold]", context_settings=settings)(function)

    return register


def _print_version(requested: bool) -> None:
    if requested:
        print(f"laplex {lx.__version__}")
        raise typer.Exit


@app.callback()
def _common_options(
    debug: Annotated[bool, Option("--debug", help="Show the full traceback of an error.")] = False,
    version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the `laplex` command with the arguments of this process."""
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", BLAS_SPIN)
    os.environ.setdefault("OMP_NUM_THREADS", str(available_threads()))  # of the linear algebra, which ignores quotas
    debug = "--debug" in sys.argv[1:]
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]  # accepted in any position
    try:
        with record_command(arguments), warnings.catch_warnings():
            warnings.showwarning = _show_warning
            app(arguments)
    except (KeyboardInterrupt, _InterruptedError, LaplexError) as error:
        if debug:
            raise
        message, code = (visible(str(error)), 1) if isinstance(error, LaplexError) else ("stopped", 130)
        console = Console(stderr=True, soft_wrap=True, markup=False, highlight=False)
        console.print(f"laplex: {message}", style="red")
        sys.exit(code)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as one line, without the place in the code that gave it."""
    console = Console(stderr=True, soft_wrap=True, markup=False, highlight=False)
    console.print(f"laplex: warning: {visible(str(message))}", style="yellow")


def visible(text: str) -> str:
    """Replace control characters, which words of an untrusted model may contain, by their escape sequences.

    >>> visible("tax \\x1b[2J")
    'tax \\\\x1b[2J'
    """
    return _CONTROL_CHARACTERS.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def show(result: str | Table) -> None:
    """Print a line or a table to standard output."""
    if isinstance(result, str):
        Console(soft_wrap=True, markup=False, highlight=False).print(visible(result))
    else:
        Console(highlight=False).print(result)


def show_frame(frame: pd.DataFrame, *, wrapped: Collection[str] | None = None, **look: Any) -> None:
    """Print a data frame as a table, numbers aligned to the right.

    `wrapped` are the columns whose cells may have several lines, all by default, and `look` is that of Rich's Table.
    """
    import pandas as pd

    table = Table(**look)
    for name, column in frame.items():
        justify: Literal["left", "right"] = "right" if pd.api.types.is_numeric_dtype(column) else "left"
        whole = wrapped is not None and name not in wrapped
        table.add_column(escape(visible(str(name))), justify=justify, no_wrap=whole, overflow="fold")
    for row in frame.itertuples(index=False):
        table.add_row(*map(_cell, row))
    show(table)


def _cell(value: Any) -> str:
    import pandas as pd

    if value is pd.NA or (isinstance(value, float) and pd.isna(value)):
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, Integral) and not isinstance(value, bool) else escape(visible(str(value)))


def answer(frame: pd.DataFrame, csv: Path | None, plot: Path | None, draw: Callable[[pd.DataFrame], Any]) -> None:
    """Print a table, and write it and its chart to the files given by `--csv` and `--plot`."""
    show_frame(with_interval_beside(frame) if "lower" in frame else frame)
    if csv is not None:
        write_csv(frame, csv)
    if plot is not None:
        draw(frame).save(plot)


def with_interval_beside(frame: pd.DataFrame) -> pd.DataFrame:
    """A table with the interval in the column of the estimate and p as text, without columns that are empty."""
    import pandas as pd

    pairs = zip(frame["estimate"], frame["lower"], frame["upper"])
    sizes = ["" if pd.isna(size) else f"{size:.2f} ({one:.2f} to {two:.2f})" for size, one, two in pairs]
    shown = frame.assign(estimate=sizes).drop(columns=["lower", "upper"])
    if "holds" in frame:
        shown = shown.assign(p=p_values(frame), holds=frame["holds"].map({True: "yes", False: ""}))
        shown["p_adjusted"] = ["" if pd.isna(p) else f"{p:.2g}" for p in frame["p_adjusted"]]
        return shown.rename(columns={"p_adjusted": "p adjusted"})
    empty = [name for name in ("estimate", "units") if frame[name].isna().all()]
    return shown.drop(columns=empty)


def p_values(frame: pd.DataFrame) -> list[str]:
    """p-values as text; the smallest that the permutations allow as "< 0.001"."""
    import pandas as pd

    texts = []
    for p, draws in zip(frame["p"], frame["permutations"] if "permutations" in frame else [0] * len(frame)):
        floor = 1 / (draws + 1) if draws else 0.0
        texts.append("" if pd.isna(p) else f"< {floor:.1g}" if p <= floor else f"{p:.2g}")
    return texts


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table atomically, with an apostrophe before words that a spreadsheet would run as a formula."""
    from laplex.questions.export import escape_formulas

    with atomic.replacing(path) as file:
        file.write(escape_formulas(frame).to_csv(index=False).encode())
