"""The statistical choices of a fit, frozen; how they are computed is said by `Training`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from laplex.errors import InputError, check_int
from laplex.model.likelihoods import Likelihood
from laplex.model.priors.prior import Prior, Ridge
from laplex.model.rows import Rows
from laplex.runtime.display import card

# gensim's name → the name here
GENSIM_NAMES = {
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
    """Word embeddings with a prior that is a graph.

    Args:
        vary: The metadata columns by which a word's vector varies; none gives plain Bernoulli embeddings.
        prior: What is assumed about the vectors, such as `lx.Ridge() + lx.Groups("party", 100.0)`. By default
            `lx.Ridge()`, whose strength depends on the size of the text.
        likelihood: "cbow": a word given the sum of the context vectors around it; "sgns": given each of them. Or a
            `Likelihood`, or the name of one.
        dimensions: The length of a vector.
        window: The number of words on each side that are the context of a word.
        negatives: The number of random words that each occurrence is contrasted with.
        subsample: Occurrences of words more frequent than this share of the text are thinned out; 0 keeps all.
        noise_power: Negatives are drawn by counts to this power.
        absent: What becomes of words in slices where they do not occur. "kept": they have vectors of their own there,
            and are drawn as negatives, which moves them away from what the slice is about. "filled": negatives are
            words that occur in the slice, and only these have vectors; those of the others follow from the prior and
            are computed when they are asked for. This is for hundreds of slices, and for vectors of absent words that
            are those of the word elsewhere.

    Example:
        >>> import laplex as lx
        >>> model = lx.Model(vary=["party"], prior=lx.Ridge() + lx.Groups("party", 100.0), dimensions=50)
        >>> model.likelihood, model.window
        ('cbow', 5)
    """

    vary: tuple[str, ...]
    prior: Prior
    likelihood: str
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
        likelihood: str | Likelihood = "cbow",
        dimensions: int = 100,
        window: int = 5,
        negatives: int = 5,
        subsample: float = 1e-3,
        noise_power: float = 0.75,
        absent: Literal["kept", "filled"] = "kept",
        **others: Any,
    ) -> None:
        for name in others:
            hint = f": write {GENSIM_NAMES[name]}" if name in GENSIM_NAMES else ""
            raise InputError(f"Model has no {name}={hint}")
        if isinstance(vary, str):
            raise InputError(f'vary is a list of columns: write vary=["{vary}"]')
        if prior is not None and not isinstance(prior, Prior):
            raise InputError(f"prior= is a prior such as lx.Ridge(), or a sum of them, not {type(prior).__name__}")
        dimensions, window = check_int("dimensions", dimensions), check_int("window", window)
        negatives = check_int("negatives", negatives)
        if not 0 <= subsample <= 1 or not 0 <= noise_power <= 2:
            raise InputError(f"subsample={subsample} must be from 0 to 1, noise_power={noise_power} from 0 to 2")
        if absent not in ("kept", "filled"):
            raise InputError(f'absent="{absent}": write "kept" or "filled"')
        numbers = (dimensions, window, negatives, subsample, noise_power)
        values = (tuple(vary), prior or Ridge(), Likelihood.of(likelihood).name, *numbers, absent)
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)

    def _repr_html_(self) -> str:
        shown = {field.name: str(getattr(self, field.name)) for field in fields(self)}
        shown |= {"vary": ", ".join(self.vary) or "nothing", "likelihood": self.likelihood}
        priors = [("prior" if place == 0 else "", repr(part)) for place, part in enumerate(self.prior.parts)]
        return card("Model", [*priors, *((name, text) for name, text in shown.items() if name != "prior")])

    def settings(self, rows: Rows | None = None) -> dict[str, Any]:
        """The model as JSON, which a fitted model keeps.

        Args:
            rows: The rows of the model, by which strengths that depend on the text are known.

        Returns:
            A dictionary with an entry for each argument, the prior as one would write it, and "beliefs" with a
            description of each part of the prior.

        Example:
            >>> import laplex as lx
            >>> lx.Model(prior=lx.Ridge(10.0)).settings()["prior"]
            "Ridge(strength=10.0, on='all')"
        """
        return {field.name: getattr(self, field.name) for field in fields(self)} | {
            "prior": repr(self.prior),
            "beliefs": [part.describe(rows) for part in self.prior.parts],
        }
