"""What the columns of a frame are called in charts: axes and tooltips name groups, poles and units."""

from __future__ import annotations

from typing import Any

import pandas as pd

from laplex.plots import chart
from laplex.plots.chart import escape_title, title_of
from laplex.plots.frames import (
    AGAINST,
    BETWEEN,
    COMPARISON,
    HOLDS,
    LEVEL,
    LOWER,
    MEASURES,
    TERM,
    UPPER,
    VALUE,
    WORD,
    are_levels_together,
    is_regression,
    key_columns,
    name_of_side,
    number_columns,
)
from laplex.text.periods import positions

_JOINT = "any", "others"  # the sides of a test of all values together
_POLE_WORDS = 3  # of each pole that are named


def tooltips(frame: pd.DataFrame, first: str) -> list[Any]:
    """A tooltip with all columns of a frame, beginning with this one; what is compared is named once."""
    left_out = {first, "permutations"} | ({VALUE, AGAINST, TERM, LEVEL} if COMPARISON in frame.columns else set())
    columns = [first, *(name for name in frame.columns if name not in left_out)]
    return chart.tooltips(frame, columns, column_titles(frame))


def sides(frame: pd.DataFrame) -> tuple[str, str]:
    """The names of the two sides that every row compares: groups, the halves of a drift, or those of a coefficient.

    If rows compare different sides, or a table without its `attrs` does not say which, "first" and "second".

    >>> sides(pd.DataFrame({"value": ["D", "D"], "against": "rest"}))
    ('D', 'the rest')
    >>> sides(pd.DataFrame({"term": ["age"], "level": ""}))
    ('upper half', 'lower half')
    """
    question = frame.attrs.get("question")
    if question == "drift" and "p" in frame.columns:
        return "earlier half", "later half"
    if is_regression(frame):
        if frame[[TERM, LEVEL]].astype(str).drop_duplicates().shape[0] > 1 or are_levels_together(frame).any():
            return "first", "second"
        if ":" in str(frame[TERM].iloc[0]):
            return "more of it", "less of it"
        level = str(frame[LEVEL].fillna("").iloc[0])
        return (level, "reference") if level else ("upper half", "lower half")
    if not {VALUE, AGAINST} <= {*frame.columns} or (pairs := frame[[VALUE, AGAINST]].astype(str)).nunique().max() > 1:
        return "first", "second"
    one, two = pairs.iloc[0]
    if (one, two) == _JOINT:
        return "first value", "other values"
    if question is None and "p" in frame.columns and positions([one, two]) is not None:
        return "first", "second"  # it may be a drift, whose sides are not these values
    return one, name_of_side(two)


def column_titles(frame: pd.DataFrame) -> dict[str, str]:
    """The name of each column in words: with the groups that are compared, and what the units are."""
    one, two = sides(frame)
    unit = (frame.attrs.get("facts") or {"unit": "unit"}).get("unit") or "document"
    titles = {name: title_of(name) for name in frame.columns} | {"p": "p", "p_adjusted": "Adjusted p"}
    titles |= {
        LOWER: "Interval, lower end",
        UPPER: "Interval, upper end",
        COMPARISON: "Coefficient" if is_regression(frame) else "Compared",
        HOLDS: "Holds",
    }
    is_compared = "uses_against" in frame.columns
    rarer = ", rarer word" if LOWER in frame.columns and {"neighbor", "other"} & {*frame.columns} else ""
    for name, title in (("uses", "Uses"), ("units", title_of(plural(str(unit)))), ("context", "Used with")):
        titles[name] = f"{title}, {escape_title(one)}" if is_compared else f"{title}{rarer}"
        titles[f"{name}_against"] = f"{title}, {escape_title(two)}"
        titles[f"{name}_other"] = f"{title}, other word"
    if one == "first value":  # whose units are counted at each value
        titles |= {"units": f"{title_of(plural(str(unit)))}, fewest at a value"}
        titles |= {"units_against": f"{title_of(plural(str(unit)))}, most at a value"}
    if {"neighbor", "similarity_against"} <= {*frame.columns}:
        titles |= {"similarity": f"Similarity, {escape_title(one)}", "estimate": "Ratio of similarities"}
        titles |= {"similarity_against": f"Similarity, {escape_title(two)}", "word": "Similar to"}
    elif "estimate" in frame.columns:
        kind, title = _measure(frame, "estimate")
        titles["estimate"] = f"{title}, corrected for noise" if kind in frame.columns else title
    return titles


def plural(noun: str) -> str:
    """Several of what a column names, as far as English is regular.

    >>> plural("senator"), plural("country"), plural("speech")
    ('senators', 'countries', 'speeches')
    """
    noun = noun.replace("_", " ")
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def poles(frame: pd.DataFrame) -> tuple[str, str] | None:
    """The words of the two poles between which positions are, as `project` notes them: that of low positions first."""
    listed = frame.attrs.get("poles") or []
    names = [list(dict.fromkeys(row["word"] for row in listed if row["pole"] == pole)) for pole in ("second", "first")]
    if not all(names):
        return None
    low, high = (", ".join(some[:_POLE_WORDS]) + (", …" if len(some) > _POLE_WORDS else "") for some in names)
    return escape_title(low), escape_title(high)


def axis_title(frame: pd.DataFrame, measured: str) -> str:
    """The title of the axis of values, such as "Distance between D and R" where that is the only pair in the frame."""
    keys = key_columns(frame, measured)
    constant = {name: str(frame[name].iloc[0]) for name in keys if frame[name].nunique(dropna=False) == 1}
    pairs = [value.split(BETWEEN) for name, value in constant.items() if BETWEEN in value and name != WORD]
    kind, title = _measure(frame, measured)
    ends = poles(frame)
    if kind in ("distance", "difference") and len(pairs) == 1 and len(pairs[0]) == 2:
        one, two = pairs[0]
        if (one, two) == _JOINT:
            title = f"{title} between the values"
        elif frame.attrs.get("question") == "drift":
            title = f"Change from {one} to {two}"
        else:
            title = f"{title} between {one} and {name_of_side(two)}"
    elif kind == "distance" and {"from", "to"} <= constant.keys():
        title = f"{title} from {constant['from']} to {constant['to']}"
    elif kind == "similarity":
        names = [name for name in ("to", "other", WORD) if name in constant and (name != WORD or "neighbor" in frame)]
        title = f"{title} to {constant[names[0]]}" if names else title
    elif kind == "position" and ends:
        title = f"← {ends[0]} · {ends[1]} →"
    if kind == "difference" and ends:
        title = f"{title}, towards {ends[1]} →"
    return escape_title(f"{title}, log odds" if kind == "difference" and "context" in frame else title)


def _measure(frame: pd.DataFrame, measured: str) -> tuple[str, str]:
    """What a column measures: of an estimate, that follows from the other columns of the table."""
    if measured != "estimate":
        return measured, title_of(measured)
    others = [name for name in MEASURES[:-1] if name in frame.columns]
    if others:
        return others[0], title_of(others[0])
    if {"p", "p_adjusted", VALUE} & {*frame.columns}:
        return "difference", "Difference"
    if {"uses", "units"} <= {*frame.columns} and number_columns(frame, measured):
        return "effect", "Position, log odds from the mean"
    is_similarity = bool({"neighbor", "neighbors", "other", "to"} & {*frame.columns})
    return ("similarity", "Similarity") if is_similarity else ("position", "Position")
