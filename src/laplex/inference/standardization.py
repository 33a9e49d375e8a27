"""Direct standardization: documents weighted so that all values of a column have the same mix of other columns.

Documents with the same values of the columns that are controlled for make up a stratum; numbers with many values are
put into bins. Where every compared value has documents, those of value a in stratum k count P(k) / P(k | a) times, with
shares of tokens: the text of each value then has the strata of all values together. Other strata are left out.
M documents, A values, K strata.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from laplex.errors import InputError, quote
from laplex.inference.covariates import MAX_STRATA, Covariates
from laplex.inference.units import Floats, Ints
from laplex.runtime.display import say
from laplex.text.tokens import Tokens

BINS = 5  # of a number with many values
WORTH_SAYING = 0.05  # of the text, if it is left out


class Strata(NamedTuple):
    """The stratum of each document of the text, and the weight of each value in each stratum."""

    of_document: Ints  # (documents of the text) −1 if it is not compared
    weight: Floats  # (A, K)


def standardize(tokens: Tokens, documents: Ints, value: Ints, given: Sequence[str], *, quiet: bool = False) -> Strata:
    """The strata of documents that have values (M), numbered from 0."""
    if any(name.strip().startswith("~") for name in given):
        raise InputError(f"given={list(given)!r}: here columns are named, not a formula")
    columns = Covariates(tokens, documents)
    stratum = np.zeros(len(documents), np.int64)
    for name in dict.fromkeys(given):
        level = columns.levels(name, MAX_STRATA, BINS)
        stratum = np.unique(stratum * (int(level.max()) + 1) + level, return_inverse=True)[1].reshape(-1)
    shape = int(value.max()) + 1, int(stratum.max()) + 1
    lengths = np.diff(tokens.offsets)[documents].astype(np.float64)
    size = np.bincount(value * shape[1] + stratum, lengths, shape[0] * shape[1]).reshape(shape)
    shared = (size > 0).all(0)
    if not shared.any():
        raise InputError(
            f"no documents that are alike in {quote(given, 6)} have all of the values that are compared: leave out a "
            "column, or compare fewer values"
        )
    left_out = 1 - size[:, shared].sum() / size.sum()
    if left_out > WORTH_SAYING:
        say(f"{left_out:.0%} of the text has no counterpart that is alike in {quote(given, 6)}: left out", quiet=quiet)
    size = size[:, shared]
    total = size.sum(0) / size.sum()
    place = np.where(shared, np.cumsum(shared) - 1, -1)
    of_document = np.full(tokens.documents, -1, np.int64)
    of_document[documents] = place[stratum]
    return Strata(of_document, total * size.sum(1, keepdims=True) / size)
