"""The edges that each prior makes."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import small

import laplex as lx
from laplex.model.priors.prior import saved_priors


def text(words, party="D", year="2000", lang=""):
    return {"text": words.split(), "party": party, "year": year, "lang": lang}


@pytest.fixture
def monolingual():
    """Three words in four slices; one party is silent in 2001."""
    return [text("a b c", "D", "2000"), text("a b c", "R", "2000"), text("a a b", "D", "2001"), text("a", "D", "2003")]


@pytest.fixture
def rows(monolingual):
    return small.layout(monolingual, ["party", "year"])


@pytest.fixture
def two_languages():
    return small.layout([text("dog cat", lang="en"), text("cane gatto cane", lang="it")])


def edges(graph, rows):
    """The edges by name: {((word, role, slice), (word, role, slice)): signed weight}."""
    found = {}
    for i, j, a, s in zip(graph.first, graph.second, graph.weight, graph.sign):
        found[rows.name(int(i)), rows.name(int(j))] = s * a
    assert len(found) == graph.edges
    return found


def word(name, party, year):
    return name, "word", (party, year)


def context(name):
    return name, "context", ()


def test_rows_are_named_as_they_are_laid_out(rows):
    assert len(rows) == 4 * 3 + 3
    assert rows.slices.keys == (("D", "2000"), ("D", "2001"), ("D", "2003"), ("R", "2000"))
    assert rows.name(rows.words(0, 3)[1]) == ("b", "word", ("R", "2000"))
    assert rows.name(rows.contexts(0)[2]) == ("c", "context", ())


def test_a_ridge_is_a_diagonal(rows):
    np.testing.assert_array_equal(lx.Ridge(2.0).graph(rows).diagonal, np.full(15, 2.0))
    np.testing.assert_array_equal(lx.Ridge(2.0, on="words").graph(rows).diagonal, [2.0] * 12 + [0.0] * 3)
    np.testing.assert_array_equal(lx.Ridge(2.0, on="contexts").graph(rows).diagonal, [0.0] * 12 + [2.0] * 3)
    assert lx.Ridge(2.0).graph(rows).edges == 0


def test_groups_join_a_word_with_itself_where_all_else_is_equal(rows):
    found = edges(lx.Groups("party", 3.0).graph(rows), rows)
    assert found == {(word(w, "D", "2000"), word(w, "R", "2000")): 3.0 for w in "abc"}


def test_groups_are_complete_graphs(rows):
    graph = lx.Groups("year", 3.0).graph(rows)
    assert graph.edges == 3 * 3  # three pairs of years of one party, none of the other
    assert not graph.diagonal.any()


def test_a_group_mean_is_a_complete_graph_and_a_diagonal(rows):
    graph = lx.GroupMean("year", 6.0, 2.0).graph(rows)
    assert graph.edges == 3 * 3
    np.testing.assert_allclose(graph.weight, 36 / 20)  # three years: γ₀ + Sγ₁ = 20
    np.testing.assert_allclose(graph.diagonal[:9], 12 / 20)
    np.testing.assert_allclose(graph.diagonal[9:12], 12 / 8)  # the other party has one
    np.testing.assert_array_equal(graph.diagonal[12:], 0.0)


def test_a_chain_joins_neighbors_and_skips_what_is_missing(rows):
    found = edges(lx.Chain("year", 3.0).graph(rows), rows)
    expected = {}
    for w in "abc":
        expected[word(w, "D", "2000"), word(w, "D", "2001")] = 3.0
        expected[word(w, "D", "2001"), word(w, "D", "2003")] = 3.0
    assert found == expected


def test_a_chain_by_gap_is_weaker_over_longer_gaps(rows):
    found = edges(lx.Chain("year", 3.0, by_gap=True).graph(rows), rows)
    assert found[word("a", "D", "2000"), word("a", "D", "2001")] == 3.0
    assert found[word("a", "D", "2001"), word("a", "D", "2003")] == 1.5


def test_a_chain_starts_once_for_each_group(rows):
    diagonal = lx.Chain("year", 3.0, start=0.5).graph(rows).diagonal
    held = [rows.name(int(row))[2] for row in np.flatnonzero(diagonal)]
    assert set(held) == {("D", "2000"), ("R", "2000")}
    assert set(diagonal[diagonal > 0]) == {0.5}
    assert len(held) == 6


def test_a_chain_runs_by_the_size_of_numbers():
    where = small.layout([text("a b", year=year) for year in ("9", "10", "100")], ["year"])
    found = edges(lx.Chain("year", 1.0).graph(where), where)
    assert {(one[2], two[2]) for one, two in found} == {(("9",), ("10",)), (("10",), ("100",))}


def test_a_chain_by_gap_goes_by_the_middles_of_ranges():
    chain = lx.Chain("age", 3.0, by_gap=True)
    assert chain._gap("10 to 20", "21 to 25") == 8.0
    assert chain._gap("2010-01", "2011-01") == pytest.approx(1.0)


def test_a_chain_by_gap_needs_numbers():
    where = small.layout([text("a b", year=year) for year in ("spring", "summer")], ["year"])
    with pytest.raises(lx.InputError, match='needs numbers in "year", not "spring" and "summer"'):
        lx.Chain("year", 1.0, by_gap=True).graph(where)


def test_pairs_of_words_are_joined_in_every_slice(rows):
    found = edges(lx.Pairs([("a", "b", 0.5)], 4.0).graph(rows), rows)
    assert found == {(word("a", *key), word("b", *key)): 2.0 for key in rows.slices.keys}


def test_pairs_of_words_and_contexts_are_joined_both_ways(rows):
    found = edges(lx.Pairs([("a", "b")], 4.0, joins="word-context").graph(rows), rows)
    expected = {(word("a", *key), context("b")): 4.0 for key in rows.slices.keys}
    expected |= {(context("a"), word("b", *key)): 4.0 for key in rows.slices.keys}
    assert found == expected


def test_pairs_of_contexts_are_joined_once(rows):
    assert edges(lx.Pairs([("a", "b")], 4.0, joins="context-context").graph(rows), rows) == {
        (context("a"), context("b")): 4.0
    }


def test_a_negative_weight_is_a_sign(rows):
    graph = lx.Pairs([("a", "b", -0.5)], 4.0, joins="context-context").graph(rows)
    assert (graph.weight[0], graph.sign[0]) == (2.0, -1)


def test_a_directed_pair(rows):
    graph = lx.Pairs([("b", "a")], 1.0, directed=True).graph(rows)
    assert graph.directed.all()
    assert {one[0] for one, _ in edges(graph, rows)} == {"b"}


def test_pairs_with_unknown_words_and_of_a_word_with_itself_are_left_out(rows):
    graph = lx.Pairs([("a", "b"), ("a", "zebra"), ("c", "c")], 1.0, joins="context-context").graph(rows)
    assert graph.edges == 1


def test_an_infinite_strength_is_a_tie(rows):
    assert np.isinf(lx.Pairs([("a", "b", 0.5)], math.inf).graph(rows).weight).all()
    assert np.isinf(lx.Groups("party", math.inf).graph(rows).weight).all()


def test_joins_of_another_kind_are_refused():
    with pytest.raises(lx.InputError, match='joins="context-word": write "word-word"'):
        lx.Pairs([("a", "b")], joins="context-word")


def test_translations_join_words_and_contexts(two_languages):
    found = edges(lx.Translations([("dog", "cane"), ("dog", "zebra")], 5.0).graph(two_languages), two_languages)
    assert found == {
        (("dog", "word", ()), ("cane", "word", ())): 5.0,
        (("dog", "context", ()), ("cane", "context", ())): 5.0,
    }


def test_translations_are_understood_in_either_order(two_languages):
    straight = lx.Translations([("dog", "cane"), ("cat", "gatto")], 1.0).graph(two_languages)
    turned = lx.Translations([("cane", "dog"), ("gatto", "cat")], 1.0).graph(two_languages)
    named = lx.Translations([("cane", "dog"), ("gatto", "cat")], 1.0, languages=("it", "en")).graph(two_languages)
    np.testing.assert_array_equal(straight.laplacian().toarray(), turned.laplacian().toarray())
    np.testing.assert_array_equal(straight.laplacian().toarray(), named.laplacian().toarray())


def test_translations_are_looked_up_as_the_vocabulary_is_written(two_languages):
    listed = lx.Translations([("Dog", "Cane"), ("CAT", "Gatto")])
    lower = lx.Translations([("dog", "cane"), ("cat", "gatto")])
    assert edges(listed.graph(two_languages), two_languages) == edges(lower.graph(two_languages), two_languages)


def strengths_of(rows, pairs, **options):
    """The strengths between words, by pair."""
    found = edges(lx.Translations(pairs, **options).graph(rows), rows)
    return {(one[0], two[0]): strength for (one, two), strength in found.items() if one[1] == "word"}


def test_ties_join_a_word_to_one_translation_and_the_others_are_strong():
    rows = small.layout([text("growth rise increase dog", lang="en"), text("crescita aumento cane", lang="it")])
    pairs = [(en, it) for en in ("growth", "rise", "increase") for it in ("crescita", "aumento")] + [("dog", "cane")]
    found = strengths_of(rows, pairs)
    tied = [("growth", "crescita"), ("rise", "aumento"), ("dog", "cane")]
    assert found == {pair: math.inf if pair in tied else 1e4 for pair in pairs}
    weighted = [(*pair, 3.0 if pair == ("increase", "aumento") else 1.0) for pair in pairs]
    best = [("growth", "crescita"), ("increase", "aumento"), ("dog", "cane")]
    assert strengths_of(rows, weighted, others=7.0) == {pair: math.inf if pair in best else 7.0 for pair in pairs}
    assert set(strengths_of(rows, pairs, others=math.inf).values()) == {math.inf}
    given = [5.0, *[math.inf] * 6]
    assert strengths_of(rows, pairs, strength=given)["growth", "crescita"] == 5.0
    assert strengths_of(rows, pairs, strength=given)["growth", "aumento"] == math.inf
    weaker = strengths_of(rows, [("growth", "crescita", 2.0), ("growth", "aumento", 0.5)])
    assert weaker == {("growth", "crescita"): math.inf, ("growth", "aumento"): 5e3}


def test_words_of_one_language_that_are_tied_are_counted():
    rows = small.layout([text("growth rise dog", lang="en"), text("crescita cane", lang="it")])
    pairs = [("growth", "crescita"), ("rise", "crescita"), ("dog", "cane")]
    for others, said in ((1e4, ""), (math.inf, "2 words of en share a vector, such as growth = rise")):
        _, slot = lx.Translations(pairs, others=others).graph(rows).merge_ties()
        assert rows.tied_words(slot) == said


def test_translations_in_the_wrong_order_of_languages_are_refused(two_languages):
    listed = lx.Translations([("dog", "cane"), ("cat", "gatto")], languages=("it", "en"))
    with pytest.raises(lx.InputError, match=r'2 are the other way round: write languages=\("en", "it"\)'):
        listed.graph(two_languages)


def test_translations_find_their_languages_among_three():
    rows = small.layout([text("dog cat", lang="en"), text("cane gatto", lang="it"), text("hund katze", lang="de")])
    found = edges(lx.Translations([("hund", "cane"), ("katze", "gatto")]).graph(rows), rows)
    pairs = (("hund", "cane"), ("katze", "gatto"))
    assert set(found) == {((one, role, ()), (two, role, ())) for one, two in pairs for role in ("word", "context")}
    doubtful = lx.Translations([("dog", "cane"), ("cat", "gatto"), ("cat", "cane"), ("dog", "hund"), ("cat", "katze")])
    with pytest.raises(lx.InputError, match="has 3 pairs of en and it, and 2 of en and de: say which by languages="):
        doubtful.graph(rows)


def test_pairs_that_few_words_of_are_known_name_some_unknown_words(two_languages):
    listed = lx.Translations([("dog", "cane"), ("ox", "bue"), ("cat", "gatta")])
    said = listed.coverage(two_languages, listed.graph(two_languages))
    assert said.startswith("1 of 3 pairs of the list of pairs have both words in the vocabulary (en – it)")
    assert said.endswith("not in it are ox, bue, gatta")
    known = lx.Translations([("dog", "cane"), ("cat", "gatta")])
    assert known.coverage(two_languages, known.graph(two_languages)).endswith("(en – it)")


def test_nodes_of_graphs_are_looked_up_as_the_vocabulary_is_written():
    rows = small.layout([text("dog cat")])
    graph = lx.Graph.of(4, [0, 1, 0], [1, 2, 3], names=["Dog", ("CAT", "context"), 7, "dog"])
    found = edges(lx.Edges(graph).graph(rows), rows)
    assert list(found) == [(("dog", "word", ()), ("cat", "context", ()))]


def test_strengths_of_words_are_looked_up_as_the_vocabulary_is_written(two_languages):
    strengths = lx.Ridge({"Dog": 3.0, "cane": 2.0, "unheard": 9.0})
    with pytest.raises(lx.InputError, match="none of the 1 words"):
        lx.Ridge({"dogs": 3.0}).graph(two_languages)
    english = small.layout([text("dog cat")])
    assert strengths.graph(english).diagonal.tolist() == [0.0, 3.0, 0.0, 3.0]


def test_an_unknown_language_is_refused(two_languages):
    with pytest.raises(lx.InputError, match='no language "fr"; there are en, it'):
        lx.Pairs([("dog", "cat")], 1.0, language="fr").graph(two_languages)
    with pytest.raises(lx.InputError, match="say which language"):
        lx.Pairs([("dog", "cat")], 1.0).graph(two_languages)


def test_pairs_within_one_of_two_languages(two_languages):
    found = edges(lx.Pairs([("cane", "gatto")], 1.0, language="it").graph(two_languages), two_languages)
    assert list(found) == [(("cane", "word", ()), ("gatto", "word", ()))]


def test_an_anchor_leads_to_fixed_vectors_from_every_slice(rows):
    graph = lx.Anchor({"b": [1.0, 2.0], "zebra": [0.0, 0.0]}, 3.0).graph(rows)
    np.testing.assert_array_equal(graph.targets, [[1.0, 2.0]])
    assert [rows.name(int(i)) for i in graph.first] == [word("b", *key) for key in rows.slices.keys]
    assert set(graph.second) == {len(rows)}
    contexts = lx.Anchor({"b": [1.0, 2.0]}, 3.0, on="contexts").graph(rows)
    assert [rows.name(int(i)) for i in contexts.first] == [context("b")]


def test_an_anchor_of_vectors_that_are_not_finite_is_refused(rows):
    with pytest.raises(lx.InputError, match="not finite"):
        lx.Anchor({"b": [1.0, np.nan]}, 1.0).graph(rows)


# One's own edges


def one_edge(one, two, rows, strength=1.0, weight=1.0):
    graph = nx.Graph()
    graph.add_edge(one, two, weight=weight)
    return edges(lx.Edges(lx.Graph.from_networkx(graph), strength).graph(rows), rows)


def test_edges_between_words_are_in_every_slice(rows):
    assert one_edge("a", "b", rows, 2.0, -3.0) == {(word("a", *k), word("b", *k)): -6.0 for k in rows.slices.keys}


def test_edges_between_a_word_and_a_context(rows):
    assert one_edge("a", ("b", "context"), rows) == {(word("a", *k), context("b")): 1.0 for k in rows.slices.keys}


def test_edges_between_slices(rows):
    one, two = word("a", "D", "2000"), word("b", "R", "2000")
    assert one_edge(one, two, rows) == {(one, two): 1.0}


def test_a_slice_may_be_named_by_its_only_value(monolingual):
    where = small.layout(monolingual, ["year"])
    found = one_edge(("a", "word", 2000), ("a", "word", "2003"), where)
    assert found == {(("a", "word", ("2000",)), ("a", "word", ("2003",))): 1.0}


def test_an_edge_from_every_slice_to_one(rows):
    found = one_edge(("a", "word"), word("b", "D", "2000"), rows)
    assert found == {(word("a", *k), word("b", "D", "2000")): 1.0 for k in rows.slices.keys}


def test_edges_between_languages(two_languages):
    found = one_edge(("dog", "word", (), "en"), ("cane", "context", (), "it"), two_languages)
    assert found == {(("dog", "word", ()), ("cane", "context", ())): 1.0}


def test_an_empty_slice_stands_for_all_of_them():
    where = small.layout([text("dog cat", p, lang="en") for p in "DR"] + [text("cane", "D", lang="it")], ["party"])
    found = one_edge(("dog", "word", (), "en"), ("cane", "word", (), "it"), where)
    assert found == {(("dog", "word", (p,)), ("cane", "word", (p,))): 1.0 for p in "DR"}


def test_directed_edges_and_a_diagonal_of_ones_own(rows):
    source = lx.Graph.of(2, [0], [1], 2.0, directed=True, diagonal=[0.0, 3.0], names=["a", ("b", "context")])
    graph = lx.Edges(source, 2.0).graph(rows)
    assert graph.directed.all()
    assert graph.diagonal[rows.contexts(0)[rows.vocabularies[0]["b"]]] == 6.0
    assert graph.diagonal.sum() == 6.0


def test_edges_of_a_frame_with_unknown_words(rows):
    frame = pd.DataFrame({"one": ["a", "a"], "two": ["b", "zebra"]})
    assert lx.Edges(lx.Graph.from_frame(frame)).graph(rows).edges == len(rows.slices)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (("a", "noun"), "a node is named"),
        (("a", "word", ("D", "1999")), r"no slice \('D', '1999'\)"),
        (("a", "word", (), "", "more"), "a node is named"),
    ],
)
def test_a_node_that_is_no_row_is_refused(rows, node, message):
    with pytest.raises(lx.InputError, match=message):
        one_edge(node, "b", rows)


def test_a_graph_of_unknown_words_is_refused(rows):
    with pytest.raises(lx.InputError, match="none of the 2 nodes"):
        one_edge("zebra", "lion", rows)


def test_edges_need_names():
    with pytest.raises(lx.InputError, match="named nodes"):
        lx.Edges(lx.Graph.of(2, [0], [1]))


# Sums


def test_priors_add_to_the_union_of_their_edges(rows):
    terms = [lx.Ridge(1.0), lx.Groups("party", 3.0), lx.Chain("year", 2.0, start=0.5), lx.Pairs([("a", "b")], 4.0)]
    whole = ((terms[0] + terms[1]) + (terms[2] + terms[3])).graph(rows)
    turned = (terms[3] + terms[2] + terms[1] + terms[0]).graph(rows)
    alone = sum(term.graph(rows).laplacian().toarray() for term in terms)
    np.testing.assert_allclose(whole.laplacian().toarray(), alone)
    np.testing.assert_allclose(turned.laplacian().toarray(), alone)


def test_a_prior_is_written_as_one_would_write_it():
    prior = lx.Ridge(1.0) + lx.Pairs([("a", "b")], 2.0, joins="word-context")
    assert repr(prior) == "Ridge(strength=1.0, on='all') + Pairs(the list of pairs, 2.0, joins=\"word-context\")"


def test_a_prior_and_a_number_do_not_add():
    with pytest.raises(TypeError):
        lx.Ridge(1.0) + 2.0


# A strength of its own for each edge


def weights(graph):
    return sorted(graph.weight.tolist())


def test_groups_may_be_joined_by_different_strengths():
    rows = small.documents(count=60)
    rows += [row | {"party": "I"} for row in rows]
    where = small.layout(rows, ["party"])
    words = len(where.vocabularies[0])
    graph = lx.Groups("party", {("R", "D"): 2.0, ("D", "I"): math.inf}).graph(where)
    assert weights(graph) == [0.0] * words + [2.0] * words + [math.inf] * words
    tied = graph.weight == math.inf
    assert set(graph.first[tied] // words) == {0}
    assert set(graph.second[tied] // words) == {1}


def test_steps_of_a_chain_may_have_different_strengths():
    where = small.layout(small.documents(), ["year"])
    first, second, third = where.slices.values("year")
    graph = lx.Chain("year", {(first, second): 2.0, (second, third): 5.0}).graph(where)
    words = len(where.vocabularies[0])
    assert weights(graph) == [2.0] * words + [5.0] * words


@pytest.mark.parametrize("key", [("D", "X"), "D", ("D", "D"), ("D", "R", "R")])
def test_strengths_of_values_that_are_not_there_are_refused(key):
    where = small.layout(small.documents(), ["party"])
    with pytest.raises(lx.InputError, match='not two values of "party"; it has D, R'):
        lx.Groups("party", {key: 1.0}).graph(where)


def test_a_ridge_and_an_anchor_may_differ_by_word():
    where = small.layout(small.documents(), ["party"])
    vocabulary = where.vocabularies[0]
    diagonal = lx.Ridge({"0": 3.0, "unknown": 1.0}, on="words").graph(where).diagonal
    assert np.flatnonzero(diagonal).tolist() == [where.words(0, slice)[vocabulary["0"]] for slice in (0, 1)]
    assert set(diagonal) == {0.0, 3.0}
    anchor = lx.Anchor({"0": np.ones(2), "1": np.zeros(2)}, {"0": 4.0}).graph(where)
    assert weights(anchor) == [0.0, 0.0, 4.0, 4.0]
    with pytest.raises(lx.InputError, match="none of the 1 words that strengths are given for"):
        lx.Ridge({"unknown": 1.0}).graph(where)


def test_pairs_and_edges_may_each_have_their_own_strength():
    where = small.layout(small.documents())
    pairs = [("0", "1", 2.0), ("nobody", "1"), ("2", "3", -1.0), ("4", "5")]
    graph = lx.Pairs(pairs, [3.0, 9.0, 5.0, math.inf]).graph(where)
    assert (graph.weight * graph.sign).tolist() == [6.0, -5.0, math.inf]
    own = lx.Graph.from_frame(pd.DataFrame({"a": ["0", "nobody", "2"], "b": ["1", "1", "3"]}))
    assert weights(lx.Edges(own, np.array([1.0, 2.0, 3.0])).graph(where)) == [1.0, 3.0]
    with pytest.raises(lx.InputError, match="the list of pairs has 4 edges, and there are 2 strengths"):
        lx.Pairs(pairs, [1.0, 2.0])
    with pytest.raises(lx.InputError, match="the graph has 3 edges, and there are 1 strengths"):
        lx.Edges(own, [1.0])
    with pytest.raises(lx.InputError, match="a strength is a number from 0, not -1"):
        lx.Pairs(pairs, [1.0, 2.0, -1.0, 4.0])


@pytest.mark.parametrize("binary", [False, True])
def test_an_anchor_is_read_from_a_file(tmp_path, binary):
    where = small.layout(small.documents())
    path = tmp_path / "vectors.bin"
    vectors = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    lx.word2vec.write(path, ["0", "nobody"], vectors, binary)
    anchor = lx.Anchor(path, 2.0)
    graph = anchor.graph(where)
    np.testing.assert_array_equal(graph.targets, vectors[:1])
    said = anchor.coverage(where, graph)
    assert said.startswith("1 of 18 words have a vector to be anchored to; that is only 6%, as with vectors of another")
    assert repr(anchor) == 'Anchor(2 vectors, 2.0, on="words")'


def test_a_directed_graph_keeps_its_direction():
    where = small.layout(small.documents())
    graph = nx.DiGraph([("0", "1")])
    assert lx.Pairs(graph, 1.0).graph(where).directed.all()
    assert not lx.Pairs(graph.to_undirected(), 1.0).graph(where).directed.any()
    with pytest.raises(lx.InputError, match="the graph is directed, but translations join both ways"):
        lx.Translations(graph)


def test_a_saved_prior_says_what_it_assumes():
    parts = [
        {"kind": "Ridge", "strength": 1.0},
        {"kind": "Groups", "column": "party", "strength": "inf"},
        {"kind": "X"},
    ]
    sentences = [kind.sentence(part) for kind, part in saved_priors({"model": {"beliefs": parts}})]
    assert sentences == [
        "Vectors are short unless the text says otherwise (strength 1).",
        "A word means nearly the same at every value of party (with infinite strength: exactly the same).",
        None,
    ]
