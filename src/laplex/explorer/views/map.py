"""The page of the map: the whole vocabulary, where words that are used alike are near each other."""

from __future__ import annotations

from base64 import b64encode
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.explorer import address, loading, showing
from laplex.plots.chart import COLORS, title_of
from laplex.questions import word_map
from laplex.questions.answers import MIN_USES
from laplex.questions.positions import Pole
from laplex.reports import choosing

REGIONS, NO_COLOR, POLES = "by region", "by nothing", "between two poles"
NONE = 255  # the color of a word that has none
DISTINCT = 1.25  # times as often as at all values on average, where a word has the color of a value
LARGEST = 32767  # of a coordinate as a 16-bit integer
PANEL_NEIGHBORS = 12
EARLY_TO_LATE = ("#E69F00", "#CC79A7", "#0072B2")
POLE_TO_POLE = ("#D55E00", "#b3b3b3", "#0072B2")
_SCRIPT, _STYLE = (Path(__file__).parent.with_name(f"map.{ending}") for ending in ("js", "css"))
_STOPPED, _SLICE = "_map_stopped", "_map_slice"  # of the state of a session
Arrays = dict[str, Any]


def show() -> None:
    """Draw the page of the map."""
    fitted = loading.model()
    lead = "Words that are near each other are used alike. Drag to move, scroll to zoom, click a word."
    showing.heading("Map", lead)
    with address.controls():
        language = address.language_box(fitted)
        offered = fitted.words(language)[: address.OFFERED_WORDS]
        word = address.chosen_word(fitted, language, offered, "find", "Click or type a word")
        columns = choosing.compared_columns(fitted)
        color = _color_box(fitted, language, columns)
        ordered = [*choosing.ordered_columns(fitted), *choosing.group_columns(fitted)]
        column = address.column_box(ordered, "moves", "Move words by") if columns else None
    index = fitted.language(language)
    arrays = _arrays(fitted, index, column)
    value = _chosen_value(fitted, column)
    left, right = st.columns([3, 1], gap="medium")
    with right, st.container(key="map_panel"):
        near = _panel(fitted, language, word, column, value)
    with left:
        _draw(fitted, language, arrays, _colors(fitted, language, color, arrays), word, near, column, value)
        _offer(fitted, language, arrays)


def _color_box(fitted: Embeddings, language: str | None, columns: list[str]) -> str | tuple[Pole, Pole]:
    """By what words are colored: a column, two poles, or one of the other choices."""
    named = {f"by {title_of(name).lower()}": name for name in columns}
    chosen = str(address.select("Color", [REGIONS, *named, POLES, NO_COLOR], "color", width=200))
    return address.pole_boxes(fitted, language) if chosen == POLES else named.get(chosen, chosen)


def _chosen_value(fitted: Embeddings, column: str | None) -> str | None:
    """The value of the column at which words are shown, as the address has it; None for all text."""
    value = st.query_params.get(f"at.{column}")
    return value if column is not None and value in fitted.values(column) else None


@st.cache_resource(show_spinner=False)
def _memory(folder: str) -> dict[Any, Arrays]:
    """What was made for the maps of a model in this process, by language and column."""
    return {}


def _means(fitted: Embeddings, index: int, column: str | None = None, value: str | None = None) -> word_map.Floats:
    chosen = fitted.chosen({} if column is None or value is None else {column: value})
    return _means_of(fitted, str(loading.folder()), index, tuple(chosen))


@st.cache_resource(show_spinner=False, max_entries=8)
def _means_of(_fitted: Embeddings, folder: str, index: int, slices: tuple[int, ...]) -> word_map.Floats:
    return word_map.mean_directions(_fitted, index, slices)


def _arrays(fitted: Embeddings, index: int, column: str | None) -> Arrays:
    """The points of words, where they move along a column, and regions; with a bar while they are made."""
    memory = _memory(str(loading.folder()))
    if (index, column) in memory:
        return memory[index, column]
    with st.container(key="map_progress"):
        if st.session_state.get(_STOPPED):
            st.info("The places of the words have not been computed.", icon=":material/map:")
            st.button("Make the map", on_click=lambda: st.session_state.pop(_STOPPED))
            st.stop()
        empty = st.empty()
        with empty.container(horizontal=True, vertical_alignment="center"):
            text = f"Placing {len(fitted.words(fitted.languages[index])):,} words. This is done once and kept."
            bar = st.progress(0.0, text)
            st.button("Stop", on_click=lambda: st.session_state.update({_STOPPED: True}))
    shown = -1

    def report(share: float) -> None:
        nonlocal shown
        if int(100 * share) > shown:  # this is also where Streamlit ends the run of a page that was left or stopped
            shown = int(100 * share)
            bar.progress(min(1.0, share), text)

    points = word_map.word_points(fitted, index, lambda share: report(0.8 * share))
    made: Arrays = {"points": points, "moved": None}
    if column is not None:
        made["moved"] = word_map.moved_points(fitted, index, points, column, lambda share: report(0.8 + 0.2 * share))
    words = pd.Series(fitted.words(fitted.languages[index]), dtype=object)
    made["content"] = choosing.is_content_word(fitted, words, fitted.languages[index] or None).to_numpy(bool)
    made["region"], made["regions"] = word_map.regions(fitted, index, points, made["content"])
    memory[index, column] = made
    empty.empty()
    return made


def _colors(fitted: Embeddings, language: str | None, color: str | tuple[Pole, Pole], arrays: Arrays) -> dict[str, Any]:
    """A number for each word, the colors that numbers stand for, and their legend."""
    index = fitted.language(language)
    if isinstance(color, tuple):
        found = word_map.positions(fitted, index, _means(fitted, index), color)
        shades = np.clip((found / 3.0 + 1.0) / 2.0, 0.0, 1.0) * (NONE - 1)
        first, second = (", ".join([pole] if isinstance(pole, str) else pole) for pole in color)
        return _palette(shades, POLE_TO_POLE, [f"{second} – {first}"], ramp=True)
    if color == NO_COLOR:
        return _palette(np.zeros(len(arrays["points"])), COLORS[:1], [])
    if color == REGIONS:
        return _palette(arrays["region"] % (len(COLORS) - 1), COLORS[:-1], [])
    counts = word_map.uses_by_value(fitted, index, color).astype(np.float64)
    rates = counts / np.maximum(counts.sum(1, keepdims=True), 1.0)
    shares = rates / np.maximum(rates.sum(0), 1e-300)
    values = fitted.values(color)
    if fitted.ordered(color):
        middle = (shares * np.arange(len(values))[:, None]).sum(0)
        scale = max(2.0 * float(middle.std()), 1e-9)  # few words are used at the first or the last value only
        shades = np.clip((middle - np.median(middle)) / scale + 1.0, 0.0, 2.0) / 2.0 * (NONE - 1)
        return _palette(shades, EARLY_TO_LATE, [f"more in {values[0]} – more in {values[-1]}"], ramp=True)
    most = shares.argmax(0)
    shades = np.where(shares.max(0) * len(values) >= DISTINCT, most % len(COLORS), NONE)
    return _palette(shades, COLORS, [f"more in {value}" for value in values])


def _palette(shades: NDArray[Any], colors: tuple[str, ...], legend: list[str], ramp: bool = False) -> dict[str, Any]:
    palette = list(colors)
    if st.context.theme.type == "dark":
        palette = showing.dark_colors(palette)
    return {"values": _encode(shades.astype(np.uint8)), "palette": palette, "legend": legend, "ramp": ramp}


def _encode(array: NDArray[Any]) -> str:
    return b64encode(np.ascontiguousarray(array).tobytes()).decode()


def _draw(
    fitted: Embeddings,
    language: str | None,
    arrays: Arrays,
    color: dict[str, Any],
    word: str | None,
    near: list[int],
    column: str | None,
    value: str | None,
) -> None:
    index = fitted.language(language)
    data = _fixed(fitted, index, column, arrays)
    data |= {"color": color, "dark": st.context.theme.type == "dark", "near": near}
    data["selected"] = -1 if word is None else fitted.id(word, index)
    data["moved"] = data["moved"] | {"value": value}

    def on_pick() -> None:
        if (picked := st.session_state["atlas"].picked) is not None:
            st.session_state["find"] = fitted.words(language)[int(picked["id"])]

    def on_slice() -> None:
        if (sliced := st.session_state["atlas"].sliced) is not None:
            name = f"at.{column}"
            if sliced["value"] is None:
                st.query_params.pop(name, None)
            else:
                st.query_params[name] = str(sliced["value"])

    mount = st.components.v2.component(
        "laplex_map",
        html='<div class="atlas"></div>',
        css=_STYLE.read_text(encoding="utf-8"),
        js=_SCRIPT.read_text(encoding="utf-8"),
    )
    mount(data=data, key="atlas", on_picked_change=on_pick, on_sliced_change=on_slice)


def _fixed(fitted: Embeddings, index: int, column: str | None, arrays: Arrays) -> dict[str, Any]:
    """The part of the data that is the same whatever is chosen on the page; coordinates are 16-bit integers."""
    if "sent" not in arrays:
        points, words = arrays["points"], fitted.words(fitted.languages[index])
        ids, moved = arrays["moved"] or (np.empty(0, np.int64), np.empty((0, 0, 2), np.float32))
        sides = np.abs(points).max(0)
        largest = max(float(sides.max()), 1e-9)

        def scaled(places: Any) -> NDArray[np.int16]:
            within = np.clip(places, -sides, sides)  # a word does not move off the map
            return np.asarray(np.rint(within / largest * LARGEST), "<i2")

        uses = word_map.uses_by_value(fitted, index, column) if column else np.empty((0, len(words)), np.int64)
        known = uses >= MIN_USES if uses.any() else np.ones(uses.shape, bool)
        regions = [
            {"level": one.level, "name": ", ".join(words[i] for i in one.words), "place": scaled(one.place).tolist()}
            for one in arrays["regions"]
        ]
        arrays["sent"] = {
            "id": blake2b(points.tobytes() + str(index).encode(), digest_size=8).hexdigest(),
            "words": words,
            "points": _encode(scaled(points)),
            "counts": _encode(np.asarray(fitted.counts[index]).sum(0).astype("<u4")),
            "content": _encode(np.packbits(arrays["content"])),
            "extent": (sides / largest).tolist(),
            "regions": regions,
            "moved": {
                "id": f"{column} {index}",
                "title": title_of(column) if column else "",
                "values": fitted.values(column) if column else [],
                "ids": _encode(ids.astype("<u4")),
                "points": [_encode(scaled(places)) for places in moved],
                "used": [_encode(np.packbits(row)) for row in known],
            },
        }
    return dict(arrays["sent"])


def _panel(
    fitted: Embeddings, language: str | None, word: str | None, column: str | None, value: str | None
) -> list[int]:
    """The word that is looked into: how often it is used, and the words around it, whose ids are returned."""
    if word is None:
        showing.section("Click a word")
        showing.explain("Or type one above. Its neighbors and its uses are shown here, and its path if words move.")
        return []
    index = fitted.language(language)
    word_id = fitted.id(word, index)
    showing.section(f"“{word}”", f"{fitted.count(word, language):,} uses")
    near: list[int] = []
    uses = fitted.counts[index][fitted.chosen({column: value} if column and value else {})].sum(0)
    if column is not None:
        by_value = word_map.uses_by_value(fitted, index, column)[:, word_id]
        showing.explain(" · ".join(f"{name}: {count:,}" for name, count in zip(fitted.values(column), by_value)))
    if uses.any() and uses[word_id] < MIN_USES:
        showing.explain(f"Too few uses in {value or 'the text'} to say what it is near to.")
    else:
        ids, cosines = word_map.nearest_words(_means(fitted, index, column, value), uses, word_id, PANEL_NEIGHBORS)
        near = ids.tolist()
        words = fitted.rows.vocabularies[index].words
        items = [showing.item(words[i], max(0.0, float(c)), f"{c:.2f}") for i, c in zip(near, cosines)]
        lists = [showing.word_list(f"Used like it in {value}" if value else "Used like it", items, language)]
        showing.grid({"": lists}, key="map_near", pick=lambda picked, _: st.session_state.update(find=picked))
    if st.button(f"All about “{showing.escape_markdown(word)}”", key="_to_word", type="tertiary"):
        address.go_to_word(word, language)
    return near


def _offer(fitted: Embeddings, language: str | None, arrays: Arrays) -> None:
    index = fitted.language(language)
    points = arrays["points"]
    frame = pd.DataFrame({"word": fitted.words(language), "x": points[:, 0], "y": points[:, 1]})
    frame["uses"] = np.asarray(fitted.counts[index]).sum(0)
    code = f"from laplex.questions.word_map import word_points\n\npoints = word_points(fitted, {index})"
    showing.download(frame, "map", code, key="map")
