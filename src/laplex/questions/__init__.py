"""What can be asked of vectors. Each question takes Vectors and gives a table; `Embeddings` has them as methods."""
