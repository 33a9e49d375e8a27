"""A fitted model as pages in the browser, on one's own machine and without the network.

    launching.py  start it, and stop it          app.py       the pages, as Streamlit runs them
    serving.py    the process that serves it     views/       a page a file, each a question
    guarding.py   who may ask it                 address.py   what is chosen on a page, kept in its address
    loading.py    the model and its answers      showing.py   charts, tables, downloads
    passages.py   how a word is used in the text grid.py      words side by side that can be clicked

Streamlit is imported by the process that serves, not with this package.
"""

from laplex.explorer.launching import Explorer, explore

__all__ = ["Explorer", "explore"]
