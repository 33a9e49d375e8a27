"""A report on a fitted model: one HTML file that loads nothing and runs nothing.

`writing` has `report` and its sections, for the page `template.html`; `findings` has those about findings, and `parts`
what all are made of. `highlights` chooses the findings that a reader should see first, for the explorer as well.
`describing` puts a model into words. `choosing` says which words, columns and thresholds to begin with.
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
