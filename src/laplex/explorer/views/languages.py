"""How is a word said in another language?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from laplex.embeddings import Embeddings
from laplex.explorer import address, loading
from laplex.explorer.coding import call
from laplex.explorer.grid import Group, Item, List, show_grid
from laplex.explorer.showing import heading, offer, section, table
from laplex.questions.cosine import cosines, directions

CANDIDATES = 50  # nearest words that CSLS puts into a new order
HUBNESS = 10  # words that it takes its means over


def show() -> None:
    fitted = loading.model()
    heading("Languages", "The words of another language that are nearest to a word, and the words around both.")
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        language = address.language_box(fitted, label="From")
        others = [name for name in fitted.languages if name != language]
        target = str(st.selectbox("To", others, key="to", bind="query-params"))
        word = address.word_box(fitted, language, key="said")
        where = address.slice_boxes(fitted, every=False)
    frame = translate(fitted, word, language, target, where)
    section(f"“{word}” in {target}", "CSLS takes off how near a candidate is to everything; it is the better guess.")
    best = frame.sort_values("csls", ascending=False).head(12).reset_index(drop=True)
    left, right = st.columns([5, 6], gap="large")
    with left:
        table(best.drop(columns=[*fitted.columns, "word"]), neighbor=target, rank="rank by cosine")
        code = call("fitted.neighbors", word, k=CANDIDATES, language=language, to_language=target, **where)
        offer(frame, f"translations {word}", code, key="translations")
    with right:
        found = str(best["neighbor"].iloc[0])
        lists = [
            _around(fitted, one, name, where) for one, name in ((word, language), (found, target)) if name is not None
        ]
        show_grid([Group(title="The words around both", lists=lists)], key="around", into="said")


def translate(fitted: Embeddings, word: str, language: str | None, target: str, where: dict[str, Any]) -> pd.DataFrame:
    """The nearest words of the other language by cosine, with their CSLS."""
    frame = fitted.neighbors(word, CANDIDATES, language=language, to_language=target, **where)
    source, there, slice = fitted.language(language), fitted.language(target), fitted.slice(where)
    ids = fitted.ids(frame["neighbor"].tolist(), there)
    back = cosines(fitted, directions(fitted, ids, there, slice), source, slice)
    own = cosines(fitted, directions(fitted, [fitted.id(word, source)], source, slice), there, slice)
    near = [_mean_of_best(similar) for similar in (back, own)]
    return frame.assign(csls=2 * frame["similarity"] - near[0] - near[1][0])


def _mean_of_best(similar: np.ndarray) -> np.ndarray:
    most = min(HUBNESS, similar.shape[1])
    best: np.ndarray = np.sort(np.nan_to_num(similar, nan=-1.0), axis=1)[:, -most:].mean(1)
    return best


def _around(fitted: Embeddings, word: str, language: str, where: dict[str, Any]) -> List:
    frame = fitted.neighbors(word, 12, language=language, **where)
    items = [
        Item(word=neighbor, share=max(0.0, similarity), value=f"{similarity:.2f}", mark="")
        for neighbor, similarity in zip(frame["neighbor"].astype(str), frame["similarity"].astype(float).tolist())
    ]
    return List(title=word, note=language, items=items)
