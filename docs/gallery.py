"""Draws the gallery: every kind of chart, below the code that draws it.

    python docs/gallery.py                   # writes docs/gallery.md and docs/img/gallery
    python docs/gallery.py --models FOLDER   # takes the model from there, or keeps it there

The code that the page shows is the code that is run.
"""

from __future__ import annotations

import argparse
import ast
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from pictures import DEMO, write

import laplex as lx

PAGE = Path(__file__).with_name("gallery.md")
PICTURES = Path(__file__).parent / "img" / "gallery"
SCALE = 2  # pixels of a PNG file for one on the screen


class Entry(NamedTuple):
    """A chart of the gallery, whose code ends with the chart."""

    name: str
    title: str
    text: str
    code: str


ENTRIES = [
    Entry(
        "bars",
        "Words that differ most",
        "A bar for each finding, with its interval. Where a row does not hold, its bar is gray.",
        """
        frame = fitted.drift("period")
        lx.plots.bars(frame, top=15)
        """,
    ),
    Entry(
        "volcano",
        "Every word by difference and evidence",
        "The size of each difference, and the evidence for it. The dashed line is at the largest p that holds.",
        """
        lx.plots.volcano(frame)
        """,
    ),
    Entry(
        "matrix",
        "Several groups at a glance",
        "A row for each word, a column for each group: how far its use differs there from that in all others. Filled "
        "dots hold, gray rings do not. Here, a test needs five presidents on either side.",
        """
        words = ["agriculture", "america", "billion", "branches", "child"]
        words += ["coverage", "economy", "health", "initiative", "pension"]
        words += ["percent", "railway", "security", "soviet", "uniform", "weapons"]
        asked = fitted.inference(min_units=5)
        by_period = asked.contrast("period", words, against="rest")
        lx.plots.matrix(by_period)
        """,
    ),
    Entry(
        "explanation",
        "What a difference is made of",
        "The context words with their shares of the difference, the surest of each half, without function words. "
        "Those whose interval reaches zero are lighter.",
        """
        explained = fitted.explain("insurance", "period")
        function_words = fitted.inference().excluded()
        lx.plots.explanation(explained, exclude=function_words)
        """,
    ),
    Entry(
        "neighbor_ratio",
        "Neighbors of one group, and of both",
        "The ratio of the similarities of two words in both groups. Left and right are words that are nearer in one "
        "group, in the middle those that are as near in both.",
        """
        asked = fitted.inference(min_count=60)
        ratios = asked.neighbor_ratio("freedom", "party")
        lx.plots.neighbor_ratio(ratios)
        """,
    ),
    Entry(
        "neighbors",
        "Neighbors",
        "The nearest words in a slice, one panel for each. Lighter bars have too little text for an interval.",
        """
        asked = fitted.inference(min_units=3, min_count=30)
        near = asked.neighbors("freedom", at={"period": "1941"})
        lx.plots.bars(near)
        """,
    ),
    Entry(
        "effect",
        "Along a number",
        "Where a word stands at each year, from its mean, with a band.",
        """
        effect = fitted.effect("uniform", "year")
        lx.plots.lines(effect)
        """,
    ),
    Entry(
        "lines",
        "Change in groups",
        "A line for each group. Points have an interval where there is enough text.",
        """
        path = fitted.inference(min_units=3).trajectory("government")
        lx.plots.lines(path)
        """,
    ),
    Entry(
        "panels",
        "Positions between two poles through time",
        "Of several words, each has a panel. The axis names the poles.",
        """
        words = ["labor", "trade", "health", "agriculture"]
        poles = (["foreign", "nations"], ["domestic", "home"])
        places = fitted.project(words, poles, test=False)
        lx.plots.lines(places)
        """,
    ),
    Entry(
        "dots",
        "Positions between two poles",
        "A row for each word, a dot with its interval for each group.",
        """
        words = ["labor", "trade", "health", "tax", "peace", "war"]
        poles = (["foreign", "nations"], ["domestic", "home"])
        asked = fitted.inference(min_units=3, min_count=30)
        places = asked.project(words, poles, at={"period": "1941"})
        lx.plots.dots(places)
        """,
    ),
    Entry(
        "coefficients",
        "Several explanations at once",
        "The coefficients of words in a regression. Hollow dots are not shown to hold.",
        """
        words = ["held", "issues", "america", "labor"]
        fit = fitted.regress("~ party * year", words)
        lx.plots.coefficients(fit)
        """,
    ),
    Entry(
        "map",
        "A map of words",
        "The words of a slice in two dimensions. Words that are used alike are near each other.",
        """
        import pandas as pd

        at = {"party": "Republican", "period": "1941"}
        words = ["war", "tax"]
        near = [fitted.neighbors(word, 35, at=at, test=False) for word in words]
        words += pd.concat(near)["neighbor"].unique().tolist()
        lx.plots.map(fitted, words, at=at)
        """,
    ),
    Entry(
        "trajectory",
        "The path of a word",
        "A word among its neighbors, at each period. A hollow point is placed by the prior alone, without text.",
        """
        lx.plots.trajectory(fitted, "freedom")
        """,
    ),
    Entry(
        "graph",
        "The graph of the prior",
        "The vectors of a word, and what the prior joins them to. Wider lines are stronger edges.",
        """
        lx.plots.graph(fitted, "freedom")
        """,
    ),
    Entry(
        "curve",
        "The choice of a strength",
        "How well each strength predicts text that was held out, with one standard error.",
        """
        parties = ["Democratic", "Republican"]
        recent = lx.demo().where(party=parties, year=range(1981, 2022))
        prior = lx.Ridge() + lx.Groups("party")
        small = lx.Model(["party"], prior, likelihood="sgns", dimensions=20)
        strengths = [0.1, 1.0, 10.0, 100.0, 1000.0]
        options = {"min_count": 20, "epochs": 10}
        tuning = lx.tune(small, recent, strengths, tests=False, **options)
        lx.plots.curve(tuning.table)
        """,
    ),
    Entry(
        "history",
        "The course of a fit",
        "The log likelihood by epoch, of the text trained on and of text that was held out.",
        """
        lx.plots.history(fitted.history)
        """,
    ),
]
HEAD = """\
# Gallery

Every kind of chart, drawn by the code above it from the built-in corpus: the State of the Union addresses of two
parties, in periods of forty years that are named by their first year. A chart is written to a file by
`.save("chart.pdf")`; SVG, PNG and HTML work as well. The functions are described under [Charts](api/plots.md).
"""


def drawn(code: str, names: dict[str, Any]) -> Any:
    """The value of the last line of the code, after the other lines have been run."""
    tree = ast.parse(code)
    last = tree.body.pop()
    if not isinstance(last, ast.Expr):
        raise SystemExit(f"the code of a chart ends with the chart, not with: {ast.unparse(last)}")
    exec(compile(tree, str(PAGE), "exec"), names)
    return eval(compile(ast.Expression(last.value), str(PAGE), "eval"), names)


def dedent(code: str) -> str:
    """The code of an entry as the page shows it."""
    return "\n".join(line[8:] for line in code.strip("\n").splitlines()).strip() + "\n"


def draw(chart: Any, path: Path) -> int:
    """Write a chart as a small PNG file, and return its width on the screen."""
    import io

    import vl_convert
    from PIL import Image

    picture = Image.open(io.BytesIO(vl_convert.vegalite_to_png(chart.to_dict(), scale=SCALE))).convert("RGB")
    write(picture, path)
    return int(picture.width / SCALE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, help="a folder with the fitted demo, or to keep it in")
    options = parser.parse_args()
    names: dict[str, Any] = {"lx": lx}
    folder = options.models / "state-of-the-union.laplex" if options.models else None
    if folder is not None and folder.exists():
        names["fitted"] = lx.load(folder)
    else:
        exec(DEMO, names)
        if folder is not None:
            names["fitted"].save(folder)
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir(parents=True)
    parts = [HEAD, f"```python\n{DEMO}```\n"]
    for entry in ENTRIES:
        code = dedent(entry.code)
        width = draw(drawn(code, names), PICTURES / f"{entry.name}.png")
        picture = f"![{entry.title}](img/gallery/{entry.name}.png){{ width={width} }}"
        parts.append(f"## {entry.title}\n\n{entry.text}\n\n```python\n{code}```\n\n{picture}\n")
    PAGE.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
