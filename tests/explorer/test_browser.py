"""Every page in a real browser: it is drawn, it answers, it stays on this machine, and words are never run."""

from __future__ import annotations

from urllib.parse import parse_qs, quote, urlsplit

import pandas as pd
import pytest
from explored import AWKWARD, IMAGE, SCRIPT, settle

pytestmark = pytest.mark.slow

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
def test_every_page_of_the_demo_is_drawn_and_asks_nobody_else(visit, demo_explorer, path, scheme, width):
    check_page(visit(path, scheme, width, demo_explorer), scheme, width)


@pytest.mark.parametrize("path", ["", "word?language=it", "contrast?language=it", "languages", "dimensions", "map"])
@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 390), ("dark", 1400)], ids=["light and narrow", "dark and wide"]
)
def test_every_page_of_two_languages_is_drawn(visit, bilingual_explorer, path, scheme, width):
    check_page(visit(path, scheme, width, bilingual_explorer), scheme, width)


def check_page(page, scheme, width):
    page.locator("[data-testid=stVegaLiteChart] svg, .grid .item, canvas.words").first.wait_for(
        state="attached", timeout=60_000
    )
    assert [text for text in page.complaints if PROBES not in text] == []
    assert {urlsplit(url).hostname for url in page.requests if not url.startswith(("data:", "blob:"))} == {"127.0.0.1"}
    assert page.locator("[data-testid=stException]").count() == 0
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
    expected = fitted.neighbors("peace", 4, at={"party": "R"})["neighbor"]
    assert sorted(neighbors(page)) == sorted(expected)


def test_a_click_on_a_word_leads_to_it_and_back(visit, fitted):
    page = visit("word?word=army")
    near = fitted.neighbors("army", 1)["neighbor"].iloc[0]
    page.locator(".list .word").get_by_text(near, exact=True).first.click()
    page.get_by_text(f"Words used like “{near}”").wait_for()
    assert parse_qs(urlsplit(page.url).query)["word"] == [near]
    page.go_back()
    page.get_by_text("Words used like “army”").wait_for(timeout=30_000)


def test_an_unknown_word_is_answered_by_those_that_are_written_like_it(visit):
    page = visit("word?word=armi")
    page.get_by_text("is not in the vocabulary").wait_for()
    page.get_by_test_id("stMain").get_by_text("army", exact=True).click()
    page.get_by_text("Words used like “army”").wait_for()


def test_a_switch_shows_function_words_too(visit, fitted):
    page = visit("contrast")
    before = frame_of(page.get_by_test_id("stDataFrame").first).shape[0]
    assert before == len(fitted.inference(quiet=True).contrast("party"))
    page.get_by_test_id("stCheckbox").get_by_text("Function words too").click()
    page.wait_for_function(
        "(before) => document.querySelector('[data-testid=stDataFrame] table').ariaRowCount != before", arg=before + 1
    )
    whole = len(fitted.inference(quiet=True, exclude=()).contrast("party"))
    assert before < frame_of(page.get_by_test_id("stDataFrame").first).shape[0] == whole
    assert parse_qs(urlsplit(page.url).query)["function_words"] == ["true"]


def frame_of(element):
    """The table as a screen reader is told of it: its number of rows is that of the frame."""
    rows = int(element.locator("table").first.get_attribute("aria-rowcount")) - 1
    return pd.DataFrame(index=range(rows))


def click_first_row(page):
    table = page.get_by_test_id("stDataFrame").first
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    page.mouse.click(box["x"] + 16, box["y"] + 35 + 17)


def test_a_row_of_the_contrast_is_explained_and_leads_to_the_word(visit, fitted):
    page = visit("contrast")
    first = fitted.inference(quiet=True).contrast("party")["word"].iloc[0]
    click_first_row(page)
    page.get_by_text(f"“{first}”, D against R").wait_for(timeout=30_000)
    page.locator(".passage mark").get_by_text(first, exact=True).first.wait_for(timeout=60_000)
    settle(page)
    assert parse_qs(urlsplit(page.url).query)["explained"] == [first]
    page.get_by_text(f"All about “{first}”").click()
    page.get_by_text(f"Words used like “{first}”").wait_for(timeout=30_000)


def test_a_dot_of_the_contrast_is_explained(visit):
    page = visit("contrast")
    page.locator("svg .mark-symbol.role-mark path").last.click()
    page.get_by_text(", D against R").wait_for(timeout=30_000)
    settle(page)
    assert "explained" in parse_qs(urlsplit(page.url).query)


@pytest.mark.parametrize("path", ["contrast?language=it&min_count=1", "dimensions?language=it&plus=waro&minus=taxo"])
def test_links_to_a_word_keep_its_language(visit, bilingual_explorer, bilingual, path):
    page = visit(path, of=bilingual_explorer)
    if path.startswith("contrast"):
        click_first_row(page)
        page.get_by_text("All about").click()
    else:
        page.locator(".list .word").first.click()
    page.get_by_text("Words used like").wait_for(timeout=30_000)
    settle(page)
    title = page.get_by_text("Words used like").inner_text()
    word = title.partition("“")[2].rstrip("”")
    assert word in bilingual.words("it")
    query = parse_qs(urlsplit(page.url).query)
    assert query["language"] == ["it"]
    assert query.get("word", [word]) == [word]  # the default is left out
    links = [parse_qs(urlsplit(link.get_attribute("href")).query) for link in page.locator(".list a").all()]
    assert links
    for link in links:
        assert link["language"] == ["it"]
        assert link["word"][0] in bilingual.words("it")


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
    "path", ["contrast?bare=true&min_count=1", f"dimensions?{MARKUP}", "change?moved=" + quote(IMAGE)]
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


def test_findings_are_drawn_without_waiting(visit):
    page = visit("contrast")
    page.get_by_text("false discovery rate").first.wait_for()
    page.locator("svg").get_by_text("Evidence (−log10 p)").wait_for()
    page.locator("svg").get_by_text("not shown to hold").first.wait_for()


def on_map(page, expression):
    """The value of an expression about the map, which is drawn on canvases."""
    page.locator("canvas.words").wait_for(timeout=60_000)
    page.wait_for_timeout(1_000)  # nothing moves any more
    roots = "[...document.querySelectorAll('*')].map((one) => one.shadowRoot).filter(Boolean)"
    found = f"[document, ...{roots}].map((root) => root.querySelector('.atlas')?.map).find(Boolean)"
    return page.evaluate(f"(() => {{ const map = {found}; return {expression}; }})()")


def click_on_map(page, word):
    x, y = on_map(page, f"map.screen(map.data.words.indexOf({word!r}))")
    area = page.locator("canvas.words").bounding_box()
    page.mouse.move(area["x"] + x, area["y"] + y)
    page.mouse.click(area["x"] + x, area["y"] + y)
    settle(page)


def test_a_click_on_a_word_of_the_map_shows_its_neighbors_and_stands_in_the_address(visit, fitted):
    page = visit("map")
    words = on_map(page, "map.data.words")
    assert words == fitted.words()
    assert on_map(page, "map.gl.getError()") == 0
    click_on_map(page, "army")
    page.get_by_role("heading", name="“army”").wait_for()
    assert parse_qs(urlsplit(page.url).query)["find"] == ["army"]
    assert on_map(page, "map.data.words[map.selected]") == "army"
    near = neighbors(page)
    assert near == [words[i] for i in on_map(page, "map.near")]
    page.get_by_text("All about “army”").click()
    page.get_by_text("Words used like “army”").wait_for()
    assert page.complaints == [text for text in page.complaints if PROBES in text]
    assert page.evaluate("window.hacked") is None


def test_a_shared_address_restores_the_map(visit):
    page = visit("map?find=war&color=by+party&moves=year&at.year=2001")
    assert on_map(page, "[map.moment, map.output.textContent, map.data.words[map.selected]]") == [2, "2001", "war"]
    assert len(set(on_map(page, "[...map.colors].filter((_, i) => i % 4 === 0)"))) > 1
    page.locator(".legend").get_by_text("more in D").wait_for()
    x, y = on_map(page, "map.screen(map.selected)")
    assert on_map(page, f"Math.hypot({x} - map.width / 2, {y} - map.height / 2)") < 1  # in the middle


def test_the_map_is_moved_by_keys_and_the_slider_moves_words(visit):
    page = visit("map?color=between+two+poles&plus=war&minus=tax,+money")
    before = on_map(page, "[...map.center, map.zoom]")
    page.locator("canvas.words").focus()
    for key in ("ArrowRight", "+"):
        page.keyboard.press(key)
    after = on_map(page, "[...map.center, map.zoom]")
    assert after[0] > before[0]
    assert after[2] > before[2]
    places = on_map(page, "[...map.places]")
    page.get_by_role("slider", name="Year").focus()
    page.keyboard.press("End")
    page.wait_for_timeout(1_500)
    settle(page)
    assert on_map(page, "[...map.places]") != places
    assert parse_qs(urlsplit(page.url).query)["at.year"] == ["2003"]


def test_a_word_is_translated_and_a_click_translates_back(visit, bilingual_explorer, bilingual):
    page = visit("languages", of=bilingual_explorer)
    choose(page, "Word", "army")
    page.get_by_text("“army” in it").wait_for()
    assert neighbors(page) == [
        *bilingual.neighbors("army", 12, language="en", at={"party": "D"})["neighbor"],
        *bilingual.neighbors("armyo", 12, language="it", at={"party": "D"})["neighbor"],
    ]
    first = bilingual.neighbors("armyo", 1, language="it", at={"party": "D"})["neighbor"].iloc[0]
    page.locator(".list").nth(1).locator(".word").first.click()
    page.get_by_text(f"“{first}” in en").wait_for(timeout=30_000)
    assert parse_qs(urlsplit(page.url).query) == {"language": ["it"], "said": [first]}


def test_a_shared_address_restores_a_translation_whose_markup_is_never_run(visit, bilingual_explorer):
    page = visit("languages?language=en&said=debt", of=bilingual_explorer)
    page.get_by_text("“debt” in it").wait_for()
    page.locator(".list .title").get_by_text(SCRIPT, exact=True).wait_for()
    assert page.evaluate("window.hacked") is None
