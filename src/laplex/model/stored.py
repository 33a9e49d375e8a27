"""The vectors of a saved model, read from its folder and checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.errors import StorageError
from laplex.model.rows import Rows
from laplex.model.vectors import Vectors
from laplex.runtime import storage
from laplex.text.slices import Slices
from laplex.text.vocabulary import Vocabulary, unpack_phrases

KIND = "embeddings"  # that manifests of saved models have


def stored_vectors(saved: storage.Saved) -> Vectors:
    """The vectors of a saved model, memory-mapped, without what absent words are computed from."""
    arrays, settings = saved.arrays, saved.settings
    try:
        keys = tuple(_texts(key) for key in settings["slices"])
        slices = Slices(_names(settings, "columns"), keys, arrays["slice_of_document"])
        if any(len(key) != len(slices.columns) for key in keys) or not within(slices.of_document, 0, len(slices)):
            raise ValueError("its slices")
        vocabularies, counts = [], []
        for i, language in enumerate(_names(settings, "languages")):
            words = storage.unpack(arrays[f"words/{i}/text"], arrays[f"words/{i}/starts"])
            counts.append(checked(arrays[f"counts/{i}"], "iu", (len(slices), len(words))))
            vocabularies.append(Vocabulary(words, counts[i].sum(0), language, unpack_phrases(arrays, i)))
        rows = Rows(vocabularies, slices)
        theta, slot = arrays["theta"], checked(arrays["slot"], "i", (len(rows),))
        if theta.ndim != 2 or theta.dtype != np.float32 or not within(slot, -1, len(theta)):
            raise ValueError("its vectors")
        return Vectors(rows, theta, slot, counts)
    except (KeyError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise StorageError(f'"{saved.folder}" is damaged: {error}') from None


def _names(settings: dict[str, Any], what: str) -> tuple[str, ...]:
    """The names of columns or languages; ValueError unless they are a list of different texts."""
    names = settings[what]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError(f"its {what} are {names!r}")
    return _texts(names)


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    """The values as text; ValueError if one has half of a surrogate pair, which no table can hold."""
    texts = tuple(str(value) for value in values)
    "".join(texts).encode()
    return texts


def checked(array: NDArray[Any], kinds: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """The array; ValueError unless its dtype is of one of these kinds (NumPy's letters) and it has this shape."""
    if array.dtype.kind not in kinds or array.shape != shape:
        raise ValueError(f"an array of {array.dtype} with the shape {array.shape} where it must be {shape}")
    return array


def within(numbers: NDArray[Any], least: int, end: int) -> bool:
    return numbers.ndim == 1 and numbers.dtype.kind == "i" and bool(((numbers >= least) & (numbers < end)).all())
