"""Embedding regression (Rodriguez, Spirling and Stewart 2023), as the R package conText has it.

The embeddings y_i of the occurrences of a word (`a_la_carte.py`) are regressed on covariates of their documents:

    y_i = β_0 + Σ_k x_ik β_k + e_i    by least squares; ‖β_k‖ says how far covariate k moves the use of the word

with weights w_i: 1, or, where all units count the same, one divided by the occurrences of the unit.
Noise makes every norm too long. Its share of the square is taken out (Green et al. 2025) with the coefficients β_(u)
without one unit u each, β̄ their mean:

    ‖β_k‖² − (U − 1)/U Σ_u ‖β_(u)k − β̄_k‖²

and p is the share of permutations in which this debiased square is at least as large: whole rows of X are exchanged
between units, among those that have the word, and the noise is estimated for each permutation anew. With units of
unequal weight XᵀWX differs each time, and so does the noise. All occurrences of a unit, with weights that add up to
n_u, have the same row x_u, so that the jackknife needs no refit:

    β_(u) − β = −(XᵀWX)⁻¹ x_u r_uᵀ / (1 − n_u x_uᵀ(XᵀWX)⁻¹x_u)    with r_u = Σ_{i in u} w_i y_i − n_u βᵀx_u

n occurrences, K covariates, D dimensions, U units, P permutations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from laplex.baselines import kernels
from laplex.baselines.a_la_carte import ContextEmbeddings, WordOccurrences
from laplex.embeddings import Embeddings
from laplex.errors import InputError, check_int, quote
from laplex.fitting.provenance import tokens_of
from laplex.inference.counting import ROUNDING
from laplex.inference.statistics import thread_pool
from laplex.inference.units import DOCUMENTS, Floats, Ints
from laplex.runtime.display import bar
from laplex.runtime.processors import available_threads
from laplex.text.tokens import Tokens

OCCURRENCES = "occurrences"
NUMBERS_PER_CHUNK = 2**22  # in the permutations that are in memory together
SINGULAR = 1e-9  # of the largest eigenvalue, below which the smallest is zero


class CoefficientNorms(NamedTuple):
    """The lengths of the coefficients of a word; NaN where the data do not determine them."""

    norm: Floats  # (K)
    square: Floats  # (K) without the noise
    standard_error: Floats  # (K) of the square


def embedding_regression(
    vectors: Embeddings,
    words: str | Sequence[str],
    x: pd.DataFrame,
    *,
    tokens: Tokens | None = None,
    unit: Literal["occurrences", "documents"] | str = DOCUMENTS,
    window: int = 6,
    permutations: int = 999,
    min_count: int = 100,
    seed: int = 1,
    threads: int | None = None,
    quiet: bool = False,
) -> pd.DataFrame:
    """Regress the à la carte embeddings of each word on covariates of the documents, as conText does.

    The unit is what was sampled: it is left out by the jackknife, and covariates are exchanged between units. With
    "occurrences", as conText has it by default, two uses in one document are independent evidence; with "documents"
    these are, also if one speaker wrote many of them. With either, every occurrence counts the same in the
    coefficients. With a column, such as the speaker, all documents of a value belong together, and every value counts
    the same, however often it has the word: this is conText with clusters.

    Args:
        vectors: Vectors of one language without slices: a plain fit, or `lx.inference.pooled(fitted)`.
        words: A word, or several.
        x: The covariates: numeric columns, and a row for each document of the text, in its order. An intercept is
            added. Make dummies of a column with `pd.get_dummies(column, drop_first=True)`.
        tokens: The text, if it is no longer where the vectors were fitted on it.
        unit: "occurrences", "documents", or a column of the text.
        window: How many words on each side are the context of an occurrence.
        permutations: How many permutations p is counted over; 0 leaves p out. Covariates that vary within the values
            of a column cannot be exchanged between these.
        min_count: How often a word must occur to have a part in the transformation of contexts into vectors.
        seed: Of the permutations.
        threads: How many threads are used; all processors of this process by default.
        quiet: Print nothing.

    Returns:
        A row for each word and covariate: "word"; "term", the name of the covariate; "norm", the length of its
        coefficient; "estimate", the same without the noise, 0 where that exceeds it; "square", the square of this,
        which may be negative; "standard_error" of the square, by the jackknife; "p", the share of permutations whose
        square, without its own noise, is at least as large; "uses" and "units" of the word. Values are NaN where these
        do not determine the coefficients, as when one party alone uses a word.

    Example:
        party = pd.DataFrame({"R": pd.Series(parties) == "R"})  # of each document
        lx.baselines.embedding_regression(lx.inference.pooled(fitted), ["health", "tax"], party, unit="senator")
    """
    if len(vectors.languages) > 1 or len(vectors.rows.slices) > 1:
        raise InputError(
            f"there are {len(vectors.languages)} languages and {len(vectors.rows.slices)} slices, and the regression "
            "takes vectors of one language without slices: fit a plain model, or give lx.inference.pooled(fitted)"
        )
    ids, tokens = vectors.ids(words, 0), tokens_of(vectors, tokens)
    window, min_count = check_int("window", window), check_int("min_count", min_count)
    draws, seed = check_int("permutations", permutations, 0), check_int("seed", seed, 0)
    threads = check_int("threads", available_threads() if threads is None else threads)
    terms, covariates = _check_covariates(x, tokens)
    group = None if unit == OCCURRENCES else _units(tokens, unit, covariates if draws else covariates[:, :0])
    even = unit not in (OCCURRENCES, DOCUMENTS)

    def regress(found: WordOccurrences) -> pd.DataFrame:
        mine = covariates[found.document]
        units = np.arange(len(mine)) if group is None else group[found.document]
        norms = coefficient_norms(found.embeddings, mine, units, even=even)
        p = permutation_p(found.embeddings, mine, units, draws, [seed, found.id], even=even)
        row = norms._asdict() | {"p": p, "estimate": np.sqrt(np.maximum(norms.square, 0.0))}
        facts = {"word": vectors.rows.vocabularies[0].words[found.id], "term": terms}
        return pd.DataFrame(facts | row | {"uses": len(mine), "units": len(np.unique(units))})

    rows = []
    with bar("regressing", quiet=quiet) as progress, thread_pool(threads) as pool:
        progress.update(0.0, "reading the contexts of all words")
        contexts = ContextEmbeddings(tokens, vectors, window, min_count, threads)
        for batch in contexts.read(ids):
            for row in pool.map(regress, batch):
                rows.append(row)
                progress.update(len(rows) / len(ids), f"{len(rows):,} of {len(ids):,} words")
    columns = ["word", "term", "norm", "estimate", "square", "standard_error", "p", "uses", "units"]
    return pd.concat(rows, ignore_index=True)[columns]


def _check_covariates(x: pd.DataFrame, tokens: Tokens) -> tuple[list[str], Floats]:
    """The names and values of the covariates."""
    if not isinstance(x, pd.DataFrame) or not len(x.columns):
        raise InputError(f'x={type(x).__name__} must be a data frame with columns: pd.DataFrame({{"R": party == "R"}})')
    if len(x) != tokens.documents:
        raise InputError(f"x has {len(x):,} rows, the text {tokens.documents:,} documents: give a row for each")
    terms = [str(name) for name in x.columns]
    if len(set(terms)) < len(terms):
        raise InputError(f"columns of x share a name: {quote(terms, 12)}; rename them")
    for name, kind in zip(terms, x.dtypes, strict=True):
        if not (pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind)):
            raise InputError(f'column "{name}" of x has the type {kind}: make numbers of it, as pd.get_dummies(x) does')
    values = x.to_numpy(np.float64, na_value=np.nan)
    for name, column in zip(terms, values.T, strict=True):
        if not np.isfinite(column).all():
            raise InputError(f'column "{name}" of x has values that are missing or infinite: every document needs one')
        if column.min() == column.max():
            raise InputError(f'column "{name}" of x is {column[0]:g} in all documents: leave it out')
    if len(terms) >= tokens.documents or np.linalg.matrix_rank(_standardized(values)[0]) < len(terms):
        raise InputError(f"a column of x is a sum of others ({quote(terms, 12)}), with an intercept: leave one out")
    return terms, values


def _units(tokens: Tokens, unit: str, covariates: Floats) -> Ints:
    """(M) The unit of each document; InputError if covariates vary within one."""
    if unit == DOCUMENTS:
        return np.arange(tokens.documents)
    group = tokens.codes(unit).astype(np.int64)
    _, first, place = np.unique(group, return_index=True, return_inverse=True)
    differs = (covariates != covariates[first[place]]).any(1)
    if differs.any():
        value = tokens.values(unit)[group[differs.argmax()]]
        raise InputError(
            f'x differs between documents of {unit} "{value}", so that it cannot be exchanged between the values of '
            f'"{unit}": take unit="documents", or permutations=0 for estimates without p'
        )
    return group


def _standardized(values: Floats, weight: Floats | None = None) -> tuple[Floats, Floats]:
    """Columns with mean 0 and standard deviation 1, and what they were divided by; constant ones become zero."""
    centered = values - np.average(values, 0, weight)
    scale = np.sqrt(np.average(centered**2, 0, weight))
    scale[scale <= 1e-12 * np.abs(values).max(0, initial=0.0)] = np.inf
    return centered / scale, scale


def coefficient_norms(y: NDArray[np.floating], x: Floats, unit: Ints, *, even: bool = False) -> CoefficientNorms:
    """Coefficients by least squares, with the noise of their squared norm by the jackknife: y is (n, D), x (n, K).

    If `even`, all units count the same, otherwise all occurrences.
    """
    unknown = CoefficientNorms(*(np.full(x.shape[1], np.nan) for _ in range(3)))
    if len(y) <= x.shape[1]:
        return unknown
    by_unit, units = _membership(unit, even)
    z, scale = _standardized(x, by_unit.sum(0))
    z, y = np.concatenate([np.ones((len(x), 1)), z], 1), y - y.mean(0, dtype=np.float64)
    gram = (by_unit @ np.einsum("nk,nl->nkl", z, z).reshape(len(z), -1)).reshape(units, z.shape[1], -1)  # of each unit
    products = np.stack([by_unit @ (column[:, None] * y) for column in z.T], 1)  # (U, K + 1, D)
    total = gram.sum(0)
    eigenvalues = np.linalg.eigvalsh(total)
    if eigenvalues[0] <= SINGULAR * eigenvalues[-1]:
        return unknown
    beta = np.linalg.solve(total, products.sum(0))
    norm = np.linalg.norm(beta[1:], axis=1) / scale
    rest = total - gram
    if units < 3 or (np.linalg.eigvalsh(rest)[:, 0] <= SINGULAR * eigenvalues[-1]).any():
        return unknown._replace(norm=norm)
    change = -np.linalg.solve(rest, products - gram @ beta)[:, 1:] / scale[:, None]  # β_(u) − β, (U, K, D)
    noise = ((change - change.mean(0)) ** 2).sum((0, 2)) * (units - 1) / units
    squares = ((beta[1:] / scale[:, None] + change) ** 2).sum(2)
    standard_error = np.sqrt(((squares - squares.mean(0)) ** 2).sum(0) * (units - 1) / units)
    return CoefficientNorms(norm, norm**2 - noise, standard_error)


def permutation_p(
    y: NDArray[np.floating], x: Floats, unit: Ints, permutations: int, seed: Sequence[int], *, even: bool = False
) -> NDArray[np.float64]:
    """(K) p of each coefficient's debiased square; rows of x, alike within a unit, are exchanged between units.

    If `even`, all units count the same, otherwise all occurrences.
    """
    if permutations == 0 or len(y) <= x.shape[1]:
        return np.full(x.shape[1], np.nan)
    by_unit, units = _membership(unit, even)
    size, weight = by_unit.sum(1), by_unit.sum(0)
    sums = np.asarray(by_unit @ (y - np.average(y, 0, weight)), np.float32)
    first = np.unique(unit, return_index=True)[1]
    z = _standardized(x, weight)[0][first].astype(np.float32)
    exact = z.astype(np.float64)
    observed, norm = debiased_squares(z.T[:, None], size @ exact, (exact.T * size) @ exact, sums, size)
    if not np.isfinite(observed).all():
        return np.full(x.shape[1], np.nan)
    least = observed - (1 - ROUNDING) * norm**2  # the square may be zero or negative
    rows, code = np.unique(z, axis=0, return_inverse=True)
    label, random = code.reshape(-1).astype(np.int32), np.random.default_rng(seed)
    exceeding, chunk = np.zeros(x.shape[1], np.int64), max(1, NUMBERS_PER_CHUNK // (units * x.shape[1]))
    for start in range(0, permutations, chunk):
        count = min(chunk, permutations - start)
        drawn = np.empty((x.shape[1], count, units), np.float32)
        total, gram = np.zeros((count, x.shape[1])), np.zeros((count, x.shape[1], x.shape[1]))
        kernels.permute_rows(rows, label, size, int(random.integers(2**62)), drawn, total, gram)
        exceeding += (~(debiased_squares(drawn, total, gram, sums, size)[0] < least)).sum(0)  # NaN, by rounding, counts
    return (exceeding + 1) / (permutations + 1)


def debiased_squares(
    z: NDArray[np.float32], total: Floats, gram: Floats, sums: NDArray[np.float32], size: Floats
) -> tuple[Floats, Floats]:
    """(P, K) each: the debiased squares and the norms of the coefficients under P design matrices.

    They are those of `coefficient_norms`, in single precision; NaN where a matrix does not determine them.

    Args:
        z: (K, P, U) Covariates of the units.
        total: (P, K) Their weighted sums.
        gram: (P, K, K) The weighted sums of their products.
        sums: (U, D) Of y, weighted, which is zero on average: once z is centered, the intercept can be left out.
        size: (U) The weight of each unit.
    """
    units, total, gram = len(sums), total.reshape(-1, len(z)), gram.reshape(-1, len(z), len(z))
    mean = total / size.sum()
    gram = gram - total[:, :, None] * mean[:, None, :]
    products = np.stack([column @ sums for column in z], 1).astype(np.float64)  # (P, K, D)
    eigenvalues = np.linalg.eigvalsh(gram)
    singular = eigenvalues[:, 0] <= SINGULAR * eigenvalues[:, -1].clip(1e-300)
    gram[singular], products[singular] = np.eye(len(z)), 0.0
    inverse = np.linalg.inv(gram)
    beta = inverse @ products
    weight = np.stack([beta[:, k].astype(np.float32) @ sums.T for k in range(len(z))])  # (K, P, U) so far β·Y_u
    length = np.einsum("ud,ud->u", sums, sums, dtype=np.float64)
    squares, moments, left = np.zeros(mean.shape), np.zeros(gram.shape), np.ones(len(mean))
    design, outer = np.ascontiguousarray(z), beta @ beta.swapaxes(1, 2)
    kernels.leave_units_out(design, mean, inverse, outer, size, length, SINGULAR, weight, squares, moments, left)
    change = np.stack([row @ sums for row in weight], 1) - moments @ beta  # the sum of all β − β_(u)
    noise = (squares - (change**2).sum(2) / units) * (units - 1) / units
    norm = np.linalg.norm(beta, axis=2)
    norm[singular] = np.nan
    noise[left <= SINGULAR] = np.nan
    return norm**2 - noise, norm


def _membership(unit: Ints, even: bool) -> tuple[sparse.csr_array, int]:
    """(U, n) The matrix that sums rows by unit, or if `even` takes their mean, and the number of units."""
    names, place, size = np.unique(unit, return_inverse=True, return_counts=True)
    weight = 1.0 / size[place] if even else np.ones(len(unit))
    matrix = sparse.csr_array((weight, (place, np.arange(len(unit)))), shape=(len(names), len(unit)))
    return matrix, len(names)
