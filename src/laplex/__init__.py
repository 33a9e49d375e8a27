"""Word embeddings from text with metadata, under a graph prior."""

from importlib.metadata import version

from laplex.corpus import Corpus, read
from laplex.demo import demo
from laplex.errors import InputError, LaplexError, StorageError
from laplex.tokens import Tokens
from laplex.vocabulary import Vocabulary

__version__ = version("laplex")

__all__ = ["Corpus", "InputError", "LaplexError", "StorageError", "Tokens", "Vocabulary", "demo", "read"]
