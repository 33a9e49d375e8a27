"""A chart as SVG within an HTML page.

Several drawings on one page must not share the names of their parts, and none may bring a script or a link along.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from markupsafe import Markup

from laplex.plots import Chart

_SVG = "http://www.w3.org/2000/svg"
_LINK = "http://www.w3.org/1999/xlink"
_LOCAL = re.compile(r"url\(#([^)]+)\)")
_DRAWN = {
    "svg",
    "g",
    "defs",
    "path",
    "text",
    "tspan",
    "rect",
    "line",
    "circle",
    "clipPath",
    "linearGradient",
    "stop",
    "title",
}


def inline(chart: Chart, name: str, alt: str) -> Markup:
    """The drawing; `name` sets its parts apart from those of others, `alt` says in words what is on it."""
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(chart._repr_mimebundle_()["image/svg+xml"])
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.removeprefix(f"{{{_SVG}}}") not in _DRAWN:
                parent.remove(child)
    for element in root.iter():
        for key, value in list(element.attrib.items()):
            if key.startswith(("on", f"{{{_LINK}}}")) or key == "href":
                del element.attrib[key]
            elif key == "id":
                element.set(key, f"{name}-{value}")
            elif "url(" in value:
                element.set(key, _LOCAL.sub(rf"url(#{name}-\1)", value))
    root.set("role", "img")
    root.set("aria-label", alt)
    return Markup(ElementTree.tostring(root, encoding="unicode"))
