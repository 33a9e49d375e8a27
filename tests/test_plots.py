"""What all charts share: their files, what a page loads, what a notebook shows, and where labels are placed."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
from itertools import combinations

import altair as alt
import numpy as np
import pandas as pd
import pytest
from charts import ODD_WORDS, differing, distances, texts
from hypothesis import given, settings
from hypothesis import strategies as st

import laplex as lx
from laplex import plots
from laplex.plots.chart import place_labels, spread_heights, text_width


@pytest.mark.slow
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
    script = "import sys, laplex.plots; laplex.plots.bars; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "pandas" in loaded
    assert not {"altair", "vl_convert", "networkx"} & set(loaded)


@given(st.lists(st.floats(0, 300), min_size=1, max_size=12), st.floats(1, 30))
def test_spread_heights_are_apart_in_the_same_order(heights, gap):
    heights = np.array(heights)
    moved = spread_heights(heights, gap)
    order = np.argsort(heights, kind="stable")
    assert (np.diff(moved[order]) >= gap - 1e-6).all()
    assert moved.mean() == pytest.approx(heights.mean(), abs=1e-6)
    np.testing.assert_allclose(spread_heights(moved, gap - 1e-3), moved, atol=1e-6)


def box(label, point, size):
    left = {"left": 0.0, "right": 1.0, "center": 0.5}[label["_align"]]
    width = text_width(label["_text"], size)
    x, y = point[0] + label["_dx"] - left * width, point[1] + label["_dy"]
    return x, y - size / 2, x + width, y + size / 2


@settings(max_examples=40)
@given(st.lists(st.tuples(st.floats(0, 400), st.floats(0, 300)), min_size=1, max_size=25), st.integers(0, 9))
def test_placed_labels_cover_nothing(points, length):
    points = np.array(points)
    frame = pd.DataFrame({"_text": [f"w{i}" * (1 + (i + length) % 4) for i in range(len(points))]})
    placed = place_labels(frame, points, (400, 300), size=10)
    boxes = [box(label, points[row], 10) for row, label in placed.iterrows()]
    for one, two in combinations(boxes, 2):
        shared = [min(one[2 + i], two[2 + i]) - max(one[i], two[i]) for i in (0, 1)]
        assert min(shared) <= 1e-9 or shared[0] * shared[1] < 1
    for left, top, right, bottom in boxes:
        assert (left >= -0.05, top >= -0.05, right <= 400.05, bottom <= 300.05) == (True,) * 4
        assert not ((points > [left, top]) & (points < [right, bottom])).all(axis=1).any()
    assert len(place_labels(frame, points, (400, 300), size=10, always=True)) == len(points)


def test_wide_letters_need_more_room():
    assert text_width("東京", 10) == 20
    assert text_width("e\u0301", 10) == text_width("e", 10)
    assert text_width("ill", 10) < text_width("www", 10)
