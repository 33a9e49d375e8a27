"""The pictures of the documentation: every page of the explorer, and a report, as a browser shows them.

    python docs/pictures.py                      # writes docs/img
    python docs/pictures.py --out FOLDER --all   # light and dark, wide and narrow, and what has to be waited for

The demo's corpus is fitted, and for the page on languages a second language is made of it by writing words backwards.
Pictures are PNG files with few colors, so that they are small.
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
    "contrast": "contrast",
    "change": "change",
    "dimensions": "dimensions",
    "map": "map?color=by+party&top=50",
    "languages": "languages?language=en&said=children",
}
# what takes seconds, or is a variant of a page
FURTHER = {
    "word-intervals": "word?word=freedom&intervals=true&graph=true",
    "contrast-tested": "contrast?test=true",
    "map-plain": "map",
    "map-poles": "map?color=between+two+poles",
    "map-time": "map?color=by+period&top=20",
    "map-near": "map?show=the+words+around+a+word&near=peace&top=50",
    "word-unknown": "word?word=freedomm",
}
COLORS = 96
LONG = 20_000  # pixels of a whole page
BEGINNING = 1_700
CHARTS = "() => [...document.querySelectorAll('[data-testid=stVegaLiteChart]')].every((c) => c.querySelector('svg'))"


def fit_demo(folder: Path) -> None:
    """As `laplex demo` does."""
    corpus = lx.demo().where(party=["Democratic", "Republican"]).periods("year", every="40y", start=1861)
    prior = lx.Ridge(1.0) + lx.Groups("party", 100.0) + lx.Chain("period", 100.0)
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
    prior = lx.Ridge(1.0) + lx.Translations([(word, word[::-1]) for word in frequent[::2]], 1e4)
    lx.fit(lx.Model(prior=prior, likelihood="sgns", dimensions=50), both, min_count=10, epochs=10).save(folder)


def settle(page: Any) -> None:
    """Until the page is drawn."""
    page.get_by_role("heading", level=1).wait_for(timeout=120_000)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=300_000)
    busy = ["[data-testid=stStatusWidget]", "[data-testid=stSpinner]", "[data-stale=true]", "[data-testid=stSkeleton]"]
    page.wait_for_function(CHARTS, timeout=120_000)
    for _ in range(3):  # as a page may begin anew
        page.wait_for_timeout(500)
        page.wait_for_function("(busy) => !document.querySelector(busy)", arg=", ".join(busy), timeout=120_000)


def save(page: Any, path: Path, most: int) -> None:
    """The whole page, or its beginning, as a small file."""
    from PIL import Image

    # a page of the explorer scrolls within itself: the window is made as high as it is, until it is as high as it stays
    for _ in range(4):
        high = page.evaluate("() => document.querySelector('[data-testid=stMainBlockContainer]')?.scrollHeight ?? 0")
        if high + 20 <= page.viewport_size["height"] or not high:
            break
        page.set_viewport_size({"width": page.viewport_size["width"], "height": min(int(high) + 20, 6000)})
        page.wait_for_timeout(800)
    picture = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
    picture = picture.crop((0, 0, picture.width, min(picture.height, most)))
    few = picture.quantize(COLORS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)  # rare colors stay
    few.save(path, optimize=True)
    print(f"{path.name}: {picture.width} × {picture.height}, {path.stat().st_size / 1e3:.0f} kB", flush=True)


def draw(browser: Any, address: str, path: Path, look: str, most: int = LONG) -> None:
    scheme, width = LOOKS[look]
    context = browser.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)
    page = context.new_page()
    page.goto(address)
    if not address.startswith("file:"):
        settle(page)
    save(page, path, most)
    context.close()


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--all", action="store_true", help="every look, and what has to be waited for")
    parser.add_argument("--models", type=Path, help="where the models are kept, to be fitted once only")
    parser.add_argument("--only", nargs="*", help="names of pictures")
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
                most = BEGINNING if name == "report" and not options.all else LONG
                for look in looks:
                    path = options.out / f"{name}{f'-{look}' if options.all else ''}.png"
                    draw(browser, address, path, look, most)
        browser.close()


if __name__ == "__main__":
    main()
