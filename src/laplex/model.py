"""The statistical choices, frozen. Nothing here says how they are computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from laplex.card import card
from laplex.errors import InputError, whole
from laplex.priors import Prior, Ridge

# what users of gensim would try, and what it is called here
ELSEWHERE = {
    "vector_size": "dimensions=",
    "size": "dimensions=",
    "negative": "negatives=",
    "sample": "subsample=",
    "sg": 'likelihood="sgns" (or "cbow")',
    "ns_exponent": "noise_power=",
    "alpha": "lx.fit(..., rate=)",
    "workers": "lx.fit(..., threads=)",
    "min_count": "lx.fit(..., min_count=)",
    "epochs": "lx.fit(..., epochs=)",
    "iter": "lx.fit(..., epochs=)",
}


@dataclass(frozen=True, init=False)
class Model:
    """Word embeddings with a likelihood of `likelihood` and a prior that is a graph.

    vary         the metadata columns by which a word's vector varies; none gives plain Bernoulli embeddings
    prior        beliefs about the vectors, such as Ridge(1.0) + Groups("party", 100.0)
    likelihood   "cbow": a word given the sum of the context vectors around it; "sgns": given each of them
    dimensions   the length of a vector
    window       how many words on each side are its context
    negatives    how many other words are contrasted with each occurrence
    subsample    occurrences of words more frequent than this share are thinned out; 0 keeps all
    noise_power  negatives are drawn by counts to this power
    absent       words in slices where they do not occur. "kept": they have vectors of their own there, and are drawn as
                 negatives. "filled": negatives are words that occur in the slice, and only these have vectors; those of
                 the others are what the prior says, made when they are asked for. For hundreds of slices
    """

    vary: tuple[str, ...]
    prior: Prior
    likelihood: Literal["cbow", "sgns"]
    dimensions: int
    window: int
    negatives: int
    subsample: float
    noise_power: float
    absent: Literal["kept", "filled"]

    def __init__(
        self,
        vary: Sequence[str] = (),
        prior: Prior | None = None,
        likelihood: Literal["cbow", "sgns"] = "cbow",
        dimensions: int = 100,
        window: int = 5,
        negatives: int = 5,
        subsample: float = 1e-3,
        noise_power: float = 0.75,
        absent: Literal["kept", "filled"] = "kept",
        **others: Any,
    ) -> None:
        for name in others:
            raise InputError(f"Model has no {name}=" + (f": write {ELSEWHERE[name]}" if name in ELSEWHERE else ""))
        if isinstance(vary, str):
            raise InputError(f'vary is a list of columns: write vary=["{vary}"]')
        if prior is not None and not isinstance(prior, Prior):
            raise InputError(f"a prior is a sum of beliefs such as lx.Ridge(1.0), not {type(prior).__name__}")
        if likelihood not in ("cbow", "sgns"):
            raise InputError(f'likelihood="{likelihood}": write "cbow" or "sgns"')
        dimensions, window = whole("dimensions", dimensions), whole("window", window)
        negatives = whole("negatives", negatives)
        if not 0 <= subsample <= 1 or not 0 <= noise_power <= 2:
            raise InputError(f"subsample={subsample} must be from 0 to 1, noise_power={noise_power} from 0 to 2")
        if absent not in ("kept", "filled"):
            raise InputError(f'absent="{absent}": write "kept" or "filled"')
        numbers = (dimensions, window, negatives, subsample, noise_power)
        values = (tuple(vary), prior or Ridge(1.0), likelihood, *numbers, absent)
        for field, chosen in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, chosen)

    def _repr_html_(self) -> str:
        shown = {field.name: str(getattr(self, field.name)) for field in fields(self)}
        shown |= {"vary": ", ".join(self.vary) or "nothing", "likelihood": self.likelihood}
        beliefs = [("prior" if place == 0 else "", repr(part)) for place, part in enumerate(self.prior.parts)]
        return card("Model", [*beliefs, *((name, text) for name, text in shown.items() if name != "prior")])

    def settings(self) -> dict[str, Any]:
        """As JSON; the prior as one would write it, and its parts."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {
            "prior": repr(self.prior),
            "beliefs": [part.describe() for part in self.prior.parts],
        }
