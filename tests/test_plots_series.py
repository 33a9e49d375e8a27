"""Lines: what is drawn of a frame, how lines are named, and what cannot be drawn."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from charts import ODD_WORDS, PERIODS, data, differing, distances, findings, layers, svg, texts

import laplex as lx
from laplex import plots


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


def test_findings_that_do_not_hold_have_hollow_points(tmp_path):
    chart = plots.lines(findings(["war", "peace"], along="period"))
    hollow = next(layer for layer in layers(chart, "circle") if "transform" in layer)
    assert "not shown to hold" in set(data(chart)["_holds"])
    assert hollow["transform"] == [{"filter": "datum._holds !== 'holds'"}]
    assert "Hollow: not shown to hold" in texts(svg(chart, tmp_path))
    assert layers(plots.lines(findings(["war", "peace"], held=2, along="period")), "circle") == []


def test_more_than_two_comparisons_have_panels():
    pairs = (("D", "R"), ("D", "I"), ("R", "I"))
    spec = plots.lines(findings(["war", "peace"], pairs, along="period")).to_dict()
    assert spec["facet"]["sort"] == ["D – R", "D – I", "R – I"]
    line = next(layer for layer in spec["spec"]["layer"] if layer["mark"]["type"] == "line")
    assert line["encoding"]["color"]["scale"]["domain"] == ["war", "peace"]
    alone = plots.lines(findings(["war"], pairs, along="period")).to_dict()
    assert alone["facet"]["sort"] == ["D – R", "D – I", "R – I"]
    two = plots.lines(findings(["war", "peace"], pairs[:2], along="period")).to_dict()
    assert two["facet"]["sort"] == ["war", "peace"]


def test_a_band_needs_no_word():
    chart = plots.lines(distances(["war"], interval=True).drop(columns=["word", "party"]))
    assert len(layers(chart, "area")) == 1


@pytest.mark.parametrize(("words", "panels"), [(2, 0), (3, 3), (24, 24), (25, 0)])
def test_more_than_two_bands_have_panels_of_their_own(words, panels):
    rows = [
        {"word": f"w{i}", "period": year, "distance": 0.3, "lower": 0.2, "upper": 0.4}
        for i in range(words)
        for year in (2001, 2002, 2003)
    ]
    frame = pd.DataFrame(rows)
    drawn = plots.lines(frame).to_dict()
    assert ("facet" in drawn) == (panels > 0)
    if panels:
        assert len(drawn["facet"]["sort"]) == panels
    few = words <= 7 or words > 24
    assert ("facet" not in plots.lines(frame, color="word").to_dict()) is few
    assert ("facet" not in plots.lines(frame.drop(columns=["lower", "upper"])).to_dict()) is few


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


def test_where_colors_run_out_each_line_has_a_panel():
    seven = layers(plots.lines(distances([f"w{i}" for i in range(7)])), "line")[0]["encoding"]["color"]["scale"]
    assert len(set(seven["range"])) == 7
    assert "#F0E442" not in seven["range"]
    words = [f"w{i}" for i in range(8)]
    assert plots.lines(distances(words)).to_dict()["facet"]["sort"] == words
    sides = pd.concat([distances(words).assign(party=side, position=0.5) for side in ("D", "R")])
    assert len(plots.lines(sides, y="position", color="word").to_dict()["facet"]["sort"]) == 16


def test_a_point_that_stands_alone_keeps_its_interval():
    frame = distances(["war", "peace"], interval=True, values=("1861", "1881", "1901", "1921"))
    frame.loc[[1, 2], ["distance", "lower", "upper"]] = np.nan  # of war, whose first and last values are then alone
    chart = plots.lines(frame)
    assert data(chart)["_alone"].tolist() == [True, False, False, True] + 4 * [False]
    (bar,) = [layer for layer in layers(chart, "rule") if layer["transform"] == [{"filter": "datum._alone"}]]
    assert (bar["encoding"]["y"]["field"], bar["encoding"]["y2"]["field"]) == ("lower", "upper")


def test_positions_are_between_poles_that_have_names(tmp_path):
    poles = [
        {"word": word, "pole": pole} for word, pole in (("rich", "first"), ("wealthy", "first"), ("poor", "second"))
    ]
    frame = pd.DataFrame({"word": "tax", "period": PERIODS, "position": [0.1, 0.2, 0.4]})
    frame.attrs["poles"] = poles
    title = "← poor · rich, wealthy →"
    assert layers(plots.lines(frame), "line")[0]["encoding"]["y"]["title"] == title
    assert title in texts(svg(plots.lines(frame), tmp_path))
    across = pd.DataFrame({"word": ["tax"], "value": "D", "against": "R", "estimate": 0.2, "lower": 0.1, "upper": 0.3})
    across.attrs["poles"] = poles
    (bar,) = layers(plots.bars(across), "bar")
    assert bar["encoding"]["x"]["title"] == "Difference between D and R, towards rich, wealthy →"


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
    picture = svg(plots.lines(distances(values=(0.5, 10.0, 20.0)), x="period"), tmp_path)
    assert {"0.5", "10", "20"} <= set(texts(picture))


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
        chart = plots.lines(frame)
        title = layers(chart, "line")[0]["encoding"]["y"]["title"]
        assert (title if isinstance(title, str) else " ".join(title)).endswith("and two lines")
        assert re.search(r"lines</(text|tspan)>", svg(chart, tmp_path))
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
        (pd.concat([distances([f"w{i}" for i in range(25)]).assign(side=s) for s in "ab"]), {}, "25 panels"),
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


def effect(word="war", along="year", seed=0):
    """What `Embeddings.effect` gives."""
    values = np.linspace(1800.5, 2000.25, 24)
    position = np.linspace(-0.5, 0.5, 24)
    frame = pd.DataFrame({"word": word, along: values, "estimate": position})
    frame = frame.assign(lower=position - 0.1, upper=position + 0.2)
    counts = np.random.default_rng(seed).integers(1, 99, (2, 24))
    return frame.assign(uses=counts[0], units=counts[1])


@pytest.mark.parametrize("along", ["year", "Age of the speaker"])
def test_an_effect_is_a_line_along_its_number_with_a_band(tmp_path, along):
    frame = effect(along=along)
    chart = plots.lines(frame)
    (line,), (band,) = layers(chart, "line"), layers(chart, "area")
    assert line["encoding"]["x"]["title"] == along.capitalize()
    assert line["encoding"]["y"]["title"] == "Position, log odds from the mean"
    assert (band["encoding"]["y"]["field"], band["encoding"]["y2"]["field"]) == ("lower", "upper")
    np.testing.assert_allclose(data(chart)["_x"], frame[along])
    axis = line["encoding"]["y"]["axis"]
    assert axis["gridColor"]["condition"]["test"] == "datum.value === 0"
    tips = [tip["title"] for tip in layers(chart, "point")[0]["encoding"]["tooltip"]]
    measure = ["Position, log odds from the mean", "Interval, lower end", "Interval, upper end"]
    assert tips == [along.capitalize(), "Word", *measure, "Uses", "Units"]
    chart.save(tmp_path / "a.png")
    assert len((tmp_path / "a.png").read_bytes()) > 5_000


def test_effects_of_several_words_have_a_line_or_a_panel_each():
    two = plots.lines(pd.concat([effect("war"), effect("peace")]))
    assert layers(two, "line")[0]["encoding"]["color"]["scale"]["domain"] == ["war", "peace"]
    three = plots.lines(pd.concat([effect(word) for word in ("war", "peace", "canal")])).to_dict()
    assert three["facet"]["sort"] == ["war", "peace", "canal"]
