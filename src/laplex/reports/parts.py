"""The parts of a report's page: sections as the template takes them, and charts as SVG that runs nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

import pandas as pd
from markupsafe import Markup

from laplex import plots

LINE_BREAK = "\n"  # between the head of a column and the remark below it

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_SVG_TAGS = {"svg", "g", "defs", "path", "text", "tspan", "rect", "line", "circle"}
_SVG_TAGS |= {"clipPath", "linearGradient", "stop", "title"}


class Drawings:
    """The charts of a page, with ids that differ from each other's."""

    def __init__(self) -> None:
        self._count = 0

    def draw(self, chart: plots.Chart, description: str) -> Markup:
        """A chart as SVG; `description` says in words what is on it."""
        self._count += 1
        return inline_svg(chart, f"chart{self._count}", description)


def inline_svg(chart: plots.Chart, name: str, description: str) -> Markup:
    """A chart as SVG within a page: `name` makes its ids unique, `description` says in words what is on it."""
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(chart._repr_mimebundle_()["image/svg+xml"])
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.removeprefix(f"{{{_SVG}}}") not in _SVG_TAGS:
                parent.remove(child)
    for element in root.iter():
        for key, value in list(element.attrib.items()):
            if key.startswith(("on", f"{{{_XLINK}}}")) or key == "href":
                del element.attrib[key]
            elif key == "id":
                element.set(key, f"{name}-{value}")
            elif "url(" in value:
                element.set(key, re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", value))
    root.set("role", "img")
    root.set("aria-label", description)
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def section(
    title: str,
    text: str = "",
    *,
    level: int = 2,
    note: str = "",
    warning: str = "",
    chart: Markup | None = None,
    table: pd.DataFrame | None = None,
    faint: Sequence[bool] = (),
    points: Sequence[str] = (),
    passages: Mapping[str, Sequence[Mapping[str, str]]] | None = None,
) -> dict[str, Any]:
    """A section as the template takes it; those of level 3 belong to the one of level 2 before them.

    `faint` says which rows of the table are lighter. Passages are in groups by their heading, each with "before",
    "word", "after" and "source".
    """
    texts = pd.DataFrame() if table is None else table.astype(str)
    heads = []
    for name, values in texts.items():
        first, _, remark = str(name).partition(LINE_BREAK)
        is_number = bool(values.str.fullmatch(r"(<\s)?-?[\d.,]+(e-?\d+)?").all())  # numbers are aligned to the right
        kind = "number" if is_number else "wide" if values.str.contains(", ").any() else ""  # so that lists have room
        heads.append({"name": first, "note": remark, "kind": kind})
    rows = [
        {"cells": cells, "faint": is_faint}
        for cells, is_faint in zip(texts.values.tolist(), faint or [False] * len(texts), strict=True)
    ]
    made = {"title": title, "text": text, "note": note, "level": level, "warning": warning, "chart": chart}
    return made | {"points": points, "heads": heads, "rows": rows, "passages": passages or {}}
