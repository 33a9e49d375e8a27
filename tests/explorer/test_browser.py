"""Every page in a real browser: it is drawn, it answers, it stays on this machine, and words are never run."""

from __future__ import annotations

from urllib.parse import parse_qs, quote, urlsplit

import pandas as pd
import pytest
from conftest import AWKWARD, IMAGE, SCRIPT, settle

PAGES = ["", "word", "contrast", "change", "dimensions", "map"]
# Streamlit looks below a page's own address first, and does not find itself there
PROBES = "status of 404"


def neighbors(page):
    """The words in the lists that are shown, by the list's title."""
    return page.locator(".list .word").all_inner_texts()


def choose(page, label, value):
    box = page.get_by_role("combobox", name=label)
    box.click()
    page.keyboard.type(value)
    page.keyboard.press("Enter")
    settle(page)


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1400), ("dark", 390)], ids=["light and wide", "dark and narrow"]
)
def test_every_page_is_drawn_and_asks_nobody_else(visit, path, scheme, width):
    page = visit(path, scheme, width)
    assert [text for text in page.complaints if PROBES not in text] == []
    assert {urlsplit(url).hostname for url in page.requests if not url.startswith(("data:", "blob:"))} == {"127.0.0.1"}
    assert page.locator("[data-testid=stException]").count() == 0
    assert page.locator("[data-testid=stVegaLiteChart] svg").count() >= 1
    ground = page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    assert (sum(map(int, ground.removeprefix("rgb(").rstrip(")").split(","))) < 200) == (scheme == "dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.get_by_text("Deploy").count() == 0


def test_a_word_that_is_typed_shows_its_neighbors_and_stands_in_the_address(visit, fitted):
    page = visit("word")
    choose(page, "Word", "army")
    page.get_by_text("Words used like “army”").wait_for()
    assert parse_qs(urlsplit(page.url).query)["word"] == ["army"]
    expected = fitted.neighbors("army", 10)["neighbor"]
    assert sorted(neighbors(page)) == sorted(expected)


def test_a_shared_address_gives_the_same_view(visit, fitted):
    page = visit("word?word=peace&at.party=R&k=4")
    page.get_by_text("Words used like “peace”").wait_for()
    expected = fitted.neighbors("peace", 4, party="R")["neighbor"]
    assert sorted(neighbors(page)) == sorted(expected)


def test_a_click_on_a_word_leads_to_it_and_back(visit):
    page = visit("word?word=army")
    page.locator(".list .word", has_text="navy").first.click()
    page.get_by_text("Words used like “navy”").wait_for()
    assert parse_qs(urlsplit(page.url).query)["word"] == ["navy"]
    page.go_back()
    page.get_by_text("Words used like “army”").wait_for(timeout=30_000)


def test_an_unknown_word_is_answered_by_those_that_are_written_like_it(visit):
    page = visit("word?word=armi")
    page.get_by_text("is not in the vocabulary").wait_for()
    page.get_by_test_id("stMain").get_by_text("army", exact=True).click()
    page.get_by_text("Words used like “army”").wait_for()


def test_a_filter_changes_the_contrast(visit, fitted):
    table = visit("contrast?min_count=1").get_by_test_id("stDataFrame").first
    few = visit("contrast?min_count=1&content=false")
    assert few.get_by_test_id("stDataFrame").first.locator("canvas").count() >= 1
    words = [frame_of(part).shape[0] for part in (table, few.get_by_test_id("stDataFrame").first)]
    assert words[0] < words[1] == len(fitted.contrast("party", 1000, min_count=1))


def frame_of(element):
    """The table as a screen reader is told of it: its number of rows is that of the frame."""
    rows = int(element.locator("table").first.get_attribute("aria-rowcount")) - 1
    return pd.DataFrame(index=range(rows))


def test_a_row_of_the_contrast_leads_to_the_word(visit, fitted):
    page = visit("contrast?min_count=1&content=false")
    first = fitted.contrast("party", 1, min_count=1)["word"].iloc[0]
    table = page.get_by_test_id("stDataFrame").first
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    page.mouse.click(box["x"] + 16, box["y"] + 35 + 17)
    page.get_by_text(f"Words used like “{first}”").wait_for(timeout=30_000)


def test_a_file_is_downloaded_that_no_spreadsheet_runs(visit, fitted):
    page = visit(f"word?word={quote('=1+1')}")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="CSV").first.click()
    frame = pd.read_csv(waiting.value.path(), keep_default_na=False)
    expected = fitted.neighbors("=1+1", 10)
    assert frame["word"].unique().tolist() == ["'=1+1"]
    assert frame["similarity"].to_list() == pytest.approx(expected["similarity"].to_list())


MARKUP = f"words={quote(SCRIPT)}&words={quote(IMAGE)}"


@pytest.mark.parametrize(
    "path", ["contrast?min_count=1&content=false", f"dimensions?{MARKUP}", "change?moved=" + quote(IMAGE)]
)
def test_markup_on_a_page_is_never_run(visit, path):
    page = visit(path)
    page.locator("[data-testid=stVegaLiteChart] svg").first.hover()
    page.wait_for_timeout(300)
    assert page.evaluate("window.hacked") is None


def test_awkward_words_are_shown_as_they_are_and_never_run(visit):
    page = visit("word")
    for word in AWKWARD:
        choose(page, "Word", word)
        page.get_by_text(f"Words used like “{word}”", exact=True).wait_for()
        page.locator(".passage mark").get_by_text(word, exact=True).first.wait_for()
        assert parse_qs(urlsplit(page.url).query)["word"] == [word]
        assert page.evaluate("window.hacked") is None


def test_differences_are_tested_on_demand(visit):
    page = visit("contrast?test=true&content=false&cluster=speaker")
    page.get_by_text("false discovery rate").wait_for(timeout=60_000)
    page.locator("svg").get_by_text("Evidence (−log10 p)").wait_for()
