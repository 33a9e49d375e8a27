"""A corpus as numbers is the corpus; it is read once and kept."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import chain

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import laplex as lx
from laplex.runtime import storage
from laplex.text import formats, slices
from laplex.text.corpus import DEMO_PATH


def addresses():
    """The built-in corpus by the rule of the paper."""
    return lx.read(DEMO_PATH, metadata=["president", "party"], tokenizer="paper")


@pytest.fixture(scope="module")
def speeches():
    """The words of the documents of the built-in corpus by the rule of the paper, found without laplex."""
    return [re.findall(r"[^\W_]+", text.lower()) for text in addresses().head(100_000)["text"]]


@pytest.fixture
def many_batches(monkeypatch):
    """Batches and pieces so small that there are many of them."""
    monkeypatch.setattr(formats, "BATCH_CHARACTERS", 50_000)
    monkeypatch.setattr(slices, "TOKENS_PER_SPAN", 10_000)


@pytest.fixture
def path(write):
    """A file with a few documents."""
    return write("a.csv", "text,party\na b a,D\nb c,R\na,D\n")


def built(capsys):
    """Was the last corpus read, rather than taken from the cache?"""
    messages = capsys.readouterr().err
    assert ("read in" in messages) != ("as read before" in messages)
    return "read in" in messages


# The numbers are those of the text


@pytest.mark.usefixtures("many_batches")
def test_every_word_of_the_demo_comes_back_in_order(speeches, decode):
    corpus = addresses()
    assert len(list(corpus.documents())) > 40
    assert decode(lx.Tokens.of(corpus, min_count=1)) == speeches


@pytest.mark.usefixtures("many_batches")
def test_rare_words_are_gone_and_borders_kept(speeches, decode):
    counted = Counter(chain.from_iterable(speeches))
    read = lx.Tokens.of(addresses(), min_count=50)
    assert decode(read) == [[word for word in speech if counted[word] >= 50] for speech in speeches]
    frequent = {word: count for word, count in counted.items() if count >= 50}
    assert dict(zip(read.vocabularies[0], read.vocabularies[0].counts.tolist(), strict=True)) == frequent
    assert read.settings["tokens_read"] == counted.total()
    assert read.settings["words_read"] == len(counted)


@pytest.mark.usefixtures("many_batches")
def test_two_languages_in_the_same_batches(speeches, decode):
    rows = [{"text": speech, "lang": "xy"[m % 3 % 2]} for m, speech in enumerate(speeches[:3000])]
    counted = {lang: Counter(w for row in rows if row["lang"] == lang for w in row["text"]) for lang in "xy"}
    read = lx.Tokens.of(lx.read(rows, language_column="lang"), min_count=5)
    assert decode(read) == [[w for w in row["text"] if counted[row["lang"]][w] >= 5] for row in rows]
    for vocabulary in read.vocabularies:
        assert vocabulary.counts.tolist() == [counted[vocabulary.language][word] for word in vocabulary]


def test_one_thread_and_many_give_the_same(many_batches, tmp_path):
    one, many = (lx.Tokens.of(addresses(), threads=n, cache=tmp_path / str(n)) for n in (1, 8))
    assert one.digest == many.digest


@given(
    documents=st.lists(st.tuples(st.lists(st.text("abç", max_size=2), max_size=6), st.sampled_from("xy"))),
    min_count=st.integers(1, 3),
    rows=st.integers(1, 4),
    piece=st.integers(1, 8),
)
def test_random_corpora_come_back(documents, min_count, rows, piece, decode):
    counted = {
        language: Counter(w for words, lang in documents if lang == language for w in words if w) for language in "xy"
    }
    assume(documents and all(max(counted[lang].values(), default=0) >= min_count for _, lang in documents))
    corpus = lx.read([{"text": words, "lang": lang} for words, lang in documents], language_column="lang")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formats, "MAX_BATCH_ROWS", rows)
        patch.setattr(slices, "TOKENS_PER_SPAN", piece)
        read = lx.Tokens.of(corpus, min_count=min_count, quiet=True)
    assert decode(read) == [[w for w in words if w and counted[lang][w] >= min_count] for words, lang in documents]


def test_reading_does_not_run_ahead_of_tokenising(monkeypatch):
    monkeypatch.setattr(formats, "MAX_BATCH_ROWS", 1)
    ahead = []
    done = []

    class Documents:
        def __iter__(self):
            ahead.append([])
            for number in range(200):
                ahead[-1].append(number - len(done))
                yield {"text": "a"}

    def slowly(text):
        time.sleep(0.005)
        done.append(text)
        return [text]

    lx.Tokens.of(lx.read(Documents(), tokenizer=slowly), min_count=1, threads=2)
    assert max(ahead[2]) < 10  # the third time: after the columns and the hash


# Slices


def test_slices_are_the_combinations_that_occur(path):
    read = lx.Tokens.of(lx.read(path, metadata=["party", "text"]), min_count=1)
    assert read.slices(["party"]).keys == (("D",), ("R",))
    assert read.slices(["party"]).of_document.tolist() == [0, 1, 0]
    assert read.slices(["party", "text"]).keys == (("D", "a"), ("D", "a b a"), ("R", "b c"))
    assert read.slices(["text", "party"]).keys == (("a", "D"), ("a b a", "D"), ("b c", "R"))
    assert read.slices([]).keys == ((),)


def test_counts_by_slice_are_those_of_the_documents_in_it(many_batches, speeches):
    read = lx.Tokens.of(addresses(), min_count=20)
    slices = read.slices(["party", "president"])
    counts = read.counts(slices)
    assert counts.shape == (len(slices), len(read.vocabularies[0]))
    np.testing.assert_array_equal(counts.sum(0), read.vocabularies[0].counts)
    lincoln = slices.keys.index(("Republican", "Abraham Lincoln"))
    counted = Counter(chain.from_iterable(speeches[m] for m in np.flatnonzero(slices.of_document == lincoln)))
    assert counts[lincoln].tolist() == [counted[word] for word in read.vocabularies[0]]
    assert counted["slavery"] > 10


def test_counts_of_each_language():
    rows = [("a b", "x", "D"), ("a", "y", "D"), ("c a", "y", "R")]
    rows = [dict(zip(("text", "lang", "party"), row, strict=True)) for row in rows]
    read = lx.Tokens.of(lx.read(rows, metadata=["party"], language_column="lang"), min_count=1)
    slices = read.slices(["party"])
    assert read.counts(slices, 0).tolist() == [[1, 1], [0, 0]]
    assert read.counts(slices, 1).tolist() == [[1, 0], [1, 1]]


@pytest.mark.parametrize(("columns", "message"), [("party", r'write \["party"\]'), (["x"], 'no column "x".*: party')])
def test_slices_of_what_was_not_read(path, columns, message):
    with pytest.raises(lx.InputError, match=message):
        lx.Tokens.of(lx.read(path, metadata=["party"]), min_count=1).slices(columns)


# The cache


def test_the_second_time_nothing_is_read(path, capsys):
    corpus = lx.read(path, metadata=["party"])
    first = lx.Tokens.of(corpus, min_count=1)
    assert built(capsys)
    state = path.stat()
    path.write_bytes(b"\xff" * state.st_size)  # which could not be read
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    second = lx.Tokens.of(corpus, min_count=1)
    assert not built(capsys)
    assert second.digest == first.digest
    assert second.vocabularies[0].words == ("a", "b", "c")


@pytest.mark.parametrize("rows", [[{"text": "a"}], ({"text": "b"},)])
def test_the_same_documents_in_memory_are_recognised(rows, capsys):
    lx.Tokens.of(lx.read(rows), min_count=1)
    assert built(capsys)
    lx.Tokens.of(lx.read(list(rows)), min_count=1)
    assert not built(capsys)


def test_quiet_says_nothing(path, capsys):
    for _ in range(2):
        lx.Tokens.of(lx.read(path), min_count=1, quiet=True)
    assert capsys.readouterr().err == ""


def test_what_was_left_out_is_said(path, capsys):
    lx.Tokens.of(lx.read(path), min_count=2)
    assert "5 tokens of 2 words in 3 documents" in (messages := capsys.readouterr().err)
    assert "1 rarer words left out (16.7% of the tokens)" in messages


@pytest.mark.parametrize("settings", [{"min_count": 2}, {"max_words": 1}, {"keep": ["c"]}])
def test_other_settings_build_anew(path, settings, capsys):
    lx.Tokens.of(lx.read(path), min_count=1)
    lx.Tokens.of(lx.read(path), **{"min_count": 1} | settings)
    assert capsys.readouterr().err.count("read in") == 2


@pytest.mark.parametrize(
    "arguments", [{"metadata": ["party"]}, {"tokenizer": "[ab]"}, {"lowercase": False}, {"language": "en"}], ids=str
)
def test_another_way_to_read_builds_anew(path, arguments, capsys):
    lx.Tokens.of(lx.read(path), min_count=1)
    lx.Tokens.of(lx.read(path, **arguments), min_count=1)
    assert capsys.readouterr().err.count("read in") == 2


def test_periods_and_where_build_anew(capsys):
    corpus = lx.read([{"text": "a", "year": 2010}], metadata=["year"])
    for each in (corpus, corpus.periods("year", "2y"), corpus.periods("year", "4y"), corpus.where(year=2010)):
        lx.Tokens.of(each, min_count=1)
    assert capsys.readouterr().err.count("read in") == 4


def test_a_touched_file_is_read_anew(path, capsys):
    lx.Tokens.of(lx.read(path), min_count=1)
    os.utime(path, ns=(1, 1))
    lx.Tokens.of(lx.read(path), min_count=1)
    assert capsys.readouterr().err.count("read in") == 2


def by_spaces(text):
    return text.split()


def test_a_plain_function_is_recognised_and_a_closure_is_not(path, capsys):
    for function, again in ((by_spaces, False), ((lambda mark: lambda text: text.split(mark))(" "), True)):
        lx.Tokens.of(lx.read(path, tokenizer=function), min_count=1)
        assert built(capsys)
        lx.Tokens.of(lx.read(path, tokenizer=function), min_count=1)
        assert built(capsys) == again


def test_damaged_tokens_name_their_folder(path):
    corpus = lx.read(path)
    folder = lx.Tokens.of(corpus, min_count=1).folder
    storage.save(folder, "tokens", {"columns": ["party"], "languages": [""]}, {})
    with pytest.raises(lx.StorageError, match=f'"{folder}" is damaged'):
        lx.Tokens(storage.load(folder, "tokens"))


def test_a_damaged_cache_entry_is_read_again(capsys):
    corpus = lx.read([{"text": "one two two"}])
    first = lx.Tokens.of(corpus, min_count=1)
    arrays = next(first.folder.glob("*.safetensors"))
    arrays.write_bytes(arrays.read_bytes()[:-4])
    again = lx.Tokens.of(corpus, min_count=1)
    assert "damaged" in capsys.readouterr().err
    assert again.digest == first.digest
    assert again.ids.tolist() == [1, 0, 0]


# Several processes

SCRIPT = """
import os, sys, time
from pathlib import Path
import laplex as lx
from laplex.text import formats

formats.MAX_BATCH_ROWS = 10
place = Path({place!r})

class Documents:
    times = 0

    def __iter__(self):
        self.times += 1  # 1: which columns, 2: the hash, 3: the tokens, 4: the hash again
        for number in range(100):
            if number == 50:
                self.half_way()
            yield {{"text": f"word common w{{number}}"}}

    def half_way(self):
        {half_way}

print(lx.Tokens.of(lx.read(Documents()), min_count=1).digest)
"""
MEET = """
        (place / f"{self.times} {os.getpid()}").touch()
        while len(list(place.glob(f"{self.times} *"))) < 2: time.sleep(0.01)
"""
SLEEP = """
        if self.times == 3: print("half-way", flush=True); time.sleep(60)
"""


@pytest.fixture
def start(tmp_path):
    """Start a process that makes tokens and does something half-way through its documents."""

    def started(half_way):
        script = SCRIPT.format(place=str(tmp_path), half_way=half_way.strip())
        return subprocess.Popen([sys.executable, "-c", script], stdout=-1, stderr=-1, text=True)

    return started


@pytest.mark.slow
def test_two_processes_build_the_same_tokens_at_once(start, cache):
    processes = [start(MEET), start(MEET)]
    digests, messages = zip(*(process.communicate(timeout=60) for process in processes), strict=True)
    assert digests[0] == digests[1] != ""
    assert all("read in" in each for each in messages)
    assert len(list(cache.glob("tokens-*/*"))) == 2


@pytest.mark.slow
def test_a_killed_process_leaves_nothing_in_the_way(start, cache):
    process = start(SLEEP)
    assert process.stdout.readline() == "half-way\n"
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert list(cache.iterdir()) == []
    digest, messages = start("pass").communicate()
    assert digest == start("pass").communicate()[0]
    assert "read in" in messages
