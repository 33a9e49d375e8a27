"""Every page in a real browser: it is drawn, it answers, it stays on this machine, and words are never run."""

from __future__ import annotations

from urllib.parse import parse_qs, quote, urlsplit

import pandas as pd
import pytest
from explored import AWKWARD, IMAGE, SCRIPT, settle

pytestmark = pytest.mark.slow

PAGES = ["overview", "word", "contrast", "change", "dimensions", "map"]


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
    page.locator("[data-testid=stVegaLiteChart] svg, .grid .item").first.wait_for(state="attached", timeout=60_000)
    assert page.complaints == []
    assert {urlsplit(url).hostname for url in page.requests if not url.startswith(("data:", "blob:"))} == {"127.0.0.1"}
    assert page.locator("[data-testid=stException]").count() == 0
    ground = page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    assert (sum(map(int, ground.removeprefix("rgb(").rstrip(")").split(","))) < 200) == (scheme == "dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.get_by_text("Deploy").count() == 0
    last = page.get_by_role("link", name="Map", exact=True).bounding_box()
    assert last["x"] + last["width"] <= width


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


def test_a_click_on_a_word_leads_to_it_and_the_browser_back_and_forward_without_a_reload(visit, fitted):
    page = visit("word?word=army")
    page.evaluate("window.loaded = true")
    near = fitted.neighbors("army", 1)["neighbor"].iloc[0]
    page.locator(".list .word").get_by_text(near, exact=True).first.click()
    page.get_by_text(f"Words used like “{near}”").wait_for()
    settle(page)
    assert parse_qs(urlsplit(page.url).query)["word"] == [near]
    choose(page, "Year", "2003")
    page.get_by_role("link", name="Dimensions").click()
    page.get_by_role("heading", name="Dimensions").wait_for()
    settle(page)
    seen = [f"/dimensions?{urlsplit(page.url).query}".rstrip("?")]
    for step, (word, lists) in enumerate([(near, 2), (near, 6), ("army", 6)]):
        page.go_back()
        page.get_by_text(f"Words used like “{word}”").wait_for(timeout=30_000)
        settle(page)
        assert page.locator(".list").count() == lists, step
        seen.append(page.url)
    assert [parse_qs(urlsplit(url).query).get("at.year") for url in seen[1:]] == [["2003"], None, None]
    for url in seen[-2::-1]:
        page.go_forward()
        settle(page)
        assert page.url.endswith(url)
    page.get_by_role("heading", name="Dimensions").wait_for()
    assert page.evaluate("window.loaded")


def test_the_keyboard_leads_to_a_word(visit):
    page = visit("word?word=army&k=4")
    page.get_by_role("spinbutton", name="Neighbors").focus()
    focused = "() => { let at = document.activeElement; while (at?.shadowRoot) at = at.shadowRoot.activeElement;"
    focused += " return at?.className ?? '' }"
    for _ in range(20):
        page.keyboard.press("Tab")
        if "item" in page.evaluate(focused):
            break
    page.keyboard.press("Enter")
    page.get_by_text("Words used like “army”").wait_for(state="hidden", timeout=30_000)
    assert parse_qs(urlsplit(page.url).query)["word"] != ["army"]


@pytest.mark.parametrize(
    "path",
    [
        "word?word=peace&k=4&at.party=Republican&at.period=1901&text1=Republican&text2=1901&graph=true",
        "contrast?column=party&at.period=1901&bare=true&min_count=200&explained=peace",
        "change?column=period&explained=war&moved=peace",
        "dimensions?plus=war&minus=peace,+friendship&words=army&words=navy&at.period=1901&followed=navy",
    ],
)
def test_every_view_has_an_address_that_restores_it(visit, demo_explorer, path):
    page = visit(path, of=demo_explorer)
    given, kept = (parse_qs(urlsplit(url).query) for url in (f"/{path}", page.url))
    assert {name: value for name, value in given.items() if kept.get(name) != value and name != "column"} == {}
    assert urlsplit(page.url).path == "/" + path.partition("?")[0]
    assert page.complaints == []
    assert page.get_by_test_id("stException").count() == 0


def test_periods_are_shown_with_their_years(visit, demo_explorer):
    page = visit("word?word=peace&at.period=1901", of=demo_explorer)
    assert "1901–1940" in page.get_by_role("combobox", name="Period").input_value()
    choose(page, "Period", "1941–1980")
    assert parse_qs(urlsplit(page.url).query)["at.period"] == ["1941"]


def test_long_work_shows_a_bar_is_stopped_and_goes_on(visit, demo_explorer):
    page = visit("change", of=demo_explorer)
    page.goto(f"{demo_explorer.url}/change?at.party=Democratic")
    page.get_by_role("button", name="Stop").click(timeout=60_000)
    page.get_by_text("it was stopped").wait_for(timeout=60_000)
    settle(page)
    page.get_by_role("button", name="Go on").click()
    page.get_by_text("false discovery rate").first.wait_for(timeout=120_000)


def test_two_models_share_a_page_and_the_address_says_which_is_shown(visit, bilingual_explorer, fitted):
    page = visit("word?model=2&word=army&k=3", of=bilingual_explorer)
    page.get_by_text("In two").wait_for()
    assert set(fitted.neighbors("army", 3)["neighbor"]) <= set(neighbors(page))
    page.get_by_role("link", name="Change", exact=True).click()  # which only this model has
    page.get_by_role("heading", name="Change").wait_for()
    settle(page)
    assert parse_qs(urlsplit(page.url).query) == {"model": ["2"]}
    choose(page, "Model", "two")
    page.get_by_text("This page needs a model with a column with an order").wait_for()
    page.get_by_role("link", name="Languages").click()
    page.get_by_text("The words around both").wait_for()


def test_an_unknown_word_is_answered_by_those_that_are_written_like_it(visit):
    page = visit("word?word=armi")
    page.get_by_text("is not in the vocabulary").wait_for()
    page.get_by_test_id("stMain").get_by_text("army", exact=True).click()
    page.get_by_text("Words used like “army”").wait_for()


def test_one_of_several_words_is_shown_and_in_the_address(visit):
    page = visit("word?word=army,+health+tax")
    page.get_by_role("radio", name="tax", exact=True).click()
    page.get_by_text("Words used like “tax”").wait_for()
    settle(page)
    page.goto(page.url)
    page.get_by_text("Words used like “tax”").wait_for(timeout=30_000)


def test_of_several_words_an_unknown_one_is_put_right(visit):
    page = visit("dimensions?plus=school,+helth&minus=war&words=army&words=tax")
    page.get_by_role("radio", name="health", exact=True).click()
    page.get_by_text("is not in the vocabulary").wait_for(state="hidden")
    settle(page)
    assert parse_qs(urlsplit(page.url).query)["plus"] == ["school, health"]


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
    links = [
        parse_qs(urlsplit(link.get_attribute("href")).query) for link in page.locator(".grid").first.locator("a").all()
    ]
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


def dots(page):
    """Where the dots of the map are, and their colors."""
    page.locator("svg .mark-symbol.role-mark path").first.wait_for()
    found = page.locator("svg .mark-symbol.role-mark path").element_handles()
    return [(dot.bounding_box(), dot.get_attribute("fill")) for dot in found]


def test_a_map_is_colored_by_a_column(visit):
    page = visit("map?top=20")
    assert len({color for _, color in dots(page)}) == 1
    choose(page, "Color", "by party")
    page.locator("svg").get_by_text("Party", exact=True).wait_for()
    drawn = dots(page)
    assert len({color for _, color in drawn}) == 2
    assert len(drawn) % 2 == 0
    assert parse_qs(urlsplit(page.url).query)["color"] == ["by party"]
    assert page.evaluate("window.hacked") is None


def test_a_shared_map_is_colored_between_its_poles(visit, fitted):
    page = visit("map?top=20&color=between+two+poles&plus=war&minus=tax,+money")
    page.locator("svg").get_by_text("↑ war", exact=True).wait_for()
    page.locator("svg").get_by_text("↓ tax, money", exact=True).wait_for()
    assert len({color for _, color in dots(page)}) > 10


def test_a_map_can_be_zoomed_and_read(visit):
    page = visit("map?top=20&color=by+party")
    page.set_viewport_size({"width": 1400, "height": 1400})  # all of the map is on the screen
    before, _ = dots(page)[0]
    page.mouse.move(before["x"] + before["width"] / 2, before["y"] + before["height"] / 2)
    tooltip = page.locator("#vg-tooltip-element")
    tooltip.wait_for(state="visible")
    keys = {text.rstrip(":") for text in tooltip.locator("td.key").all_inner_texts()}
    assert {"Word", "Party", "Occurrences"} <= keys
    # a point of the map that is far from the dot, which would stay where it is
    area = page.locator("[data-testid=stVegaLiteChart] svg").bounding_box()
    page.mouse.move(area["x"] + area["width"] * 0.4, area["y"] + area["height"] * 0.4)
    page.mouse.wheel(0, -600)
    page.wait_for_timeout(500)
    after, _ = dots(page)[0]
    assert abs(after["x"] - before["x"]) + abs(after["y"] - before["y"]) > 5


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
