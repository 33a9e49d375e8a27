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
    page.locator("[data-testid=stVegaLiteChart] svg, .grid .item, canvas.words, h1").first.wait_for(
        state="attached", timeout=60_000
    )
    assert page.complaints == []
    assert {urlsplit(url).hostname for url in page.requests if not url.startswith(("data:", "blob:"))} == {"127.0.0.1"}
    assert page.locator("[data-testid=stException]").all_inner_texts() == []
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
        "dimensions?plus=nation&minus=peace,+friendship&words=army&words=navy&at.period=1901&followed=navy",
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
    page.get_by_text("The words around both", exact=True).wait_for()


def test_an_unknown_word_is_answered_by_those_that_are_written_like_it(visit):
    page = visit("word?word=armi")
    page.get_by_text("is not in the vocabulary").wait_for()
    page.get_by_test_id("stMain").get_by_text("army", exact=True).click()
    page.get_by_text("Words used like “army”").wait_for()


def words_of_table(page):
    """The words of the table of a comparison, in their order."""
    page.locator(".rows tbody .choose").first.wait_for(timeout=30_000)
    return page.locator(".rows tbody .choose").all_inner_texts()


def wait_for_panel(page, word):
    """Wait until the panel is about a word, with its passages; then the address has the word."""
    page.get_by_role("heading", name=f"“{word}”").wait_for(timeout=30_000)
    page.locator(".st-key-panel .passage mark").get_by_text(word, exact=True).first.wait_for(timeout=60_000)
    settle(page)
    assert parse_qs(urlsplit(page.url).query)["explained"] == [word]
    assert page.locator(".rows [aria-pressed=true]").all_inner_texts() == [word]
    ringed = page.locator(".st-key-evidence svg text[font-weight=bold]").all_text_contents()
    assert word in ringed


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
    assert words_of_table(page) == fitted.inference(quiet=True).contrast("party")["word"].tolist()
    page.get_by_role("button", name="More").click()
    page.get_by_test_id("stCheckbox").get_by_text("Function words too").click()
    page.locator(".rows tbody .choose").get_by_text("the", exact=True).wait_for(timeout=30_000)
    settle(page)
    assert words_of_table(page) == fitted.inference(quiet=True, exclude=()).contrast("party")["word"].tolist()
    assert parse_qs(urlsplit(page.url).query)["function_words"] == ["true"]


@pytest.mark.parametrize("path", ["contrast", "change"])
def test_a_click_anywhere_in_a_row_opens_its_panel(visit, path):
    page = visit(path)
    first, second, third = words_of_table(page)[:3]
    row = page.locator(".rows tbody tr")
    row.nth(1).locator(".bar").click()
    wait_for_panel(page, second)
    row.nth(2).locator("td").nth(3).click()
    wait_for_panel(page, third)
    row.nth(0).locator(".choose").click()
    wait_for_panel(page, first)
    if path == "change":
        page.get_by_text("Where its use stands at each year").wait_for()
        page.locator(".st-key-panel svg .mark-area path").first.wait_for()


def test_a_row_is_chosen_and_sorted_by_the_keyboard(visit, fitted):
    page = visit("contrast")
    words = words_of_table(page)
    page.locator(".rows tbody .choose").first.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "End", "Home", "ArrowDown"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    wait_for_panel(page, words[1])
    page.locator(".rows thead button").first.focus()
    page.keyboard.press("Enter")
    by_name = words_of_table(page)
    assert by_name != words
    assert sorted(by_name) == sorted(words)
    assert page.locator(".rows th[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Enter")
    assert page.locator(".rows th[aria-sort]").get_attribute("aria-sort") == "descending"
    assert words_of_table(page) == by_name[::-1]
    page.locator(".rows thead button").get_by_text("adjusted p").click()
    frame = fitted.inference(quiet=True).contrast("party")
    assert words_of_table(page)[0] in set(frame["word"][frame["p_adjusted"] == frame["p_adjusted"].min()])


def test_a_dot_opens_its_panel_also_after_a_row_was_chosen(visit):
    page = visit("contrast")
    first, second = words_of_table(page)[:2]
    dot = page.locator(f'.st-key-evidence svg .mark-symbol.role-mark path[aria-label*="Word: {second}"]').first
    dot.click(force=True)
    wait_for_panel(page, second)
    page.locator(".rows tbody tr").nth(0).click()
    wait_for_panel(page, first)
    dot.click(force=True)
    wait_for_panel(page, second)


def test_a_word_is_found_and_leads_to_its_page(visit, fitted):
    page = visit("contrast")
    choose(page, "Find a word", "budget")
    wait_for_panel(page, "budget")
    page.get_by_text("All about “budget”").click()
    page.get_by_text("Words used like “budget”").wait_for(timeout=30_000)


@pytest.mark.parametrize("width", [1400, 390])
def test_the_panel_is_beside_the_chart_or_on_a_phone_below_it(visit, width):
    page = visit("contrast", width=width)
    page.locator(".st-key-panel .passage").first.wait_for(timeout=60_000)
    settle(page)
    chart, panel, table = (page.locator(f".st-key-{name}").bounding_box() for name in ("evidence", "panel", "rows"))
    if width == 1400:
        assert panel["x"] > chart["x"] + chart["width"]
        assert panel["y"] < chart["y"] + 20 < 500  # without scrolling
        assert table["y"] - (chart["y"] + chart["height"]) < 60
    else:
        assert chart["y"] < panel["y"] < table["y"]
        assert panel["width"] > 300


def test_a_finding_of_the_overview_is_opened(visit):
    page = visit("")
    finding = page.locator("[class*=st-key-_finding] button").first
    word = finding.inner_text().partition("“")[2].partition("”")[0]
    finding.click()
    wait_for_panel(page, word)
    page.go_back()
    page.locator("[class*=st-key-_finding] button").first.wait_for(timeout=30_000)


def test_what_was_chosen_is_restored_by_the_address(visit):
    page = visit("contrast?explained=budget&given=year&height=Frequency")
    wait_for_panel(page, "budget")
    page.locator("svg").get_by_text("Occurrences, where it is rarer").wait_for()
    assert page.get_by_test_id("stMultiSelect").get_by_text("year").count() == 1


@pytest.mark.parametrize("path", ["contrast?language=it&min_count=1", "dimensions?language=it&plus=waro&minus=taxo"])
def test_links_to_a_word_keep_its_language(visit, bilingual_explorer, bilingual, path):
    page = visit(path, of=bilingual_explorer)
    if path.startswith("contrast"):
        page.locator(".rows tbody tr").nth(1).click()
        settle(page)
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
    "path", ["contrast?bare=true&min_count=1", f"dimensions?{MARKUP}", "change?explained=" + quote(IMAGE)]
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
    assert page.complaints == []
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
