"""Charts: what is drawn of a frame or of vectors, what it is saved as, and what cannot be drawn."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
from datetime import UTC, datetime
from itertools import combinations, product

import altair as alt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laplex as lx
from laplex import plots
from laplex.plots.labels import place, spread, text_width
from laplex.plots.network import _layout, edges
from laplex.rows import Rows
from laplex.tokens import Slices
from laplex.vectors import Vectors

ODD_WORDS = ["</script><script>alert(1)</script>", "東京", "مرحبا", 'it\'s "q"', "a.b[c]", "back\\"]
PERIODS = ("1861", "1901", "1941")


def distances(words=("war", "peace"), interval=False, along="period", values=PERIODS):
    """What `Embeddings.distance` gives."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(list(product(words, values)), columns=["word", along])
    frame = frame.assign(party="D – R", distance=1 + random.random(len(frame)), count_one=5, count_two=7)
    return frame.assign(lower=frame["distance"] - 0.25, upper=frame["distance"] + 0.5) if interval else frame


def differing(words=("war", "peace", "canal"), interval=False):
    """What `Embeddings.contrast` gives."""
    frame = pd.DataFrame({"word": words, "party": "D – R", "distance": np.linspace(2, 1, len(words)), "count_one": 3})
    return frame.assign(lower=frame["distance"] - 0.1, upper=frame["distance"] + 3) if interval else frame


def layers(chart, mark=None):
    """The layers of a chart with one panel, in order; those with a mark of this type."""
    spec = chart.to_dict()
    return [layer for layer in spec["layer"] if mark in (None, layer["mark"]["type"])]


def data(chart, layer=None):
    """The rows that a layer draws, or those of the whole chart."""
    spec = chart.to_dict()
    return pd.DataFrame(spec["datasets"][(layer if layer and "data" in layer else spec)["data"]["name"]])


def svg(chart, tmp_path):
    chart.save(tmp_path / "chart.svg")
    return (tmp_path / "chart.svg").read_text()


def texts(picture):
    return [re.sub("&lt;", "<", re.sub("&gt;", ">", t)) for t in re.findall(r"<text[^>]*>([^<]*)</text>", picture)]


# Files


def test_a_chart_is_saved_in_four_formats(tmp_path):
    chart = plots.lines(distances())
    for ending in ("pdf", "svg", "PNG", "html"):
        chart.save(tmp_path / f"chart.{ending}")
    assert (tmp_path / "chart.pdf").read_bytes().startswith(b"%PDF")
    picture = (tmp_path / "chart.svg").read_text()
    assert {"war", "peace", "Period", "1861", "Distance between D and R"} <= set(texts(picture))
    png = (tmp_path / "chart.PNG").read_bytes()
    assert png.startswith(b"\x89PNG")
    size = [float(n) for n in re.search(r'<svg[^>]* width="([\d.]+)" height="([\d.]+)"', picture).groups()]
    assert struct.unpack(">II", png[16:24]) == pytest.approx([2 * side for side in size], abs=2)
    assert 480 < size[0] < 640
    assert sorted(path.name for path in tmp_path.glob("*chart*")) == sorted(p.name for p in tmp_path.glob("chart.*"))


def test_a_page_loads_nothing_and_no_word_breaks_out_of_it(tmp_path):
    chart = plots.bars(differing(ODD_WORDS))
    chart.save(str(tmp_path / "chart.html"))
    page = (tmp_path / "chart.html").read_text()
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)\s*=\s*[\"']?\s*(https?:)?//", page)
    assert not re.search(r"<link|@import|import\(", page)
    assert page.count("</script>") == page.count("<script>") == 2
    spec, _ = json.JSONDecoder().raw_decode(page[page.rindex('vegaEmbed("#chart", ') + len('vegaEmbed("#chart", ') :])
    assert spec == chart.to_dict()
    assert [row["word"] for row in next(iter(spec["datasets"].values()))] == ODD_WORDS


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "chart.svg"
    path.write_text("old")
    broken = alt.Chart({"values": [{"a": 1}]}).mark_point().encode(alt.X(field="a", type="quantitative"))
    broken = broken.transform_calculate(b="this is ( no expression")
    with pytest.raises(ValueError, match="conversion failed"):
        plots.save(broken, path)
    assert path.read_text() == "old"
    plots.lines(distances()).save(path)
    assert path.read_text().startswith("<svg")
    assert [p.name for p in tmp_path.iterdir() if p.name != "cache"] == ["chart.svg"]


@pytest.mark.parametrize("name", ["chart.jpg", "chart", "chart.pdf.gz", ".png"])
def test_an_ending_that_is_not_known(name, tmp_path):
    with pytest.raises(lx.InputError, match=r"has to end in \.pdf, \.svg, \.png, \.html"):
        plots.lines(distances()).save(tmp_path / name)


def test_where_nothing_can_be_written(tmp_path):
    with pytest.raises(lx.StorageError, match="cannot write"):
        plots.lines(distances()).save(tmp_path / "missing" / "chart.svg")
    (tmp_path / "chart.svg").mkdir()
    with pytest.raises(lx.StorageError, match="is a folder"):
        plots.lines(distances()).save(tmp_path / "chart.svg")


def test_save_takes_altair_charts_of_any_size_and_nothing_else(tmp_path):
    frame = pd.DataFrame({"a": range(6000)})
    plots.save(alt.Chart(frame).mark_point().encode(alt.X(field="a", type="quantitative")), tmp_path / "a.svg")
    assert (tmp_path / "a.svg").exists()
    changed = plots.lines(distances()).altair.properties(title="Mine")
    plots.save(changed, tmp_path / "b.svg")
    assert "Mine" in texts((tmp_path / "b.svg").read_text())
    with pytest.raises(lx.InputError, match="no chart: DataFrame"):
        plots.save(frame, tmp_path / "c.svg")


def test_notebooks_get_a_chart_and_a_picture():
    chart = plots.lines(distances())
    shown = chart._repr_mimebundle_()
    assert [value for kind, value in shown.items() if "vegalite" in kind] == [chart.to_dict()]
    assert "war" in texts(shown["image/svg+xml"])


def test_altair_is_imported_by_the_first_chart_only():
    script = "import sys, laplex.plots; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "pandas" in loaded
    assert not {"altair", "vl_convert", "networkx", "umap"} & set(loaded)


# Lines


def test_lines_are_drawn_of_the_right_columns():
    frame = distances()
    chart = plots.lines(frame)
    (line,) = layers(chart, "line")
    assert line["encoding"]["y"]["field"] == "distance"
    assert line["encoding"]["y"]["title"] == "Distance between D and R"
    assert line["encoding"]["x"]["title"] == "Period"
    assert line["encoding"]["color"]["scale"]["domain"] == ["war", "peace"]
    drawn = data(chart)
    assert drawn["_x"].tolist() == [1861, 1901, 1941] * 2
    assert drawn["distance"].tolist() == pytest.approx(frame["distance"].tolist(), rel=1e-14)
    low, high = line["encoding"]["y"]["scale"]["domain"]
    assert low < frame["distance"].min()
    assert high > frame["distance"].max()
    tips = [tip["title"] for tip in layers(chart, "point")[0]["encoding"]["tooltip"]]
    assert tips == ["Word", "Period", "Party", "Distance", "Count one", "Count two"]


def test_there_is_a_band_if_there_are_intervals():
    assert layers(plots.lines(distances()), "area") == []
    chart = plots.lines(distances(interval=True))
    (band,) = layers(chart, "area")
    assert (band["encoding"]["y"]["field"], band["encoding"]["y2"]["field"]) == ("lower", "upper")
    low, high = layers(chart, "line")[0]["encoding"]["y"]["scale"]["domain"]
    assert low <= data(chart)["lower"].min()
    assert high >= data(chart)["upper"].max()


@pytest.mark.parametrize(("count", "legend", "named"), [(1, False, True), (6, False, True), (7, True, False)])
def test_few_lines_have_their_names_at_their_ends_more_have_a_legend(count, legend, named, tmp_path):
    words = [f"w{i}" for i in range(count)]
    chart = plots.lines(distances(words))
    color = layers(chart, "line")[0]["encoding"]["color"]
    assert (color["legend"] is not None) is legend
    assert (len(layers(chart, "text")) == 1) is named
    assert set(words) <= set(texts(svg(chart, tmp_path)))


def test_names_at_the_ends_of_lines_stay_apart_and_near():
    words = [f"w{i}" for i in range(6)]
    frame = distances(words).assign(distance=np.tile([0.0, 10.0, 5.0], 6) + np.repeat(np.arange(6) / 1000, 3))
    chart = plots.lines(frame)
    (label,) = layers(chart, "text")
    low, high = label["encoding"]["y"]["scale"]["domain"]
    ends = data(chart, label)["_end"].to_numpy() * 300 / (high - low)
    assert np.diff(np.sort(ends)).min() >= 12
    assert abs(ends.mean() - 300 * frame["distance"][2::3].mean() / (high - low)) < 0.01
    assert data(chart, label).sort_values("_end")["_series"].tolist() == words


def test_a_line_that_ends_early_is_named_by_its_last_value():
    frame = distances(["war"])
    frame.loc[2, "distance"] = np.nan
    chart = plots.lines(frame)
    assert data(chart, layers(chart, "text")[0])["_end"].tolist() == pytest.approx([frame["distance"][1]])


def test_colors_run_out_and_dashes_follow():
    words = [f"w{i}" for i in range(10)]
    encoding = layers(plots.lines(distances(words)), "line")[0]["encoding"]
    looks = list(zip(encoding["color"]["scale"]["range"], map(tuple, encoding["strokeDash"]["scale"]["range"])))
    assert len(set(looks)) == 10
    assert "#F0E442" not in encoding["color"]["scale"]["range"]


def test_more_rows_than_altair_takes_by_itself(tmp_path):
    frame = distances([f"w{i}" for i in range(600)], values=[str(year) for year in range(2000, 2010)])
    chart = plots.lines(frame)
    assert len(data(chart)) == 6000
    (line,) = layers(chart, "line")
    assert "color" not in line["encoding"]
    assert line["encoding"]["detail"]["field"] == "_series"
    assert svg(chart, tmp_path).count('aria-roledescription="line mark"') == 600


def test_months_are_moments_in_utc(tmp_path):
    chart = plots.lines(distances(values=("2010-01", "2010-07", "2011-01")))
    x = layers(chart, "line")[0]["encoding"]["x"]
    assert (x["type"], x["scale"]["type"]) == ("temporal", "utc")
    moments = [
        datetime(year, month, 1, tzinfo=UTC).timestamp() * 1000 for year, month in ((2010, 1), (2010, 7), (2011, 1))
    ]
    assert data(chart)["_x"].tolist() == moments * 2
    assert {"2010", "July", "2011"} <= set(texts(svg(chart, tmp_path)))
    as_dates = distances(values=pd.to_datetime(["2010-01-01", "2010-07-01", "2011-01-01"]))
    assert data(plots.lines(as_dates))["_x"].tolist() == moments * 2


@pytest.mark.parametrize("values", [("2010-13", "2010-07"), ("early", "late"), ("inf", "1")])
def test_what_is_no_number_and_no_date_is_a_name(values):
    encoding = layers(plots.lines(distances(values=values)), "line")[0]["encoding"]
    assert encoding["x"]["type"] == "ordinal"
    assert encoding["x"]["scale"]["domain"] == sorted(values)


def test_categories_keep_their_order():
    order = ["low", "middle", "high"]
    frame = distances(along="rank of income", values=order)
    frame["rank of income"] = pd.Categorical(frame["rank of income"], order, ordered=True)
    encoding = layers(plots.lines(frame), "line")[0]["encoding"]
    assert encoding["x"]["scale"]["domain"] == order


def test_numbers_that_are_not_whole_are_shown_as_they_are(tmp_path):
    picture = svg(plots.lines(distances(values=(0.5, 1.0, 2.5)), x="period"), tmp_path)
    assert {"0.5", "1", "2.5"} <= set(texts(picture))


def test_words_are_panels_if_something_else_differs_too(tmp_path):
    frame = pd.DataFrame(list(product(("war", "peace"), ("D", "R"), PERIODS)), columns=["word", "party", "period"])
    frame = frame.assign(position=np.linspace(-1, 1, len(frame)))
    chart = plots.lines(frame)
    spec = chart.to_dict()
    assert spec["facet"]["sort"] == ["war", "peace"]
    line = next(layer for layer in spec["spec"]["layer"] if layer["mark"]["type"] == "line")
    assert line["encoding"]["color"]["scale"]["domain"] == ["D", "R"]
    assert line["encoding"]["y"]["title"] == "Position"
    found = texts(svg(chart, tmp_path))
    assert found.index("war") < found.index("peace")
    assert {"D", "R"} <= set(found)
    by_word = plots.lines(frame, color="word").to_dict()
    assert by_word["facet"]["sort"] == ["D", "R"]


def test_lines_of_drift_trajectory_and_similarity():
    steps = pd.DataFrame({"word": "war", "from": PERIODS[:2], "to": PERIODS[1:], "distance": [1.0, 2.0], "count": 3})
    x = layers(plots.lines(steps), "line")[0]["encoding"]["x"]
    assert x["title"] == "Step to"
    near = [f"a, {period}" for period in PERIODS]
    path = pd.DataFrame({"word": "war", "period": PERIODS, "to": "peace", "similarity": 0.5, "neighbors": near})
    chart = plots.lines(path)
    assert layers(chart, "line")[0]["encoding"]["y"]["title"] == "Similarity to peace"
    assert data(chart, layers(chart, "text")[0])["_series"].tolist() == ["war"]


def test_columns_can_be_named():
    frame = distances().rename(columns={"period": "wave"}).assign(other=2.0)
    chart = plots.lines(frame, x="wave", y="other", color="word")
    encoding = layers(chart, "line")[0]["encoding"]
    assert (encoding["x"]["title"], encoding["y"]["field"]) == ("Wave", "other")


@pytest.mark.parametrize(
    "name", ["a.b[c]", "x:Q", "_x", 'say "yes"', "back\\", "two\nlines", "期間", "it's", "__proto__", '\\"']
)
def test_columns_may_be_called_anything(name, tmp_path):
    frame = distances(interval=True).rename(columns={"period": name, "distance": f"d {name}"})
    chart = plots.lines(frame, y=f"d {name}")
    assert data(chart)["_x"].tolist() == [1861, 1901, 1941] * 2
    found = " ".join(texts(svg(chart, tmp_path))).replace("&quot;", '"')
    assert " ".join(name.replace("\\", "/").split()).strip("_") in found
    bars = plots.bars(frame[:1], x=f"d {name}")
    assert svg(bars, tmp_path).count('aria-roledescription="bar"') == 1


def test_words_may_be_anything(tmp_path):
    for value in ODD_WORDS:
        frame = distances().assign(party=f"{value} – two\nlines")
        assert "and two lines" in " ".join(texts(svg(plots.lines(frame), tmp_path)))
    for chart in (plots.lines(distances(ODD_WORDS, interval=True)), plots.bars(differing(ODD_WORDS))):
        assert set(ODD_WORDS) <= set(t.replace("&quot;", '"') for t in texts(svg(chart, tmp_path)))
    frame = distances(ODD_WORDS)
    panels = pd.concat([frame.assign(party=side, position=0.5) for side in ODD_WORDS[:2]])
    assert plots.lines(panels).to_dict()["facet"]["sort"] == ODD_WORDS


def test_frames_of_other_packages_are_taken_and_none_is_changed():
    frame = distances(interval=True)
    frame.index = range(5, 11)
    before = frame.copy()
    expected = plots.lines(frame).to_dict()
    pd.testing.assert_frame_equal(frame, before)
    other = pl.DataFrame({name: frame[name].tolist() for name in frame})
    assert plots.lines(other).to_dict() == expected
    assert plots.lines(other.to_arrow()).to_dict() == expected


@pytest.mark.parametrize(
    ("frame", "choices", "message"),
    [
        (distances()[:0], {}, "empty"),
        (pd.DataFrame(), {}, "empty"),
        ("distances", {}, "not of str"),
        (None, {}, "not of NoneType"),
        (distances().drop(columns="distance"), {}, "y= one of"),
        (distances().drop(columns="distance").assign(a=1.0, b=2.0), {}, "y= one of a, b"),
        (distances(), {"y": "dist"}, 'y="dist" is no column'),
        (distances(), {"x": "time"}, 'x="time" is no column of the frame; it has word, period'),
        (distances(), {"color": "side"}, 'color="side" is no column'),
        (distances(), {"y": "word"}, '"word" does not hold numbers'),
        (distances(interval=True).assign(lower="a"), {}, '"lower" does not hold numbers'),
        (distances().assign(distance=np.nan), {}, "no value"),
        (distances().assign(distance=np.inf), {}, "no value"),
        (distances().drop(columns="period"), {}, "x= one of"),
        (distances().assign(year=[1, 2, 3, 3, 2, 1]), {}, "x= one of period, year"),
        (distances().assign(period=["1", None, "3"] * 2), {"x": "period"}, "no value in 2 rows"),
        (pd.concat([distances(), distances()]), {}, '"war" has more than one row where period is 1861'),
        (distances().assign(word=1).drop(columns="word").assign(period="1"), {}, "the frame has more than one row"),
        (distances().set_axis(["a", "a", *"bcde"], axis=1), {}, 'two columns of the frame are called "a"'),
        (pd.concat([distances([f"w{i}" for i in range(13)]).assign(side=s) for s in "ab"]), {}, "13 panels"),
    ],
)
def test_what_lines_cannot_draw(frame, choices, message):
    with pytest.raises(lx.InputError, match=re.escape(message)):
        plots.lines(frame, **choices)


def test_history(tmp_path):
    fitted = pd.DataFrame(
        {"epoch": [1, 2], "log_likelihood": [-3.0, -2.0], "held_out": [-4.0, -3.5], "priors": [{}, {}]}
    )
    chart = plots.history(fitted)
    drawn = data(chart)
    assert drawn.groupby("text")["log likelihood per token"].apply(list).to_dict() == {
        "trained on": [-3.0, -2.0],
        "held out": [-4.0, -3.5],
    }
    assert {"Epoch", "Log likelihood per token", "held out"} <= set(texts(svg(chart, tmp_path)))
    alone = plots.history(fitted.assign(held_out=np.nan))
    assert set(data(alone)["text"]) == {"trained on"}
    assert len(data(plots.lines(fitted, x="epoch", y="held_out"))) == 2


@pytest.mark.parametrize("frame", [pd.DataFrame({"epoch": [1]}), pd.DataFrame({"held_out": [1.0]}), distances()])
def test_what_is_no_history(frame):
    with pytest.raises(lx.InputError, match="no history"):
        plots.history(frame)


# Bars


def test_bars_are_in_the_order_of_the_frame(tmp_path):
    frame = differing(["c", "a", "b"])
    chart = plots.bars(frame)
    (bar,) = layers(chart, "bar")
    assert bar["encoding"]["y"]["scale"]["domain"] == ["c", "a", "b"]
    assert bar["encoding"]["x"]["title"] == "Distance between D and R"
    assert bar["encoding"]["x"]["scale"]["domain"][0] == 0
    assert layers(chart, "rule") == []
    found = texts(svg(chart, tmp_path))
    assert found.index("c") < found.index("a") < found.index("b")


def test_bars_have_intervals():
    chart = plots.bars(differing(interval=True))
    (rule,) = layers(chart, "rule")
    assert (rule["encoding"]["x"]["field"], rule["encoding"]["x2"]["field"]) == ("lower", "upper")
    assert layers(chart, "bar")[0]["encoding"]["x"]["scale"]["domain"][1] >= data(chart)["upper"].max()


def test_pairs_have_bars_of_their_own():
    frame = pd.concat([differing().assign(party=pair) for pair in ("D – R", "D – I")])
    spec = plots.bars(frame).to_dict()
    assert [part["title"] for part in spec["concat"]] == ["D – I", "D – R"]
    domains = [part["layer"][0]["encoding"]["x"]["scale"]["domain"] for part in spec["concat"]]
    assert domains[0] == domains[1]
    with pytest.raises(lx.InputError, match='"war" has more than one row: say panels='):
        plots.bars(frame, panels=[])


def test_bars_of_neighbors_drift_and_negative_positions(tmp_path):
    near = pd.DataFrame({"word": "war", "rank": [1, 2], "neighbor": ["wars", "army"], "similarity": [0.9, 0.8]})
    (bar,) = layers(plots.bars(near), "bar")
    assert bar["encoding"]["y"]["scale"]["domain"] == ["wars", "army"]
    assert bar["encoding"]["x"]["title"] == "Similarity to war"
    moved = differing().drop(columns="party").assign(**{"from": "1861", "to": "1941"}, before=list("abc"), path=9.0)
    assert layers(plots.bars(moved), "bar")[0]["encoding"]["x"]["title"] == "Distance from 1861 to 1941"
    below = pd.DataFrame({"word": ["a", "b"], "position": [-0.5, 0.25]})
    low, high = layers(plots.bars(below), "bar")[0]["encoding"]["x"]["scale"]["domain"]
    assert low < -0.5 < 0.25 < high


def test_of_many_words_the_first_have_bars():
    chart = plots.bars(differing([f"w{i}" for i in range(7000)]), top=25)
    assert data(chart)["word"].tolist() == [f"w{i}" for i in range(25)]
    assert chart.to_dict()["title"]["text"] == "The first 25 of 7,000 words"


@pytest.mark.parametrize(
    ("frame", "choices", "message"),
    [
        (differing()[:0], {}, "empty"),
        (differing().rename(columns={"word": "w"}), {}, 'y="word" is no column'),
        (differing(), {"x": "a"}, 'x="a" is no column'),
        (differing(), {"panels": ["a"]}, 'panels="a" is no column'),
        (differing(), {"top": 0}, "top=0"),
        (differing(["a", "a"]), {}, '"a" has more than one row'),
        (pd.concat([differing().assign(side=i) for i in range(13)]), {}, "13 panels, by side"),
    ],
)
def test_what_bars_cannot_draw(frame, choices, message):
    with pytest.raises(lx.InputError, match=re.escape(message)):
        plots.bars(frame, **choices)


# Two dimensions


WORDS = ["war", "peace", "army", "tax", "bank", "gold", "canal", "東京"]


def some_vectors(columns=("party", "period"), keys=None, words=WORDS, graph=None, seed=0):
    """Embeddings with random vectors; the counts of a slice are those of its number, except that one word is absent."""
    keys = tuple(product("DR", PERIODS)) if keys is None else keys
    random = np.random.default_rng(seed)
    slices = Slices(tuple(columns), tuple(keys), np.zeros(0, np.int32))
    counts = random.permutation(len(keys) * len(words)).reshape(len(keys), len(words)) + 1
    counts[-1, 0] = 0
    rows = Rows([lx.Vocabulary(words, counts.sum(0))], slices)
    theta = random.standard_normal((len(rows), 6)).astype(np.float32)
    slot = np.arange(len(rows), dtype=np.int32)
    return lx.Embeddings(rows, theta, slot, [counts], graph or lx.Graph.of(len(rows)), {}, [])


def gaps(points):
    return np.array([np.linalg.norm(a - b) for a, b in combinations(np.asarray(points, float), 2)])


def by_covariance(vectors):
    """The points of principal component analysis, another way than by the package."""
    centered = vectors - vectors.mean(0)
    return centered @ np.linalg.eigh(centered.T @ centered)[1][:, ::-1][:, :2]


def at_length_one(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_a_trajectory_is_a_path_among_neighbors():
    fitted = some_vectors()
    chart = plots.trajectory(fitted, "war", k=4, party="R")
    neighbors, names, line, _, dots, _ = layers(chart)
    own = np.stack([fitted.vector("war", party="R", period=period) for period in PERIODS])
    ranked = []
    for period, vector in zip(PERIODS, own):
        similarity = at_length_one(fitted.matrix(party="R", period=period)) @ vector
        ranked.append([WORDS[i] for i in np.argsort(-similarity) if WORDS[i] != "war"])
    expected = list(dict.fromkeys(word for rank in zip(*ranked) for word in rank))[:4]
    assert data(chart, names)["_text"].tolist() == expected
    means = [
        np.mean([at_length_one(fitted.vector(word, party="R", period=p)[None])[0] for p in PERIODS], axis=0)
        for word in expected
    ]
    points = by_covariance(np.concatenate([at_length_one(own), means]).astype(float))
    path = data(chart, line)
    drawn = np.concatenate([path[["_x", "_y"]], data(chart, neighbors)[["_x", "_y"]]])
    np.testing.assert_allclose(gaps(drawn), gaps(points), rtol=1e-4)
    assert path["_text"].tolist() == list(PERIODS)
    assert path["_count"].tolist() == [fitted.count("war", party="R", period=p) for p in PERIODS]
    assert path["_count"].tolist()[-1] == 0
    assert dots["encoding"]["fill"]["condition"]["test"] == "datum._count > 0"
    assert chart.to_dict()["title"]["text"] == "war"


def test_a_trajectory_points_from_early_to_late():
    chart = plots.trajectory(some_vectors(), "war", party="R")
    _, _, line, arrows, _, _ = layers(chart)
    path, heads = data(chart, line)[["_x", "_y"]].to_numpy(), data(chart, arrows)
    for (across, up), angle in zip(np.diff(path, axis=0), heads["_angle"]):
        length = np.hypot(across, up)
        assert (np.sin(np.radians(angle)), np.cos(np.radians(angle))) == pytest.approx((across / length, up / length))
    assert len(heads) == 2


def test_a_trajectory_has_a_path_for_each_party(tmp_path):
    chart = plots.trajectory(some_vectors(), "war")
    line = layers(chart)[2]
    assert line["encoding"]["color"]["scale"]["domain"] == ["D", "R"]
    assert len(data(chart, line)) == 6
    assert {"D", "R", "1861", "東京"} <= set(texts(svg(chart, tmp_path)))


def test_planes_have_one_scale_for_both_axes():
    for chart in (plots.trajectory(some_vectors(), "war"), plots.map(some_vectors(), party="D", period="1861")):
        spec = chart.to_dict()
        encoding = spec["layer"][0]["encoding"]
        across, up = (np.ptp(encoding[axis]["scale"]["domain"]) for axis in "xy")
        assert across / spec["width"] == pytest.approx(up / spec["height"])
        drawn = data(chart, spec["layer"][0])
        for axis in "xy":
            assert drawn[f"_{axis}"].between(*encoding[axis]["scale"]["domain"]).all()


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"word": "wra"}, '"wra" is not in the vocabulary'),
        ({"party": "X"}, "has no value 'X'"),
        ({"place": "X"}, 'do not vary by "place"'),
        ({"along": "party"}, '"party" has no order'),
        ({"along": "period", "period": "1861"}, "leave out period='1861'"),
        ({"k": 0}, "k=0"),
        ({"language": "en"}, "language"),
    ],
)
def test_what_no_trajectory_can_be_drawn_of(choices, message):
    with pytest.raises(lx.InputError, match=re.escape(message)):
        plots.trajectory(some_vectors(), **({"word": "war"} | choices))


def test_a_trajectory_needs_time_and_not_too_many_paths():
    with pytest.raises(lx.InputError, match="no time"):
        plots.trajectory(some_vectors(("party",), [("D",), ("R",)]), "war")
    crossed = some_vectors(keys=[("D", "1861"), ("R", "1901")])
    with pytest.raises(lx.InputError, match='differ by "period"'):
        plots.trajectory(crossed, "war")
    many = some_vectors(("state", "period"), list(product("abcdefgh", PERIODS)))
    with pytest.raises(lx.InputError, match="8 paths are too many: choose by state="):
        plots.trajectory(many, "war")


def test_a_map_shows_the_most_frequent_words_of_a_slice():
    fitted = some_vectors()
    chart = plots.map(fitted, top=5, party="R", period="1941")
    points, _ = layers(chart)
    drawn = data(chart, points)
    counts = {word: fitted.count(word, party="R", period="1941") for word in WORDS}
    assert drawn["_text"].tolist() == sorted(WORDS, key=lambda word: -counts[word])[:5]
    assert drawn["_count"].tolist() == [counts[word] for word in drawn["_text"]]
    vectors = np.stack([fitted.vector(word, party="R", period="1941") for word in drawn["_text"]])
    expected = by_covariance(at_length_one(vectors).astype(float))
    np.testing.assert_allclose(gaps(drawn[["_x", "_y"]]), gaps(expected), rtol=1e-4)
    assert points["encoding"]["size"]["field"] == "_count"
    assert [tip["title"] for tip in points["encoding"]["tooltip"]] == ["Word", "Occurrences"]
    assert chart.to_dict()["title"]["text"] == "R, 1941"


def test_a_map_of_some_words(tmp_path):
    chart = plots.map(some_vectors((), [()]), words=["tax", "bank", "東京", "tax"])
    assert sorted(data(chart, layers(chart)[0])["_text"]) == ["bank", "tax", "東京"]
    assert {"tax", "bank", "東京"} <= set(texts(svg(chart, tmp_path)))
    assert "title" not in chart.to_dict()


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({}, "say which slice: party="),
        ({"party": "D", "words": ["war", "tax"]}, "three words or more, not 2"),
        ({"party": "D", "words": []}, "no words are given"),
        ({"party": "D", "words": ["war", "tax", "wra"]}, '"wra" is not in the vocabulary'),
        ({"party": "D", "top": 2}, "three words or more"),
        ({"party": "D", "top": -1}, "top=-1"),
        ({"party": "D", "method": "tsne"}, 'method="tsne" is not known: write "pca" or "umap"'),
    ],
)
def test_what_no_map_can_be_drawn_of(choices, message):
    with pytest.raises(lx.InputError, match=re.escape(message)):
        plots.map(some_vectors(("party",), [("D",), ("R",)]), **choices)


def test_umap_is_asked_for_by_name_if_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(lx.InputError, match="pip install umap-learn"):
        plots.map(some_vectors((), [()]), method="umap")


def test_umap():
    pytest.importorskip("umap")
    chart = plots.map(some_vectors((), [()]), method="umap")
    assert np.isfinite(data(chart, layers(chart)[0])[["_x", "_y"]].to_numpy()).all()


# Graphs


def joined(first, second, weight=1.0, **choices):
    """One-slice embeddings whose graph has these edges; nodes are the numbers of words, contexts behind them."""
    graph = lx.Graph.of(2 * len(WORDS), first, second, weight, diagonal=1.0, **choices)
    return some_vectors((), [()], graph=graph)


def drawn_graph(chart):
    """The nodes by name, and the edges as pairs of names."""
    edges, _, dots, *_ = layers(chart)
    nodes = data(chart, dots)
    names = nodes["_text"].to_numpy()
    lines = data(chart, edges)
    return nodes.set_index("_text"), {frozenset(names[[a, b]]) for a, b in zip(lines["_one"], lines["_two"])}, lines


def test_a_graph_shows_what_the_prior_joins_to_a_word():
    fitted = joined([0, 0, 1, 3], [1, 10, 2, 4], [1.0, 4.0, 9.0, 9.0])  # 10 is "army" as context
    chart = plots.graph(fitted, "war")
    nodes, edges, lines = drawn_graph(chart)
    assert nodes["_kind"].to_dict() == {"war": "word", "peace": "word", "army": "context"}
    assert nodes["_asked"].to_dict() == {"war": True, "peace": False, "army": False}
    assert edges == {frozenset(["war", "peace"]), frozenset(["war", "army"])}
    assert sorted(lines["_weight"]) == [1.0, 4.0]
    assert layers(chart)[0]["encoding"]["strokeWidth"]["field"] == "_weight"
    shapes = layers(chart)[2]["encoding"]["shape"]["scale"]
    assert dict(zip(shapes["domain"], shapes["range"])) == {"word": "circle", "context": "square"}


def test_the_edges_of_a_graph_are_a_table_too():
    found = edges(joined([0, 0, 1, 3], [1, 10, 2, 4], [1.0, 4.0, 9.0, 9.0]), "war")
    assert found.columns.tolist() == ["one", "one_kind", "two", "two_kind", "weight", "sign", "directed"]
    assert sorted(found[["one", "two", "two_kind", "weight"]].itertuples(index=False, name=None)) == [
        ("war", "army", "context", 4.0),
        ("war", "peace", "word", 1.0),
    ]
    with pytest.raises(lx.InputError, match='the prior joins "war" to nothing'):
        edges(joined([3], [4]), "war")


def test_a_graph_goes_as_deep_as_asked():
    fitted = joined([0, 1, 2, 3], [1, 2, 3, 4])
    assert list(drawn_graph(plots.graph(fitted, "war", depth=2))[0].index) == ["war", "peace", "army"]
    assert list(drawn_graph(plots.graph(fitted, "war", depth=9))[0].index) == ["war", "peace", "army", "tax", "bank"]


def test_of_many_neighbors_those_with_the_strongest_edges_are_drawn():
    fitted = joined([0] * 6, [1, 2, 3, 4, 5, 6], [1.0, 6.0, 2.0, 5.0, 3.0, 4.0])
    chart = plots.graph(fitted, "war", most=3)
    assert list(drawn_graph(chart)[0].index) == ["war", "army", "bank", "canal"]
    assert "3 of 6 neighbors" in chart.to_dict()["title"]["subtitle"]


def test_signs_directions_and_fixed_vectors_are_seen(tmp_path):
    fitted = joined([0, 0, 0], [1, 2, 16], sign=[-1, 1, 1], directed=[False, True, False], targets=np.ones((1, 6)))
    chart = plots.graph(fitted, "war")
    nodes, _, lines = drawn_graph(chart)
    assert nodes["_kind"].to_dict() == {"war": "word", "peace": "word", "army": "word", "fixed vector": "fixed vector"}
    assert lines["_sign"].tolist() == ["apart", "together", "together"]
    dashes = layers(chart)[0]["encoding"]["strokeDash"]
    assert dict(zip(dashes["scale"]["domain"], dashes["scale"]["range"])) == {"together": [1, 0], "apart": [5, 3]}
    assert dashes["legend"] is not None
    heads = data(chart, layers(chart)[1])
    assert len(heads) == 1
    position = nodes[["_x", "_y"]]
    assert np.allclose(heads[["_x", "_y"]], position.loc["war"] + 0.6 * (position.loc["army"] - position.loc["war"]))
    assert {"apart", "army"} <= set(texts(svg(chart, tmp_path)))


def test_slices_are_told_apart_in_a_graph():
    fitted = lx.fit(
        lx.Model(vary=["party"], prior=lx.Ridge(1.0) + lx.Groups("party", 7.0), dimensions=3),
        lx.read([{"text": "war peace war peace tax", "party": party} for party in "DRI"], metadata=["party"]),
        min_count=1,
        epochs=1,
        quiet=True,
    )
    nodes, edges, lines = drawn_graph(plots.graph(fitted, "war"))
    assert sorted(nodes.index) == ["D", "I", "R"]
    assert edges == {frozenset(pair) for pair in combinations("DIR", 2)}
    assert set(lines["_weight"]) == {7.0}
    alone, _, _ = drawn_graph(plots.graph(fitted, "war", party="R"))
    assert alone["_asked"].to_dict() == {"D": False, "I": False, "R": True}
    with pytest.raises(lx.InputError, match=r'"war" has 4 vectors, more than most=2: choose by party='):
        plots.graph(fitted, "war", most=2)


def test_tied_vectors_are_one_node():
    fitted = some_vectors(("party",), [("D",), ("R",)])
    count = len(WORDS)
    slot = np.r_[np.arange(count), np.arange(count), count + np.arange(count)].astype(np.int32)
    graph = lx.Graph.of(2 * count, [0], [1])
    tied = lx.Embeddings(fitted.rows, fitted.theta[: 2 * count], slot, fitted.counts, graph, {}, [])
    assert list(drawn_graph(plots.graph(tied, "war"))[0].index) == ["war", "peace"]


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"word": "wra"}, '"wra" is not in the vocabulary'),
        ({"word": "gold"}, 'joins "gold" to nothing'),
        ({"word": "war", "depth": 0}, "depth=0"),
        ({"word": "war", "most": 0}, "most=0"),
        ({"word": "war", "party": "D"}, 'do not vary by "party"'),
    ],
)
def test_what_no_graph_can_be_drawn_of(choices, message):
    with pytest.raises(lx.InputError, match=re.escape(message)):
        plots.graph(joined([0], [1]), **choices)


def test_vectors_without_a_prior_have_no_graph():
    fitted = joined([0], [1])
    with pytest.raises(lx.InputError, match="without a graph"):
        plots.graph(Vectors(fitted.rows, fitted.theta, fitted.slot, fitted.counts), "war")


def test_a_layout_keeps_distances():
    points = _layout(np.array([0, 1, 2]), np.array([1, 2, 3]), 4)
    np.testing.assert_allclose(gaps(points), [1, 2, 3, 1, 2, 1], rtol=0.01)
    star = _layout(np.zeros(7, int), np.arange(1, 8), 8)
    assert gaps(star).min() > 0.3
    apart = _layout(np.array([0, 2]), np.array([1, 3]), 4)
    assert np.isfinite(apart).all()


# Labels


@given(st.lists(st.floats(0, 300), min_size=1, max_size=12), st.floats(1, 30))
def test_spread_heights_are_apart_in_the_same_order(heights, gap):
    heights = np.array(heights)
    moved = spread(heights, gap)
    order = np.argsort(heights, kind="stable")
    assert (np.diff(moved[order]) >= gap - 1e-6).all()
    assert moved.mean() == pytest.approx(heights.mean(), abs=1e-6)
    np.testing.assert_allclose(spread(moved, gap - 1e-3), moved, atol=1e-6)


def box(point, text, found, size):
    left = {"left": 0.0, "right": 1.0, "center": 0.5}[found.align]
    width = text_width(text, size)
    x, y = point[0] + found.dx - left * width, point[1] + found.dy
    return x, y - size / 2, x + width, y + size / 2


@settings(max_examples=40)
@given(st.lists(st.tuples(st.floats(0, 400), st.floats(0, 300)), min_size=1, max_size=25), st.integers(0, 9))
def test_placed_labels_cover_nothing(points, length):
    points = np.array(points)
    names = [f"w{i}" * (1 + (i + length) % 4) for i in range(len(points))]
    found = place(points, names, (400, 300), size=10)
    boxes = [box(p, n, f, 10) for p, n, f in zip(points, names, found) if f is not None]
    for one, two in combinations(boxes, 2):
        shared = [min(one[2 + i], two[2 + i]) - max(one[i], two[i]) for i in (0, 1)]
        assert min(shared) <= 1e-9 or shared[0] * shared[1] < 1
    for left, top, right, bottom in boxes:
        assert (left >= -0.05, top >= -0.05, right <= 400.05, bottom <= 300.05) == (True,) * 4
        assert not ((points > [left, top]) & (points < [right, bottom])).all(axis=1).any()
    assert None not in place(points, names, (400, 300), size=10, always=True)


def test_wide_letters_need_more_room():
    assert text_width("東京", 10) == 20
    assert text_width("e\u0301", 10) == text_width("e", 10)
    assert text_width("ill", 10) < text_width("www", 10)
