"""A string for a function that is the same in every run, so that what was made with it can be found again."""

from __future__ import annotations

import hashlib
import re
import secrets
import sysconfig
from types import CodeType, FunctionType, ModuleType
from typing import Any


def function_identity(function: object) -> str:
    """A string that is the same for the same function in every run: its code and the values of the names in it.

    A callable without such a form (a closure, say) gets a new identity each time, so that no stale cache is reused.
    """
    if not isinstance(function, FunctionType):
        return secrets.token_hex(16)
    try:
        text = repr(_as_data(function, function.__module__, ()))
    except (TypeError, RecursionError):
        return secrets.token_hex(16)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
    return f"{function.__module__}.{function.__qualname__} {digest.hexdigest()}"


def _as_data(value: Any, module: str, outer: tuple[object, ...]) -> Any:
    """A value as plain data, the same in every run; TypeError if it has no such form.

    Functions of `module` are written out, those of others are named; `outer` are those that are being written out.
    """
    if value is None or isinstance(value, (str, bytes, int, float)):
        return value
    if isinstance(value, re.Pattern):
        return [value.pattern, value.flags]
    if isinstance(value, (list, tuple, dict)):
        return [_as_data(item, module, outer) for item in (value.items() if isinstance(value, dict) else value)]
    if isinstance(value, (set, frozenset)):
        return sorted(repr(_as_data(item, module, outer)) for item in value)
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, CodeType):
        return [value.co_code, value.co_names, _as_data(value.co_consts, module, outer)]
    if isinstance(value, (FunctionType, type)) and (value.__module__ != module or value in outer):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, FunctionType) and value.__closure__ is None:
        used = {name: value.__globals__[name] for name in _names(value.__code__) if name in value.__globals__}
        if value.__code__.co_filename.startswith(sysconfig.get_path("purelib")):
            used = {}  # the values of an installed library do not change
        parts = [value.__code__, value.__defaults__, value.__kwdefaults__, used]
        return _as_data(parts, module, (*outer, value))
    raise TypeError(f"{type(value).__name__} has no plain form")


def _names(code: CodeType) -> list[str]:
    """Every name in a piece of code and in the functions within it, sorted."""
    inner = [name for constant in code.co_consts if isinstance(constant, CodeType) for name in _names(constant)]
    return sorted({*code.co_names, *inner})
