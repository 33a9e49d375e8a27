"""Takes the screenshots of the documentation: every page of the explorer, and a report.

    python docs/pictures.py                      # writes docs/img
    python docs/pictures.py --out FOLDER --all   # light and dark, wide and narrow, and slow pages

Fits the demo corpus and, for the page on languages, a second language with every word written backwards. Screenshots
are PNG files with few colors, so that they are small.
"""

from __future__ import annotations

import argparse
import io
import shutil
import tempfile
from pathlib import Path
from typing import Any

import laplex as lx
from laplex.explorer.launching import explore

OUT = Path(__file__).with_name("img")
LOOKS = {
    "light-wide": ("light", 1400),
    "dark-wide": ("dark", 1400),
    "light-narrow": ("light", 420),
    "dark-narrow": ("dark", 420),
}
PAGES = {
    "overview": "",
    "word": "word?word=freedom",
    "contrast": "contrast?explained=liberal",
    "change": "change?explained=uniform",
    "dimensions": "dimensions",
    "map": "map?find=freedom",
    "languages": "languages?language=en&said=children",
}
# pages that take seconds, and variants of pages
FURTHER = {
    "word-along": "word?word=freedom&along=true&bare=true&graph=true",
    "contrast-bare": "contrast?bare=true",
    "map-plain": "map",
    "map-poles": "map?color=between+two+poles",
    "map-time": "map?color=by+period&find=major&at.period=1981",
    "word-unknown": "word?word=freedomm",
}
COLORS_PER_PICTURE = 96
MAX_PAGE_PIXELS = 20_000  # height
REPORT_PIXELS = 1_700  # height of the part of the report that is shown
CHARTS_ARE_DRAWN = (
    "() => [...document.querySelectorAll('[data-testid=stVegaLiteChart]')].every((c) => c.querySelector('svg'))"
)


def fit_demo(folder: Path) -> None:
    """The model and the report of `laplex demo`."""
    corpus = lx.demo().where(party=["Democratic", "Republican"]).periods("year", every="40y", start=1861)
    prior = lx.Ridge() + lx.Groups("party", 100.0) + lx.Chain("period", 100.0)
    model = lx.Model(vary=["party", "period"], prior=prior, likelihood="sgns")
    fitted = lx.fit(model, corpus, min_count=10, epochs=10)
    fitted.save(folder)
    fitted.report(folder.with_suffix(".html"), title="State of the Union")


def fit_languages(folder: Path) -> None:
    english = lx.demo().where(year=range(1941, 1982)).head(3000)
    other = lx.demo().where(year=range(1982, 2022)).head(3000)
    frequent = lx.Tokens.of(lx.read(english, language="en"), min_count=20, quiet=True).vocabularies[0].words[:600]
    other["text"] = [" ".join(word[::-1] for word in text.lower().split()) for text in other["text"]]
    both = lx.read(english, language="en") + lx.read(other, language="backwards")
    prior = lx.Ridge() + lx.Translations([(word, word[::-1]) for word in frequent[::2]], 1e4)
    lx.fit(lx.Model(prior=prior, likelihood="sgns", dimensions=50), both, min_count=10, epochs=10).save(folder)


def settle(page: Any) -> None:
    """Wait until the page is complete."""
    page.get_by_role("heading", level=1).wait_for(timeout=120_000)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=300_000)
    busy = ["[data-testid=stStatusWidget]", "[data-testid=stSpinner]", "[data-stale=true]", "[data-testid=stSkeleton]"]
    page.wait_for_function(CHARTS_ARE_DRAWN, timeout=120_000)
    for _ in range(3):  # because a page may be computed again
        page.wait_for_timeout(500)
        page.wait_for_function("(busy) => !document.querySelector(busy)", arg=", ".join(busy), timeout=120_000)


def save(page: Any, path: Path, max_pixels: int) -> None:
    """Write the page, or its first `max_pixels`, as a small file."""
    from PIL import Image

    # a page of the explorer scrolls inside its window, so the window is enlarged until all of the page is visible
    for _ in range(4):
        height = page.evaluate("() => document.querySelector('[data-testid=stMainBlockContainer]')?.scrollHeight ?? 0")
        if height + 20 <= page.viewport_size["height"] or not height:
            break
        page.set_viewport_size({"width": page.viewport_size["width"], "height": min(int(height) + 20, 6000)})
        page.wait_for_timeout(800)
    picture = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
    picture = picture.crop((0, 0, picture.width, min(picture.height, max_pixels)))
    reduced = picture.quantize(
        COLORS_PER_PICTURE, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
    )  # keeps rare colors
    reduced.save(path, optimize=True)
    print(f"{path.name}: {picture.width} × {picture.height}, {path.stat().st_size / 1e3:.0f} kB", flush=True)


def draw(browser: Any, address: str, path: Path, look: str, max_pixels: int = MAX_PAGE_PIXELS) -> None:
    scheme, width = LOOKS[look]
    context = browser.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)
    page = context.new_page()
    page.goto(address)
    if not address.startswith("file:"):
        settle(page)
    save(page, path, max_pixels)
    context.close()


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--all", action="store_true", help="every look, and slow pages")
    parser.add_argument("--models", type=Path, help="a folder to keep the fitted models in")
    parser.add_argument("--only", nargs="*", help="the names of the pictures to take")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    pages = {**PAGES, **FURTHER, "report": ""} if options.all else {**PAGES, "report": ""}
    pages = {name: path for name, path in pages.items() if not options.only or name in options.only}
    looks = list(LOOKS) if options.all else ["light-wide"]
    with tempfile.TemporaryDirectory() as kept, sync_playwright() as playwright:
        home = options.models or Path(kept)
        demo, languages = home / "state-of-the-union.laplex", home / "languages.laplex"
        for folder, fit in ((demo, fit_demo), (languages, fit_languages)):
            if not folder.exists():
                fit(folder)
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        plain: dict[str, Any] = {"browser": False, "wait": False, "quiet": True}
        with explore(demo, port=8601, **plain) as one, explore(languages, port=8651, **plain) as two:
            for name, place in pages.items():
                address = f"{two.url if name == 'languages' else one.url}/{place}"
                address = demo.with_suffix(".html").absolute().as_uri() if name == "report" else address
                max_pixels = REPORT_PIXELS if name == "report" and not options.all else MAX_PAGE_PIXELS
                for look in looks:
                    path = options.out / f"{name}{f'-{look}' if options.all else ''}.png"
                    draw(browser, address, path, look, max_pixels)
        browser.close()


if __name__ == "__main__":
    main()
