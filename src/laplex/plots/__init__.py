"""Charts of the tables and vectors of laplex, as PDF, SVG, PNG or an HTML page that needs no network.

Altair is imported by the first chart, not with this package.
"""

from laplex.plots.chart import Chart, save
from laplex.plots.findings import explanation, volcano
from laplex.plots.network import graph
from laplex.plots.projections import map, trajectory
from laplex.plots.ranking import bars, coefficients, dots
from laplex.plots.series import curve, history, lines

__all__ = [
    "Chart",
    "bars",
    "coefficients",
    "curve",
    "dots",
    "explanation",
    "graph",
    "history",
    "lines",
    "map",
    "save",
    "trajectory",
    "volcano",
]
