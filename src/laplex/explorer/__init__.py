"""A fitted model as pages in the browser, on this machine and without the network.

    launching  explore(): starts the process that serves the pages, and stops it
    serving    that process, and which requests it answers
    app        the pages, as Streamlit runs them; each is a function here or in `views`
    loading    the models, their text, and answers with the Python that gives them
    working    what takes longer, in threads
    address    widgets whose values are kept in the address of the page
    showing    texts, charts, tables, lists of words and downloads

Streamlit is imported by the process that serves, not with this package.
"""

from typing import TYPE_CHECKING

from laplex.runtime import lazy

if TYPE_CHECKING:
    from laplex.explorer.launching import Explorer, explore

__all__ = ["Explorer", "explore"]

__getattr__, __dir__ = lazy.attributes(
    __name__,
    {
        "laplex.explorer.launching": ["Explorer", "explore"],
    },
)
