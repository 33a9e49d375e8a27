"""How much against how sure, and dots on a line: the charts have what the frame has."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from charts import data, layers

from laplex import plots
from laplex.errors import InputError


def frame(n=50, seed=0):
    random = np.random.default_rng(seed)
    p = random.random(n) ** 4
    return pd.DataFrame(
        {
            "word": [f"w{i}" for i in range(n)],
            "party": "D – R",
            "estimate": random.random(n),
            "p": p,
            "p_adjusted": np.minimum(1, 3 * p),
            "count_one": random.integers(1, 900, n),
            "count_two": random.integers(1, 900, n),
        }
    )


def points(chart, layer=0):
    return data(chart, layers(chart)[layer])


def test_height_is_evidence_where_there_is_some():
    asked = frame()
    drawn = points(plots.volcano(asked))
    np.testing.assert_allclose(drawn["_y"], -np.log10(asked["p"]))
    np.testing.assert_allclose(drawn["_x"], asked["estimate"])
    assert drawn["_found"].tolist() == (asked["p_adjusted"] <= 0.05).tolist()


def test_without_tests_height_is_how_often_the_word_occurs_where_it_is_rarer():
    asked = frame().drop(columns=["p", "p_adjusted"]).rename(columns={"estimate": "distance"})
    drawn = points(plots.volcano(asked))
    assert drawn["_y"].tolist() == asked[["count_one", "count_two"]].min(axis=1).tolist()


def test_of_many_words_those_that_differ_most_are_drawn():
    asked = frame(200)
    drawn = points(plots.volcano(asked, most=20))
    assert set(drawn["word"]) == set(asked.nlargest(20, "estimate")["word"])


def test_words_that_are_written_are_found_and_few():
    asked = frame(200)
    written = points(plots.volcano(asked, labels=5), 1)
    assert 0 < len(written) <= 5
    found = set(asked["word"][asked["p_adjusted"] <= 0.05])
    assert set(written["_text"]) <= found


def test_a_p_of_zero_is_drawn_at_the_top():
    asked = frame().assign(p=0.0)
    assert np.isfinite(points(plots.volcano(asked))["_y"]).all()


def test_a_frame_without_evidence_is_refused():
    with pytest.raises(InputError, match="neither p nor counts"):
        plots.volcano(frame()[["word", "estimate"]])
    with pytest.raises(InputError, match="nothing to draw"):
        plots.volcano(frame().assign(p=np.nan))


def test_dots_stand_where_the_words_do():
    asked = pd.DataFrame({"word": ["a", "a", "b", "b"], "party": list("DRDR"), "position": [0.1, 0.4, -0.2, 0.0]})
    chart = plots.dots(asked, ends=("poor", "rich"))
    assert points(chart, 1)["_value"].tolist() == asked["position"].tolist()
    assert chart.to_dict()["layer"][1]["encoding"]["x"]["title"] == "← poor · rich →"


def test_two_rows_for_one_dot_are_refused():
    asked = pd.DataFrame({"word": ["a", "a"], "party": ["D", "D"], "position": [0.1, 0.4]})
    with pytest.raises(InputError, match="more than one row"):
        plots.dots(asked)


def test_which_column_the_dots_are_has_to_be_clear():
    asked = pd.DataFrame({"word": ["a"] * 4, "party": list("DDRR"), "sex": list("mfmf"), "position": [0.1, 0.4, 0, 1]})
    with pytest.raises(InputError, match="color="):
        plots.dots(asked)
