"""Phrases: multiword expressions that are found in a text or listed, and are words like any other from then on."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laplex as lx
from laplex.errors import InputError, StorageError
from laplex.runtime import storage
from laplex.text import collocations, ingest
from laplex.text.passages import passages_at
from laplex.text.vocabulary import pack_phrases, unpack_phrases

RIGHTS = "Human\n  rights, human-rights law, HUMAN RIGHTS. All human beings have rights"
SPEECHES = [
    "The department of defense and New York City's mayor agree",
    "In new york city the rain falls on the department of defense",
    "A department spends, and defense of a city is new",
    "York is old, and so is the human mind",
]


def tokens_of(rows, phrases, *, min_count=1, **read):
    rows = [{"text": row} if isinstance(row, (str, list)) else row for row in rows]
    return lx.Tokens.of(lx.read(rows, phrases=phrases, **read), min_count=min_count, quiet=True)


def found_in(rows, **settings):
    """The phrases that are found, with their counts."""
    vocabulary = tokens_of(rows, lx.Phrases(**{"min_count": 2} | settings)).vocabularies[0]
    return {name: int(vocabulary.counts[vocabulary[name]]) for name in vocabulary.phrases}


# ------------------------------------------------------------------------------------------------- finding

WORDS = ("a", "b", "c", "of", "the", "is")  # two that link, and one that stands in no phrase
DOCUMENTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=14), min_size=1, max_size=5)


def found_plainly(documents, min_count, threshold, longest):
    """Every phrase with its NPMI and count, by the definition."""
    total = sum(map(len, documents))
    grams = Counter(
        tuple(words[start : start + size])
        for words in documents
        for size in range(1, longest + 1)
        for start in range(len(words) - size + 1)
    )
    parts = {(word,) for (word, *more) in grams if not more and word in "abc" and grams[word,] >= min_count}
    new, found = set(parts), {}
    for _ in range(min(longest - 1, 2)):
        accepted = {}
        for gram in grams:
            for end in range(1, len(gram)):
                for start in range(end, len(gram)):
                    one, links, two = gram[:end], gram[end:start], gram[start:]
                    known = one in parts and two in parts and (one in new or two in new)
                    if not known or not all(word in ("of", "the") for word in links) or grams[gram] < min_count:
                        continue
                    npmi = math.log(grams[gram] * total / grams[one] / grams[two]) / math.log(total / grams[gram])
                    if npmi >= threshold:
                        accepted[gram] = max(npmi, accepted.get(gram, -2.0))
        for gram, npmi in accepted.items():
            found[gram] = max(npmi, found.get(gram, (-2.0, 0))[0]), grams[gram]
        new = accepted.keys() - parts
        parts |= new
    return found


@given(DOCUMENTS, st.sampled_from([-0.3, 0.0, 0.3]), st.integers(2, 4), st.sampled_from([1, 3]))
def test_phrases_and_their_counts_are_those_of_a_plain_count(documents, threshold, longest, rounds):
    numbers = np.array([WORDS.index(word) for words in documents for word in words], np.int32)
    if len(numbers) < 2:
        return
    offsets = np.concatenate([[0], np.cumsum([len(words) for words in documents])])
    text = collocations.Text(numbers, offsets, np.ones(len(documents), bool), list(ingest.spans(offsets, 10)), 1)
    with pytest.MonkeyPatch.context() as patch:  # keys are sorted in several rounds
        patch.setattr(collocations, "KEYS_AT_ONCE", max(len(numbers) // rounds, 1))
        counts = np.bincount(numbers, minlength=len(WORDS))
        outside = np.array([word not in "abc" for word in WORDS])
        found = collocations.find(text, counts, outside, [3, 4], min_count=2, threshold=threshold, longest=longest)
    got = {tuple(WORDS[i] for i in phrase): each for phrase, *each in zip(found.phrases, found.npmi, found.counts)}
    expected = found_plainly(documents, 2, threshold, longest)
    assert got.keys() == expected.keys()
    for phrase, (npmi, count) in expected.items():
        assert got[phrase][1] == count
        assert got[phrase][0] == pytest.approx(npmi)


def test_phrases_are_found_also_around_prepositions_and_are_words():
    vocabulary = tokens_of(SPEECHES, lx.Phrases(min_count=2)).vocabularies[0]
    assert vocabulary.phrases == {
        "department_of_defense": ("department", "of", "defense"),
        "new_york_city": ("new", "york", "city"),
    }
    assert vocabulary.counts[vocabulary["new_york_city"]] == vocabulary.counts[vocabulary["department_of_defense"]] == 2
    assert vocabulary.counts[vocabulary["department"]] == 1  # what is left of it


def test_thresholds_and_length_are_arguments():
    assert found_in(SPEECHES, min_count=3) == {}
    assert found_in(SPEECHES, threshold=1.0) == {}
    assert found_in(SPEECHES, longest=2) == {"new_york": 2}
    assert found_in(SPEECHES, function_words=["department"]) == {"new_york_city": 2, "the_department_of_defense": 2}
    with pytest.raises(InputError, match=r"threshold=1\.5 is no NPMI"):
        lx.Phrases(threshold=1.5)
    with pytest.raises(InputError, match="longest=5: phrases of up to 4 words are found"):
        lx.Phrases(longest=5)


def test_documents_are_borders_and_line_breaks_are_not():
    assert found_in([["old", "new"], ["york", "city"]] * 20) == {"old_new": 20, "york_city": 20}
    assert "new_york" in found_in(["New\nYork is rainy", "new   york", "new-york"] * 2)


def test_each_language_has_its_own_phrases_and_function_words():
    rows = [{"text": text, "language": "en"} for text in SPEECHES]
    german = ["Der Rat der Union tagt in Rom", "Heute tagt der Rat der Union", "Ein Rat ist teuer, die Union alt"]
    rows += [{"text": text, "language": "de"} for text in german]
    found = tokens_of(rows, lx.Phrases(min_count=2, threshold=0.3), language_column="language")
    phrases = {known.language: set(known.phrases) for known in found.vocabularies}
    assert phrases == {"en": {"new_york_city", "department_of_defense"}, "de": {"rat_der_union"}}
    one, two = (found.document(i).tolist() for i in (0, 4))
    assert "new_york_city" in [found.vocabularies[found.languages[0]].words[i] for i in one]
    assert "rat_der_union" in [found.vocabularies[found.languages[4]].words[i] for i in two]


def test_the_language_of_a_text_without_a_name_is_seen_from_its_words():
    german = ["Der Rat der Union tagt in Rom", "Heute tagt der Rat der Union", "Ein Rat ist teuer, die Union alt"]
    assert found_in(german, threshold=0.3) == {"rat_der_union": 2}


# ------------------------------------------------------------------------------------------------- joining


def joined_plainly(documents, phrases, min_count):
    """The words of documents after joining, from left to right and the longest first, without phrases that are rare."""
    phrases = set(phrases)
    while True:
        joined = []
        for words in documents:
            joined.append([])
            i = 0
            while i < len(words):
                sizes = [len(phrase) for phrase in phrases if tuple(words[i : i + len(phrase)]) == phrase]
                joined[-1].append(tuple(words[i : i + max(sizes, default=1)]))
                i += max(sizes, default=1)
        counts = Counter(word for words in joined for word in words)
        rare = {phrase for phrase in phrases if counts[phrase] < min_count}
        if not rare:
            kept = [["_".join(word) for word in words if counts[word] >= min_count] for words in joined]
            return kept, phrases
        phrases -= rare


PARTS = st.lists(st.sampled_from(WORDS[:4]), min_size=2, max_size=4).map(tuple)


@settings(max_examples=30)
@given(DOCUMENTS, st.sets(PARTS, min_size=1, max_size=6), st.sampled_from([1, 2]))
def test_joining_is_that_of_a_plain_loop(documents, phrases, min_count):
    expected, kept = joined_plainly(documents, phrases, min_count)
    if not any(expected):
        return
    tokens = tokens_of([{"text": words} for words in documents], phrases, min_count=min_count)
    vocabulary = tokens.vocabularies[0]
    assert [[vocabulary.words[i] for i in tokens.document(m)] for m in range(tokens.documents)] == expected
    assert {*vocabulary.phrases.values()} == kept
    counts = Counter(word for words in expected for word in words)
    assert {word: vocabulary.counts[i] for i, word in enumerate(vocabulary.words)} == counts


def test_a_listed_phrase_is_found_with_hyphens_line_breaks_and_spaces_and_its_parts_stay_countable():
    vocabulary = tokens_of([RIGHTS], ["Human rights"]).vocabularies[0]
    count = dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True))
    assert (count["human_rights"], count["human"], count["rights"]) == (3, 1, 1)
    assert vocabulary.counts[vocabulary.containing("rights")].sum() == 4
    assert vocabulary.counts[vocabulary.containing("law")].sum() == 1
    twice = tokens_of(["day to day"], ["day to day"]).vocabularies[0]
    assert twice.counts[twice.containing("day")].sum() == 2


def test_what_is_too_rare_for_the_vocabulary_stays_apart():
    tokens = tokens_of(["human rights", "human rights", "human law", "human law"], ["human rights"], min_count=3)
    assert tokens.vocabularies[0].words == ("human",)
    assert tokens.vocabularies[0].counts.tolist() == [4]
    assert not tokens.vocabularies[0].phrases
    few = lx.Tokens.of(lx.read([{"text": "a a a b c"}], phrases=["b c"]), min_count=1, max_words=1, quiet=True)
    assert few.vocabularies[0].words == ("a",)
    kept = lx.Tokens.of(lx.read([{"text": "a a a b c"}], phrases=["b c"]), min_count=2, keep=["b_c"], quiet=True)
    assert kept.vocabularies[0].words == ("a", "b_c")


def test_a_list_may_be_a_file_with_a_phrase_per_line(write, capsys):
    path = write("phrases.txt", "\ufeffhuman rights\r\n\r\nclimate change\nhuman_rights\n")
    lx.Tokens.of(lx.read([{"text": RIGHTS}], phrases=path), min_count=1)
    assert "1 of 3 listed" not in capsys.readouterr().err
    tokens = lx.Tokens.of(lx.read([{"text": RIGHTS}], phrases=str(path)), min_count=1)
    assert "2 of 3 listed phrases are words; not in the text: climate change\n" in capsys.readouterr().err
    assert set(tokens.vocabularies[0].phrases) == {"human_rights"}


def test_one_line_says_what_became_of_a_list(capsys):
    rows = [{"text": RIGHTS}, {"text": "tax cut"}]
    lx.Tokens.of(lx.read(rows, phrases=["human rights", "sea level", "tax cut"]), min_count=2)
    line = "1 of 3 listed phrases are words; not in the text: sea level; too rare to be words: tax cut\n"
    assert line in capsys.readouterr().err
    lx.Tokens.of(lx.read(rows, phrases=["human rights", "sea level", "tax cut"]), min_count=2)
    assert line in capsys.readouterr().err  # also from the cache


def test_a_text_in_which_no_phrase_is_found_says_that(capsys):
    lx.Tokens.of(lx.read([{"text": RIGHTS}], phrases=True), min_count=1)
    assert "no phrase found by Phrases(min_count=10, threshold=0.5, longest=4): there may be too little text" in (
        capsys.readouterr().err
    )
    lx.Tokens.of(lx.read([{"text": "to be or not to be"}], phrases=lx.Phrases(min_count=2)), min_count=1)
    assert "no phrase found" in capsys.readouterr().err


def test_lists_of_words_and_functions_have_phrases_too():
    lists = tokens_of([["Human", "rights", "law"], ["human", "rights"]], ["Human rights"])
    assert set(lists.vocabularies[0].words) == {"Human_rights", "human_rights", "law"}
    tagged = tokens_of(["human rights"], ["human rights"], tokenizer=lambda text: [f"{w}_NOUN" for w in text.split()])
    assert tagged.vocabularies[0].phrases == {"human_NOUN_rights_NOUN": ("human_NOUN", "rights_NOUN")}


@pytest.mark.parametrize(
    ("phrases", "message"),
    [
        ("human rights", r'write phrases=\["human rights"\]'),
        ("nowhere.txt", 'there is no file "nowhere.txt"'),
        ([7], "phrases= holds 7, which is neither text nor a tuple of words"),
        (7, "phrases=7: write True, a list of phrases"),
        ([], "the list of phrases is empty"),
    ],
)
def test_what_is_no_phrase_is_an_error(phrases, message):
    with pytest.raises(InputError, match=message):
        lx.read([{"text": "a"}], phrases=phrases)


# ------------------------------------------------------------------------------- corpora, cache, saved tokens


def test_phrases_are_part_of_the_key_of_the_cache_and_go_with_the_corpus():
    rows = [{"text": RIGHTS, "year": year} for year in ("1990", "2010")] * 2
    plain = lx.read(rows, metadata=["year"])
    listed, found = (lx.read(rows, metadata=["year"], phrases=each) for each in (["human rights"], True))
    other = lx.read(rows, metadata=["year"], phrases=lx.Phrases(threshold=0.6))
    assert len({corpus.identity for corpus in (plain, listed, found, other)}) == 4
    assert lx.read(rows, metadata=["year"], phrases=["human rights"]).identity == listed.identity
    later = listed.where(year="2010").periods("year", every="10y")
    tokens = lx.Tokens.of(later, min_count=1, quiet=True)
    assert tokens.vocabularies[0].counts[tokens.vocabularies[0]["human_rights"]] == 6
    assert lx.Tokens.of(plain, min_count=1, quiet=True).vocabularies[0].phrases == {}
    again = lx.Tokens.of(later, min_count=1, quiet=True)
    assert again.digest == tokens.digest
    assert again.vocabularies[0].phrases == {"human_rights": ("human", "rights")}
    assert lx.Tokens.of(listed + listed, min_count=1, quiet=True).vocabularies[0].counts[0] == 24
    with pytest.raises(InputError, match="different phrases: read both with the same phrases="):
        listed + plain


def test_the_number_of_threads_does_not_matter(monkeypatch):
    monkeypatch.setattr(ingest, "TOKENS_IN_CACHE", 20)
    corpus = lx.read([{"text": text} for text in SPEECHES * 5], phrases=lx.Phrases(min_count=5))
    digests = {
        lx.Tokens.of(corpus, min_count=1, threads=threads, cache=f"{os.environ['LAPLEX_CACHE']}/{threads}").digest
        for threads in (1, 3)
    }
    assert len(digests) == 1


def test_tokens_with_phrases_that_do_not_fit_are_damaged(tmp_path):
    tokens = tokens_of([RIGHTS], ["human rights"])
    assert unpack_phrases(pack_phrases([("a", "b"), ("a", "b", "c")], 0), 0) == [("a", "b"), ("a", "b", "c")]
    wrong = [
        pack_phrases([("human", "law")], 0),  # not in the vocabulary
        {"phrases/0/lengths": np.array([1, 1], np.int32)},
        {"phrases/0/lengths": np.array([3], np.int32)},
        {"phrases/0/lengths": np.array([2.0])},
        {"phrases/0/lengths": np.array([2, 2**31 - 1], np.int32)},
    ]
    saved = storage.load(tokens.folder, "tokens")
    for i, arrays in enumerate(wrong):
        storage.save(tmp_path / f"{i}", "tokens", saved.settings, {**saved.arrays, **arrays})
        with pytest.raises(StorageError, match="damaged"):
            lx.Tokens(storage.load(tmp_path / f"{i}", "tokens"))
    storage.save(tmp_path / "facts", "tokens", {**saved.settings, "phrases": []}, dict(saved.arrays))
    with pytest.raises(StorageError, match="damaged"):
        lx.Tokens(storage.load(tmp_path / "facts", "tokens"))


# ------------------------------------------------------------------------------------------------- asking


def test_passages_mark_the_phrase_in_the_original_text():
    text = "People’s Human\n  rights. The human-rights law of China's People's Republic; rights"
    for tokenizer in (None, "paper", lambda text: text.lower().replace("-", " ").replace(".", " ").split()):
        tokens = tokens_of([text], ["human rights", "people republic"], tokenizer=tokenizer)
        place = tokens.vocabularies[0]["human_rights"]
        places = np.flatnonzero(tokens.document(0) == place)
        frame = passages_at(tokens, [0] * len(places), places)
        assert frame["word"].to_list() == ["Human rights", "human-rights"]
        assert (frame["before"] + frame["word"] + frame["after"]).str.startswith("People’s Human rights. The").all()
    tokens = tokens_of([text], ["human rights", "people republic"])
    last = passages_at(tokens, [0, 0], [len(tokens.document(0)) - 2, len(tokens.document(0)) - 1])
    assert last["word"].to_list() == ["People's Republic", "rights"]


def test_phrases_of_words_with_tags():
    words = ["human_ADJ", "rights_NOUN", "of_ADP", "man_NOUN", "and_CCONJ", "law_NOUN"]
    tokens = tokens_of([{"text": words}] * 10 + [{"text": words[::-1]}] * 3, lx.Phrases(threshold=-0.5, longest=3))
    vocabulary = tokens.vocabularies[0]
    assert "human_ADJ_rights_NOUN" in vocabulary.phrases
    assert not any(name.startswith(("of_", "and_")) for name in vocabulary.phrases)
    assert vocabulary.is_lower_case
    with pytest.raises(InputError, match="tag of a part of speech only: write human_ADJ_rights_NOUN"):
        vocabulary["Human rights"]


def test_passages_skip_words_that_are_too_rare_except_in_phrases():
    tokens = tokens_of(["Burkina alone. In Burkina Faso, in Burkina-Faso"], ["burkina faso"], min_count=2)
    assert tokens.vocabularies[0].words == ("burkina_faso", "in")
    assert passages_at(tokens, [0] * 4, range(4))["word"].to_list() == ["In", "Burkina Faso", "in", "Burkina-Faso"]


def test_a_phrase_is_asked_for_in_any_spelling():
    vocabulary = tokens_of([f"{RIGHTS}. People's Republic"], ["human rights", "people's republic"]).vocabularies[0]
    for spelling in ("human_rights", "human rights", "Human  Rights", "human-rights", "human–rights", "human\nrights"):
        assert vocabulary.words[vocabulary.find(spelling)] == "human_rights"
    assert vocabulary.words[vocabulary["People’s Republic"]] == "people_republic"
    assert vocabulary.find("rights human") is None
    ids = vocabulary.ids(["human rights", "human-rights", "sea level", "law"]).tolist()
    assert ids == [vocabulary["human_rights"]] * 2 + [-1, vocabulary["law"]]
    assert vocabulary.words_in("human rights law, beings;x human") == ["human rights", "law", "beings", "x", "human"]
    with pytest.raises(InputError, match=r'phrases=lx.Phrases\(\["sea level"\]\)'):
        vocabulary["sea level"]
    with pytest.raises(InputError, match=r'phrases=True or phrases=\["sea level"\]'):
        lx.Vocabulary(["sea", "level"], np.array([1, 1]))["sea level"]


@pytest.fixture(scope="module")
def model(shared_cache, tmp_path_factory):
    """A saved model of a text with phrases."""
    rows = [{"text": RIGHTS, "party": party} for party in "DR"] * 6
    corpus = lx.read(rows, metadata=["party"], phrases=["human rights"])
    model = lx.Model(vary=["party"], prior=lx.Ridge() + lx.Groups("party", 1.0), dimensions=4, window=2, subsample=0.0)
    fitted = lx.fit(model, corpus, lx.Training(epochs=1, threads=1, seed=1), min_count=1, tests=False, quiet=True)
    folder = tmp_path_factory.mktemp("model") / "rights.laplex"
    fitted.save(folder)
    return folder


def test_a_saved_model_answers_for_phrases(model):
    fitted = lx.load(model)
    assert fitted.rows.vocabularies[0].phrases == {"human_rights": ("human", "rights")}
    assert fitted.count("human rights") == 36
    assert fitted.count("rights") == 12
    assert fitted.count("rights", within_phrases=True) == 48
    assert fitted.count("rights", at={"party": "D"}, within_phrases=True) == 24
    with pytest.raises(InputError, match="not in the vocabulary"):
        fitted.count("faso", within_phrases=True)
    near = fitted.neighbors("Human Rights", 2, at={"party": "D"}, test=False)
    assert not near["neighbor"].isin(["human_rights"]).any()
    pairs = fitted.neighbors(["law"], 9, at={"party": "D"}, test=False)["neighbor"].to_list()
    assert "human_rights" in pairs
    with pytest.raises(InputError, match=r"read the text with lx.read\(..., phrases=lx.Phrases"):
        fitted.neighbors("sea level")


def test_pairs_with_spaces_join_phrases(model):
    vocabulary = lx.load(model).rows.vocabularies[0]
    pairs = lx.lexicons.read_pairs([("human rights", "law"), ("human_rights", "beings")])
    assert (vocabulary.ids(pairs.left) == vocabulary["human_rights"]).all()


def test_export_and_import_keep_phrases(model, tmp_path):
    fitted = lx.load(model)
    for name in ("v.vec", "v.bin"):
        fitted.export(tmp_path / name, at={"party": "D"})
        vectors = lx.load_word2vec(tmp_path / name)
        assert "human_rights" in vectors
        assert (vectors.vector("human rights") == fitted.vector("human-rights", at={"party": "D"})).all()
        with pytest.raises(InputError, match="phrases="):
            vectors.vector("sea level")
    fitted.export(tmp_path / "v.csv")
    assert "human_rights" in pd.read_csv(tmp_path / "v.csv")["word"].to_list()


# ------------------------------------------------------------------------------------------- command line


def test_the_command_line_reads_phrases(laplex, write, tmp_path):
    corpus = write("speeches.csv", "text,party\n" + "".join(f'"{text}",D\n' for text in SPEECHES * 10))
    listed = write("listed.txt", "the rain\nsea level\n")
    shown = laplex("info", corpus, "--phrases")
    assert "phrases found, such as " in shown.stdout
    assert "department_of_defense" in shown.stdout
    shown = laplex("info", corpus, "--phrases", listed)
    assert "1 of 2 listed phrases are words; not in the text: sea level" in shown.stdout
    out = tmp_path / "m.laplex"
    small = ["--dimensions", "4", "--epochs", "1", "--min-count", "2", "--threads", "1", "--no-tests"]
    done = laplex("fit", corpus, "--phrases", "--phrases", listed, "--out", out, *small)
    assert done.returncode == 0, done.stderr
    assert "phrases found, such as " in done.stderr
    shown = laplex("info", out)
    assert ", by Phrases(2 listed, min_count=10, threshold=0.5, longest=4)" in shown.stdout
    assert "human_rights" not in shown.stdout
    near = laplex("neighbors", out, "New-York City", "--no-test", "-k", "2")
    assert near.returncode == 0, near.stderr
    passages = laplex("passages", out, "new york city")
    assert "new york city" in passages.stdout
    asked = laplex("neighbors", out, "sea level", "--no-test")
    assert asked.returncode == 1
    assert "to make this phrase a word, read the text with lx.read(..., phrases=" in asked.stderr
    missing = laplex("info", corpus, "--phrases", tmp_path / "none.txt")
    assert missing.returncode == 1
    assert "there is no file" in missing.stderr


# -------------------------------------------------------------------------------------- several processes


@pytest.mark.slow
def test_several_processes_join_a_list_like_one(tmp_path):
    pytest.importorskip("torch")
    pd.DataFrame({"text": [f"{RIGHTS} {text}" for text in SPEECHES * 20]}).to_csv(tmp_path / "c.csv", index=False)
    (tmp_path / "listed.txt").write_text("human rights\nnew york\nsea level\n")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "laplex"]

    def fit(*start, out, phrases):
        arguments = ["fit", str(tmp_path / "c.csv"), "--out", str(tmp_path / out), "--min-count", "2", "--no-tests"]
        arguments += ["--dimensions", "4", "--epochs", "1", "--threads", "1", "--phrases", *phrases]
        mine = {"LAPLEX_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
        return subprocess.run([*start, *arguments], capture_output=True, text=True, env=os.environ | mine, check=False)

    listed = [str(tmp_path / "listed.txt")]
    for start, out in ((torchrun, "two"), ([sys.executable, "-m", "laplex"], "one")):
        done = fit(*start, out=out, phrases=listed)
        assert done.returncode == 0, done.stderr
        assert "2 of 3 listed phrases are words; not in the text: sea level" in done.stderr
    one, two = (lx.load(tmp_path / name).rows.vocabularies[0] for name in ("one", "two"))
    assert one.words == two.words
    assert one.counts.tolist() == two.counts.tolist()
    assert one.phrases == two.phrases != {}
    refused = fit(*torchrun, out="found", phrases=[])
    assert refused.returncode != 0
    assert "phrases are found in one process" in refused.stderr
