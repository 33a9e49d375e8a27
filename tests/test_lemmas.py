"""Lemmas and parts of speech by simplemma and spaCy, and words with tags in every question."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import numpy as np
import polars as pl
import pytest
import simplemma
import spacy

import laplex as lx
from laplex.reports import choosing
from laplex.text.lemmas import word_places
from laplex.text.passages import passages_at
from laplex.text.tokenizer import Tokenizer

TEXT = "The Attack attacks an attack; we\u0301 shouted:\n ATTACKS!"


def pipeline():
    """A small pipeline of spaCy: the rules of English tokens, and a few lemmas and parts of speech."""
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("attribute_ruler")
    words = "the:the:DET an:an:DET we\u0301:wé:PRON i:I:PRON will:will:AUX attack:attack:NOUN attacks:attack:VERB"
    words += " shouted:shout:VERB war:war:NOUN tax:tax:NOUN taxes:tax:NOUN costs:cost:VERB us:US:PROPN win:win:VERB"
    for form, lemma, tag in (each.split(":") for each in words.split()):
        ruler.add([[{"LOWER": form.replace("e\u0301", "é")}]], {"LEMMA": lemma, "POS": tag})
    ruler.add([[{"LOWER": "a"}, {"LOWER": "will"}]], {"LEMMA": "will", "POS": "NOUN"}, index=1)
    ruler.add([[{"LOWER": "a"}]], {"LEMMA": "a", "POS": "DET"})
    return nlp


@pytest.fixture(scope="module")
def nlp():
    return pipeline()


def tokens_of(texts, min_count=1, **arguments):
    rows = [{"text": text} for text in ([texts] if isinstance(texts, str) else texts)]
    return lx.Tokens.of(lx.read(rows, **arguments), min_count=min_count, quiet=True)


def words_of(tokens, document=0):
    names = tokens.vocabularies[tokens.languages[document]].words
    return [names[i] for i in tokens.document(document)]


def passages(tokens, document=0):
    count = len(tokens.document(document))
    return passages_at(tokens, [document] * count, range(count), words=30)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "The children's TAXES were US 1,000", ["the", "child", "tax", "be", "us", "1000"]),
        ("de", "Die Häuser gingen; HÄUSER", ["der", "haus", "gehen", "haus"]),
        ("fr", "l'homme, les chevaux", ["l", "homme", "le", "cheval"]),
    ],
)
def test_simplemma_gives_lemmas_of_the_words_as_they_are_written(language, text, expected):
    rule = f"simplemma:{language}"
    tokens = tokens_of([text, "x", text], tokenizer=rule)
    assert words_of(tokens) == words_of(tokens, 2) == expected
    texts = pl.Series([text, ""])
    assert Tokenizer(rule).split(texts).to_list() == [expected, []]
    assert Tokenizer(rule).counts(texts).to_list() == [len(expected), 0]


def test_capitals_may_stay():
    assert words_of(tokens_of("Häuser NATO", tokenizer="simplemma:de", lowercase=False)) == ["Haus", "NATO"]


def test_each_different_word_is_looked_up_once(monkeypatch):
    asked, lemmatize = [], simplemma.lemmatize
    monkeypatch.setattr(simplemma, "lemmatize", lambda word, language: asked.append(word) or lemmatize(word, language))
    tokens_of(["taxes and taxes"] * 40, tokenizer="simplemma:en")
    assert sorted(asked[1:]) == ["and", "taxes"]  # the first is the test of the language


def test_languages_have_their_own_lemmas_and_passages():
    english = lx.read([{"text": "It was"}], language="en", tokenizer="simplemma:en")
    german = lx.read([{"text": "Was ging"}], language="de", tokenizer="simplemma:de")
    plain = lx.read([{"text": "WAS?"}], language="xx")
    tokens = lx.Tokens.of(english + german + plain, min_count=1, quiet=True)
    assert [words_of(tokens, i) for i in range(3)] == [["it", "be"], ["was", "gehen"], ["was"]]
    assert [passages(tokens, i)["word"].tolist() for i in range(3)] == [["It", "was"], ["Was", "ging"], ["WAS"]]


def test_passages_mark_the_word_that_a_lemma_is_of(monkeypatch):
    text = "The tax: TAXES, the people's taxes\nwere better."
    tokens = tokens_of([text, "tax the better"], min_count=2, tokenizer="simplemma:en")
    frame = passages(tokens)
    assert words_of(tokens) == ["the", "tax", "tax", "the", "tax", "good"]
    assert frame["word"].tolist() == ["The", "tax", "TAXES", "the", "taxes", "better"]
    assert (frame["before"] + frame["word"] + frame["after"] == text.replace("\n", " ")).all()
    monkeypatch.setitem(sys.modules, "simplemma", None)  # as for someone to whom the model is sent
    assert passages(tokens)["word"].tolist() == words_of(tokens)


def test_spacy_gives_lemmas_and_passages_mark_its_tokens(nlp):
    tokens = tokens_of([TEXT, "attacks"], tokenizer=nlp)
    assert words_of(tokens) == ["the", "attack", "attack", "an", "attack", "wé", "shout", "attack"]
    frame = passages(tokens)
    assert frame["word"].tolist() == ["The", "Attack", "attacks", "an", "attack", "wé", "shouted", "ATTACKS"]
    assert frame["before"][2] == "The Attack "
    assert tokens.text(0) == TEXT
    tagged = tokens_of(["a Will", TEXT], tokenizer=nlp, tags=True)
    assert words_of(tagged) == ["a_DET", "will_NOUN"]
    assert words_of(tagged, 1)[:3] == ["the_DET", "attack_NOUN", "attack_VERB"]
    assert passages(tagged, 1)["word"].tolist() == frame["word"].tolist()


def test_rare_words_lists_and_other_tokenizers_stand_beside_spacy(nlp):
    one = lx.read([{"text": "rare Attacks \0 shouted attack"}, {"text": ""}], tokenizer=nlp)
    two = lx.read([{"text": "Attack shout"}]) + lx.read([{"text": ["attack", "shout"]}])
    tokens = lx.Tokens.of(one + two, min_count=2, quiet=True)
    assert [passages(tokens, i)["word"].tolist() for i in (0, 2, 3)] == [
        ["Attacks", "shouted", "attack"],
        ["Attack", "shout"],
        ["attack", "shout"],
    ]
    assert tokens.text(0) == "rare Attacks \0 shouted attack"
    assert tokens.texts([1, 2, 3]) == ["", "Attack shout", None]


def test_tokens_without_lemmas_are_words_as_written():
    blank = spacy.blank("en")
    assert words_of(tokens_of("It isn't Over (10%)", tokenizer=blank)) == ["it", "is", "n't", "over", "10"]
    assert Tokenizer(blank, lowercase=False).split(pl.Series(["A b"])).to_list() == [["A", "b"]]


def test_a_pipeline_is_loaded_by_name_from_a_folder(nlp, tmp_path):
    nlp.to_disk(tmp_path / "model")
    name = f"spacy:{tmp_path / 'model'}"
    assert words_of(tokens_of(TEXT, tokenizer=name, tags=True))[1:3] == ["attack_NOUN", "attack_VERB"]
    assert Tokenizer(name).identity == Tokenizer(nlp).identity
    described = tokens_of(TEXT, tokenizer=name).settings["tokenizers"][0]["rule"]
    assert described == f"a function: spaCy {version('spacy')}, en_pipeline 0.0.0"


IDENTITY = """
import sys
sys.path.insert(0, sys.argv[1])
from test_lemmas import Tokenizer, pipeline
print(Tokenizer("simplemma:en").identity, Tokenizer(pipeline(), tags=True).identity, sep="\\n", end="")
"""


@pytest.mark.slow
def test_the_cache_knows_lemmas_again_and_notices_changes(nlp, request):
    run = [sys.executable, "-c", IDENTITY, str(request.path.parent)]
    again = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    here = [Tokenizer("simplemma:en").identity, Tokenizer(nlp, tags=True).identity]
    assert again.split("\n") == here
    other = pipeline()
    other.get_pipe("attribute_ruler").add([[{"LOWER": "peace"}]], {"POS": "NOUN"})
    different = [Tokenizer("simplemma:de"), Tokenizer(), Tokenizer(nlp), Tokenizer(other, tags=True)]
    assert len({*here, *(each.identity for each in different)}) == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tokenizer": "simplemma:xx"}, 'simplemma has no dictionary of "xx"'),
        ({"tokenizer": "simplemma"}, 'does not say which language: write "simplemma:en"'),
        ({"tokenizer": "spacy"}, 'does not say which language: write "spacy:en_core_web_sm"'),
        ({"tokenizer": "spacy:en_nothing"}, "python -m spacy download en_nothing"),
        ({"tokenizer": "simplemma:en", "tags": True}, "needs spaCy, such as tokenizer="),
        ({"tags": True}, "needs spaCy, such as tokenizer="),
    ],
)
def test_what_cannot_be_read_with_is_named(arguments, message):
    with pytest.raises(lx.InputError, match=message):
        lx.read([{"text": "a"}], **arguments)


@pytest.mark.parametrize(
    ("module", "rule", "extra"), [("simplemma", "simplemma:en", "lemmas"), ("spacy", "spacy:en_core_web_sm", "spacy")]
)
def test_a_missing_extra_is_named(module, rule, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(lx.InputError, match=rf'pip install "laplex\[{extra}\]"'):
        lx.read([{"text": "a"}], tokenizer=rule)


def test_documents_that_spacy_cannot_take_are_errors(nlp):
    with pytest.raises(lx.InputError, match='gives "unknown" no part of speech; it has attribute_ruler'):
        tokens_of("the unknown", tokenizer=nlp, tags=True)
    short = spacy.blank("en")
    short.max_length = 5
    with pytest.raises(lx.InputError, match="a document has 6 characters, and the spaCy pipeline takes 5"):
        tokens_of("a b c ", tokenizer=short)
    broken = spacy.blank("en")
    broken.add_pipe("lemmatizer", config={"mode": "lookup"})  # without its tables
    with pytest.raises(lx.InputError, match="cannot read a document"):
        tokens_of("a b", tokenizer=broken)


@pytest.mark.parametrize("text", ["", "[]", '["a"]', '[["a"], ["x"], [1]]', '[["a"], [1], [1, 2]]', "[1, 2, 3]"])
def test_places_of_someone_else_are_not_trusted(text):
    assert word_places(text) is None


VOCABULARY = lx.Vocabulary(["attack_NOUN", "the_DET", "attack_VERB", "tax_NOUN", "human_rights"], np.arange(5, 0, -1))


def test_words_with_tags_are_found():
    assert [VOCABULARY.find(word) for word in ("attack_NOUN", "Attack_NOUN", "attack_verb", "attack")] == [
        0,
        0,
        2,
        None,
    ]
    with pytest.raises(
        lx.InputError, match=r'"Attack" is there with the tag of a part of speech only: .*_NOUN, .*_VERB'
    ):
        VOCABULARY["Attack"]
    assert VOCABULARY.close("attack") == ["attack_NOUN", "attack_VERB"]
    assert VOCABULARY.close("atack") == ["attack_NOUN"]
    assert VOCABULARY.close("human_right_NOUN") == ["human_rights"]
    assert VOCABULARY.tagged("human") == []


@pytest.fixture(scope="module")
def fitted(nlp, tmp_path_factory):
    random = np.random.default_rng(1)
    words = ["the", "attack", "attacks", "war", "tax", "taxes", "costs", "us", "win", "a will", "i", "shouted"]
    rows = [
        {"text": " ".join(random.permutation(words)), "party": party, "speaker": f"{party}{i % 12}"}
        for i in range(120)
        for party in "DR"
    ]
    corpus = lx.read(rows, metadata=["party"], unit="speaker", tokenizer=nlp, tags=True)
    model = lx.Model(["party"], lx.Ridge() + lx.Groups("party", 10.0), dimensions=10)
    cache = tmp_path_factory.mktemp("cache")
    return lx.fit(model, corpus, epochs=2, threads=1, min_count=1, cache=cache, quiet=True)


def test_questions_know_tags(fitted, tmp_path):
    assert "attack_VERB" in fitted.neighbors("attack_NOUN", 20, at={"party": "D"})["neighbor"].tolist()
    with pytest.raises(lx.InputError, match=r"write attack_VERB, attack_NOUN|write attack_NOUN, attack_VERB"):
        fitted.neighbors("attack", at={"party": "D"})
    shown = set(fitted.contrast("party")["word"])
    assert {"attack_NOUN", "will_NOUN", "us_PROPN"} <= shown  # nouns are no function words
    assert not shown & {"the_DET", "a_DET", "i_PRON"}
    assert "the_DET" in set(fitted.inference(exclude=(), quiet=True).contrast("party")["word"])
    assert fitted.passages("tax_NOUN", top=50, at={"party": "D"})["word"].isin(["tax", "taxes"]).all()
    fitted.export(tmp_path / "d.vec", at={"party": "D"})
    assert "attack_NOUN" in lx.load_word2vec(tmp_path / "d.vec").words()


def test_reports_begin_with_content_words_that_have_tags(fitted, tmp_path):
    first = choosing.first_words(fitted, count=4)
    assert len(first) == 4
    assert all(choosing.is_content_word(fitted, pl.Series(first).to_pandas()))
    lx.report(fitted, tmp_path / "report.html", quiet=True)
    assert first[0] in (tmp_path / "report.html").read_text()


def test_evaluation_takes_the_most_frequent_form(fitted, capfd):
    pairs = [("Attack", "war", 9.0), ("tax", "win", 2.0), ("cost_VERB", "war_NOUN", 5.0)]
    table = lx.evaluation.similarity(fitted, pairs, at={"party": "D"})
    assert table["pairs"].max() == 3
    assert "4 words are looked up with the part of speech" in capfd.readouterr().err
