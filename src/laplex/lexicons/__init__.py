"""Pairs of words that belong together: read from files, frames and graphs, or made from dictionary definitions."""

from typing import TYPE_CHECKING

from laplex.runtime import lazy

if TYPE_CHECKING:
    from laplex.lexicons.dictionaries import Definitions, definitions
    from laplex.lexicons.pairs import antonyms, paraphrases, read_pairs, synonyms, translations
    from laplex.lexicons.spellings import variants
    from laplex.lexicons.wordpairs import WordPairs
    from laplex.text.stop_words import stop_words

__all__ = [
    "Definitions",
    "WordPairs",
    "antonyms",
    "definitions",
    "paraphrases",
    "read_pairs",
    "stop_words",
    "synonyms",
    "translations",
    "variants",
]

__getattr__, __dir__ = lazy.attributes(
    __name__,
    {
        "laplex.lexicons.dictionaries": ["Definitions", "definitions"],
        "laplex.lexicons.pairs": ["antonyms", "paraphrases", "read_pairs", "synonyms", "translations"],
        "laplex.lexicons.spellings": ["variants"],
        "laplex.lexicons.wordpairs": ["WordPairs"],
        "laplex.text.stop_words": ["stop_words"],
    },
)
