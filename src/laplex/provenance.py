"""Which text was a model fitted on? It is kept by reference: the folder of its tokens, and their hash."""

from __future__ import annotations

from laplex import storage
from laplex.embeddings import Embeddings
from laplex.errors import InputError, StorageError
from laplex.tokens import Tokens


def tokens_of(fitted: Embeddings, tokens: Tokens | None = None) -> Tokens:
    """The tokens a model was fitted on: those given, if they are the same, or those it remembers."""
    known = fitted.settings.get("tokens")
    if not known:
        raise InputError("these vectors were not fitted here, so there is no text to test them with")
    if "ranks" in known:
        return _whole(fitted, tokens, known["ranks"])
    if tokens is None:
        try:
            tokens = Tokens(storage.load(known["folder"], "tokens"))
        except StorageError as error:
            raise InputError(f"the text of this model is needed, but {error}: give it as tokens=") from None
    if tokens.digest != known["digest"]:
        raise InputError(
            f'the tokens in "{tokens.folder}" are not those that the model was fitted on: give those as tokens='
        )
    return tokens


def _whole(fitted: Embeddings, tokens: Tokens | None, ranks: int) -> Tokens:
    """All the text of a model that several processes fitted, each with a part of it."""
    if tokens is None:
        raise InputError(
            f"{ranks} processes fitted this model, each with a part of the text: give all of it as "
            "tokens=lx.Tokens.of(corpus, ...), read with the same settings"
        )
    for mine, theirs in zip(fitted.rows.vocabularies, tokens.vocabularies, strict=False):
        if mine.words != theirs.words or (mine.counts != theirs.counts).any():
            raise InputError(f'the tokens in "{tokens.folder}" are not all that the model was fitted on')
    return tokens
