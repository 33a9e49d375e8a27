"""The experiment on translations runs on a small synthetic parliament and writes correct scores."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import laplex as lx
from laplex.runtime import storage

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent.parent / "experiments" / "crosslingual.py"
WORDS, TOPICS = 800, 20


def speeches(language, dates, seed):
    """Word k of every language is of topic k mod 20."""
    random = np.random.default_rng(seed)
    chance = np.where(np.arange(WORDS) % TOPICS == np.arange(TOPICS)[:, None], 12.0, 1.0) / (400.0 + np.arange(WORDS))
    chance /= chance.sum(1, keepdims=True)
    rows = []
    for date in dates:
        for _ in range(60):
            chosen = random.choice(WORDS, 100, p=chance[random.integers(TOPICS)])
            rows.append({"date": date, "text": " ".join(f"{language}{k}" for k in chosen)})
    return pl.DataFrame(rows)


@pytest.fixture(scope="module")
def parliament(tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    dates = [f"2005-{month:02}-{day:02}" for month in range(1, 11) for day in range(1, 9)]
    for number, language in enumerate(("en", "it")):
        speeches(language, dates, number).write_parquet(data / f"europarl-{language}.parquet")
    lists = data / "translations"
    lists.mkdir()
    entries = [f"it{k}\ten{k} en{k + TOPICS}" for k in range(WORDS - TOPICS)]
    (lists / "it-en.train5000.tsv").write_text("\n".join([*entries[:700], "unheard\tunread"]) + "\n")
    (lists / "it-en.test1000.tsv").write_text("\n".join(entries[700:]) + "\n")
    return data


@pytest.fixture(scope="module")
def results(parliament, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "crosslingual"
    run(parliament, out)
    return out


def run(data, out, *options):
    command = [sys.executable, SCRIPT, "--data", data, "--out", out, "--quick", "--threads", "1", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_every_setting_is_scored_on_both_lists_in_both_directions(results):
    frame = pd.read_csv(results / "scores.csv")
    assert set(frame["model"]) == {
        "orthogonal mapping",
        "laplex, 10000",
        "laplex, inf",
        "laplex, 10000, random start",
    }
    assert set(frame["pairs"]) == {70, 140}
    assert len(frame) == 7 * 2 * 2 * 2 * 2  # settings, readouts, lists, directions, methods
    assert frame[["P@1", "P@5", "P@15"]].stack().between(0, 100).all()
    assert (frame["P@1"] <= frame["P@5"]).all()
    assert (frame["P@5"] <= frame["P@15"]).all()


def test_tables_charts_settings_and_time_are_written(results):
    names = {path.name for path in results.iterdir()}
    tables = {"development", "chosen", "ahead", "test", "table7"}
    assert {f"{name}.csv" for name in tables} <= names
    assert {"pairs-words-nearest.png", "pairs-words-contexts-csls.svg", "report.md", "settings.json"} <= names
    settings = json.loads((results / "settings.json").read_text())
    assert settings["minutes"] >= 0
    assert settings["model"]["dimensions"] == 100
    assert settings["text"].startswith("Tokens:")


def test_the_text_of_the_languages_is_of_different_dates(results):
    tokens = lx.Tokens(storage.load(next((results / "cache").glob("tokens-*")), "tokens"))
    of_language = [set(tokens.codes("date")[tokens.languages == language].tolist()) for language in (0, 1)]
    assert of_language[0]
    assert of_language[1]
    assert not of_language[0] & of_language[1]


def test_a_second_run_goes_on_from_the_scores_of_the_first(parliament, results):
    before = pd.read_csv(results / "scores.csv")
    said = run(parliament, results)
    assert "of 7:" not in said
    pd.testing.assert_frame_equal(pd.read_csv(results / "scores.csv"), before)


def test_ridges_are_chosen_on_the_development_list(parliament, tmp_path):
    run(
        parliament,
        tmp_path,
        "--seeds",
        "1",
        "--pairs",
        "70",
        "--ridges",
        "default",
        "10",
        "--strengths",
        "inf",
        "inf/inf",
    )
    frame = pd.read_csv(tmp_path / "scores.csv")
    assert set(frame["model"]) == {"orthogonal mapping", "laplex, inf", "laplex, inf/inf"}
    csls = frame[(frame["method"] == "csls") & (frame["list"] == "development")]
    means = csls.groupby(["by", "model", "ridge"])["P@5"].mean()
    chosen = pd.read_csv(tmp_path / "chosen.csv").set_index(["by", "model", "ridge"])
    assert len(chosen) == 4  # two readouts, a mapping and a joint model
    for (by, model, ridge), _ in chosen.iterrows():
        rivals = means[by].drop("orthogonal mapping") if model.startswith("laplex") else means[by]["orthogonal mapping"]
        assert means[by, model, ridge] == rivals.max()


def test_scores_are_those_of_the_package():
    sys.path.insert(0, str(SCRIPT.parent))
    import crosslingual

    random = np.random.default_rng(0)
    blocks = {language: crosslingual.center(random.standard_normal((80, 6))) for language in ("it", "en")}
    blocks["en"] = crosslingual.center(blocks["it"] + 0.5 * random.standard_normal((80, 6)))
    words = {
        language: lx.Vocabulary([f"{language}{k}" for k in range(80)], np.arange(80, 0, -1), language)
        for language in blocks
    }
    pairs = [(f"it{k}", f"en{j}") for k in range(0, 80, 2) for j in (k, (k + 1) % 80)] + [("it0", "unheard")]
    frame = pd.DataFrame(crosslingual.scores(blocks, {"test": crosslingual.ids_of(pairs, words)}))
    fitted = lx.Embeddings.of(list(words.values()), list(blocks.values()))
    wanted = lx.evaluation.translation(fitted, pairs, source="it", target="en", quiet=True)
    for k in (1, 5, 15):
        np.testing.assert_allclose(frame[f"P@{k}"], 100 * wanted[f"P@{k}"])
    assert frame["method"].tolist() == wanted["method"].tolist()
    assert frame["words"].tolist() == wanted["words"].tolist()
