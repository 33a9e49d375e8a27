"""What all charts share: the Chart class and its files, the style, and encodings.

Charts are Altair charts. They are rendered by vl-convert, which needs neither a browser nor the network.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError
from laplex.runtime import atomic

Floats = NDArray[np.float64]


class _Altair:
    """The package Altair, imported when the first chart uses it, since that takes about a second."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("altair"), name)


alt: Any = _Altair()

# the colors of Okabe and Ito, which remain distinct for color-blind readers; without yellow, too faint on white
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MUTED = "#767676"
_EARLY_TO_LATE = ("#E69F00", "#CC79A7", "#0072B2")
FONT_SIZE = 12
_LEGEND_SYMBOL_PIXELS = 36  # of a symbol and the space around it
FILE_ENDINGS = (".pdf", ".svg", ".png", ".html")
VALUE_AXIS: dict[str, Any] = {"grid": True, "ticks": False, "domain": False, "tickCount": 5}

_PNG_PIXELS_PER_INCH = 144
_FONTS: dict[str, Any] = {"labelFontSize": FONT_SIZE, "titleFontSize": FONT_SIZE, "titleFontWeight": "normal"}
_FONTS |= {"labelColor": "#333333", "titleColor": "#000000"}  # said, since dark pages replace colors that are said
_STYLE: dict[str, Any] = {
    "font": "Helvetica, Arial, sans-serif",
    "view": {"stroke": None},
    "axis": {
        **_FONTS,
        "titlePadding": 8,
        "domainColor": "#8c8c8c",
        "tickColor": "#8c8c8c",
        "gridColor": "#ebebeb",
        "grid": False,
    },
    "legend": {**_FONTS, "labelLimit": 240, "symbolStrokeWidth": 2},
    "title": {
        "fontSize": FONT_SIZE,
        "fontWeight": "bold",
        "color": "#000000",
        "anchor": "start",
        "frame": "group",
        "offset": 10,
        "subtitleFontSize": 11,
        "subtitleColor": "#555555",
    },
    "header": {
        "labelFontSize": FONT_SIZE,
        "labelFontWeight": "bold",
        "labelLimit": 400,
        "labelAnchor": "start",
        "labelColor": "#000000",
    },
    "text": {"fontSize": FONT_SIZE, "color": "#222222"},
    "concat": {"spacing": 24},
    "facet": {"spacing": 30},
}
# its policy lets the page load nothing
_PAGE = Path(__file__).with_name("page.html")


class Chart:
    """A chart, as the functions of `lx.plots` return it. Notebooks display it, and `save` writes it to a file.

    `altair` is the Altair chart, which can be changed further and then written by `lx.plots.save`. `frame` is the
    table that is drawn.
    """

    def __init__(self, altair: Any, frame: pd.DataFrame) -> None:
        self.altair = altair
        self.frame = frame

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the chart to a file.

        Args:
            path: The file, which ends in .pdf, .svg, .png, or .html for a page with tooltips that loads nothing.

        Example:

            lx.plots.bars(fitted.contrast("party")).save("words.pdf")
        """
        save(self, path)

    def to_dict(self) -> dict[str, Any]:
        """The specification of the chart in Vega-Lite."""
        return _specification(self.altair)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        spec = self.to_dict()
        vega_lite = f"application/vnd.vegalite.{alt.SCHEMA_VERSION.partition('.')[0]}+json"
        # a notebook shows the first form that it knows: Vega-Lite has tooltips, SVG is understood everywhere
        return {vega_lite: spec, "image/svg+xml": _render(spec, ".svg").decode(), "text/plain": repr(self)}


def save(chart: Any, path: str | os.PathLike[str]) -> None:
    """Write a chart to a file. An existing file is replaced only when the new one is complete.

    Args:
        chart: A Chart of laplex or a chart of Altair.
        path: The file, which ends in .pdf, .svg, .png or .html.

    Example:

        chart = lx.plots.bars(fitted.contrast("party")).altair.properties(title="Parties")
        lx.plots.save(chart, "words.svg")
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in FILE_ENDINGS:
        raise InputError(f'cannot save a chart as "{path.name}": its name has to end in {", ".join(FILE_ENDINGS)}')
    content = _render(_specification(chart.altair if isinstance(chart, Chart) else chart), ending)
    with atomic.replacing(path) as file:
        file.write(content)


def finish(chart: Any, frame: pd.DataFrame, title: str | None = None, subtitle: str | list[str] | None = None) -> Chart:
    """Give an Altair chart its title and the style. The chart is changed in place, since copying takes milliseconds."""
    if title:
        chart.title = alt.Title(title, subtitle=subtitle or alt.Undefined)
    elif subtitle:
        chart.title = alt.Title(subtitle, fontWeight="normal", fontSize=11, color="#555555")
    chart.config = alt.Config(**_STYLE)
    return Chart(chart, frame)


def records(frame: pd.DataFrame) -> dict[str, Any]:
    """A frame as inline data, for which Altair's limit of 5,000 rows does not hold.

    The rows are in a tuple, since Altair makes a deep copy of lists whenever it copies a chart.
    """
    return {"values": tuple(json.loads(frame.to_json(orient="records", double_precision=15, date_format="iso")))}


def field_names(columns: Iterable[str]) -> dict[str, str]:
    """Names of columns that are safe in Vega-Lite, where "a.b[c]" would be a path, and distinct from our own `_x`."""
    safe = re.compile(r"[^\W_][\w ]*")
    return {name: name if safe.fullmatch(name) else f"_column {place}" for place, name in enumerate(columns)}


def title_of(column: str) -> str:
    """The name of a column in words, for an axis.

    >>> title_of("log_likelihood"), title_of("GDP")
    ('Log likelihood', 'GDP')
    """
    words = escape_title(column.replace("_", " "))
    return words[:1].upper() + words[1:] if words == words.lower() else words


def escape_title(title: str) -> str:
    """A title that can stand in Vega-Lite's expressions, in which only quotes are escaped."""
    return " ".join(title.split()).replace("\\", "/")


def tooltips(frame: pd.DataFrame, columns: Iterable[str], titles: Mapping[str, str]) -> list[Any]:
    """A tooltip with these columns of the frame."""
    fields = field_names(frame.columns)
    return [tooltip(fields[name], titles.get(name, title_of(name)), _number_format(frame[name])) for name in columns]


def tooltip(field: str, title: str, number_format: str | None = None) -> Any:
    """One line of a tooltip: a number in this format, or a text."""
    kind: dict[str, Any] = {"type": "quantitative", "format": number_format} if number_format else {"type": "nominal"}
    return alt.Tooltip(field=field, title=title, **kind)


def color_scale(names: Sequence[str], *, ordered: bool = False) -> Any:
    """A color for each name. Of ordered names, colors run from early to late; of others, there are seven colors."""
    colors = blend(_EARLY_TO_LATE, len(names)) if ordered else [COLORS[i % len(COLORS)] for i in range(len(names))]
    return alt.Scale(domain=list(names), range=colors)


def blend(colors: Sequence[str], count: int) -> list[str]:
    """Colors at even steps from the first to the last.

    >>> blend(("#000000", "#ffffff"), 3)
    ['#000000', '#808080', '#ffffff']
    """
    channels = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in colors]).T
    steps = np.linspace(0, len(colors) - 1, count) if count > 1 else np.zeros(1)
    mixed = np.stack([np.interp(steps, np.arange(len(colors)), channel) for channel in channels], axis=1)
    return ["#{:02x}{:02x}{:02x}".format(*color) for color in (mixed + 0.5).astype(int).tolist()]


def top_legend(names: Sequence[str], width: float, **look: Any) -> Any:
    """A legend above a chart, in as many columns as its width has room for."""
    widest = max(text_width(name, FONT_SIZE) for name in names) + _LEGEND_SYMBOL_PIXELS
    columns = int(np.clip(width // widest, 1, len(names)))
    return alt.Legend(title=None, orient="top", symbolOpacity=1, columns=columns, **look)


def axis_domain(values: Floats, *, zero: bool = False, log: bool = False) -> list[float]:
    """The ends of an axis: those of the values, with a margin of 5%, but none beyond a zero that the axis starts at.

    >>> axis_domain(np.array([1.0, 2.0])), axis_domain(np.array([1.0, 2.0]), zero=True)
    ([0.95, 2.05], [0.0, 2.1])
    """
    low, high = float(values.min()), float(values.max())
    if log:
        factor = max((high / low) ** 0.05, 1.05)
        return [low / factor, high * factor]
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    if low == high == 0:
        return [0.0, 1.0]
    return [low if zero and low == 0 else low - margin, high if zero and high == 0 else high + margin]


def sentence(notes: Sequence[str]) -> str | None:
    """Notes on how to read a chart as one, for its subtitle; None if there are none."""
    text = "; ".join(note for note in notes if note)
    return text[:1].upper() + text[1:] or None


def round_counts(low: float, high: float) -> list[float]:
    """The numbers 1, 2, 5, 10, 20, ... between two counts.

    >>> round_counts(3, 30)
    [5.0, 10.0, 20.0]
    """
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    return [step * 10.0**power for power in powers for step in (1, 2, 5) if low <= step * 10.0**power <= high]


_NARROW, _WIDE = frozenset("fijlrtI.,:;'|!()[] "), frozenset("mwMW@%")


def text_width(text: str, size: float) -> float:
    """The approximate width of a text in a font of this size, in pixels."""
    return size * sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    return 0.3 if letter in _NARROW else 0.85 if letter in _WIDE else 0.68 if letter.isupper() else 0.54


def _number_format(values: pd.Series) -> str | None:
    if pd.api.types.is_bool_dtype(values) or not pd.api.types.is_numeric_dtype(values):
        return None
    return "," if pd.api.types.is_integer_dtype(values) else ".4~g"


def _specification(chart: Any) -> dict[str, Any]:
    if not isinstance(chart, alt.TopLevelMixin):
        raise InputError(f"this is no chart: {type(chart).__name__}")
    with alt.data_transformers.disable_max_rows():
        spec: dict[str, Any] = chart.to_dict()
    if "datasets" in spec:
        spec["datasets"] = {name: list(values) for name, values in spec["datasets"].items()}  # see `records`
    return spec


def _render(spec: dict[str, Any], ending: str) -> bytes:
    import vl_convert

    version = alt.SCHEMA_VERSION.rpartition(".")[0]
    if ending == ".pdf":
        return bytes(vl_convert.vegalite_to_pdf(spec, vl_version=version))
    if ending == ".png":
        return bytes(vl_convert.vegalite_to_png(spec, vl_version=version, ppi=_PNG_PIXELS_PER_INCH))
    if ending == ".svg":
        return vl_convert.vegalite_to_svg(spec, vl_version=version).encode()
    bundle: Callable[..., str] = vl_convert.javascript_bundle  # its stub asks for an argument that it can do without
    text = json.dumps(spec).replace("<", "\\u003c")  # so that no word can end the script
    return Template(_PAGE.read_text(encoding="utf-8")).substitute(script=bundle(vl_version=version), spec=text).encode()
