"""A report on a fitted model: one HTML file that loads nothing, with search, tables and panels by a script of its own.

`writing` has `report`, for the page `template.html` with its style and its script; `findings` has the tables and panels
of comparisons, `evidence` their plots, and `methods` a paragraph to paste. `highlights` chooses the findings to see
first, and `finding` puts one into words, for the explorer and notebooks as well. `describing` puts a model into words.
`choosing` says which words, columns, slices and thresholds to begin with.
"""

from typing import TYPE_CHECKING

from laplex.runtime import lazy

if TYPE_CHECKING:
    from laplex.reports.writing import Report, report

__all__ = ["Report", "report"]

__getattr__, __dir__ = lazy.attributes(
    __name__,
    {
        "laplex.reports.writing": ["Report", "report"],
    },
)
