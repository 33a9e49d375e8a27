"""Names that are imported when they are first used, so that a program waits only for what it needs.

`attributes` gives a package the `__getattr__` and `__dir__` of PEP 562, and `module` stands for a module as a whole.
`provide` does the same for methods: tests and reports are made from Embeddings, whose methods call them by name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

_PROVIDERS: dict[str, str] = {}


def attributes(
    package: str, modules: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a package.

    Args:
        package: Its `__name__`.
        modules: The names that it offers, by the module that has them, or the package whose modules they are.

    Returns:
        Both functions.

    Example:
        __getattr__, __dir__ = lazy.attributes(__name__, {"laplex.embeddings": ["Embeddings", "load"]})
    """
    places = {name: module for module, names in modules.items() for name in names}

    def find(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = _import(places[name], name)
        setattr(sys.modules[package], name, value)  # so that it is found at once the next time
        return value

    return find, lambda: sorted({*vars(sys.modules[package]), *places})


class _Module(ModuleType):
    """A module that is not imported yet."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


def module(name: str) -> ModuleType:
    """A module that is imported when something of it is first used, where it costs much and is often not needed."""
    return _Module(name)


def provide(functions: Mapping[str, str]) -> None:
    """Name the module of each function that answers a method of `Embeddings`."""
    _PROVIDERS.update(functions)


def provided(name: str) -> Callable[..., Any]:
    """The function that answers a method."""
    function: Callable[..., Any] = _import(_PROVIDERS[name], name)
    return function


def _import(place: str, name: str) -> Any:
    module = import_module(place)
    return getattr(module, name) if hasattr(module, name) else import_module(f"{place}.{name}")
