"""Charts of the tables and vectors of laplex, as PDF, SVG, PNG or an HTML page that needs no network.

The modules are imported when they are first used, and Altair by the first chart.
"""

from typing import TYPE_CHECKING

from laplex.runtime import lazy

if TYPE_CHECKING:
    from laplex.plots.chart import Chart, save
    from laplex.plots.findings import explanation, volcano
    from laplex.plots.fits import curve, history
    from laplex.plots.groups import matrix, neighbor_ratio
    from laplex.plots.network import graph
    from laplex.plots.paths import trajectory
    from laplex.plots.projections import map
    from laplex.plots.ranking import bars, coefficients, dots
    from laplex.plots.series import lines

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
    "matrix",
    "neighbor_ratio",
    "save",
    "trajectory",
    "volcano",
]

__getattr__, __dir__ = lazy.attributes(
    __name__,
    {
        "laplex.plots.chart": ["Chart", "save"],
        "laplex.plots.findings": ["explanation", "volcano"],
        "laplex.plots.fits": ["curve", "history"],
        "laplex.plots.groups": ["matrix", "neighbor_ratio"],
        "laplex.plots.network": ["graph"],
        "laplex.plots.paths": ["trajectory"],
        "laplex.plots.projections": ["map"],
        "laplex.plots.ranking": ["bars", "coefficients", "dots"],
        "laplex.plots.series": ["lines"],
    },
)
