"""The command line: what every command prints and writes, and how it ends."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import typer
from terminal import next_commands, repeated_sentences, too_long

import laplex as lx
from laplex.cli import app
from laplex.reports.describing import describe_prior
from laplex.text.slices import Slices

QUESTIONS = ["neighbors", "similarity", "contrast", "distance", "drift", "regress", "trajectory", "project"]
COMMANDS = [
    "info",
    "fit",
    "update",
    "tune",
    "demo",
    "encode",
    "cache",
    *QUESTIONS,
    "explain",
    "passages",
    "stability",
    "explore",
    "report",
    "evaluate",
    "export",
    "pairs",
]


def in_a_process(*arguments):
    command = [sys.executable, "-m", "laplex", *map(str, arguments)]
    environment = dict(os.environ)  # without COLUMNS, which readline sets for other processes
    return subprocess.run(command, capture_output=True, text=True, timeout=180, env=environment)


@pytest.fixture
def path(write):
    return write("speeches.csv", "speech,party,date\na b a,D [x],2010-05-03\nb,R,2011-01-01\n,R,2011-01-01\n")


def test_version():
    assert in_a_process("--version").stdout == f"laplex {lx.__version__}\n"


def test_info_shows_documents_tokens_and_columns(laplex, path):
    result = laplex("info", path, "--text", "speech")
    assert result.returncode == 0
    assert f"{path}: 3 documents, 4 tokens" in result.stdout
    assert "1 documents without a word" in result.stdout
    assert "R (2), D [x] (1)" in result.stdout
    assert laplex("info", path, "--text", "speech", "--quiet").stderr == ""


def test_info_with_languages_a_tokenizer_and_an_encoding(laplex, write):
    path = write("a.csv", "text,lang\nétat,fr\nL'été,fr\nso,en\n", "latin-1")
    result = laplex("info", path, "--language-column", "lang", "--encoding", "latin-1", "--tokenizer", "[a-zé']+")
    assert "3 documents, 3 tokens" in result.stdout
    assert "fr (2), en (1)" in result.stdout


def test_fit_saves_a_model_that_loads(laplex, write, tmp_path):
    rows = [f"{'red blue green sun' if i % 3 else 'oak elm ash sun'},{'DR'[i % 2]},{2010 + i % 4}" for i in range(60)]
    path = write("speeches.csv", "\n".join(["speech,party,date", *rows]))
    pairs = write("pairs.txt", "red blue\noak elm\n")
    options = ("--text", "speech", "--group", "party", "--time", "date", "--every", "2y", "--pairs", pairs)
    result = laplex("fit", path, *options, "--dimensions", "10", "--epochs", "2", "--out", tmp_path / "model")
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith(f"saved in {tmp_path / 'model'}\n")
    fitted = lx.load(tmp_path / "model")
    assert fitted.slices["party"].tolist() == ["D", "D", "R", "R"]
    assert fitted.slices["period"].tolist() == ["2010", "2012", "2010", "2012"]
    assert fitted.vector("red", at={"party": "D", "period": 2010}).shape == (10,)
    assert len(fitted.history) == 2


def test_a_model_starts_from_a_file_and_is_updated(laplex, write, tmp_path):
    rows = [f"{'red blue green sun' if i % 3 else 'oak elm ash sun'},{'DR'[i % 2]},{2010 + i % 4}" for i in range(60)]
    old, new = (
        write(name, "\n".join(["speech,party,date", *part]))
        for name, part in (("old.csv", rows[:40]), ("new.csv", rows))
    )
    new.write_text(new.read_text().replace("201", "202"))
    vectors = write("vectors.vec", "red 1 0 0\noak 0 1 0\n")
    options = ("--text", "speech", "--time", "date", "--every", "2y")
    fit = ("--group", "party", "--dimensions", "5", "--epochs", "2", "--no-tests", "--start", vectors)
    result = laplex("fit", old, *options, *fit, "--out", tmp_path / "old")
    assert result.returncode == 0, result.stderr
    assert "starts from vectors.vec: 2 of 7 words are known" in " ".join(result.stderr.split())
    result = laplex("update", tmp_path / "old", new, *options, "--out", tmp_path / "new")
    assert result.returncode == 0, result.stderr
    updated, before = lx.load(tmp_path / "new"), lx.load(tmp_path / "old")
    assert updated.values("period") == ["2010", "2012", "2020", "2022"]
    at = {"party": "D", "period": 2010}
    np.testing.assert_array_equal(updated.vector("red", at=at), before.vector("red", at=at))
    result = laplex("update", tmp_path / "old", new, "--text", "speech", "--out", tmp_path / "none")
    assert result.returncode == 1
    assert not (tmp_path / "none").exists()


def test_a_unit_is_kept_in_the_model_and_shown(laplex, write, tmp_path):
    rows = [f"red blue green sun,{'DR'[i % 2]},s{i % 6}" for i in range(60)]
    path = write("speeches.csv", "\n".join(["text,party,speaker", *rows]))
    options = ("--group", "party", "--unit", "speaker", "--dimensions", "4", "--epochs", "1")
    assert "the unit is speaker, 6 of them" in laplex("info", path, "--unit", "speaker").stdout
    assert laplex("fit", path, *options, "--out", tmp_path / "model").returncode == 0
    assert lx.load(tmp_path / "model").settings["tokens"]["unit"] == "speaker"
    assert "unit        speaker" in laplex("info", tmp_path / "model").stdout


def test_numbers_are_read_as_such_and_vectors_vary_by_their_bins(laplex, write, tmp_path):
    rows = [f"red blue green sun,{18 + i}.0,{1000 * i if i else 'NA'}" for i in range(61)]
    path = write("speeches.csv", "\n".join(["text,age,income", *rows]))
    assert "60" in laplex("info", path, "--number", "income").stdout
    options = ["--dimensions", "4", "--epochs", "1", "--no-tests", "--out", tmp_path / "model"]
    result = laplex("fit", path, "--bins", "age:3", "--number", "income", *options)
    assert 'have no number in "income" (one is "NA")' in result.stderr
    result = laplex("fit", path, "--bins", "age:3", "--number", "income", "--missing", "drop", *options)
    assert result.returncode == 0, result.stderr
    fitted = lx.load(tmp_path / "model")
    assert fitted.values("age_bin") == ["18 to 37", "38 to 57", "58 to 78"]
    assert fitted.settings["tokens"]["numbers"] == ["age", "income"]
    assert "Chain(column='age_bin', strength=100.0" in fitted.settings["model"]["prior"]
    laplex("fit", path, "--bins", "age:18,40,78", "--bins-strength", "7", *options)
    assert lx.load(tmp_path / "model").values("age_bin") == ["18 to 39", "40 to 78"]
    for bins in ("age", ":5", "age:few", "age:18,old,40"):
        assert f'--bins "{bins}": write a column' in laplex("fit", path, "--bins", bins, *options).stderr


def test_fit_with_wrong_input_writes_nothing(laplex, path, tmp_path):
    result = laplex(
        "fit", path, "--text", "speech", "--group", "party", "--min-count", "99", "--out", tmp_path / "model"
    )
    assert result.returncode == 1
    assert "min_count=99 leaves no word" in result.stderr
    assert not (tmp_path / "model").exists()


@pytest.mark.slow
def test_demo_fits_shows_words_and_saves_the_model(laplex, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    result = laplex("demo")
    assert result.returncode == 0
    assert all(f"\n{number}. “" in result.stdout for number in range(1, 6))
    assert result.stdout.count(": … ") == 10  # a passage from each half for every word
    assert too_long(result) == []
    assert repeated_sentences(result) == []
    assert ["laplex", "explore", "demo.laplex"] in next_commands(result.stderr)
    assert len(lx.load("demo.laplex").slices) == 7
    assert (tmp_path / "demo.html").exists()


def test_fit_and_change_fit_80_columns_and_end_with_what_to_ask_next(laplex, write, tmp_path, monkeypatch):
    near = {"D": "river shore", "R": "money loan"}
    rows = [f"bank {near['DR'[i % 2]]} today we saw number {i % 7},{'DR'[i % 2]},s{i % 10}" for i in range(120)]
    write("speeches.csv", "\n".join(["text,party,speaker", *rows]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    options = ("--group", "party", "--unit", "speaker", "--dimensions", "4", "--epochs", "1", "--subsample", "0")
    change = ("change", "speeches.csv", "party", "--refits", "2", "--threads", "1")
    for arguments in (
        ("fit", "speeches.csv", *options, "--group-strength", "10", "--out", "p.laplex"),
        change,
        ("info", "speeches.csv"),
    ):
        result = laplex(*arguments)
        assert result.returncode == 0, result.stderr
        assert too_long(result) == []
        assert repeated_sentences(result) == []
        suggested = next_commands(result.stderr)
        if arguments[0] == "fit":
            assert ["laplex", "contrast", "p.laplex", "party"] in suggested
            assert ["laplex", "report", "p.laplex", "--out", "p.html"] in suggested
        else:
            assert [command[:3] for command in suggested] == [["laplex", "fit", "speeches.csv"]]
            assert [part for part in suggested[0] if part in ("--group", "party")] == ["--group", "party"]


def test_a_sentence_is_wrapped_in_a_terminal_and_one_line_in_a_file(laplex, path, monkeypatch):
    long = "a_word_of_the_vocabulary_that_is_long_and_unknown"
    arguments = ["info", path, "--text", long]
    monkeypatch.delenv("COLUMNS", raising=False)
    whole = laplex(*arguments).stderr
    assert whole.count("\n") == 1
    monkeypatch.setenv("COLUMNS", "60")
    wrapped = laplex(*arguments).stderr
    assert wrapped.count("\n") > 1
    assert wrapped.split() == whole.split()


def test_a_difference_is_explained_and_passages_are_shown(laplex, write, tmp_path):
    topics = {"D": "The River bank is wet", "R": "My bank lends Money"}
    rows = [f"{topics['DR'[i % 2]]} today number {i % 7},{'DR'[i % 2]},s{i % 10}" for i in range(120)]
    path = write("speeches.csv", "\n".join(["text,party,speaker", *rows]))
    options = ("--group", "party", "--unit", "speaker", "--dimensions", "4", "--epochs", "2", "--subsample", "0")
    assert laplex("fit", path, *options, "--out", tmp_path / "model").returncode == 0
    table = tmp_path / "context.csv"
    found = laplex("contrast", tmp_path / "model", "party", "--csv", tmp_path / "found.csv")
    assert "words differ by" in found.stderr
    assert "bank" in found.stdout
    assert {"estimate", "p_adjusted", "holds", "context"} <= set(pd.read_csv(tmp_path / "found.csv"))
    result = laplex("explain", tmp_path / "model", "bank", "party", "--unit", "speaker", "--csv", table)
    assert result.returncode == 0
    assert "D: … The River bank is wet" in result.stdout
    assert "R: … My bank lends Money" in result.stdout
    assert {"river", "money"} <= set(pd.read_csv(table)["word"])
    shown = laplex("passages", tmp_path / "model", "bank", "--party", "R", "--top", "2").stdout
    assert shown.count("My bank lends Money") == 2
    assert "River" not in shown
    assert "passages takes one word" in laplex("passages", tmp_path / "model", "bank", "river").stderr


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model by party and year with random vectors."""
    folder = tmp_path_factory.mktemp("models") / "model"
    words = ["tax", "[bold]", "=cmd", "rich", "poor", "oak", "elm", "ash", "sun", "sea"]
    keys = tuple((party, year) for party in "DR" for year in ("2000", "2001", "2002"))
    vectors = np.random.default_rng(1).normal(size=(len(keys), len(words), 8))
    counts = np.arange(1, 1 + len(keys) * len(words)).reshape(len(keys), len(words))
    slices = Slices(("party", "year"), keys, np.empty(0, np.int32))
    vocabulary = lx.Vocabulary(words, counts.sum(0))
    lx.Embeddings.of([vocabulary], [vectors], slices=slices, counts=[counts]).save(folder)
    return folder


def read_csv(path):
    frame = pd.read_csv(path, dtype={"year": str, "value": str, "against": str, "to": str})
    return frame.apply(lambda column: column.str.removeprefix("'") if pd.api.types.is_string_dtype(column) else column)


ANSWERS = {
    "neighbors tax --party D -k 3 --no-test": lambda m: m.neighbors("tax", 3, at={"party": "D"}, test=False),
    "neighbors tax rich --negative poor --party=R --year 2001": lambda m: m.neighbors(
        ["tax", "rich"], negative="poor", at={"party": "R", "year": "2001"}
    ),
    "similarity tax sea --party D": lambda m: m.similarity("tax", "sea", at={"party": "D"}),
    "contrast party --no-test --top 99 --year 2001": lambda m: m.contrast("party", at={"year": "2001"}, test=False),
    "contrast party --word tax --word oak --no-test": lambda m: m.contrast("party", ["tax", "oak"], test=False),
    "distance tax sea --across party --along year --no-test": lambda m: m.distance(
        ["tax", "sea"], "party", "year", test=False
    ),
    "drift year --no-test --party D --top 99": lambda m: m.drift("year", at={"party": "D"}, test=False),
    "trajectory tax --to sea --party D": lambda m: m.trajectory("tax", to=["sea"], at={"party": "D"}),
    "project tax =cmd --plus rich --minus poor --year 2001 --no-test": lambda m: m.project(
        ["tax", "=cmd"], axis=(["rich"], ["poor"]), at={"year": "2001"}, test=False
    ),
}


@pytest.mark.parametrize("question", ANSWERS)
def test_a_question_is_answered_on_the_screen_and_in_files(laplex, model, tmp_path, question):
    command, *rest = question.split()
    table, chart = tmp_path / "a.csv", tmp_path / "a.svg"
    result = laplex(command, model, *rest, "--csv", table, "--plot", chart)
    assert result.returncode == 0, result.stderr
    expected = ANSWERS[question](lx.load(model))
    pd.testing.assert_frame_equal(read_csv(table), expected.reset_index(drop=True), check_dtype=False)
    assert all(word in result.stdout for word in expected["word"])
    assert chart.read_text().startswith("<svg")


def test_formulas_are_neutral_in_tables(laplex, model, tmp_path):
    laplex("contrast", model, "party", "--no-test", "--word", "=cmd", "--csv", tmp_path / "a.csv")
    assert "'=cmd," in (tmp_path / "a.csv").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["neighbors", "taxes"], '"taxes" is not in the vocabulary'),
        (["neighbors", "tax", "--party", "X"], "\"party\" has no value 'X'; it has D, R"),
        (["neighbors", "tax", "--color", "red"], 'vectors do not vary by "color"'),
        (["neighbors", "tax", "--party"], "--party has no value"),
        (["contrast", "party", "tax"], '"tax" is one argument too many'),
        (["similarity", "tax"], "similarity takes two words, not 1"),
        (["trajectory", "tax", "sea"], "trajectory takes one word, not 2"),
        (["drift", "party"], '"party" has no order'),
        (["contrast", "party", "--no-test", "--plot", "a.gif"], "has to end in"),
        (["contrast", "party"], "--no-test"),
        (["contrast", "party", "--cluster", "speaker"], "--cluster is no longer an option: write --unit"),
        (["contrast", "party", "--joint"], "write --against joint"),
        (["export", "a.doc"], "has no ending that vectors can be written to"),
        (["export", "a.vec"], 'say which slice: no value of "party", "year" is given'),
    ],
)
def test_a_question_that_cannot_be_answered(laplex, model, arguments, message):
    command, *rest = arguments
    result = laplex(command, model, *rest)
    assert result.returncode == 1
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_export_writes_what_load_word2vec_reads(laplex, model, tmp_path):
    assert laplex("export", model, tmp_path / "d.bin", "--party", "D", "--year", "2001").returncode == 0
    read = lx.load_word2vec(tmp_path / "d.bin")
    np.testing.assert_array_equal(read.matrix(), lx.load(model).matrix(at={"party": "D", "year": "2001"}))


def test_evaluate_scores_models_side_by_side(laplex, model, tmp_path, write):
    sets = write("set.tsv", "tax\tsea\t3\noak\telm\t9\nrich\tpoor\t5\nsun\tash\t1\n")
    copy = tmp_path / "copy"
    lx.load(model).save(copy)
    chosen = ("--party", "D", "--year", "2000")
    result = laplex("evaluate", model, copy, *chosen, "--similarity", sets, "--csv", tmp_path / "scores.csv")
    assert result.returncode == 0, result.stderr
    scores = read_csv(tmp_path / "scores.csv")
    expected = lx.evaluation.similarity(lx.load(model), sets, at={"party": "D", "year": "2000"})
    for name in ("model", "copy"):
        of_model = scores[scores["model"] == name]
        np.testing.assert_allclose(of_model["spearman"], expected["spearman"])
    assert laplex("evaluate", model, model, *chosen).returncode == 1


def test_pairs_come_from_definitions(laplex, write, tmp_path):
    path = write("words.tsv", "word\tdefinition\ndog\ta barking animal\nanimal\tsuch as a dog\ncat\ta small animal\n")
    result = laplex("pairs", path, "--out", tmp_path / "strong.tsv", "--weak", tmp_path / "weak.tsv")
    assert result.returncode == 0, result.stderr
    definitions = lx.lexicons.definitions(path)
    assert result.stdout.strip() == definitions.summary().strip()
    strong = lx.lexicons.read_pairs(tmp_path / "strong.tsv")
    assert {frozenset(pair) for pair in zip(strong.left, strong.right)} == {frozenset(("dog", "animal"))}
    weak = lx.lexicons.read_pairs(tmp_path / "weak.tsv")
    assert {"cat", "animal"} in [set(pair) for pair in zip(weak.left, weak.right)]


def test_cache_shows_its_contents_and_clears_them(laplex, path, cache):
    nothing = "0 corpora and 0 label-free fits, 0.0 MB (original text: 0.0 MB)"
    assert laplex("cache").stdout == f"{nothing}, in {cache}\n"
    lx.Tokens.of(lx.read(path, text="speech"), min_count=1)
    vectors = lx.Embeddings.of([lx.Vocabulary(["tax"], np.ones(1, int))], [np.ones((1, 3))])
    vectors.save(cache / "pooled-1", kind="pooled")
    (cache / "unrelated").touch()
    (cache / "tokens-notes").mkdir()
    (cache / "tokens-notes" / "mine.txt").touch()
    vectors.save(cache / "mine")
    counts = "1 corpora and 1 label-free fits, 0.0 MB (original text: 0.0 MB)"
    assert laplex("cache").stdout == f"{counts}, in {cache}\n"
    assert laplex("cache", "--clear").stdout == f"{counts}, deleted from {cache}\n"
    assert sorted(file.name for file in cache.iterdir()) == ["mine", "tokens-notes", "unrelated"]
    assert (cache / "tokens-notes" / "mine.txt").exists()


def test_an_error_is_one_line():
    result = in_a_process("info", "none[1].csv")
    assert result.returncode == 1
    assert result.stderr == 'laplex: there is no file "none[1].csv"\n'
    assert result.stdout == ""


def test_debug_shows_the_traceback():
    result = in_a_process("info", "none.csv", "--debug")
    assert result.returncode == 1
    assert result.stderr.startswith("Traceback")
    assert result.stderr.endswith('InputError: there is no file "none.csv"\n')


@pytest.mark.parametrize("arguments", [["nonsense"], ["info"], ["info", "a.csv", "--nonsense"], ["fit", "a.csv"]])
def test_wrong_usage_exits_with_2(laplex, arguments):
    result = laplex(*arguments)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr


def test_the_help_of_every_command_has_an_example_and_complete_phrases(laplex):
    for command in COMMANDS:
        assert f"Example: laplex {command}" in laplex(command, "--help").stdout
    for command in typer.main.get_command(app.app).commands.values():
        helps = [command.help, *(parameter.help for parameter in command.params if parameter.name != "help")]
        assert [text for text in helps if not text or not text.rstrip().endswith((".", "..."))] == [], command.name
        assert [text for text in helps if len(text.split()) < 3] == [], command.name


def test_help_lists_every_command(laplex):
    result = laplex("--help")
    assert all(f" {command} " in result.stdout for command in COMMANDS)


@pytest.mark.slow
def test_ctrl_c_stops_with_one_line_and_leaves_nothing(write, cache, tmp_path):
    block = gzip.compress(b"a long text that takes a while to read,D\n" * 200_000)
    path = write("large.csv.gz", gzip.compress(b"text,party\n") + block * 200)
    command = [sys.executable, "-m", "laplex", "fit", str(path), "--group", "party", "--out", str(tmp_path / "model")]
    process = subprocess.Popen(command, stdout=-1, stderr=-1, text=True)
    assert process.stderr.readline().startswith("reading:")  # the first sign of progress, after two seconds
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "laplex: stopped\n")
    assert list(cache.iterdir()) == []


def test_a_closed_pipe_is_no_error(path):
    command = f"{sys.executable} -m laplex info {path} --text speech | true"
    assert subprocess.run(command, shell=True, capture_output=True, text=True).stderr == ""


def test_info_of_chosen_columns_ignores_the_others(laplex, write):
    path = write("a.jsonl", '{"text": "so it is", "party": "D", "votes": {"yes": 3}}\n')
    assert "neither text nor a number" in laplex("info", path).stderr
    assert "D (1)" in laplex("info", path, "--column", "party").stdout


def test_vectors_only_where_words_occur(laplex, write, tmp_path):
    text = "text,group\n" + "a b c a b,x\na b d d a,y\n" * 20
    options = ["--group", "group", "--min-count", "1", "--dimensions", "4", "--subsample", "0", "--absent", "filled"]
    done = laplex("fit", write("groups.csv", text), *options, "--out", tmp_path / "model")
    assert done.returncode == 0, done.stderr
    fitted = lx.load(tmp_path / "model")
    assert (fitted.slot < 0).sum() == 2
    assert fitted.vector("d", at={"group": "x"}).any()
    assert laplex("neighbors", tmp_path / "model", "d", "--group", "y").returncode == 0
    assert "d has no use in x" in laplex("neighbors", tmp_path / "model", "d", "--group", "x").stderr


def test_words_share_a_vector_with_their_translations_unless_a_strength_is_given(laplex, tmp_path):
    words = [f"w{number}" for number in range(30)]
    random = np.random.default_rng(1)
    rows = [
        {"text": " ".join(word + ending for word in random.choice(words, 40)), "tongue": tongue}
        for tongue, ending in (("one", "a"), ("two", "b"))
        for _ in range(60)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "both.csv", index=False)
    (tmp_path / "pairs.tsv").write_text("".join(f"{word}a\t{word}b\n" for word in words[:10]))
    options = ["--language-column", "tongue", "--translations", tmp_path / "pairs.tsv", "--dimensions", 8]
    for name, more in (("tied", []), ("near", ["--translations-strength", 100])):
        done = laplex("fit", tmp_path / "both.csv", *options, *more, "--epochs", 2, "--out", tmp_path / name)
        assert done.returncode == 0, done.stderr
    tied, near = (lx.load(tmp_path / name) for name in ("tied", "near"))
    for word in words[:10]:
        assert np.array_equal(tied.vector(f"{word}a", language="one"), tied.vector(f"{word}b", language="two"))
        assert not np.array_equal(near.vector(f"{word}a", language="one"), near.vector(f"{word}b", language="two"))
    assert not np.array_equal(tied.vector("w20a", language="one"), tied.vector("w20b", language="two"))


def test_fit_with_lemmas_shows_passages_as_they_were_written(laplex, write, tmp_path):
    path = write("taxes.csv", "\n".join(["text", *["They said: higher TAXES cost us"] * 30]))
    options = ("--tokenizer", "simplemma:en", "--subsample", "0", "--epochs", "1", "--out", tmp_path / "model")
    result = laplex("fit", path, *options)
    assert result.returncode == 0, result.stderr
    assert "said: higher TAXES cost" in laplex("passages", tmp_path / "model", "tax").stdout
    result = laplex("fit", path, "--tags", *options)
    assert result.returncode == 1
    assert "tags=True (--tags) needs spaCy" in result.stderr
    assert "180 tokens" in laplex("info", path, "--tokenizer", "simplemma:en").stdout


@pytest.fixture
def tongues(tmp_path):
    """The files of a corpus of three languages, which differ in the endings of their words, and of two lists."""
    words, random = [f"w{number}" for number in range(30)], np.random.default_rng(1)
    rows = [
        {"text": " ".join(word + ending for word in random.choice(words, 40)), "tongue": tongue}
        for tongue, ending in (("one", "a"), ("two", "b"), ("three", "c"))
        for _ in range(30)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "corpus.csv", index=False)
    for other in "bc":
        (tmp_path / f"a{other}.tsv").write_text("".join(f"{word}A\t{word}{other}\n" for word in words[:20]))
    (tmp_path / "cycle.tsv").write_text("w1b\tw2c\n")
    return tmp_path


def test_lists_of_translations_join_three_languages(laplex, tongues):
    options = ["--language-column", "tongue", "--dimensions", 4, "--epochs", 1, "--out", tongues / "model"]
    lists = ["--translations", tongues / "ab.tsv", "--translations", f"one,three={tongues / 'ac.tsv'}"]
    done = laplex("fit", tongues / "corpus.csv", *options, *lists, "--translations-strength", "inf")
    assert done.returncode == 0, done.stderr
    assert 'ab.tsv" have both words in the vocabulary (one – two)' in done.stderr
    assert "share" not in done.stderr
    fitted = lx.load(tongues / "model")
    first = fitted.vector("w5a", language="one")
    assert np.array_equal(first, fitted.vector("w5b", language="two"))
    assert np.array_equal(first, fitted.vector("w5c", language="three"))
    for option, message in (
        (f"three,one={tongues / 'ac.tsv'}", 'write languages=("one", "three"), or --translations one,three=FILE'),
        (f"one,two,three={tongues / 'ab.tsv'}", "write a file, or its two languages and the file"),
    ):
        done = laplex("fit", tongues / "corpus.csv", *options, "--translations", option)
        assert done.returncode == 1
        assert message in done.stderr


def test_words_of_one_language_that_share_a_vector_are_said(laplex, tongues):
    options = ["--language-column", "tongue", "--dimensions", 4, "--epochs", 1, "--out", tongues / "model"]
    names = ("ab", "ac", "cycle")  # w1a = w1b = w2c = w2a = w2b
    tied = [option for name in names for option in ("--translations", tongues / f"{name}.tsv")]
    done = laplex("fit", tongues / "corpus.csv", *options, *tied)
    assert done.returncode == 0, done.stderr
    merged = "2 words of one share a vector, such as w"
    assert merged in done.stderr
    assert merged in laplex("info", tongues / "model").stdout
    assert merged in " ".join(describe_prior(lx.load(tongues / "model")))
    laplex("fit", tongues / "corpus.csv", *options, *tied, "--translations-strength", 100)
    assert "share" not in laplex("info", tongues / "model").stdout


def test_commands_on_several_languages_say_which_option_is_missing(laplex, tongues):
    options = ["--language-column", "tongue", "--dimensions", 4, "--epochs", 1, "--translations", tongues / "ab.tsv"]
    assert laplex("fit", tongues / "corpus.csv", *options, "--out", tongues / "model").returncode == 0
    missing = 'say which language, of one, three, two: language="one", or --language one as an option'
    assert missing in laplex("neighbors", tongues / "model", "w5a", "--to-language", "two").stderr
    assert missing in laplex("evaluate", tongues / "model").stderr
    (tongues / "test.tsv").write_text("".join(f"w{number}a\tw{number}b\n" for number in range(20, 30)))
    scored = ["evaluate", tongues / "model", "--translations", tongues / "test.tsv"]
    assert "--language and --to-language as options" in laplex(*scored).stderr
    done = laplex(*scored, "--language", "one", "--to-language", "two", "--csv", tongues / "scores.csv")
    assert done.returncode == 0, done.stderr
    assert set(pd.read_csv(tongues / "scores.csv")["from"]) == {"one", "two"}
    assert "is for translations" in laplex("evaluate", tongues / "model", "--to-language", "two").stderr
