"""What all charts share: how they look, how they are shown, and how they become files.

An Altair chart comes in; a Chart goes out, which saves itself as PDF, SVG, PNG or HTML without asking the network.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from laplex import storage
from laplex.errors import InputError

# Okabe and Ito's colors, which the color-blind can tell apart; without yellow, which is lost on white
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MUTED = "#767676"
FONT_SIZE = 12
ENDINGS = (".pdf", ".svg", ".png", ".html")

_PIXELS_PER_INCH = 144  # of a PNG: twice as fine as the screen
_STYLE: dict[str, Any] = {
    "font": "Helvetica, Arial, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": FONT_SIZE,
        "titleFontSize": FONT_SIZE,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelColor": "#333333",
        "titleColor": "#000000",
        "domainColor": "#8c8c8c",
        "tickColor": "#8c8c8c",
        "gridColor": "#ebebeb",
        "grid": False,
    },
    "legend": {
        "labelFontSize": FONT_SIZE,
        "titleFontSize": FONT_SIZE,
        "titleFontWeight": "normal",
        "labelLimit": 240,
        "symbolStrokeWidth": 2,
    },
    "title": {
        "fontSize": FONT_SIZE,
        "fontWeight": "bold",
        "anchor": "start",
        "frame": "group",
        "offset": 10,
        "subtitleFontSize": 11,
        "subtitleColor": "#555555",
    },
    "header": {"labelFontSize": FONT_SIZE, "labelFontWeight": "bold", "labelLimit": 400, "labelAnchor": "start"},
    "text": {"fontSize": FONT_SIZE},
    "concat": {"spacing": 24},
}

# `<` never stands in the data, so that no word can end the script; the policy lets the page load nothing
_PAGE = """<!DOCTYPE html>
<html>
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; \
style-src 'unsafe-inline'; img-src data: blob:">
<title>Chart</title>
<script>{script}</script>
</head>
<body>
<div id="chart"></div>
<script>
vegaEmbed("#chart", {spec}, {{"renderer": "svg", "actions": {{"export": true, "source": false, "compiled": false, \
"editor": false}}}}).catch(console.error);
</script>
</body>
</html>
"""


class Chart:
    """A chart. Notebooks show it, `save` writes it, and `altair` is the Altair chart inside, to change it further."""

    def __init__(self, altair: Any) -> None:
        self.altair = altair

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a file that ends in .pdf, .svg, .png or .html."""
        save(self, path)

    def to_dict(self) -> dict[str, Any]:
        """The chart as Vega-Lite says it."""
        return _specification(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        import altair as alt

        spec = self.to_dict()
        kind = f"application/vnd.vegalite.{alt.SCHEMA_VERSION.partition('.')[0]}+json"
        # the first can be hovered over; where it is not understood, the picture is shown
        return {kind: spec, "image/svg+xml": _render(spec, ".svg").decode(), "text/plain": repr(self)}


def save(chart: Any, path: str | os.PathLike[str]) -> None:
    """Write a chart, ours or Altair's, to a file that ends in .pdf, .svg, .png or .html.

    The file appears whole or not at all.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise InputError(f'cannot save a chart as "{path.name}": its name has to end in {", ".join(ENDINGS)}')
    content = _render(_specification(chart), ending)
    with storage.replacing(path) as file:
        file.write(content)


def finish(chart: Any, title: str | None = None, subtitle: str | None = None) -> Chart:
    """An Altair chart of ours, in our style. It is changed, not copied: Altair takes milliseconds for that."""
    import altair as alt

    if title:
        chart.title = alt.Title(title, subtitle=subtitle or alt.Undefined)
    elif subtitle:
        chart.title = alt.Title(subtitle, fontWeight="normal", fontSize=11, color="#555555")
    chart.config = alt.Config(**_STYLE)
    return Chart(chart)


def records(frame: pd.DataFrame) -> dict[str, Any]:
    """A frame as data of a chart. Given as plain values, of which there may be more than Altair's 5,000.

    They are in a tuple, since Altair copies a list, and all in it, whenever it copies a chart.
    """
    return {"values": tuple(json.loads(frame.to_json(orient="records", double_precision=15, date_format="iso")))}


def tame(names: Iterable[str]) -> dict[str, str]:
    """New names for columns whose own would be read as paths or clash with ours: "a.b[c]" is "column 2"."""
    return {
        name: name if re.fullmatch(r"[^\W_][\w ]*", name) else f"_column {place}" for place, name in enumerate(names)
    }


def title_of(column: str) -> str:
    """The name of a column in words, for an axis.

    >>> title_of("log_likelihood"), title_of("GDP")
    ('Log likelihood', 'GDP')
    """
    words = plain(column.replace("_", " "))
    return words[:1].upper() + words[1:] if words == words.lower() else words


def plain(title: str) -> str:
    """A title without what breaks Vega-Lite's expressions, into which it is put with quotes escaped, nothing else."""
    return " ".join(title.split()).replace("\\", "/")


def tooltips(frame: pd.DataFrame, columns: Iterable[str], names: dict[str, str]) -> list[Any]:
    """What is shown under the mouse: these columns of the frame, which have the names `names` in the chart."""
    return [tip(names[column], title_of(column), _format(frame[column])) for column in columns]


def tip(field: str, title: str, form: str | None = None) -> Any:
    """A line of what is shown under the mouse; `form` is the format of a number."""
    import altair as alt

    choices: dict[str, Any] = {"type": "quantitative", "format": form} if form else {"type": "nominal"}
    return alt.Tooltip(field=field, title=title, **choices)


def _format(values: pd.Series) -> str | None:
    if pd.api.types.is_bool_dtype(values) or not pd.api.types.is_numeric_dtype(values):
        return None
    return "," if pd.api.types.is_integer_dtype(values) else ".4~g"


def _specification(chart: Any) -> dict[str, Any]:
    import altair as alt

    inner = chart.altair if isinstance(chart, Chart) else chart
    if not isinstance(inner, alt.TopLevelMixin):
        raise InputError(f"this is no chart: {type(chart).__name__}")
    with alt.data_transformers.disable_max_rows():
        spec: dict[str, Any] = inner.to_dict()
    if "datasets" in spec:
        spec["datasets"] = {name: list(values) for name, values in spec["datasets"].items()}  # see `records`
    return spec


def _render(spec: dict[str, Any], ending: str) -> bytes:
    import altair as alt
    import vl_convert

    version = alt.SCHEMA_VERSION.rpartition(".")[0]
    if ending == ".pdf":
        return bytes(vl_convert.vegalite_to_pdf(spec, vl_version=version))
    if ending == ".png":
        return bytes(vl_convert.vegalite_to_png(spec, vl_version=version, ppi=_PIXELS_PER_INCH))
    if ending == ".svg":
        return vl_convert.vegalite_to_svg(spec, vl_version=version).encode()
    bundle: Callable[..., str] = vl_convert.javascript_bundle  # its stub asks for an argument that it can do without
    script = bundle(vl_version=version)
    return _PAGE.format(script=script, spec=json.dumps(spec).replace("<", "\\u003c")).encode()
