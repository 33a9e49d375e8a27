"""A fitted model as pages in the browser, on this machine and without the network.

    launching  explore(): starts the process that serves the pages, and stops it
    serving    that process, and which requests it answers
    app        the pages, as Streamlit runs them; each is a function in `views`
    loading    the model, its text, and answers that are kept
    address    widgets whose values are kept in the address of the page
    showing    texts, charts, tables, lists of words, downloads and the Python behind them

Streamlit is imported by the process that serves, not with this package.
"""

from laplex.explorer.launching import Explorer, explore

__all__ = ["Explorer", "explore"]
