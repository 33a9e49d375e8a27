"""Translations from a dictionary in TEI, as FreeDict's are.

    <entry> <form><orth>dog</orth></form>
            <sense><cit type="trans"><quote>cane</quote></cit></sense> </entry>

In older files <trans><tr>cane</tr></trans> stands for the second line. Examples and their translations are left out;
entries and translations of several words are skipped and counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from laplex.errors import InputError
from laplex.lexicons import markup
from laplex.lexicons.wordpairs import WordPairs


def pairs_of(path: Path) -> WordPairs:
    """The words of a dictionary and their translations."""
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.read
    markup.parse(path, parser)
    if not reader.entries:
        raise InputError(f'"{path}" has no <entry>: it is not a dictionary in TEI')
    return WordPairs.of(f'"{path}"', reader.pairs, skipped=reader.skipped)


@dataclass
class _Entry:
    words: list[str] = field(default_factory=list)
    translations: list[str] = field(default_factory=list)


class _Reader:
    """What expat calls for each element. Related entries stand within an entry and have words of their own."""

    def __init__(self) -> None:
        self.pairs: dict[tuple[str, str], None] = {}
        self.skipped = self.entries = 0
        self._open: list[_Entry] = []
        self._citations: list[bool] = []  # whether each open <cit> is a translation
        self._text: list[str] | None = None

    def start(self, name: str, attributes: dict[str, str]) -> None:
        tag = _tag(name)
        if tag in ("entry", "re"):
            self._open.append(_Entry())
            self.entries += 1
        elif tag == "cit":
            self._citations.append(attributes.get("type", "").lower().startswith("trans"))
        elif tag in ("orth", "tr", "quote") and self._open and all(self._citations):
            self._text = []

    def read(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def end(self, name: str) -> None:
        tag = _tag(name)
        if tag in ("orth", "tr", "quote") and self._text is not None:
            entry = self._open[-1]
            said = "".join(self._text)
            if tag == "tr" or self._citations:
                entry.translations += re.split("[,;]", said)
            elif tag == "orth":
                entry.words.append(said)
            self._text = None
        elif tag == "cit":
            self._citations.pop()
        elif tag in ("entry", "re"):
            self._join(self._open.pop())

    def _join(self, entry: _Entry) -> None:
        for word in entry.words:
            for translation in entry.translations:
                one, two = word.split(), translation.split()
                if len(one) == len(two) == 1:
                    self.pairs[one[0], two[0]] = None
                elif one and two:
                    self.skipped += 1


def _tag(name: str) -> str:
    return name.rpartition(":")[2].lower()
