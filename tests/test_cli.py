"""The command line, run as a user runs it."""

from __future__ import annotations

import gzip
import signal
import subprocess
import sys

import pytest

import laplex as lx

COMMANDS = ["info", "fit", "demo", "cache"]


@pytest.fixture
def laplex():
    """Run laplex and give back its exit code and what it wrote."""

    def run(*arguments):
        command = [sys.executable, "-m", "laplex", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=180)

    return run


@pytest.fixture
def path(write):
    return write("speeches.csv", "speech,party,date\na b a,D [x],2010-05-03\nb,R,2011-01-01\n,R,2011-01-01\n")


def test_version(laplex):
    assert laplex("--version").stdout == f"laplex {lx.__version__}\n"


def test_info_shows_documents_tokens_and_columns(laplex, path):
    result = laplex("info", path, "--text", "speech")
    assert result.returncode == 0
    assert f"{path}: 3 documents, 4 tokens" in result.stdout
    assert "1 documents without a word" in result.stdout
    assert "R (2), D [x] (1)" in result.stdout
    assert result.stderr == ""


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
    assert fitted.vector("red", party="D", period=2010).shape == (10,)
    assert len(fitted.history) == 2


def test_fit_with_a_user_s_error_writes_nothing(laplex, path, tmp_path):
    result = laplex(
        "fit", path, "--text", "speech", "--group", "party", "--min-count", "99", "--out", tmp_path / "model"
    )
    assert result.returncode == 1
    assert "min_count=99 leaves no word" in result.stderr
    assert not (tmp_path / "model").exists()


def test_demo_fits_shows_words_and_keeps_the_model(laplex, tmp_path):
    result = laplex("demo", "--quiet", "--out", tmp_path / "union")
    assert result.returncode == 0
    assert result.stderr == ""
    assert "Words that the parties use most differently" in result.stdout
    assert len(lx.load(tmp_path / "union").slices) == 10


def test_cache_tells_what_it_holds_and_clears_it(laplex, path, cache):
    assert laplex("cache").stdout == f"0 corpora, 0.0 MB, in {cache}\n"
    lx.Tokens.of(lx.read(path, text="speech"), min_count=1)
    (cache / "mine").touch()
    assert laplex("cache").stdout == f"1 corpora, 0.0 MB, in {cache}\n"
    assert laplex("cache", "--clear").stdout == f"1 corpora, 0.0 MB, deleted from {cache}\n"
    assert [file.name for file in cache.iterdir()] == ["mine"]


def test_an_error_is_one_line(laplex):
    result = laplex("info", "none[1].csv")
    assert result.returncode == 1
    assert result.stderr == 'laplex: there is no file "none[1].csv"\n'
    assert result.stdout == ""


def test_debug_shows_the_traceback(laplex):
    result = laplex("info", "none.csv", "--debug")
    assert result.returncode == 1
    assert result.stderr.startswith("Traceback")
    assert result.stderr.endswith('InputError: there is no file "none.csv"\n')


@pytest.mark.parametrize("arguments", [["nonsense"], ["info"], ["info", "a.csv", "--nonsense"], ["fit", "a.csv"]])
def test_wrong_usage_exits_with_2(laplex, arguments):
    result = laplex(*arguments)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_has_an_example(laplex, command):
    assert f"Example: laplex {command}" in laplex(command, "--help").stdout


def test_help_lists_every_command(laplex):
    result = laplex("--help")
    assert all(f" {command} " in result.stdout for command in COMMANDS)


def test_ctrl_c_stops_with_one_line_and_leaves_nothing(write, cache, tmp_path):
    block = gzip.compress(b"a long text that takes a while to read,D\n" * 200_000)
    path = write("large.csv.gz", gzip.compress(b"text,party\n") + block * 200)
    command = [sys.executable, "-m", "laplex", "fit", str(path), "--group", "party", "--out", str(tmp_path / "model")]
    process = subprocess.Popen(command, stdout=-1, stderr=-1, text=True)
    assert process.stderr.readline().startswith("reading:")  # the first sign of progress, after two seconds
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=20)
    assert (process.returncode, out, said) == (130, "", "laplex: stopped\n")
    assert list(cache.iterdir()) == []


def test_a_reader_that_has_gone_is_no_error(path):
    command = f"{sys.executable} -m laplex info {path} --text speech | true"
    assert subprocess.run(command, shell=True, capture_output=True, text=True).stderr == ""


def test_info_of_chosen_columns_passes_over_the_others(laplex, write):
    path = write("a.jsonl", '{"text": "so it is", "party": "D", "votes": {"yes": 3}}\n')
    assert "neither text nor a number" in laplex("info", path).stderr
    assert "D (1)" in laplex("info", path, "--column", "party").stdout
