"""How is a word said in another language?"""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from laplex.embeddings import Embeddings
from laplex.explorer import address, loading
from laplex.explorer.coding import Name, call
from laplex.explorer.grid import Group, Item, List, show_grid
from laplex.explorer.showing import heading, note, offer, section, table
from laplex.explorer.translating import translate

BEST = 12
HIGH = 35 * (BEST + 1) + 3  # pixels of a table of so many


def show() -> None:
    fitted = loading.model()
    heading("Languages", "The words of another language that are nearest to a word, and the words around both.")
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        language = address.language_box(fitted, label="From")
        others = [name for name in fitted.languages if name != language]
        target = str(st.selectbox("To", others, key="to", bind="query-params", width=address.BOX))
        word = address.word_box(fitted, language, key="said")
        where = address.slice_boxes(fitted, every=False)
    frame = translate(fitted, word, language, target, BEST, **where)
    left, right = st.columns([6, 5], gap="large")
    with left:
        section(f"“{word}” in {target}")
        note(
            "The best by CSLS, which is the cosine less how near a candidate is to everything: words that are near to "
            "all words fall back. Rank: the place by the cosine alone."
        )
        table(
            frame.drop(columns=[*fitted.columns, "word"]),
            height=HIGH,
            neighbor=target,
            csls="CSLS",
            similarity="cosine",
        )
        code = call("translate", Name("fitted"), word, language=language, target=target, k=BEST, **where)
        offer(frame, f"translations {word}", f"from laplex.explorer.translating import translate\n\n{code}", key="said")
    with right:
        _surroundings(fitted, (word, str(frame["neighbor"].iloc[0])), (str(language), target), where)


def _surroundings(
    fitted: Embeddings, words: tuple[str, str], languages: tuple[str, str], where: dict[str, Any]
) -> None:
    section("The words around both", "Each in its own language. Click a word to translate it.")
    frames = [
        fitted.neighbors(word, BEST, language=language, **where).assign(language=language)
        for word, language in zip(words, languages)
    ]

    def turn(word: str, list: int) -> None:
        st.session_state.update(said=word, language=languages[list], to=languages[1 - list])

    lists = [_around(frame, word, language) for frame, word, language in zip(frames, words, languages)]
    show_grid([Group(title="", lists=lists)], key="around", languages=languages, pick=turn)
    asked = [
        call("fitted.neighbors", word, k=BEST, language=language, **where) for word, language in zip(words, languages)
    ]
    code = f"import pandas as pd\n\nframe = pd.concat([\n    {asked[0]},\n    {asked[1]},\n])"
    offer(pd.concat(frames), f"around {words[0]}", code, key="around")


def _around(frame: pd.DataFrame, word: str, language: str) -> List:
    items = [
        Item(word=neighbor, share=max(0.0, similarity), value=f"{similarity:.2f}", mark="")
        for neighbor, similarity in zip(frame["neighbor"].astype(str), frame["similarity"].astype(float).tolist())
    ]
    return List(title=word, note=language, items=items)
