"""Documents become numbers: formats and sources of text, corpora, vocabularies, tokens."""
