"""Function words of seven languages, and those among them that link the words of a phrase ("department of defense")."""

from __future__ import annotations

from pathlib import Path

from laplex.errors import InputError, quote

STOP_WORDS = Path(__file__).parent / "data" / "stop-words"  # a file for each language
# Prepositions and articles, but no verbs, pronouns or adverbs, with which most sequences are no phrases
LINKING_WORDS = {
    "de": "am an auf aus bei beim das dem den der des die durch für gegen im in mit nach ohne um und unter vom von vor "
    "zu zum zur über",
    "en": "a an and at by for from in of on or the to with",
    "es": "a al con contra de del e el en la las los o para por sin sobre y",
    "fr": "au aux avec contre d dans de des du en et l la le les ou par pour sans sous sur à",
    "it": "a ad agli ai al alla alle allo col con contro d da dagli dai dal dalla dei del dell della delle dello degli "
    "di e ed gli i il in l la le lo negli nei nel nella o per senza su sul sulla",
    "nl": "aan bij de den der des door en het in met of om onder op over te ten ter tot uit van voor",
    "pt": "a ao aos as com contra da das de do dos e em na nas no nos o os ou para pela pelo por sem sobre à às",
}


def languages() -> list[str]:
    """The languages that have a list of stop words."""
    return sorted(path.stem for path in STOP_WORDS.glob("*.txt"))


def stop_words(language: str) -> frozenset[str]:
    """Function words of a language, and words that dictionaries use of other words ("see", "especially").

    Contractions are there whole ("don't") and in the pieces that the tokenizer "paper" makes of them ("don", "t").

    Args:
        language: de, en, es, fr, it, nl or pt.

    Returns:
        The stop words.

    Example:
        >>> "the" in stop_words("en"), "dog" in stop_words("en")
        (True, False)
    """
    if language not in languages():
        raise InputError(
            f'there are no stop words for language="{language}", only for {quote(languages())}: give a list of them by '
            "stop_words=, an empty one for none"
        )
    return frozenset((STOP_WORDS / f"{language}.txt").read_text(encoding="utf-8").split())


def linking_words(language: str) -> frozenset[str]:
    """The function words that may stand within a phrase, none for a language without a list."""
    return frozenset(LINKING_WORDS.get(language, "").split())
