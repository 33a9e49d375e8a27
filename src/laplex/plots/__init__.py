"""A table in, a chart out: what a journal would print, as PDF, SVG, PNG or a web page of its own. All offline.

Altair is imported by the first chart, not with this package.
"""

from laplex.plots.atlas import map
from laplex.plots.chart import Chart, save
from laplex.plots.curve import curve
from laplex.plots.dots import dots
from laplex.plots.network import graph
from laplex.plots.path import trajectory
from laplex.plots.ranking import bars
from laplex.plots.series import history, lines
from laplex.plots.volcano import volcano

__all__ = ["Chart", "bars", "curve", "dots", "graph", "history", "lines", "map", "save", "trajectory", "volcano"]
