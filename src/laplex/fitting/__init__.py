"""Estimation: from a Model and a Corpus to Embeddings, tuning of strengths, stability over seeds, updates."""
