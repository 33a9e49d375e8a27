"""A fitted model on paper: one HTML file that needs nothing else, to send to a colleague or to print.

writing.py     report(), and what is in it      template.html  how it is laid out
describing.py  a model in words                 drawing.py     charts as SVG within the page
choosing.py    where to begin                   printing.py    the page as a PDF
"""

from laplex.report.writing import Report, report

__all__ = ["Report", "report"]
