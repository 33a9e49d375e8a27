"""Word embeddings from text with metadata, under a graph prior."""

from importlib.metadata import version

from laplex import baselines, evaluation, lexicons, plots, word2vec
from laplex.corpus import Corpus, read
from laplex.demo import demo
from laplex.embeddings import Embeddings, load
from laplex.errors import InputError, LaplexError, StorageError
from laplex.explorer import explore
from laplex.graph import Graph
from laplex.model import Model
from laplex.pretrained import from_gensim, load_word2vec
from laplex.priors import Anchor, Chain, Edges, GroupMean, Groups, Pairs, Prior, Ridge, Translations
from laplex.report import report
from laplex.rotation import align, normalize_rotation
from laplex.stability import agreement, by_frequency, stability
from laplex.tokens import Tokens
from laplex.training import Training, fit
from laplex.tuning import Tuning, tune
from laplex.vocabulary import Vocabulary

__version__ = version("laplex")

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
    "Pairs",
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
    "demo",
    "evaluation",
    "explore",
    "fit",
    "from_gensim",
    "lexicons",
    "load",
    "load_word2vec",
    "normalize_rotation",
    "plots",
    "read",
    "report",
    "stability",
    "tune",
    "word2vec",
]
