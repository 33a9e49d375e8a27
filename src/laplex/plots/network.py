"""The neighborhood of a word in the prior's graph: which vectors a belief joins to its own, and how strongly.

N nodes, which are parameters, or fixed vectors behind them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from laplex.errors import InputError, whole
from laplex.graph import Graph
from laplex.plots.chart import COLORS, Chart, finish, records, tip
from laplex.plots.plane import Floats, Plane, principal, texts, written
from laplex.vectors import Vectors

Ints = NDArray[np.int64]
_KINDS = ("word", "context", "fixed vector")
_SHAPES = ("circle", "square", "diamond")
_SIZE = 11.0  # of the font
_WIDTH = 600


def graph(
    fitted: Vectors, word: str, depth: int = 1, most: int = 40, *, language: str | None = None, **slice: Any
) -> Chart:
    """The vectors of a word and those that the prior joins to them, at most `depth` edges away.

    Of more than `most` the ones with the strongest edges are drawn. Lines are as wide as edges are strong, dashed where
    the prior pushes words apart, with an arrow where it pulls one way only. `party="D"` starts from the word vectors
    of these slices; otherwise all of the word's vectors are a start, also that of the word as context.
    """
    joined, nodes, starts, found = _around(fitted, word, depth, most, language, slice)
    frame = _describe(fitted, joined, nodes).assign(_asked=np.isin(nodes, starts))
    edges = _edges(joined, nodes)
    points = _layout(edges["_one"].to_numpy(), edges["_two"].to_numpy(), len(nodes))
    drawn = len(nodes) - int(frame["_asked"].sum())
    subtitle = None if drawn == found else f"{drawn:,} of {found:,} neighbors, those with the strongest edges"
    across, up = np.maximum(np.ptp(points, axis=0), 1e-9)
    height = min(160 + 20 * len(nodes), 400, 80 + int(0.8 * _WIDTH * up / across))
    plane = Plane.around(points, _WIDTH, height)
    return finish(_draw(plane, points, frame, edges), title=word, subtitle=subtitle)


def edges(
    fitted: Vectors, word: str, depth: int = 1, most: int = 40, *, language: str | None = None, **slice: Any
) -> pd.DataFrame:
    """The edges that `graph` draws: what they join, how strongly, together or apart, one way or both."""
    joined, nodes, _, _ = _around(fitted, word, depth, most, language, slice)
    named, found = _describe(fitted, joined, nodes), _edges(joined, nodes)
    one, two = (named.iloc[found[end]].reset_index(drop=True) for end in ("_one", "_two"))
    ends = {"one": one["_text"], "one_kind": one["_kind"], "two": two["_text"], "two_kind": two["_kind"]}
    return pd.DataFrame(ends).assign(weight=found["_weight"], sign=found["_sign"], directed=found["_directed"])


def _around(
    fitted: Vectors, word: str, depth: int, most: int, language: str | None, slice: dict[str, Any]
) -> tuple[Graph, Ints, Ints, int]:
    """The graph, the nodes to be shown of it, those of the word, and how many neighbors there are."""
    joined = getattr(fitted, "graph", None)
    if not isinstance(joined, Graph):
        raise InputError("these vectors came without a graph: fit a model to have one")
    depth, most = whole("depth", depth), whole("most", most)
    starts = _starts(fitted, word, language, slice, most)
    nodes, found = _neighborhood(joined, starts, depth, most)
    if found == 0 and len(nodes) <= 1:
        raise InputError(f'the prior joins "{word}" to nothing: there is no graph to draw')
    return joined, nodes, starts, found


def _starts(fitted: Vectors, word: str, language: str | None, slice: dict[str, Any], most: int) -> Ints:
    """The parameters of a word."""
    index = fitted.language(language)
    number = fitted.id(word, index)
    rows = [fitted.rows.word_start(index, at) + number for at in fitted.chosen(slice)]
    if not slice:
        rows.append(fitted.rows.context_start(index) + number)
    slots = np.unique(fitted.slot[rows]).astype(np.int64)
    slots = slots[slots >= 0]
    if len(slots) > most:
        columns = ", ".join(f"{name}=" for name in fitted.columns if name not in slice)
        raise InputError(f'"{word}" has {len(slots):,} vectors, more than most={most}: choose by {columns}')
    return slots


def _neighborhood(graph: Graph, starts: Ints, depth: int, most: int) -> tuple[Ints, int]:
    """The starts that have edges and their neighbors, strongest first, at most `most`; and how many there are."""
    chosen = np.zeros(len(graph) + len(graph.targets), bool)
    chosen[starts] = True
    nodes: list[int] = []
    joined: set[int] = set()
    found = 0
    for _ in range(depth):
        touching = np.flatnonzero(chosen[graph.first] | chosen[graph.second])
        ends = np.stack([graph.first[touching], graph.second[touching]])
        joined.update(ends[chosen[ends]].tolist())
        outside = ends.T[~chosen[ends].T]  # an edge has one such end at most, in the order of the edges
        weight = graph.weight[touching][~chosen[ends].all(axis=0)]
        new = list(dict.fromkeys(outside[np.argsort(-weight, kind="stable")].tolist()))
        found += len(new)
        kept = new[: most - len(nodes)]
        nodes += kept
        chosen[kept] = True
    return np.array([*(n for n in starts.tolist() if n in joined), *nodes], np.int64), found


def _describe(fitted: Vectors, graph: Graph, nodes: Ints) -> pd.DataFrame:
    """What each node is, and how it is called: by its word and its slice, by the slice alone if all are of one word."""
    rows_of: dict[int, list[int]] = {int(node): [] for node in nodes}
    for row in np.flatnonzero(np.isin(fitted.slot, nodes)).tolist():
        rows_of[int(fitted.slot[row])].append(row)
    alone = len({fitted.rows.name(row)[0] for rows in rows_of.values() for row in rows}) == 1
    described = []
    for node in nodes.tolist():
        if node >= len(graph):
            described.append({"_text": "fixed vector", "_kind": "fixed vector"})
            continue
        names = [fitted.rows.name(row) for row in rows_of[node]]
        words = list(dict.fromkeys(word for word, _, _ in names))
        slices = [", ".join(slice) for _, role, slice in names if role == "word" and slice]
        where = slices[0] if len(slices) == 1 else ""  # tied vectors are of several slices
        text = ", ".join([*words[:3], *(["…"] if len(words) > 3 else [])])
        kind = "word" if any(role == "word" for _, role, _ in names) else "context"
        called = text if not where else where if alone else f"{text} ({where})"
        described.append({"_text": called, "_kind": kind})
    return pd.DataFrame(described)


def _edges(graph: Graph, nodes: Ints) -> pd.DataFrame:
    """The edges among some nodes, these numbered from 0."""
    place = np.full(len(graph) + len(graph.targets), -1, np.int64)
    place[nodes] = np.arange(len(nodes))
    inner = np.flatnonzero((place[graph.first] >= 0) & (place[graph.second] >= 0))
    return pd.DataFrame(
        {
            "_one": place[graph.first[inner]],
            "_two": place[graph.second[inner]],
            "_weight": graph.weight[inner],
            "_sign": np.where(graph.sign[inner] < 0, "apart", "together"),
            "_directed": graph.directed[inner],
        }
    )


def _layout(one: Ints, two: Ints, nodes: int) -> Floats:
    """Points (N, 2) as far from each other as there are edges between them."""
    links = sparse.coo_array((np.ones(len(one)), (one, two)), shape=(nodes, nodes)).tocsr()
    distance = csgraph.shortest_path(links, directed=False, unweighted=True)
    distance[~np.isfinite(distance)] = distance[np.isfinite(distance)].max() + 1
    centering = np.eye(nodes) - 1 / nodes
    points = principal(-0.5 * centering @ distance**2 @ centering)[0] / nodes
    points += 0.1 * np.random.default_rng(0).standard_normal((nodes, 2))  # no two may be in one place
    for power in (2.0, 4.0):  # first the whole, then that an edge is as long as another
        points = _majorize(points, distance, power)
    points = principal(points)[0]
    # what counts is who is joined to whom: the picture may be somewhat stretched to be wider than high
    across, up = np.maximum(np.ptp(points, axis=0), 1e-9)
    points[:, 1] *= np.clip(0.6 * across / up, 0.6, 1.6)
    return points


def _majorize(points: Floats, distance: Floats, power: float, rounds: int = 150) -> Floats:
    """Lessens the stress Σ_ij (‖x_i − x_j‖ − d_ij)² / d_ij^power: each round solves V x = B(x₀) x₀ (SMACOF)."""
    weight = np.where(distance > 0, distance, np.inf) ** -power
    inverse = np.linalg.pinv(np.diag(weight.sum(1)) - weight)
    for _ in range(rounds):
        apart = np.linalg.norm(points[:, None] - points[None], axis=2)
        pull = -weight * distance / np.maximum(apart, 1e-9)
        np.fill_diagonal(pull, -pull.sum(1))
        points = inverse @ pull @ points
    return points


def _draw(plane: Plane, points: Floats, nodes: pd.DataFrame, edges: pd.DataFrame) -> Any:
    import altair as alt

    axes = plane.axes((None, None))
    nodes = nodes.assign(_x=points[:, 0], _y=points[:, 1])
    (left, low), (right, high) = points[edges["_one"]].T, points[edges["_two"]].T
    edges = edges.assign(_x=left, _y=low, _x2=right, _y2=high)
    kinds = [kind for kind in _KINDS if kind in set(nodes["_kind"])]
    legend = alt.Legend(title=None, orient="bottom") if len(kinds) > 1 else None
    shapes = alt.Scale(domain=kinds, range=[_SHAPES[_KINDS.index(kind)] for kind in kinds])
    labels = written(nodes, plane, _SIZE, obstacles=_sample(plane, points, edges), radius=4.0, always=True)
    asked = alt.condition("datum._asked", alt.value(COLORS[1]), alt.value(COLORS[0]))
    dots = alt.Chart(records(nodes)).mark_point(size=70, filled=True, opacity=1)
    return alt.layer(
        _lines(axes, edges),
        _arrows(axes, edges),
        dots.encode(**axes, shape=alt.Shape(field="_kind", type="nominal", scale=shapes, legend=legend), color=asked),
        # first in white and wide, so that lines behind do not run into them
        texts(labels, _SIZE, stroke="#ffffff", strokeWidth=3, strokeJoin="round").encode(**axes),
        texts(labels, _SIZE, color="#222222").encode(**axes),
        width=plane.width,
        height=plane.height,
    )


def _lines(axes: dict[str, Any], edges: pd.DataFrame) -> Any:
    import altair as alt

    strengths = sorted(set(edges["_weight"]))
    shown = strengths if len(strengths) <= 4 else [strengths[0], strengths[len(strengths) // 2], strengths[-1]]
    below: dict[str, Any] = {"orient": "bottom", "symbolType": "stroke"}
    wide: Any = alt.StrokeWidth(
        field="_weight",
        type="quantitative",
        scale=alt.Scale(type="sqrt", domain=[0, strengths[-1]], range=[0, 5 if len(edges) < 16 else 3]),
        legend=alt.Legend(title="Strength", values=shown, format=".3~g", **below),
    )
    dash = alt.StrokeDash(
        field="_sign",
        type="nominal",
        scale=alt.Scale(domain=["together", "apart"], range=[[1, 0], [5, 3]]),
        legend=alt.Legend(title="Pulls", **below) if (edges["_sign"] == "apart").any() else None,
    )
    ends = {"x2": alt.X2(field="_x2"), "y2": alt.Y2(field="_y2")}
    look = {"strokeDash": dash, "strokeWidth": wide if len(strengths) > 1 else alt.value(1.5)}
    return (
        alt.Chart(records(edges))
        .mark_rule(color="#a6a6a6")
        .encode(**axes, **ends, **look, tooltip=[tip("_weight", "Strength", ".4~g")])
    )


def _arrows(axes: dict[str, Any], edges: pd.DataFrame) -> Any:
    """On the edges that pull one way only."""
    import altair as alt

    one_way = edges[edges["_directed"]]
    across, up = one_way["_x2"] - one_way["_x"], one_way["_y2"] - one_way["_y"]
    heads = one_way.assign(
        _x=one_way["_x"] + 0.6 * across, _y=one_way["_y"] + 0.6 * up, _angle=np.degrees(np.arctan2(across, up))
    )
    angle = alt.Angle(field="_angle", type="quantitative", scale=None)
    arrows = alt.Chart(records(heads)).mark_point(shape="triangle", size=60, filled=True, color="#777777", opacity=1)
    return arrows.encode(**axes, angle=angle)


def _sample(plane: Plane, points: Floats, edges: pd.DataFrame) -> Floats:
    """Points (N, 2) all along the edges, in pixels, for labels to keep clear of."""
    pixels = plane.pixels(points)
    one, two = pixels[edges["_one"]], pixels[edges["_two"]]
    share = np.linspace(0, 1, 30)[:, None, None]
    return np.asarray((one + share * (two - one)).reshape(-1, 2))
