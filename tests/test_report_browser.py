"""A report in a real browser: what a reader clicks, types and takes away, with nothing asked of the network."""

from __future__ import annotations

import csv
import os
import re
import shutil

import pytest
from reported import IMAGE, fit_speeches

from laplex.reports import Report, report

pytestmark = pytest.mark.slow

HACK = "<script>window.hacked=1</script>"
IMAGE_HACK = '"><img src=x onerror=window.hacked=1>'


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A model in which a word that differs, a party and a speaker are markup."""
    return fit_speeches(tmp_path_factory.mktemp("cache"), {"health": HACK, "R": IMAGE_HACK, "s1": IMAGE})


@pytest.fixture(scope="module")
def path(fitted, tmp_path_factory):
    made = tmp_path_factory.mktemp("report") / "report.html"
    report(fitted, made, panels=6, quiet=True)
    return made


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    found = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
    if found is None and not os.environ.get("CI"):
        pytest.skip("there is no browser here: install chromium to look at the pages")
    assert found is not None, "continuous integration needs chromium"
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, path):
    """Open the report; afterwards, nothing else was asked for, nothing complained, and no markup of the data ran."""
    pages = []

    def opened(width=1400, scripts=True):
        context = browser.new_context(viewport={"width": width, "height": 900}, java_script_enabled=scripts)
        page = context.new_page()
        page.said = []
        page.on("request", lambda request: page.said.append(request.url))
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.goto(path.as_uri())
        pages.append((page, scripts))
        return page

    yield opened
    for page, scripts in pages:
        assert [said for said in page.said if not said.startswith("blob:")] == [path.as_uri()]
        assert not scripts or page.evaluate("window.hacked === undefined")
        page.context.close()


def panel(page):
    return page.locator("#panel")


def test_a_click_on_a_dot_opens_the_panel_of_its_word(visit, fitted):
    page = visit()
    found = fitted.inference(quiet=True).contrast("party").iloc[0]
    drawing = page.locator(".plot svg").first
    drawing.scroll_into_view_if_needed()
    box = drawing.bounding_box()
    left, top, right, bottom = map(float, drawing.get_attribute("data-box").split())
    ends_x, ends_y = (list(map(float, drawing.get_attribute(name).split())) for name in ("data-x", "data-y"))
    across = left + (found["estimate"] - ends_x[0]) / (ends_x[1] - ends_x[0]) * (right - left)
    height = page.evaluate("n => Math.log10(n)", int(min(found["uses"], found["uses_against"])))
    down = bottom - (height - ends_y[0]) / (ends_y[1] - ends_y[0]) * (bottom - top)
    scale = box["width"] / float(drawing.get_attribute("viewBox").split()[2])
    place = box["x"] + across * scale, box["y"] + down * scale
    page.mouse.move(*place)
    assert page.locator("#tip").inner_text().startswith(f"{HACK}: {found['estimate']:.2f}")
    page.mouse.click(*place)
    assert panel(page).locator("h3").inner_text() == HACK
    assert panel(page).locator("mark").all_inner_texts() == [HACK] * 4  # two passages of either side
    assert IMAGE_HACK in panel(page).inner_text()
    assert page.locator(".chosen text").first.text_content() == HACK


def test_a_click_in_the_middle_of_a_row_opens_its_panel(visit):
    page = visit()
    row = page.locator(".comparison tbody tr[data-row]").nth(3)
    word = row.locator("td").first.inner_text()
    row.locator("td").nth(3).click()
    assert panel(page).locator("h3").inner_text() == word
    assert "open" in row.get_attribute("class")
    page.keyboard.press("Escape")
    assert not panel(page).is_visible()


def test_a_word_without_a_panel_shows_its_numbers(visit, fitted):
    page = visit()
    last = fitted.inference(quiet=True).contrast("party").iloc[-1]
    page.fill("#find", last["word"].upper())
    page.keyboard.press("Enter")
    text = panel(page).inner_text()
    assert text.startswith(f"×\n{last['word']}") or text.startswith(last["word"])
    assert f"{last['estimate']:.2f} ({last['lower']:.2f}–{last['upper']:.2f})" in text
    assert "not shown to hold" in text
    assert f"{last['uses']:,} uses by {last['units']:,} units" in text


def test_a_search_suggests_and_says_what_was_not_tested(visit):
    page = visit()
    page.fill("#find", "teach")
    assert page.locator("#words option").first.get_attribute("value") == "teacher"
    page.fill("#find", "teachings")
    page.keyboard.press("Enter")
    answer = page.locator(".search .answer")
    assert "“teachings” is not among the words that were tested" in answer.inner_text()
    answer.get_by_role("button", name="teacher").click()
    assert panel(page).locator("h3").inner_text() == "teacher"


def test_the_table_can_be_used_with_the_keyboard(visit):
    page = visit()
    rows = page.locator(".comparison").first.locator("tbody tr[data-row]")
    rows.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert panel(page).locator("h3").inner_text() == rows.nth(1).locator("td").first.inner_text()
    assert page.evaluate("document.activeElement.className") == "close"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.row") == "1"


def test_the_table_is_sorted_and_filtered(visit, fitted):
    page = visit()
    found = fitted.inference(quiet=True).contrast("party")
    section = page.locator(".comparison").first
    section.get_by_role("button", name="word", exact=True).click()
    words = section.locator("tbody tr[data-row] td:first-child").all_inner_texts()
    assert words == sorted(words, key=str.lower)
    assert section.locator("th").first.get_attribute("aria-sort") == "ascending"
    section.get_by_role("button", name="difference").click()
    first = section.locator("tbody tr[data-row] td:nth-child(2)").all_inner_texts()
    assert first == [f"{size:.2f}" for size in found["estimate"].sort_values(ascending=False).head(len(first))]
    section.get_by_label("only words that hold").check()
    assert f"of {found['holds'].sum()} rows" in section.locator(".shown").inner_text()


def test_all_words_are_taken_away_as_csv(visit, fitted, tmp_path):
    page = visit()
    with page.expect_download() as download:
        page.get_by_role("button", name="as CSV").click()
    download.value.save_as(tmp_path / "all.csv")
    tests = fitted.inference(quiet=True)
    tables = {"party": tests.contrast("party"), "year": tests.drift("year")}
    with open(tmp_path / "all.csv", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    expected = [(name, row) for name, table in tables.items() for row in table.to_dict("records")]
    assert len(rows) == len(expected)
    for row, (name, known) in zip(rows, expected):
        assert (row["column"], row["word"], row["value"]) == (name, known["word"], known["value"])
        assert float(row["estimate"]) == pytest.approx(known["estimate"], rel=1e-3)
        assert row["holds"] == str(known["holds"])
        assert (row["context"], row["context_against"]) == (known["context"], known["context_against"])


def test_the_methods_can_be_copied(visit):
    page = visit()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".copy").click()
    page.get_by_text("Copied.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#paragraph").inner_text()


def test_without_scripts_the_page_can_be_read(visit):
    page = visit(scripts=False)
    assert page.locator("article.finding").first.is_visible()
    assert page.locator(".comparison tbody tr").first.is_visible()
    assert page.locator(".plot svg path.sure").first.is_visible()
    assert not page.locator(".controls:visible").count()
    page.locator(".panels summary").first.click()
    assert page.locator(".panels article").first.is_visible()


def test_a_phone_does_not_scroll_sideways(visit):
    page = visit(width=420)
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    page.locator(".comparison tbody tr[data-row]").first.click()
    assert panel(page).is_visible()
    assert panel(page).bounding_box()["width"] == 420


def test_in_the_frame_of_a_notebook_it_works_as_well(browser, path, tmp_path):
    frame = tmp_path / "notebook.html"
    frame.write_text(f'<meta charset="utf-8">{Report(path.read_text("utf-8"))._repr_html_()}', "utf-8")
    page = browser.new_page(viewport={"width": 1000, "height": 950})
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(frame.as_uri())
    inside = page.frames[1]
    inside.locator(".comparison tbody tr[data-row]").first.click()
    assert inside.locator("#panel h3").inner_text() == HACK
    with page.expect_download():
        inside.locator(".download").click()
    inside.locator(".copy").click()
    inside.get_by_text(re.compile("Copied|Ctrl-C")).wait_for()
    assert said == []
    assert page.evaluate("window.hacked === undefined")
    page.close()


def test_print_has_the_findings_and_no_controls(visit):
    page = visit()
    page.locator(".comparison tbody tr[data-row]").first.click()
    page.emulate_media(media="print")
    assert page.locator("article.finding").first.is_visible()
    assert not panel(page).is_visible()
    assert not page.locator(".controls:visible").count()
    assert page.pdf().startswith(b"%PDF")
