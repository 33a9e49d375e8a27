"""The statistical model: rows of vectors, the graph prior over them, the likelihood, and the log posterior in NumPy."""
