"""The neighborhood of a word in the graph of the prior: which vectors it joins to those of the word, how strongly.

N nodes, which are parameters of the model, means of slices, or fixed vectors that an anchor pulls them to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from laplex.errors import InputError, check_int, explain_keywords, quote
from laplex.model.graph import Graph
from laplex.model.vectors import Vectors
from laplex.plots.chart import COLORS, Chart, Floats, alt, finish, records, tooltip
from laplex.plots.labels import label_marks
from laplex.plots.projections import Plane, arrowheads, principal_components

Ints = NDArray[np.int64]
_SHAPES = {"word": "circle", "context": "square", "mean": "triangle-up", "fixed vector": "diamond"}
_WIDTH = 600  # pixels
_LAYOUT_ROUNDS = 150


@explain_keywords
def graph(
    fitted: Vectors,
    word: str,
    depth: int = 1,
    most: int = 40,
    *,
    language: str | None = None,
    at: Mapping[str, Any] | None = None,
) -> Chart:
    """Draw the vectors of a word and those that the prior joins to them. The wider a line, the stronger the edge.

    Lines are dashed where the prior pushes vectors apart, and have an arrow where only one of the two is pulled.

    Args:
        fitted: A fitted model.
        word: The word.
        depth: The number of edges between the word and the farthest vectors that are drawn.
        most: The number of neighbors that are drawn, those with the strongest edges.
        language: The language of the word, if there are several.
        at: Values of columns, such as {"party": "D"}, to start from the word vectors of these slices. By default all
            vectors of the word are starts, also that as a context.

    Returns:
        A Chart, whose `frame` has the edges: what they join, their weight, sign and direction.

    Example:

        lx.plots.graph(fitted, "health", at={"party": "D"})
    """
    joined = getattr(fitted, "graph", None)
    if not isinstance(joined, Graph):
        raise InputError("these vectors came without a graph: fit a model to have one")
    depth, most = check_int("depth", depth), check_int("most", most)
    starts = _starts(fitted, word, language, at, most)
    nodes, count = _strongest(joined, starts, depth, most)
    if count == 0 and len(nodes) <= 1:
        raise InputError(f'the prior joins "{word}" to nothing: there is no graph to draw')
    frame = _describe(fitted, joined, nodes).assign(_asked=np.isin(nodes, starts))
    edges = _edges(joined, nodes)
    points = _layout(edges["_one"].to_numpy(), edges["_two"].to_numpy(), len(nodes))
    drawn = len(nodes) - int(frame["_asked"].sum())
    subtitle = None if drawn == count else f"{drawn:,} of {count:,} neighbors, those with the strongest edges"
    text, kind = frame["_text"].to_numpy(), frame["_kind"].to_numpy()
    one, two = edges["_one"], edges["_two"]
    ends = {"one": text[one], "one_kind": kind[one], "two": text[two], "two_kind": kind[two]}
    table = pd.DataFrame(ends).assign(weight=edges["_weight"], sign=edges["_sign"], directed=edges["_directed"])
    return finish(_draw(points, frame, edges), table, word, subtitle)


def _starts(fitted: Vectors, word: str, language: str | None, at: Mapping[str, Any] | None, most: int) -> Ints:
    """The parameters of a word."""
    index = fitted.language(language)
    number = fitted.id(word, index)
    rows = [fitted.rows.word_start(index, place) + number for place in fitted.chosen(at)]
    if not at:
        rows.append(fitted.rows.context_start(index) + number)
    slots = np.unique(fitted.slot[rows]).astype(np.int64)
    slots = slots[slots >= 0]
    if len(slots) > most:
        columns = quote(f'"{name}"' for name in fitted.columns if name not in (at or {}))
        raise InputError(f'"{word}" has {len(slots):,} vectors, more than most={most}: choose some by {columns}')
    return slots


def _strongest(graph: Graph, starts: Ints, depth: int, most: int) -> tuple[Ints, int]:
    """The starts that have edges, then at most `most` neighbors, strongest first; and the number of all neighbors."""
    chosen = np.zeros(len(graph) + len(graph.targets), bool)
    chosen[starts] = True
    neighbors: list[int] = []
    with_edges: set[int] = set()
    count = 0
    for _ in range(depth):
        touching = np.flatnonzero(chosen[graph.first] | chosen[graph.second])
        ends = np.stack([graph.first[touching], graph.second[touching]])
        with_edges.update(ends[chosen[ends]].tolist())
        outside = ends.T[~chosen[ends].T]  # an edge has at most one such end
        weight = graph.weight[touching][~chosen[ends].all(axis=0)]
        new = list(dict.fromkeys(outside[np.argsort(-weight, kind="stable")].tolist()))
        count += len(new)
        kept = new[: most - len(neighbors)]
        neighbors += kept
        chosen[kept] = True
    return np.array([*(node for node in starts.tolist() if node in with_edges), *neighbors], np.int64), count


def _describe(fitted: Vectors, graph: Graph, nodes: Ints) -> pd.DataFrame:
    """The kind and the name of each node: its word and slice, or its slice alone if all nodes are of one word."""
    names_of: dict[int, list[tuple[str, str, tuple[str, ...]]]] = {int(node): [] for node in nodes}
    for row in np.flatnonzero(np.isin(fitted.slot, nodes)).tolist():
        names_of[int(fitted.slot[row])].append(fitted.rows.name(row))
    one_word = len({word for names in names_of.values() for word, _, _ in names}) == 1
    described = []
    for node, names in names_of.items():
        if node >= len(graph):
            described.append(("fixed vector", "fixed vector"))
            continue
        if node >= graph.own:
            described.append(("mean", "mean of slices"))
            continue
        words = list(dict.fromkeys(word for word, _, _ in names))
        slices = [", ".join(slice) for _, role, slice in names if role == "word" and slice]
        where = slices[0] if len(slices) == 1 else ""  # tied vectors are of several slices
        text = ", ".join([*words[:3], *(["…"] if len(words) > 3 else [])])
        kind = "word" if any(role == "word" for _, role, _ in names) else "context"
        described.append((text if not where else where if one_word else f"{text} ({where})", kind))
    return pd.DataFrame(described, columns=["_text", "_kind"])


def _edges(graph: Graph, nodes: Ints) -> pd.DataFrame:
    """The edges among these nodes, which are numbered from 0."""
    number = np.full(len(graph) + len(graph.targets), -1, np.int64)
    number[nodes] = np.arange(len(nodes))
    inner = np.flatnonzero((number[graph.first] >= 0) & (number[graph.second] >= 0))
    return pd.DataFrame(
        {
            "_one": number[graph.first[inner]],
            "_two": number[graph.second[inner]],
            "_weight": graph.weight[inner],
            "_sign": np.where(graph.sign[inner] < 0, "apart", "together"),
            "_directed": graph.directed[inner],
        }
    )


def _layout(one: Ints, two: Ints, nodes: int) -> Floats:
    """Points (N, 2) whose distances are close to the numbers of edges between them."""
    links = sparse.coo_array((np.ones(len(one)), (one, two)), shape=(nodes, nodes)).tocsr()
    distance = csgraph.shortest_path(links, directed=False, unweighted=True)
    distance[~np.isfinite(distance)] = distance[np.isfinite(distance)].max() + 1
    centering = np.eye(nodes) - 1 / nodes
    points = principal_components(-0.5 * centering @ distance**2 @ centering)[0] / nodes
    points += 0.1 * np.random.default_rng(0).standard_normal((nodes, 2))  # no two may be in one place
    for power in (2.0, 4.0):  # first the overall shape, then edges of equal length
        points = _majorize(points, distance, power)
    points = principal_components(points)[0]
    # distances across may differ somewhat from those up, so that the picture is wider than high
    across, up = np.maximum(np.ptp(points, axis=0), 1e-9)
    points[:, 1] *= np.clip(0.6 * across / up, 0.6, 1.6)
    return points


def _majorize(points: Floats, distance: Floats, power: float) -> Floats:
    """Reduce the stress Σ_ij (‖x_i − x_j‖ − d_ij)² / d_ij^power: each round solves V x = B(x₀) x₀ (SMACOF)."""
    weight = np.where(distance > 0, distance, np.inf) ** -power
    inverse = np.linalg.pinv(np.diag(weight.sum(1)) - weight)
    for _ in range(_LAYOUT_ROUNDS):
        apart = np.linalg.norm(points[:, None] - points[None], axis=2)
        pull = -weight * distance / np.maximum(apart, 1e-9)
        np.fill_diagonal(pull, -pull.sum(1))
        points = inverse @ pull @ points
    return points


def _draw(points: Floats, nodes: pd.DataFrame, edges: pd.DataFrame) -> Any:
    across, up = np.maximum(np.ptp(points, axis=0), 1e-9)
    height = min(160 + 20 * len(nodes), 400, 80 + int(0.8 * _WIDTH * up / across))
    plane = Plane(points, _WIDTH, height)
    axes = plane.axes()
    nodes = nodes.assign(_x=points[:, 0], _y=points[:, 1])
    (left, low), (right, high) = points[edges["_one"]].T, points[edges["_two"]].T
    edges = edges.assign(_x=left, _y=low, _x2=right, _y2=high)
    kinds = [kind for kind in _SHAPES if kind in set(nodes["_kind"])]
    legend = alt.Legend(title=None, orient="bottom") if len(kinds) > 1 else None
    shapes = alt.Scale(domain=kinds, range=[_SHAPES[kind] for kind in kinds])
    labels = plane.labels(nodes, obstacles=plane.along(edges), radius=4.0, always=True)
    color = alt.condition("datum._asked", alt.value(COLORS[1]), alt.value(COLORS[0]))
    dots = alt.Chart(records(nodes)).mark_point(size=70, filled=True, opacity=1)
    return alt.layer(
        _lines(edges).encode(**axes),
        arrowheads(edges[edges["_directed"]], 0.6, size=60, color="#777777").encode(**axes),
        dots.encode(**axes, shape=alt.Shape("_kind:N", scale=shapes, legend=legend), color=color),
        # a wide white outline separates the text from the lines behind it
        label_marks(labels, stroke="#ffffff", strokeWidth=3, strokeJoin="round").encode(**axes),
        label_marks(labels, color="#222222").encode(**axes),
        width=plane.width,
        height=plane.height,
    )


def _lines(edges: pd.DataFrame) -> Any:
    strengths = sorted(set(edges["_weight"]))
    below = {"orient": "bottom", "symbolType": "stroke"}
    width = alt.value(1.5)
    if len(strengths) > 1:
        shown = strengths if len(strengths) <= 4 else [strengths[0], strengths[len(strengths) // 2], strengths[-1]]
        scale = alt.Scale(type="sqrt", domain=[0, strengths[-1]], range=[0, 5 if len(edges) < 16 else 3])
        legend = alt.Legend(title="Strength", values=shown, format=".3~g", **below)
        width = alt.StrokeWidth("_weight:Q", scale=scale, legend=legend)
    dashes = alt.Scale(domain=["together", "apart"], range=[[1, 0], [5, 3]])
    legend = alt.Legend(title="Pulls", **below) if (edges["_sign"] == "apart").any() else None
    dash = alt.StrokeDash("_sign:N", scale=dashes, legend=legend)
    lines = alt.Chart(records(edges)).mark_rule(color="#a6a6a6").encode(x2=alt.X2(field="_x2"), y2=alt.Y2(field="_y2"))
    return lines.encode(strokeDash=dash, strokeWidth=width, tooltip=[tooltip("_weight", "Strength", ".4~g")])
