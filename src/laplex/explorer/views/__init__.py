"""The pages of the explorer. Each function `show` draws one; `app` lists them."""
