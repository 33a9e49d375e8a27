"""Descriptive questions to vectors, each a method that returns a table; `Embeddings` inherits them."""
