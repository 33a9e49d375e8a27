"""Words side by side that can be clicked: a list for each slice, with how near each word is.

Lists in groups come in; the word that was clicked on goes out. Words are set as text, never as markup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypedDict

import pandas as pd
import streamlit as st

from laplex.corpus import in_order

_SCRIPT = Path(__file__).with_name("grid.js")
_STYLE = Path(__file__).with_name("grid.css")


class Item(TypedDict):
    word: str
    share: float  # of the bar behind it
    value: str
    mark: str  # "only" here, in "all" lists, or ""


class List(TypedDict):
    title: str
    note: str
    items: list[Item]


class Group(TypedDict):
    title: str
    lists: list[List]


def show_grid(
    groups: Sequence[Group],
    *,
    key: str,
    languages: Sequence[str | None] = (),
    pick: Callable[[str, int], None] = lambda word, list: None,
) -> str | None:
    """Draw the lists; the word that was just clicked on. `pick` is told of it, with the number of its list, before the
    page is drawn anew. `languages` are those of the lists, if there are several.
    """

    def take() -> None:
        picked = st.session_state[key].picked
        if picked is not None:
            pick(str(picked["word"]), int(picked["list"]))

    mount = st.components.v2.component(
        "laplex_grid",
        html='<div class="grid"></div>',
        css=_STYLE.read_text(encoding="utf-8"),
        js=_SCRIPT.read_text(encoding="utf-8"),
    )
    data = {"groups": list(groups), "languages": [language or "" for language in languages]}
    answer: Any = mount(data=data, key=key, on_picked_change=take)
    picked = answer.picked
    return str(picked["word"]) if picked is not None else None


def by_slice(frame: pd.DataFrame, columns: Sequence[str], across: str | None, counts: dict[str, int]) -> list[Group]:
    """Neighbors in each slice: a list for each value of `across`, in a group for each value of the other columns.

    `counts` says how often the word occurs in a slice, by its name.
    """
    others = [name for name in columns if name != across]
    places = in_order({str(value) for value in frame[across]}) if across else [""]
    met = Counter(frame["neighbor"])
    slices = frame.groupby(list(columns), sort=False).ngroups if columns else 1
    groups: dict[str, Group] = {}
    for values, part in frame.groupby(list(columns), sort=False) if columns else [((), frame)]:
        key = dict(zip(columns, values))
        title = ", ".join(str(key[name]) for name in others)
        name = ", ".join(map(str, values))
        occurs = counts.get(name)
        note = "" if occurs is None else f"{occurs:,} uses" if occurs else "not used: from the prior"
        items = [
            Item(
                word=neighbor,
                share=max(0.0, similarity),
                value=f"{similarity:.2f}",
                mark=_mark(met[neighbor], slices),
            )
            for neighbor, similarity in zip(part["neighbor"].astype(str), part["similarity"].astype(float).tolist())
        ]
        # a slice that does not exist leaves its place empty, so that what is compared stands below each other
        empty = [List(title=place, note="no text", items=[]) for place in places]
        group = groups.setdefault(title, Group(title=title, lists=empty))
        place = str(key[across]) if across else ""
        group["lists"][places.index(place)] = List(title=place, note=note, items=items)
    return list(groups.values())


def _mark(times: int, slices: int) -> str:
    if slices < 2:
        return ""
    return "only" if times == 1 else "all" if times == slices else ""
