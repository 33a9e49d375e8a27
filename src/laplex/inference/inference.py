"""Inference: the object that answers questions about another sample of text.

Every answer is a table of findings. A test of all words is kept with the model under a key that says what was asked, so
that it is there in an instant when it is asked again, also without the text; `lx.fit` asks the first of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from laplex.errors import OLD_KEYWORDS, InputError, explain_keywords, quote
from laplex.fitting.provenance import tokens_of
from laplex.inference.coefficients import control
from laplex.inference.comparisons import Comparison, comparisons, default_against, units_on_line
from laplex.inference.cosines import CosineQuestions, Given, columns_given
from laplex.inference.effects import effect_along
from laplex.inference.explanations import Explanation, explain, passages
from laplex.inference.findings import COLUMNS, Findings, Question, holds
from laplex.inference.formulas import formula_of
from laplex.inference.occurrence_pass import score_pass
from laplex.inference.regression import REGRESSION_COLUMNS, regression
from laplex.inference.table import FindingsTable
from laplex.inference.testing import adjust_p
from laplex.inference.units import Options, Units, check_unit, documents_at, gather, tokens_for, warn_of_speakers
from laplex.lexicons import stop_words
from laplex.model.vectors import as_list, check_slice
from laplex.questions.answers import StoredTest
from laplex.questions.change import distances_along, ordered_column
from laplex.questions.contrast import by_distance, distances_between
from laplex.runtime.display import say
from laplex.text.spelling import NOUNS, split_tag
from laplex.text.tokens import Tokens

Words = str | Sequence[str] | None
WORTH_SAYING_BYTES = 2**30  # of memory that a test takes


@dataclass(frozen=True)
class Asked:
    """A question about all words: a contrast between the values of a column, a drift along it, or a regression."""

    question: str
    column: str
    values: tuple[str, ...] | None = None
    against: str | None = None
    at: tuple[tuple[str, Any], ...] = ()
    given: tuple[str, ...] = ()  # columns, or one formula

    def key(self) -> dict[str, Any]:
        """What was asked, as it is stored."""
        return {name: value for name, value in vars(self).items() if name != "given" or value}


@dataclass(frozen=True, eq=False)
class Inference(CosineQuestions):
    """Questions about what would hold in another sample of text, with what all of them share said once.

    `fitted.contrast(...)` is `fitted.inference().contrast(...)`. Every question gives a table with the same columns:

    - "word", and the values that are compared, "value" and "against";
    - "estimate", how different the word is: by how much the log odds of the word in a context typically differ between
      the two sides (their standard deviation over its contexts, without noise). It depends neither on how frequent the
      word is nor on the strengths of the prior, but on the dimensions of the vectors: it compares words of one model.
      "lower" and "upper" are its interval;
    - "p", "p_adjusted" (Benjamini and Hochberg, over all rows), and "holds": adjusted p is at most `level`, and the
      lower end of the interval at least `min_effect`;
    - "uses" and "units" on either side;
    - "context" and "context_against": what the word is used with on one side more than on the other, for the first
      200 words of a comparison;
    - "permutations", over which p was counted: 1 / (permutations + 1) is the smallest p there can be.

    Rows that hold come first, those with the largest lower end before others. `frame.attrs["summary"]` is what the
    table says in one sentence.
    """

    @explain_keywords
    def contrast(
        self,
        column: str,
        words: Words = None,
        *,
        values: Sequence[Any] | None = None,
        against: str | None = None,
        given: Given = None,
        at: Mapping[str, Any] | None = None,
        test: bool = True,
    ) -> pd.DataFrame:
        """The words that differ between the values of a column; see `Embeddings.contrast`.

        Args:
            column: The column whose values are compared.
            words: A word, or several, instead of all that have enough text.
            values: The values to compare, if not all.
            against: "rest", "pairs", "joint" or a value.
            given: Columns that are controlled for.
            at: Values of other columns, to which the text is restricted.
            test: False for the bare distances between the fitted vectors.

        Returns:
            A row for each word and comparison.

        Example:
            fitted.inference(unit="senator").contrast("party")
        """
        against = None if against is None else str(against)
        given = columns_given(given, test)
        if not test:
            bare = partial(distances_between, values=values, against=against, at=at)
            return by_distance(bare(self.fitted, *self._bare(column, words)))
        chosen = None if values is None else tuple(str(value) for value in as_list(values))
        if chosen == ():
            raise InputError("values=[] names nothing to compare: leave it out for all values")
        if column in self.fitted.columns:
            known = self.fitted.values(column)
            chosen = None if chosen is not None and set(chosen) == set(known) else chosen
            against = None if against == default_against(len(chosen or known)) else against
        return self._answer(Asked("contrast", column, chosen, against, _pairs(at), given), words)

    @explain_keywords
    def drift(
        self,
        column: str,
        words: Words = None,
        *,
        given: Given = None,
        at: Mapping[str, Any] | None = None,
        test: bool = True,
    ) -> pd.DataFrame:
        """The words that move along an ordered column; see `Embeddings.drift`.

        Args:
            column: A column with an order.
            words: A word, or several, instead of all that have enough text.
            given: Columns that are controlled for.
            at: Values of other columns, to which the text is restricted.
            test: False for the bare distances between the fitted vectors at the two ends.

        Returns:
            A row for each word. "value" and "against" are the first and the last value of the column, "estimate" is
            how far a straight line leads from one to the other, and the sides of all other columns are its halves.

        Example:
            fitted.inference(unit="president").drift("period")
        """
        if column in self.fitted.columns:
            ordered_column(self.fitted, column)
        given = columns_given(given, test)
        if not test:
            return by_distance(distances_along(self.fitted, *self._bare(column, words), at or {}))
        return self._answer(Asked("drift", column, at=_pairs(at), given=given), words)

    @explain_keywords
    def distance(
        self,
        words: str | Sequence[str],
        across: str,
        along: str | None = None,
        *,
        given: Given = None,
        at: Mapping[str, Any] | None = None,
        test: bool = True,
    ) -> pd.DataFrame:
        """How far apart words are across one column, at each value of another; see `Embeddings.distance`.

        Args:
            words: A word, or several.
            across: The column whose values are compared.
            along: The column at each value of which they are, each on its own text.
            given: Columns that are controlled for.
            at: Values of other columns, to which the text is restricted.
            test: False for the bare distances between the fitted vectors.

        Returns:
            The rows of `contrast`, with a column for the value of `along`; p is adjusted over all of them.

        Example:
            fitted.inference(unit="senator").distance(["health", "relief"], across="party", along="period")
        """
        if along == across:
            raise InputError(f'across="{across}" and along="{along}" are the same column: choose two')
        columns_given(given, test)
        if not test:
            frame = distances_between(self.fitted, *self._bare(across, words), along=along, at=at)
            return self._by_word(frame, words)
        if along is None:
            return self._by_word(self.contrast(across, words, given=given, at=at), words)
        tokens, frames = tokens_of(self.fitted, self.tokens), []
        quietly = replace(self, tokens=tokens, quiet=True)
        documents = documents_at(tokens, self.fitted.language(self.language), check_slice(at))
        for number, value in enumerate(tokens.values(along)):
            inside = documents[tokens.codes(along)[documents] == number]
            if len(np.unique(tokens.codes(across)[inside])) < 2:
                say(f'"{across}" has one value only where "{along}" is {value}: left out', quiet=self.quiet)
                continue
            frame = quietly.contrast(across, words, given=given, at={**(at or {}), along: value})
            frame.insert(1, along, value)
            frames.append(frame)
        if not frames:
            raise InputError(f'"{across}" has one value only at every value of "{along}": there is nothing to compare')
        table = pd.concat(frames, ignore_index=True)
        table["p_adjusted"] = adjust_p(table["p"].to_numpy(np.float64))
        table["holds"] = holds(table, self)
        return self._by_word(table, words)

    @explain_keywords
    def regress(
        self,
        formula: str | Sequence[str],
        words: Words = None,
        *,
        terms: str | Sequence[str] | None = None,
        at: Mapping[str, Any] | None = None,
    ) -> pd.DataFrame:
        """How words differ with several columns at once; see `Embeddings.regress`.

        Args:
            formula: A formula such as "~ party * year + s(age) + C(chamber)", or a list of columns.
            words: A word, or several, instead of all that have enough text.
            terms: The terms to test, if not all.
            at: Values of columns, to which the text is restricted.

        Returns:
            A row for each word and coefficient.

        Example:
            fitted.inference(unit="senator").regress("~ party + year", terms="party")
        """
        chosen = None if terms is None else tuple(sorted(as_list(terms)))
        asked = Asked("regress", formula_of(formula), chosen, at=_pairs(at))
        return FindingsTable.of(self._answer(asked, words).rename(columns={"value": "term", "against": "level"}))

    @explain_keywords
    def explain(
        self,
        word: str,
        column: str,
        *,
        values: Sequence[Any] | None = None,
        given: Given = None,
        at: Mapping[str, Any] | None = None,
        passages: int = 3,
    ) -> Explanation:
        """What the difference of a word between two groups is made of; see `Embeddings.explain`.

        Args:
            word: The word.
            column: The column whose values are compared.
            values: Two values, or one, which is compared with all others.
            given: Columns that are controlled for.
            at: Values of other columns, to which the text is restricted.
            passages: How many passages are shown for each group.

        Returns:
            The context words with their contributions and intervals, and passages of both groups.

        Example:
            fitted.inference(unit="senator").explain("war", "party").context
        """
        return explain(
            self.fitted, word, column, self, values=values, given=columns_given(given), at=at or {}, passages=passages
        )

    @explain_keywords
    def effect(
        self, word: str, along: str, *, given: Given = None, at: Mapping[str, Any] | None = None
    ) -> pd.DataFrame:
        """Where a word stands at each value of a number; see `Embeddings.effect`.

        Args:
            word: The word.
            along: A column of numbers or times.
            given: Columns that are controlled for.
            at: Values of other columns, to which the text is restricted.

        Returns:
            A row for each value, or each of 24 bins of many values.

        Example:
            fitted.inference(unit="president").effect("war", "year", given="party")
        """
        return effect_along(self.fitted, word, along, self, columns_given(given), check_slice(at))

    @explain_keywords
    def passages(self, word: str, *, at: Mapping[str, Any] | None = None, top: int = 10) -> pd.DataFrame:
        """Typical passages with a word, in the original text; see `Embeddings.passages`.

        Args:
            word: The word.
            at: Values of columns, to which the passages are restricted.
            top: How many passages are shown, at most one of a document.

        Returns:
            A row for each passage.

        Example:
            fitted.inference(language="de").passages("Freiheit")
        """
        return passages(self.fitted, word, self, at=at or {}, top=top)

    def test_columns(self) -> None:
        """Test all words for each column that the vectors vary by, and keep the findings with the model.

        Columns with an order are asked about drift, others about contrast; each language is, if there are several.
        """
        several = len(self.fitted.languages) > 1 and self.language is None
        for language in self.fitted.languages if several else [self.language]:
            inference = replace(self, language=language)
            for column in self.fitted.columns:
                asked = Asked(self.question(column), column)
                try:
                    inference._keep(asked, inference._test(asked, None))
                except InputError as error:
                    say(f'no tests of "{column}"{f" in {language}" if several else ""}: {error}', quiet=self.quiet)

    def question(self, column: str) -> Literal["contrast", "drift"]:
        """What is asked first about a column that the vectors vary by: drift if it has an order and three values.

        Args:
            column: The column.

        Returns:
            The name of the method.

        Example:
            fitted.inference().question("period")
        """
        is_line = self.fitted.ordered(column) and len(self.fitted.values(column)) > 2
        return "drift" if is_line else "contrast"

    def stored(self, column: str) -> pd.DataFrame | None:
        """The findings about a column that are kept with the model, in an instant.

        Args:
            column: A column that the vectors vary by.

        Returns:
            The table of `drift` or `contrast`, whichever `question` names; None if these were not asked before.

        Example:
            fitted.inference().stored("party")
        """
        asked = Asked(self.question(column), column)
        return self._answer(asked, None) if self._key(asked) in self.fitted.tests else None

    def _bare(self, column: str, words: Words) -> tuple[int, str, list[int] | None]:
        """Language, column and ids of words for an answer that the fitted vectors give alone."""
        index = self.fitted.language(self.language)
        return index, column, None if words is None else self.fitted.ids(_check_words(words), index)

    def _by_word(self, table: pd.DataFrame, words: str | Sequence[str]) -> pd.DataFrame:
        """The rows in the order of the words that were asked for."""
        order = {name: number for number, name in enumerate(self._names(words))}
        by_word = table.iloc[np.argsort(table["word"].map(order), kind="stable")].reset_index(drop=True)
        return FindingsTable.of(by_word) if "holds" in by_word else by_word

    def _answer(self, asked: Asked, words: Words) -> pd.DataFrame:
        check_unit(self.unit, asked.column)
        names = None if words is None else self._names(words)
        found = self._kept(asked)
        if found is None:
            found = self._test(asked, names)
            if names is None:
                self._keep(asked, found)
        elif names is not None and (missing := found.incomplete(names)):
            found = self._with_untested(asked, found, missing)
        warn_of_speakers(asked.column, found.facts.get("decided_by"))
        is_regression = asked.question == "regress"
        columns = REGRESSION_COLUMNS if is_regression else COLUMNS
        # a term that everything differs by must not make the others look sure
        table = found.table(self, words=names, exclude=self.excluded(), columns=columns, by_value=is_regression)
        untested = found.facts["untested"] if names is None else 0
        table.attrs["summary"] = summary(table, asked, found.facts | {"untested": untested}, self)
        table.attrs["question"] = asked.question
        table.attrs["facts"] = found.facts | {"untested": untested}  # the units, and what a word needs to be tested
        say(table.attrs["summary"], quiet=self.quiet)
        return FindingsTable.of(table)

    def _with_untested(self, asked: Asked, found: Findings, words: Sequence[str]) -> Findings:
        """Kept findings with rows for words that had too little text to be tested; their counts need the text."""
        try:
            rows = replace(self, quiet=True)._test(asked, words).frame
        except InputError:
            rows = found.rows_without_counts(words)
        return replace(found, frame=pd.concat([found.frame, rows[rows["p"].isna()]], ignore_index=True))

    def _names(self, words: str | Sequence[str]) -> list[str]:
        """The words as the vocabulary spells them."""
        index = self.fitted.language(self.language)
        return [self.fitted.rows.vocabularies[index].words[i] for i in self.fitted.ids(_check_words(words), index)]

    def excluded(self) -> frozenset[str]:
        """The words that tables leave out; those of English if the language has no name, none if there is no list."""
        vocabulary = self.fitted.rows.vocabularies[self.fitted.language(self.language)]
        if self.exclude is not None:
            ids = vocabulary.ids(list(self.exclude))
            return frozenset(vocabulary.words[i] for i in ids[ids >= 0])
        try:
            words = stop_words(vocabulary.language or "en")
        except InputError:
            return frozenset()
        tagged = (form for word in words for form in vocabulary.tagged(word))
        return words.union(form for form in tagged if split_tag(form)[1] not in NOUNS)

    def _test(self, asked: Asked, words: Sequence[str] | None) -> Findings:
        """Read the text, and test the words, or all that are frequent enough."""
        fitted, column, language = self.fitted, asked.column, self.fitted.language(self.language)
        try:
            tokens = tokens_for(fitted, self, [column, *asked.given])
        except InputError as error:
            raise InputError(f"{error}; test=False (--no-test) compares the fitted vectors alone") from None
        options, units, compared = self._compared(tokens, asked)
        if words is None:
            ids = np.flatnonzero(fitted.counts[language].sum(0) >= self.min_count).tolist()
        else:
            ids = fitted.ids(words, language)
        if not ids:
            raise InputError(f"no word occurs {self.min_count} times: lower min_count")
        text = score_pass(fitted, tokens, units, ids, language, options)
        names = [text.vocabulary.words[i] for i in ids]
        if text.memory() > WORTH_SAYING_BYTES:
            sizes = f"{len(ids):,} words by {len(units):,} units"
            say(f"{sizes}: about {text.memory() / 2**30:.1f} GB of memory", quiet=self.quiet)
        found = Findings.ask(text, names, compared, options, named=words is not None, ignored=self.excluded())
        if options.unit is None and column in tokens.columns:
            found.facts["decided_by"] = next(iter(tokens.determining_columns(column)), None)
        return found

    def _compared(self, tokens: Tokens, asked: Asked) -> tuple[Options, Units, Sequence[Question]]:
        """What is asked of the text: the options with the unit in force, the units, and the questions about them."""
        column, language, at = asked.column, self.fitted.language(self.language), dict(asked.at)
        if asked.question == "regress":
            return regression(tokens, column, asked.values, self, language, at)
        options = self.with_unit(tokens, [column])
        units = gather(tokens, column, options.unit, language, at)
        if asked.question == "drift":
            units, x, ends = units_on_line(self.fitted, units, column, tokens)
            compared = [Comparison.trend(*ends, x)]
        else:
            compared = comparisons(units, column, asked.values, asked.against, options.fewest)
        if not asked.given:
            return options, units, compared
        return options, *control(compared, units, column, tokens, asked.given, options.unit)

    def _key(self, asked: Asked) -> str:
        """Everything that decides what a test of all words gives."""
        unit = None if self.unit == (self.fitted.settings.get("tokens") or {}).get("unit") else self.unit
        names = ("min_units", "min_count", "permutations", "seed")
        options = {name: getattr(self, name) for name in names} | {"unit": unit}
        options["language"] = self.fitted.language(self.language)
        return json.dumps([asked.key(), options], sort_keys=True)

    def _kept(self, asked: Asked) -> Findings | None:
        test = self.fitted.tests.get(self._key(asked))
        if test is None and asked.question == "regress" and asked.values is not None:
            whole = self._kept(replace(asked, values=None))
            return None if whole is None else whole.only(asked.values)
        return None if test is None else Findings.load(test.arrays, test.facts)

    def _keep(self, asked: Asked, found: Findings) -> None:
        self.fitted.tests[self._key(asked)] = StoredTest(found.arrays(), found.facts)


def _check_words(words: str | Sequence[str]) -> str | Sequence[str]:
    """The words, if they are not the number of words that this argument was in earlier versions."""
    if isinstance(words, int | float):
        raise InputError(f"words={words!r} is a number, not a word: {OLD_KEYWORDS['top']}")
    return words


def _pairs(at: Mapping[str, Any] | None) -> tuple[tuple[str, Any], ...]:
    """Columns with their values, or several of them, as text."""
    several = (list, tuple, set)
    texts = {
        name: tuple(sorted(map(str, value))) if isinstance(value, several) else str(value)
        for name, value in check_slice(at).items()
    }
    return tuple(sorted(texts.items()))


def summary(table: pd.DataFrame, asked: Asked, facts: Mapping[str, Any], options: Options) -> str:
    """What a table of findings says, in one sentence."""
    tested, held = table.loc[table["p"].notna(), "word"].nunique(), table.loc[table["holds"], "word"].nunique()
    unit = f'{facts["units"]:,} values of "{facts["unit"]}"' if facts["unit"] else f"{facts['units']:,} documents"
    verbs = {"drift": f'change along "{asked.column}"', "regress": f'differ by a term of "{asked.column}"'}
    verb = verbs.get(asked.question, f'differ by "{asked.column}"')
    if asked.given:
        verb += f" given {quote(asked.given, 6)}"
    rate = f"false discovery rate {options.level:.0%}"
    rare = list(dict.fromkeys(table.loc[table["p"].isna(), "word"]))
    least = f"{facts.get('min_count')} uses by {facts.get('min_units')} of them on each side"
    if rare and tested:
        rate += f"; without {least}, and so not tested: {quote(rare, 5)}"
    if facts["untested"]:
        rare_words = f"{facts['untested']:,} words that fewer than {facts.get('min_units')} of them use on a side"
        rate += f"; {rare_words} are not tested"
    if not tested:
        return f"nothing could be tested ({unit}): no word has {least}"
    if not held:
        return f"none of {tested:,} words is shown to {verb} ({unit}, {rate}): no row of the list holds"
    return f"{held:,} of {tested:,} words {verb} ({unit}, {rate})"
