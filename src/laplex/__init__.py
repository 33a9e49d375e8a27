"""Word embeddings from text with metadata, under a graph prior.

import laplex as lx

speeches = lx.read("speeches.parquet", text="speech", metadata=["party"], unit="speaker")
model = lx.Model(vary=["party"], prior=lx.Ridge() + lx.Groups("party", 100.0))
fitted = lx.fit(model, speeches)
fitted.contrast("party")          # the words that the parties use differently, tested with speakers as the sample
fitted.explain("tax", "party")    # the context words and passages that make the difference
"""

from typing import TYPE_CHECKING

from laplex import baselines, evaluation, inference, lexicons, plots
from laplex.errors import InputError, LaplexError, StorageError
from laplex.runtime import lazy

if TYPE_CHECKING:
    from laplex.embeddings import Embeddings, from_gensim, load, load_word2vec
    from laplex.explorer import explore
    from laplex.fitting.estimation import fit
    from laplex.fitting.rotation import align, normalize_rotation
    from laplex.fitting.stability import agreement, by_frequency, stability
    from laplex.fitting.training import Training
    from laplex.fitting.tune import Tuning, tune
    from laplex.inference.change import change
    from laplex.model.graph import Graph
    from laplex.model.model import Model
    from laplex.model.priors import Anchor, Chain, Edges, GroupMean, Groups, Nested, Pairs, Prior, Ridge, Translations
    from laplex.reports import report
    from laplex.runtime.program import __version__ as __version__
    from laplex.text import word2vec
    from laplex.text.corpus import Corpus, demo, read
    from laplex.text.encoding import encode
    from laplex.text.occurrences import Occurrences, occurrences
    from laplex.text.phrases import Phrases
    from laplex.text.tokens import Tokens
    from laplex.text.vocabulary import Vocabulary

__all__ = [
    "Anchor",
    "Chain",
    "Corpus",
    "Edges",
    "Embeddings",
    "Graph",
    "GroupMean",
    "Groups",
    "InputError",
    "LaplexError",
    "Model",
    "Nested",
    "Occurrences",
    "Pairs",
    "Phrases",
    "Prior",
    "Ridge",
    "StorageError",
    "Tokens",
    "Training",
    "Translations",
    "Tuning",
    "Vocabulary",
    "agreement",
    "align",
    "baselines",
    "by_frequency",
    "change",
    "demo",
    "encode",
    "evaluation",
    "explore",
    "fit",
    "from_gensim",
    "inference",
    "lexicons",
    "load",
    "load_word2vec",
    "normalize_rotation",
    "occurrences",
    "plots",
    "read",
    "report",
    "stability",
    "tune",
    "word2vec",
]

# what is imported when it is first used, for a question needs little of all this; the imports above are for readers
__getattr__, __dir__ = lazy.attributes(
    __name__,
    {
        "laplex.embeddings": ["Embeddings", "from_gensim", "load", "load_word2vec"],
        "laplex.explorer": ["explore"],
        "laplex.fitting.estimation": ["fit"],
        "laplex.fitting.rotation": ["align", "normalize_rotation"],
        "laplex.fitting.stability": ["agreement", "by_frequency", "stability"],
        "laplex.fitting.training": ["Training"],
        "laplex.fitting.tune": ["Tuning", "tune"],
        "laplex.inference.change": ["change"],
        "laplex.model.graph": ["Graph"],
        "laplex.model.model": ["Model"],
        "laplex.model.priors": [
            "Anchor",
            "Chain",
            "Edges",
            "GroupMean",
            "Groups",
            "Nested",
            "Pairs",
            "Prior",
            "Ridge",
            "Translations",
        ],
        "laplex.reports": ["report"],
        "laplex.runtime.program": ["__version__"],
        "laplex.text": ["word2vec"],
        "laplex.text.corpus": ["Corpus", "demo", "read"],
        "laplex.text.encoding": ["encode"],
        "laplex.text.occurrences": ["Occurrences", "occurrences"],
        "laplex.text.phrases": ["Phrases"],
        "laplex.text.tokens": ["Tokens"],
        "laplex.text.vocabulary": ["Vocabulary"],
    },
)
lazy.provide(
    {
        "Inference": "laplex.inference",
        "findings_in_card": "laplex.reports.highlights",
        "posterior": "laplex.inference",
        "report": "laplex.reports",
        "update": "laplex.fitting.update",
    }
)
