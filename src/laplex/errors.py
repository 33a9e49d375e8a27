"""What laplex raises when something is wrong that the user can put right."""


class LaplexError(Exception):
    """Any error that laplex raises on purpose. Its message names the thing, the value and what to do."""


class InputError(LaplexError, ValueError):
    """Text, metadata or an argument cannot be used as it is."""


class StorageError(LaplexError):
    """A file that laplex wrote, or is to write, cannot be read or written."""


def quote(values: object, most: int = 8) -> str:
    """A list of values for an error message: at most `most` of them, then how many more."""
    items = [str(value) for value in values]  # type: ignore[attr-defined]
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most:,} more"
