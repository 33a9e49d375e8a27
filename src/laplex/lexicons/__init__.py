"""Lists of words that belong together: read from files, frames and graphs, or made from dictionaries."""
