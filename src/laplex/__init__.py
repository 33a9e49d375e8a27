"""Word embeddings from text with metadata, under a graph prior."""

from importlib.metadata import version

from laplex.corpus import Corpus, read
from laplex.demo import demo
from laplex.embeddings import Embeddings, load
from laplex.errors import InputError, LaplexError, StorageError
from laplex.graph import Graph
from laplex.model import Model
from laplex.priors import Anchor, Chain, Edges, GroupMean, Groups, Pairs, Prior, Ridge, Translations
from laplex.tokens import Tokens
from laplex.training import Training, fit
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
    "Vocabulary",
    "demo",
    "fit",
    "load",
    "read",
]
