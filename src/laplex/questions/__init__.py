"""Descriptive questions: functions of Vectors that return tables. `Embeddings` has them as methods."""
