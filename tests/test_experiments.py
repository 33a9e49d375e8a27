"""Every experiment runs from beginning to end, on synthetic text in the format of the real one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import laplex as lx

pytestmark = pytest.mark.slow

EXPERIMENTS = Path(__file__).parent.parent / "experiments"
WORDS = [f"w{number}" for number in range(150)]


def sentences(count: int, length: int, random: np.random.Generator, prefix: str = "") -> list[str]:
    """Texts about one of five topics, each with its own words."""
    topic = np.arange(len(WORDS)) % 5
    texts = []
    for _ in range(count):
        chance = np.where(topic == random.integers(5), 8.0, 1.0) / (10.0 + np.arange(len(WORDS)))
        chosen = random.choice(len(WORDS), length, p=chance / chance.sum())
        texts.append(" ".join(prefix + WORDS[i] for i in chosen))
    return texts


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with press releases, articles, debates, test sets and word lists."""
    folder = tmp_path_factory.mktemp("data")
    random = np.random.default_rng(0)
    senators = random.integers(0, 40, 1200)
    pl.DataFrame(
        {
            "date": [f"200{5 + i % 3}-0{1 + i % 9}-10" for i in range(len(senators))],
            "party": ["DR"[s % 2] for s in senators],
            "senator": [f"S{s}" for s in senators],
            "text": sentences(len(senators), 40, random),
        }
    ).write_parquet(folder / "senate-press.parquet")
    pl.DataFrame({"text": sentences(100, 200, random)}).write_parquet(folder / "wikipedia-en.parquet")
    for language, prefix in (("en", ""), ("it", "i")):
        speakers = random.integers(0, 24, 800)
        pl.DataFrame(
            {
                "date": [f"200{5 + i % 3}-01-{1 + i % 28:02}" for i in range(800)],
                "id": [str(i) for i in range(800)],
                "family": [("EPP", "S&D")[s % 2] for s in speakers],
                "country": "XX",
                "src_lang": "unknown",
                "speaker": [f"M{s}" for s in speakers],
                "text": sentences(800, 30, random, prefix),
            }
        ).write_parquet(folder / f"europarl-{language}.parquet")
    (folder / "similarity").mkdir()
    for name in ("MEN-TR-3k", "MC-30", "RG-65"):
        pairs = random.choice(len(WORDS), (60, 2))
        score = (pairs[:, 0] % 5 == pairs[:, 1] % 5).astype(float)
        lines = [f"{WORDS[a]}\t{WORDS[b]}\t{s}" for (a, b), s in zip(pairs, score) if a != b]
        (folder / "similarity" / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    (folder / "analogies").mkdir()
    (folder / "analogies" / "google.txt").write_text(": capital\nw0 w5 w1 w6\n: gram1\nw2 w7 w3 w8\n")
    (folder / "lexicons").mkdir()
    (folder / "lexicons" / "strong-pairs.txt").write_text("\n".join(f"w{i} w{i + 5}" for i in range(60)) + "\n")
    (folder / "translations").mkdir()
    for name, begin, end in (("it-en.train5000.tsv", 0, 110), ("it-en.test1000.tsv", 110, 150)):
        lines = [f"iw{i}\tw{i}" for i in range(begin, end)]
        (folder / "translations" / name).write_text("\n".join(lines) + "\n")
    return folder


def run(name: str, data: Path, out: Path, tmp_path: Path, *more: str) -> dict[str, pd.DataFrame]:
    """Run an experiment, and return its tables."""
    command = [sys.executable, EXPERIMENTS / f"{name}.py", "--data", data, "--out", out, "--quick", *more]
    environment = {"LAPLEX_CACHE": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (out / "report.md").read_text().startswith("## ")
    assert json.loads((out / "settings.json").read_text())["minutes"] >= 0
    return {path.stem: pd.read_csv(path) for path in out.glob("*.csv")}


def test_sociolects(data, tmp_path):
    tables = run("sociolects", data, tmp_path / "out", tmp_path)
    assert len(tables["by-party"]) == 15
    assert tables["over-time"]["word"].isin(WORDS).all() if len(tables["over-time"]) else True
    found = tables["planted-average-precision"].set_index("method")["0.5"]
    assert found["laplex, by evidence"] > 0.5  # by chance it would be that of the share planted, under 0.4
    assert {"gensim, aligned", "gensim, compass", "laplex, no graph, cosine"} <= set(found.index)
    assert (tmp_path / "out" / "evidence.svg").exists()


def test_similarity(data, tmp_path):
    tables = run("similarity", data, tmp_path / "out", tmp_path)
    assert set(tables["similarity-cbow"]["set"]) == {"MEN-TR-3k", "MC-30", "RG-65", "mean"}
    assert {"laplex", "laplex, no graph", "gensim", "gensim, retrofitted"} < set(tables["similarity-cbow"].columns)
    assert {"laplex, contexts", "laplex, no graph, words + contexts"} < set(tables["similarity-sgns-untold"].columns)
    assert tables["similarity-sgns"].select_dtypes("number").abs().max().max() <= 1.0
    assert {"setting", "development", "other", "all", "no graph, untold"} < set(tables["search"].columns)
    assert len(tables["readouts"]) == 2 * 2 * 6
    assert {"development", "other", "all"} < set(tables["best-means"].columns)


def test_little_text(data, tmp_path):
    table = run("little_text", data, tmp_path / "out", tmp_path, "--threads", "1")["scores-300000"]
    assert set(table["program"]) == {"laplex", "laplex, ridge 1", "gensim"}
    assert len(table) == 3 * 2
    assert table["similarity"].abs().max() <= 1
    assert (table.loc[table["program"] == "laplex", "similarity"] > 0.2).all()  # words of a topic are alike
    assert table.filter(like="P@5").notna().all(axis=None)


def test_variants(tmp_path):
    options = {
        "documents": 600,
        "planted": 60,
        "share": 0.4,
        "ridges": 1,
        "strengths": 10,
        "dimensions": 5,
        "epochs": 1,
    }
    environment = {"LAPLEX_CACHE": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    command = [sys.executable, str(EXPERIMENTS / "variants.py")]
    command += [text for name, value in options.items() for text in (f"--{name}", str(value))]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert re.search(r"found \d+ pairs", done.stdout)
    assert [line.split()[1] for line in done.stdout.splitlines()[3:]] == [
        "none",
        *np.repeat(["planted", "found", "shuffled"], 2),
    ]


def test_pretrained(data, tmp_path):
    random = np.random.default_rng(1)
    topic = np.arange(len(WORDS)) % 5
    vectors = tmp_path / "given.bin"
    lx.word2vec.write(vectors, WORDS, np.eye(5)[topic] @ random.standard_normal((5, 30)), binary=True)
    tables = run("pretrained", data, tmp_path / "out", tmp_path, "--vectors", str(vectors))
    found = tables["curve"].set_index(["text", "millions", "model"])["words"]
    for text in ("senate", "wikipedia"):
        assert found[text, 0.01, "start"] > found[text, 0.01, "nothing"] - 0.05  # both know the topics of this text
    assert tables["curve"]["held out"].lt(0).all()
    assert tables["planted"]["model"].tolist() == ["nothing", "anchor", "start"]
    assert tables["planted"][["by evidence", "by bare distance"]].gt(0).all().all()


def test_joint(data, tmp_path):
    tables = run("joint", data, tmp_path / "out", tmp_path)
    assert tables["likelihood"]["model"].tolist() == [
        "all edges",
        "without groups",
        "without years",
        "without translations",
        "no edges",
    ]
    assert (tables["concepts"]["english"].map(lambda word: f"i{word}") == tables["concepts"]["italian"]).all()


def test_regression(data, tmp_path):
    tables = run("regression", data, tmp_path / "out", tmp_path, "--parts", "senate", "europarl")
    assert tables["senate"]["question"].tolist() == [
        "party",
        "party, given quarter",
        "party, given quarter and topic",
        "change over the quarters",
        "change over the quarters, given party and topic",
        "parties that change apart",
    ]
    assert (tables["senate"]["tested"] > 0).all()
    assert set(tables["europarl"]["question"]) == {"family", "year", "family:year"}


def test_change(tmp_path):
    """Labels that are no numbers, a tag that the text lacks, a header, words of one period or of none."""
    random = np.random.default_rng(0)
    rows = []
    for period in ("C1", "C2"):
        for number in range(60):
            for word, topic in {"moved": period == "C2", "still": 0, "both_vb": number % 2, "rare": 1}.items():
                if word != "rare" or period == "C2":
                    around = [f"t{int(topic)}w{k}" for k in random.integers(0, 20, 8)]
                    rows.append({"source": "x", "period": period, "text": " ".join([*around[:4], word, *around[4:]])})
    pl.DataFrame(rows).write_parquet(tmp_path / "text.parquet")
    gold = {"moved_nn": 0.9, "still": 0.1, "both_vb": 0.2, "rare": 0.8, "unheard": 0.5}
    lines = ["word\tchange", *(f"{word}\t{score}" for word, score in gold.items())]
    (tmp_path / "graded.tsv").write_text("\n".join(lines) + "\n")
    command = [sys.executable, EXPERIMENTS / "change.py", "--text", tmp_path / "text.parquet", "--seeds", "2"]
    command += ["--gold", tmp_path / "graded.tsv", "--refits", "1", "--out", tmp_path / "out"]
    environment = os.environ | {"LAPLEX_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "moved_nn is moved in the text" in done.stdout
    assert "unheard is not in the text" in done.stdout
    name, mean, sd, spread = done.stdout.splitlines()[-1].split()
    assert (name, sd) == ("spearman", "sd")
    assert float(mean) >= 0.6
    assert float(spread) < 0.3
    words = pd.read_csv(tmp_path / "out" / "words.csv").set_index("word")
    assert set(words.index) == set(gold)
    assert words.loc["moved_nn", "lower"] > words.loc["still", "upper"]
    assert words["estimate"].isna()[["rare", "unheard"]].all()
    methods = set(pd.read_csv(tmp_path / "out" / "methods.csv")["method"])
    assert {"laplex", "separate models, aligned", "compass", "temporal referencing"} < methods
