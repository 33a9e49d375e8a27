"""What one can ask of a corpus and do with it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import laplex as lx


@pytest.fixture
def corpus(documents):
    return lx.read(documents, metadata=["party", "year"])


@pytest.fixture
def gappy():
    rows = [("a b", "D"), ("c d e", None), ("f", " "), ("g", "R")]
    return [{"text": text, "party": party} for text, party in rows]


def test_a_printed_corpus_counts_documents_tokens_and_values(corpus):
    assert str(corpus).splitlines() == [
        "Corpus of a list of documents",
        "  5 documents, 25 tokens (1 documents without a word)",
        "  party: D (2), D; R (1), R (1), é (1)",
        "  year: 2009 (1), 2010 (2), 2011 (1), 2012 (1)",
    ]


def test_many_values_are_printed_as_a_range():
    rows = [{"text": "a", "year": year} for year in range(90, 110)]
    assert "year: 20 values, 90 to 109" in str(lx.read(rows, metadata=["year"]))


def test_missing_values_are_printed(gappy):
    assert "party: D (1), R (1), missing (2)" in str(lx.read(gappy, metadata=["party"]))


def test_repr_reads_nothing(again):
    corpus = lx.read(again, metadata=["party"])
    before = again.times
    assert repr(corpus) == "Corpus of a Again; metadata: party (print it to count its documents)"
    assert again.times == before


def test_repr_tells_what_was_counted_before(corpus):
    assert str(corpus) == repr(corpus)


def test_a_summary_is_made_once(again):
    corpus = lx.read(again)
    corpus.summary()
    before = again.times
    assert corpus.summary().documents == 5
    assert again.times == before


def test_head_shows_the_first_documents(corpus, documents):
    head = corpus.head(2)
    assert list(head.columns) == ["text", "party", "year"]
    assert head["text"].to_list() == [document["text"] for document in documents[:2]]
    assert head["year"].to_list() == ["2010", "2011"]


def test_all_metadata(documents):
    assert lx.read(documents, metadata="all").columns == ("party", "year")


def test_where_keeps_documents_with_these_values(corpus):
    assert corpus.where(party="D", year=2010).summary().documents == 1


@pytest.mark.parametrize(
    "years", [[2010, 2011], (2010.0, "2011"), {2010, 2011}, range(2010, 2012), np.array([2010, 2011])]
)
def test_where_takes_any_collection(corpus, years):
    assert corpus.where(year=years).summary().values["year"] == {"2010": 2, "2011": 1}


def test_where_goes_by_periods_too(corpus):
    assert corpus.periods("year", "10y").where(period="2000").summary().documents == 1


def test_where_of_an_unknown_column_lists_those_read(corpus):
    with pytest.raises(lx.InputError, match=r'no column "state".* party, year'):
        corpus.where(state="NY")


def test_where_that_leaves_nothing_names_the_values_there_are(corpus):
    with pytest.raises(
        lx.InputError, match=r'no documents with party=Mars, X: the values of "party" are D, D; R, R, é'
    ):
        lx.Tokens.of(corpus.where(year=[2009, 2010, 2011, 2012], party=["Mars", "X"]))
    with pytest.raises(lx.InputError, match='no documents with period=1990: the values of "period" are 2000, 2010'):
        lx.Tokens.of(corpus.periods("year", "10y").where(period=1990, party="D"))
    with pytest.raises(lx.InputError, match='no documents with party=R: the values of "party" are D'):
        lx.Tokens.of(corpus.where(year=2009, party="R"))


def test_missing_metadata_is_counted_and_one_document_shown(gappy):
    with pytest.raises(lx.InputError, match=r"""2 have no "party". One is {'party': None}, beginning 'c d e'"""):
        lx.Tokens.of(lx.read(gappy, metadata=["party"]), min_count=1)


def test_missing_metadata_can_be_dropped(gappy, decode):
    tokens = lx.Tokens.of(lx.read(gappy, metadata=["party"], missing="drop"), min_count=1)
    assert decode(tokens) == [["a", "b"], ["g"]]


def test_metadata_that_was_not_asked_for_may_be_missing(gappy):
    assert lx.Tokens.of(lx.read(gappy), min_count=1).documents == 4


def test_a_language_has_a_vocabulary_of_its_own(decode):
    english = lx.read([{"text": "the die", "party": "D"}], metadata=["party"], language="en")
    german = lx.read([{"text": "die die", "party": "D"}], metadata=["party"], language="de")
    tokens = lx.Tokens.of(english + german, min_count=1)
    assert [(v.language, v.words, v.counts.tolist()) for v in tokens.vocabularies] == [
        ("de", ("die",), [2]),
        ("en", ("die", "the"), [1, 1]),
    ]
    assert decode(tokens) == [["the", "die"], ["die", "die"]]


def test_a_column_tells_the_language(decode):
    rows = [{"text": "the die", "lang": "en"}, {"text": "die", "lang": "de"}, {"text": "die the", "lang": "en"}]
    corpus = lx.read(rows, language_column="lang")
    tokens = lx.Tokens.of(corpus, min_count=1)
    assert tokens.languages.tolist() == [1, 0, 1]
    assert decode(tokens) == [["the", "die"], ["die"], ["die", "the"]]
    assert corpus.head()["language"].to_list() == ["en", "de", "en"]
    assert "languages: de (1), en (2)" in str(corpus)


def test_a_missing_language_is_missing_metadata():
    with pytest.raises(lx.InputError, match='1 have no "language"'):
        lx.Tokens.of(lx.read([{"text": "a", "lang": None}], language_column="lang"), min_count=1)


def test_corpora_without_languages_share_a_vocabulary():
    tokens = lx.Tokens.of(lx.read([{"text": "a b"}]) + lx.read([{"text": "b c"}]), min_count=1)
    assert [v.words for v in tokens.vocabularies] == [("b", "a", "c")]


def test_the_parts_of_a_sum_must_have_the_same_metadata(documents):
    both = lx.read(documents, metadata=["party"]) + lx.read(documents, metadata=["year"])
    with pytest.raises(lx.InputError, match='5 have no "party", 5 have no "year"'):
        lx.Tokens.of(both)


def test_a_corpus_with_a_language_does_not_add_to_one_without(documents):
    with pytest.raises(lx.InputError, match="the other has none"):
        lx.read(documents, language="en") + lx.read(documents)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metadata": "party"}, r'write metadata=\["party"\]'),
        ({"language": "en", "language_column": "party"}, "not both"),
        ({"missing": "ignore"}, '"error" or "drop"'),
        ({"language_column": "lang"}, 'no column "lang"'),
    ],
)
def test_wrong_arguments(documents, arguments, message):
    with pytest.raises(lx.InputError, match=message):
        lx.read(documents, **arguments)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ((document for document in [{"text": "a"}]), "generator can be read only once"),
        (5, "cannot read a corpus from int"),
        ({"text": "a"}, "cannot read a corpus from dict"),
        (pl.Series(["a"]), "pass a table"),
        ([{"text": "a"}, "b"], "document 2 of a list of documents is a str, not a dict"),
        ([], "a list of documents is empty"),
    ],
    ids=["generator", "int", "dict", "series", "mixed list", "empty list"],
)
def test_what_is_no_source_is_refused(source, message):
    with pytest.raises(lx.InputError, match=message):
        lx.read(source)


def test_a_period_may_not_take_the_name_of_a_column(corpus):
    with pytest.raises(lx.InputError, match='column "party" already'):
        corpus.periods("year", name="party")
