"""The pages of the explorer. Each answers a question; `show` draws it."""
