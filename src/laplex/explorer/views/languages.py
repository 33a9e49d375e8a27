"""The page of translations: the nearest words of another language, and the words around both."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from laplex.embeddings import Embeddings
from laplex.explorer import address, loading, showing
from laplex.explorer.loading import CodeName, ask, code_of_call
from laplex.questions.similarity import translate

BEST_WORDS = 12
TABLE_HEIGHT = 35 * (BEST_WORDS + 1) + 3  # pixels


def show() -> None:
    """Draw the page of translations: the nearest words of another language by CSLS, and the words around both."""
    fitted = loading.model()
    showing.heading("Languages", "The words of another language that are nearest to a word, and the words around both.")
    with address.controls():
        language = str(address.language_box(fitted, label="From"))
        target = str(address.select("To", [name for name in fitted.languages if name != language], "to"))
        word = address.word_box(fitted, language, key="said")
        where = address.slice_boxes(fitted, every=False)
    frame = translate(fitted, word, language, target, BEST_WORDS, at=where)
    left, right = st.columns([6, 5], gap="large")
    with left:
        showing.section(
            f"“{word}” in {target}",
            "Ordered by CSLS: twice the cosine, less the mean cosine of each of the two words with its ten nearest in "
            "the other language, so that words near to everything come later. Rank: the place by the cosine alone.",
        )
        labels = {"neighbor": target, "csls": "CSLS", "similarity": "cosine"}
        showing.table(frame.drop(columns=[*fitted.columns, "word"]), height=TABLE_HEIGHT, labels=labels)
        call = code_of_call("translate", CodeName("fitted"), word, language, target, k=BEST_WORDS, at=where)
        code = f"from laplex.questions.similarity import translate\n\nframe = {call}"
        showing.download(frame, f"translations {word}", code, key="said")
    with right:
        _surroundings(fitted, {language: word, target: str(frame["neighbor"].iloc[0])}, where)


def _surroundings(fitted: Embeddings, words: dict[str, str], where: dict[str, Any]) -> None:
    """The neighbors of a word and of its translation, by language."""
    showing.section("The words around both", "Each in its own language. Click a word to translate it.")
    languages = list(words)
    frames, lists, calls = [], [], []
    for language, word in words.items():
        frame, call = ask(fitted, "neighbors", word, k=BEST_WORDS, language=language, at=where)
        frames.append(frame.assign(language=language))
        lists.append(showing.word_list(word, showing.similar_words(frame), language, language))
        calls.append(call)

    def pick(word: str, place: int) -> None:
        st.session_state.update(said=word, language=languages[place], to=languages[1 - place])

    showing.grid({"": lists}, key="around", pick=pick)
    code = f"import pandas as pd\n\nframe = pd.concat([\n    {calls[0]},\n    {calls[1]},\n])"
    showing.download(pd.concat(frames), f"around {words[languages[0]]}", code, key="around")
