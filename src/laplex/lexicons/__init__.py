"""Lists of words that belong together: read from files, frames and graphs, or made from dictionaries."""

from laplex.lexicons.definitions import Definitions, definitions
from laplex.lexicons.pairs import WordPairs, read_pairs
from laplex.lexicons.readers import antonyms, paraphrases, synonyms, translations
from laplex.lexicons.stopwords import stop_words

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
]
