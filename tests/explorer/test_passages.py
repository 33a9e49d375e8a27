"""Passages are where the word is, in its slice, the most typical first."""

from __future__ import annotations

import numpy as np
import pytest

from laplex.explorer.passages import AROUND, typical_passages
from laplex.provenance import tokens_of


@pytest.mark.parametrize("slice", [0, 3, 5])
def test_passages_are_of_the_word_in_its_slice(fitted, decode, slice):
    tokens = tokens_of(fitted)
    texts = decode(tokens)
    found = typical_passages(fitted, tokens, "health", slice, most=5)
    assert len(found) == 5
    assert len({passage.document for passage in found}) == 5
    for passage in found:
        assert fitted.rows.slices.of_document[passage.document] == slice
        whole = " ".join(filter(None, [passage.left, passage.word, passage.right]))
        assert whole in " ".join(texts[passage.document])
        assert len(passage.left.split()) <= AROUND


def test_the_first_passage_is_the_most_similar_of_all(fitted):
    tokens = tokens_of(fitted)
    word, slice = fitted.id("health", 0), 3
    own = fitted.vector("health", party="R", year="2000")
    contexts = fitted.contexts()
    best, where = -2.0, -1
    for document in np.flatnonzero(fitted.rows.slices.of_document == slice).tolist():
        ids = tokens.document(document)
        for place in np.flatnonzero(ids == word).tolist():
            around = [*ids[max(0, place - 3) : place], *ids[place + 1 : place + 4]]
            total = contexts[around].sum(0)
            cosine = float(total @ own / np.linalg.norm(total) / np.linalg.norm(own))
            if cosine > best + 1e-6:
                best, where = cosine, document
    assert fitted.rows.slices.keys[slice] == ("R", "2000")
    assert typical_passages(fitted, tokens, "health", slice, most=1)[0].document == where


def test_a_word_that_is_not_in_a_slice_has_no_passages(fitted):
    tokens = tokens_of(fitted)
    assert typical_passages(fitted, tokens, "tax", 99) == []
