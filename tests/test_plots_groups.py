"""Words by several groups, and neighbors in one group or in both."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from charts import ODD_WORDS, data, findings, layers, svg, texts

import laplex as lx
from laplex import plots


def by_group(groups=("north", "south", "west"), words=("war", "peace", "canal"), held=1):
    return findings(words, [(group, "rest") for group in groups], held)


def test_each_word_has_a_dot_in_each_group_filled_where_it_holds(tmp_path):
    frame = by_group(held=2)
    chart = plots.matrix(frame)
    drawn = data(chart)
    assert set(zip(drawn["_y"], drawn["_x"])) == set(zip(frame["word"], frame["value"]))
    assert drawn["_holds"].sum() == 6
    assert chart.to_dict()["encoding"]["fill"]["condition"]["test"] == "datum._holds"
    assert set(drawn["_kind"][~drawn["_holds"]]).isdisjoint(drawn["_kind"][drawn["_holds"]])
    found = texts(svg(chart, tmp_path))
    assert {"north", "south", "west", "war", "Compared with the rest", "Gray ring: not shown to hold"} <= set(found)


def test_negative_differences_have_a_color_of_their_own_and_no_text_has_no_dot(tmp_path):
    frame = by_group(held=3)
    frame.loc[0, "estimate"] = -0.5
    frame = frame.drop(index=1)
    frame.loc[2, "estimate"] = np.nan
    chart = plots.matrix(frame)
    drawn = data(chart).set_index(["_y", "_x"])
    assert drawn.loc[("war", "north"), "_kind"] != drawn.loc[("war", "south"), "_kind"]
    assert len(set(chart.to_dict()["encoding"]["stroke"]["scale"]["range"])) == 3
    assert "No dot: too little text" in svg(chart, tmp_path)


def test_of_many_words_each_group_has_its_share_beside_each_other():
    groups = ("north", "south", "west")
    frames = [findings([f"{group}{i}" for i in range(20)], [(group, "rest")], held=20) for group in groups]
    frame = pd.concat(frames, ignore_index=True)
    words = plots.matrix(frame, top=6).to_dict()["encoding"]["y"]["scale"]["domain"]
    assert words == ["north0", "north1", "south0", "south1", "west0", "west1"]


def test_what_is_no_matrix():
    with pytest.raises(lx.InputError, match='"war" has more than one row for north'):
        plots.matrix(pd.concat([by_group(), by_group()]))
    with pytest.raises(lx.InputError, match="41 groups are too many"):
        plots.matrix(by_group([f"g{i}" for i in range(41)]))
    with pytest.raises(lx.InputError, match='value="value" is no column'):
        plots.matrix(by_group().drop(columns="value"))


def ratios(neighbors=("tax", "cut", "gold"), values=("D", "R")):
    frame = pd.DataFrame({"word": "war", "neighbor": neighbors, "value": values[0], "against": values[1]})
    frame["nearest_in"] = [(values[0], "both", values[1])[i % 3] for i in range(len(frame))]
    size = np.geomspace(1.5, 0.6, len(frame))
    frame = frame.assign(similarity=0.6, similarity_against=0.4, estimate=size, lower=size / 1.2, upper=size * 1.2)
    return frame.assign(
        p=0.01, p_adjusted=0.02, holds=frame.index == 0, uses=9, uses_against=8, units=7, units_against=6
    )


def test_neighbors_stand_by_the_ratio_with_their_intervals(tmp_path):
    chart = plots.neighbor_ratio(ratios())
    rule, dot, hollow = layers(chart)
    assert (rule["encoding"]["x"]["field"], rule["encoding"]["x2"]["field"]) == ("lower", "upper")
    assert rule["encoding"]["x"]["scale"]["type"] == "log"
    assert dot["encoding"]["y"]["scale"]["domain"] == ["tax", "cut", "gold"]
    assert data(chart)["_side"].tolist() == ["nearest in D", "in both", "nearest in R"]
    assert hollow["transform"] == [{"filter": "!datum._holds"}]
    titles = {tip["title"] for tip in dot["encoding"]["tooltip"]}
    assert {"Ratio of similarities", "Similarity, D", "Similarity, R", "Uses, D", "Units, R"} <= titles
    assert "← R · ratio of similarities to war · D →" in texts(svg(chart, tmp_path))


def test_neighbors_without_a_ratio_are_named(tmp_path):
    frame = ratios()
    frame.loc[2, ["estimate", "lower", "upper"]] = np.nan
    assert "Nearest in R, without enough text for a ratio: gold" in svg(plots.neighbor_ratio(frame), tmp_path)
    with pytest.raises(lx.InputError, match="no neighbor has enough text in both"):
        plots.neighbor_ratio(frame.assign(estimate=np.nan))
    with pytest.raises(lx.InputError, match="no column neighbor"):
        plots.neighbor_ratio(by_group())


def test_any_word_and_group_may_be_drawn(tmp_path):
    for chart in (
        plots.matrix(by_group(ODD_WORDS[:3], ODD_WORDS)),
        plots.neighbor_ratio(ratios(ODD_WORDS, ODD_WORDS[:2])),
    ):
        assert set(ODD_WORDS) <= {text.replace("&quot;", '"') for text in texts(svg(chart, tmp_path))}
