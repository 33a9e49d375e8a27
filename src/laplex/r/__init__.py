"""laplex from R: `source(reticulate::import("laplex.r")$file)` defines the functions of laplex.R, which call this.

Calls and frames take a form here that every version of reticulate converts alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from laplex.errors import LaplexError

file = str(Path(__file__).with_name("laplex.R"))


def call(function: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> tuple[Any, list[str], str]:
    """What a function returns, its warnings, and its error as one sentence: R raises these as its own.

    Args:
        function: The function.
        *arguments: Its arguments.
        **keywords: Its keywords.

    Returns:
        The result, the texts of warnings, and that of an error of laplex or of a wrong argument; "" without one.

    Example:
        >>> call(int, "7")
        (7, [], '')
    """
    result, error_text = None, ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            result = function(*arguments, **keywords)
        except (LaplexError, TypeError) as error:
            error_text = f"laplex: {error}"
    texts = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
    return result, list(dict.fromkeys(texts)), error_text


def columns(frame: pd.DataFrame) -> list[tuple[str, str, list[Any]]]:
    """The columns of a frame: name, kind ("whole", "number", "truth" or "text") and values.

    Args:
        frame: The frame.

    Returns:
        A tuple for each column. What is missing is NaN among numbers, and None otherwise.

    Example:
        >>> columns(pd.DataFrame({"word": ["tax", None], "uses": [7, 8]}))
        [('word', 'text', ['tax', None]), ('uses', 'whole', [7.0, 8.0])]
    """
    kinds = {"i": "whole", "u": "whole", "f": "number", "b": "truth"}
    found = []
    for name, column in frame.items():
        kind = kinds.get(column.dtype.kind, "text")
        values: list[Any]
        if kind in ("whole", "number"):  # of which integers may be larger than those of R
            values = column.astype("float64").tolist()
        else:
            values = [None if missing else value for value, missing in zip(column, column.isna())]
        found.append((str(name), kind, values))
    return found
