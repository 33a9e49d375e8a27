"""Topics are found without labels, are the same each time, and stay with their documents."""

from __future__ import annotations

import math
import re
from collections import Counter

import numpy as np
import pytest
from scipy import sparse

import laplex as lx
from laplex.text import topics
from laplex.text.topics import document_topics

THEMES = {
    "money": ["tax", "budget", "deficit", "spending", "revenue", "income"],
    "schools": ["teacher", "student", "college", "classroom", "lesson", "pupil"],
    "war": ["army", "soldier", "battle", "general", "troops", "enemy"],
}
COMMON = ["the", "of", "and", "to", "in", "a", "is", "that", "for", "it"]


def rows_of(count=300, seed=1, themes=THEMES):
    """Documents on one theme each, most of whose words are common to all of them."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        theme = rng.choice([*themes])
        words = [*rng.choice(COMMON, 30), *rng.choice(themes[theme], 8), *rng.choice([*themes["war"]], 1)]
        rows.append({"text": " ".join(rng.permutation(words)), "theme": str(theme), "number": number})
    return rows


@pytest.fixture
def tokens():
    return lx.Tokens.of(lx.read(rows_of(), metadata=["theme"]), quiet=True)


def test_documents_on_one_theme_have_one_topic(tokens):
    found = document_topics(tokens, 3)
    assert found.code.dtype == np.int32
    pairs = Counter(zip(tokens.codes("theme").tolist(), found.code.tolist()))
    assert len(pairs) == 3
    for theme, topic in pairs:
        assert set(found.names[topic].split(", ")) <= set(THEMES[tokens.values("theme")[theme]])


def test_larger_topics_come_first(tokens):
    sizes = np.bincount(document_topics(tokens, 3).code)
    assert (np.diff(sizes) <= 0).all()


def test_the_same_seed_gives_the_same_topics(tokens):
    one, two = document_topics(tokens, 5, seed=3), document_topics(tokens, 5, seed=3)
    assert (one.code == two.code).all()
    assert one.names == two.names


def test_a_sample_is_enough_for_all(tokens, monkeypatch):
    all_of_them = document_topics(tokens, 3)
    monkeypatch.setattr(topics, "SAMPLE_DOCUMENTS", 60)
    sampled = document_topics(tokens, 3)
    assert len(Counter(zip(all_of_them.code.tolist(), sampled.code.tolist()))) == 3


def test_documents_without_a_word_that_counts_have_the_largest_topic():
    rows = [*rows_of(), {"text": "", "theme": "none"}, {"text": "the of and x", "theme": "none"}]
    tokens = lx.Tokens.of(lx.read(rows), quiet=True)
    assert document_topics(tokens, 3).code[-2:].tolist() == [0, 0]


def test_every_language_has_topics_of_its_own():
    german = {"Geld": ["steuer", "haushalt", "ausgaben"], "war": ["krieg", "armee", "soldat"]}
    corpus = lx.read(rows_of(), language="en") + lx.read(rows_of(themes=german), language="de")
    tokens = lx.Tokens.of(corpus, quiet=True)
    found = document_topics(tokens, 2)
    assert len(set(found.names)) == len(found.names) == 4
    assert {*found.code[tokens.languages == 0]} == {0, 1}
    assert {*found.code[tokens.languages == 1]} == {2, 3}
    assert all(set(name.split(", ")) <= {*german["Geld"], *german["war"]} for name in found.names[:2])


def test_names_are_unique_and_have_no_two_forms_of_a_word():
    rows = [{"text": text} for text in ("tax taxes taxation levy fee", "farm farmers farming cow barn")] * 30
    assert document_topics(lx.Tokens.of(lx.read(rows), quiet=True), 2).names == ["fee, levy, tax", "barn, cow, farm"]
    assert topics._name(["a1", "b1", "c1", "d1"], {"a1, b1, c1"}) == "a1, b1, c1, d1"
    assert topics._name(["a1", "b1"], {"a1, b1"}) == "a1, b1 (2)"


def test_topics_that_no_document_has_are_left_out():
    rows = [{"text": text} for text in ("tax budget", "school teacher")] * 30  # only two points to cluster
    found = document_topics(lx.Tokens.of(lx.read(rows), quiet=True), 4)
    assert sorted({*found.code.tolist()}) == list(range(len(found.names)))


# The parts of the computation


def test_vectors_are_log_counts_times_inverse_document_frequencies():
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(["red", "blue", "green", "x", "rare" if i < 9 else "sun"], 12)) for i in range(40)]
    tokens = lx.Tokens.of(lx.read([{"text": text} for text in texts]), min_count=1, quiet=True)
    space = topics._WordSpace(tokens, 0, 1)
    counts = [Counter(text.split()) for text in texts]
    totals = sum(counts, Counter())
    having = {word: sum(word in count for count in counts) for word in totals}
    expected = [w for w in totals if len(w) > 1 and totals[w] >= 20 and having[w] <= 20]
    assert sorted(space.words) == sorted(expected)
    vectors = np.array([[math.log1p(c[w]) * math.log(40 / having[w]) for w in space.words] for c in counts])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    assert np.vstack([part.toarray() for part in space.vectors()]) == pytest.approx(vectors, abs=1e-6)


def test_axes_are_those_of_the_singular_value_decomposition():
    rng = np.random.default_rng(1)
    left, right = np.linalg.qr(rng.standard_normal((200, 40)))[0], np.linalg.qr(rng.standard_normal((90, 40)))[0]
    matrix = (left * 0.7 ** np.arange(40)) @ right.T
    axes = topics._axes(sparse.csr_matrix(matrix.astype(np.float32)), 6, rng)
    assert np.abs(np.sum(axes * right[:, :6], axis=0)) == pytest.approx(np.ones(6), abs=1e-3)


def test_clusters_of_points_are_found_by_direction():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 4, 500)
    centers = np.linalg.qr(rng.standard_normal((8, 4)))[0].T
    points = topics._normalized((centers[truth] + 0.1 * rng.standard_normal((500, 8))).astype(np.float32))
    score, found = max((topics._k_means(points, 4, rng) for _ in range(8)), key=lambda each: each[0])
    nearest = (points @ found.T).argmax(1)
    assert len(Counter(zip(truth.tolist(), nearest.tolist()))) == 4
    assert score == pytest.approx((points * found[nearest]).sum(1).mean(), abs=1e-4)


# The column of a corpus


def topics_by_number(corpus):
    frame = corpus.head(10_000)
    return dict(zip(frame["number"], frame["topic"]))


def test_a_corpus_has_a_column_of_topics():
    corpus = lx.read(rows_of(), metadata=["theme", "number"])
    with_topics = corpus.topics(3, quiet=True)
    assert with_topics.columns == ("theme", "number", "topic")
    found = document_topics(lx.Tokens.of(corpus, quiet=True), 3)
    tokens = lx.Tokens.of(with_topics, quiet=True)
    assert [tokens.values("topic")[code] for code in tokens.codes("topic")] == [
        found.names[code] for code in found.code
    ]
    name = tokens.values("topic")[0]
    assert with_topics.where(topic=name).summary().values["topic"] == {name: (tokens.codes("topic") == 0).sum()}


@pytest.mark.parametrize("batch", [7, 10_000])
def test_topics_stay_with_their_documents_whatever_is_left_out(batch, monkeypatch):
    monkeypatch.setattr("laplex.text.formats.MAX_BATCH_ROWS", batch)
    rows = rows_of()
    for row in rows[::11]:
        row["theme"] = None
    options = {"metadata": ["theme", "number"], "missing": "drop"}
    some = lx.read(rows, **options).where(number=range(40, 250))
    both = (some.topics(3, quiet=True), (lx.read(rows_of(seed=2), **options) + some).topics(3, quiet=True))
    for corpus in both:
        of_theme = Counter()
        for _, batch_of in corpus.complete_documents():
            of_theme.update(zip(batch_of.frame["theme"], batch_of.frame["topic"]))
        assert len(of_theme) == 3
        assert None not in {topic for _, topic in of_theme}
    dropped = [topic for number, topic in topics_by_number(both[0]).items() if int(number) % 11 == 0]
    assert all(topic is None or topic != topic for topic in dropped)
    assert lx.Tokens.of(both[0], quiet=True).documents == sum(1 for n in range(40, 250) if n % 11)


def test_topics_are_part_of_what_is_cached():
    corpus = lx.read(rows_of())
    one, same, other = (corpus.topics(count, quiet=True) for count in (3, 3, 4))
    assert one.identity == same.identity != other.identity != corpus.identity
    assert re.search(r"Assigned\(name='topic', digest='[0-9a-f]{32}'\)", one.parts[0].identity)
    assert lx.Tokens.of(one, quiet=True).folder == lx.Tokens.of(same, quiet=True).folder


def test_topics_twice_and_bins_after_them():
    corpus = lx.read(rows_of(), numbers=["number"]).topics(3, quiet=True).topics(2, "coarse", quiet=True)
    assert corpus.bins("number", 2).columns == ("number", "topic", "coarse", "number_bin")
    assert len(corpus.summary().values["coarse"]) == 2


def test_a_row_that_came_later_has_no_topic(write):
    lines = "\n".join(row["text"] for row in rows_of())
    corpus = lx.read(write("a.txt", lines)).topics(3, quiet=True)
    write("a.txt", f"{lines}\ntax")
    assert corpus.summary().values["topic"][None] == 1


# Bad input


def test_wrong_arguments():
    corpus = lx.read(rows_of(), metadata=["theme"])
    with pytest.raises(lx.InputError, match="count=1 must be a whole number from 2"):
        corpus.topics(1, quiet=True)
    with pytest.raises(lx.InputError, match='column "theme" already: give the topics another name'):
        corpus.topics(3, "theme")
    with pytest.raises(lx.InputError, match=r"count=301: only 300 documents have words .*more text or fewer topics"):
        corpus.topics(301, quiet=True)
    with pytest.raises(lx.InputError, match=r'only 0 documents of "en" have words'):
        lx.read([{"text": "a b b b b b"}], language="en").topics(2, quiet=True)
