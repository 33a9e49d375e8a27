"""What is wrong with the input is said in one sentence that names it."""

from __future__ import annotations

import gzip
import io
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import laplex as lx

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


@pytest.fixture
def refused():
    """Read a source to its end and expect an InputError."""

    def reading(source, match, **arguments):
        with pytest.raises(lx.InputError, match=match):
            lx.Tokens.of(lx.read(source, **arguments), min_count=1)

    return reading


def parquet(**columns):
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file)
    return file.getvalue()


# Nothing there


@pytest.mark.parametrize(
    "name", ["a.csv", "a.tsv", "a.jsonl", "a.txt", "a.parquet", "a.csv.gz", "a.jsonl.zst", "blank.csv", "blank.jsonl"]
)
def test_an_empty_file(name, write, refused):
    nothing = {".gz": gzip.compress(b""), ".zst": zstd.compress(b"")}.get(Path(name).suffix, b"")
    path = write(name, b"\n \n" if name.startswith("blank") else nothing)
    refused(path, f'"{path}" is empty')


@pytest.mark.parametrize(
    "source",
    [pd.DataFrame({"text": []}), pl.DataFrame({"text": []}, {"text": pl.String}), pa.table({"text": []})],
    ids=["pandas", "polars", "Arrow"],
)
def test_an_empty_frame(source, refused):
    refused(source, "frame has no documents")


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_header_only(name, write, refused):
    path = write(name, parquet(text=pl.Series([], dtype=pl.String)) if name == "a.parquet" else "text,party\n")
    refused(path, f"{path} has no documents")


def test_documents_without_words(refused):
    refused([{"text": ""}, {"text": None}, {"text": "?!"}], "3 documents, but no word in any of them: check text=")


def test_no_documents_left_after_where():
    corpus = lx.read([{"text": "a", "party": "D"}], metadata=["party"]).where(party="R")
    with pytest.raises(lx.InputError, match='no documents with party=R: the values of "party" are D'):
        lx.Tokens.of(corpus, min_count=1)


def test_a_min_count_that_leaves_nothing():
    with pytest.raises(lx.InputError, match='min_count=4 leaves no word: the most frequent, "b", occurs 3 times'):
        lx.Tokens.of(lx.read([{"text": "a b b b c"}]), min_count=4)


def test_a_min_count_that_leaves_nothing_of_a_language():
    rows = [{"text": "a a", "lang": "en"}, {"text": "b", "lang": "de"}]
    with pytest.raises(lx.InputError, match='leaves no word of "de"'):
        lx.Tokens.of(lx.read(rows, language_column="lang"), min_count=2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"keep": "word"}, r'keep=\["word"\]'),
        ({"min_count": 0}, "min_count=0"),
        ({"max_words": 0}, "max_words=0"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(lx.InputError, match=message):
        lx.Tokens.of(lx.read([{"text": "a"}]), **settings)


# Files


@pytest.mark.parametrize("name", ["none.csv", "no*.csv", "none/"])
def test_no_such_file(name, tmp_path, refused):
    refused(f"{tmp_path}/{name}", f'there is no file "{tmp_path}/no')


def test_a_file_that_has_gone(write):
    path = write("a.csv", "text\na\n")
    corpus = lx.read(path)
    path.unlink()
    for use in (corpus.head, corpus.summary, lambda: lx.Tokens.of(corpus)):
        with pytest.raises(lx.InputError, match=f'there is no file "{path}"'):
            use()


@pytest.mark.parametrize("name", ["a.docx", "a", "a.gz", "a.csv.bz2"])
def test_an_unknown_ending(name, write, refused):
    path = write(name, "text\na\n")
    refused(path, f'"{path}" has no ending that laplex reads: .csv')


def test_a_folder_without_a_corpus(tmp_path, refused):
    (tmp_path / "notes.md").touch()
    refused(tmp_path, f'no file in the folder "{tmp_path}" has an ending')


def test_a_folder_with_two_formats(write, refused):
    write("folder/b.jsonl", '{"text": "a"}\n')
    folder = write("folder/a.csv", "text\na\n").parent
    refused(folder, r'folder" has files of more than one format \(1 csv, 1 jsonl\): name one')


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_second_file_without_the_column(name, write, refused):
    content = {
        "a.csv": ("text,party\na,D\n", "text\nb\n"),
        "a.parquet": (parquet(text="a", party="D"), parquet(text="b")),
    }
    folder = write(f"folder/1{name}", content[name][0]).parent
    second = write(f"folder/2{name}", content[name][1])
    refused(folder, f'{second}".*party|"party" in "{second}"', metadata=["party"])


@pytest.fixture
def public():
    """A folder that anyone may enter."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.mark.parametrize("locked", ["a.csv", "."])
def test_an_unreadable_file_or_folder(locked, public, refused, as_nobody):
    folder = public / "folder"
    folder.mkdir()
    path = folder / "a.csv"
    path.write_text("text\na\n")
    (folder / locked).chmod(0)
    with as_nobody():
        refused(path, f'cannot read "{path}": Permission denied')
        if locked == ".":
            refused(folder, f'cannot read "{folder}": Permission denied')
    folder.chmod(0o700)


@pytest.mark.parametrize(("ending", "compress"), [("gz", gzip.compress), ("zst", zstd.compress)])
@pytest.mark.parametrize("damage", ["truncated", "not compressed"])
def test_a_damaged_archive(ending, compress, damage, write, refused):
    compressed = compress(b"text\n" + os.urandom(50_000).hex().encode())
    path = write(f"a.csv.{ending}", compressed[: len(compressed) // 2] if damage == "truncated" else b"text\na\n")
    refused(path, f'"{path}" cannot be decompressed')


@pytest.mark.parametrize("content", [b"text\na\n", parquet(text=["a"] * 1000)[:200]], ids=["text", "truncated"])
def test_a_damaged_parquet_file(content, write, refused):
    path = write("a.parquet", content)
    refused(path, f'cannot read "{path}"')


@pytest.mark.parametrize("change", ["append", "delete"])
def test_a_file_that_changes_while_it_is_read(change, write, monkeypatch, cache):
    path = write("a.csv", "text\na\nb\n")

    def tokenize(text):
        path.unlink(missing_ok=True) if change == "delete" else path.write_text("text\na\nb\nc\n")
        return [text]

    message = {"append": "changed while it was being read", "delete": "there is no file"}[change]
    with pytest.raises(lx.InputError, match=message):
        lx.Tokens.of(lx.read(path, tokenizer=tokenize), min_count=1)
    assert list(cache.iterdir()) == []


def test_a_file_that_changes_between_two_reads_is_read_anew(write, decode):
    path = write("a.csv", "text\na\n")
    assert decode(lx.Tokens.of(lx.read(path), min_count=1)) == [["a"]]
    path.write_text("text\nother\n")
    assert decode(lx.Tokens.of(lx.read(path), min_count=1)) == [["other"]]


def test_an_iterable_that_gives_other_documents_each_time(refused):
    class Random:
        def __iter__(self):
            return iter([{"text": os.urandom(8).hex()}])

    refused(Random(), "a Random gave other documents when it was read again")


# Columns


@pytest.mark.parametrize("column", ["text", "party"])
def test_no_such_column(column, write, refused):
    path = write("a.csv", "speech,group\na,D\n")
    arguments = {"metadata": ["party"], "text": "speech"} if column == "party" else {}
    refused(path, f'no column "{column}" in {path}; its columns are: speech, group', **arguments)


@pytest.mark.parametrize("way", ["csv", "pandas", "Arrow"])
def test_columns_of_the_same_name(way, write, refused):
    source = {
        "csv": lambda: write("a.csv", "text,party,party\na,D,R\n"),
        "pandas": lambda: pd.DataFrame([["a", "D", "R"]], columns=["text", "party", "party"]),
        "Arrow": lambda: pa.table([["a"], ["D"], ["R"]], names=["text", "party", "party"]),
    }[way]()
    refused(source, "more than one column named party: rename them")


@pytest.mark.parametrize(
    "column", [pl.Series([1, 2]), pl.Series([[["a"]], [["b"]]]), pl.Series([{"a": 1}] * 2), pl.Series([b"a", b"b"])]
)
@pytest.mark.parametrize("way", ["polars", "parquet"])
def test_text_that_is_no_text(column, way, write, refused):
    source = pl.DataFrame({"text": column}) if way == "polars" else write("a.parquet", parquet(text=column))
    refused(source, f'column "text" holds {column.dtype}'.split("(")[0])


def test_a_column_of_numbers_in_pandas_is_no_text(refused):
    refused(pd.DataFrame({"text": [1.5, None]}), 'column "text" holds Float64, not text')


def test_text_of_mixed_types_becomes_text(decode):
    rows = [{"text": value} for value in ("a b", 5, 2.0, True, None)]
    assert decode(lx.Tokens.of(lx.read(rows), min_count=1)) == [["a", "b"], ["5"], ["2"], ["true"], []]


def test_metadata_of_mixed_types_becomes_text():
    frame = pd.DataFrame({"text": ["a"] * 4, "party": ["D", 5, 2.0, True]})
    assert lx.Tokens.of(lx.read(frame, metadata=["party"]), min_count=1).values("party") == ["2", "5", "D", "true"]


def test_text_in_lists_and_not(refused):
    rows = [{"text": ["a", "b"]}, {"text": None}, {"text": "a b"}]
    refused(rows, r'column "text" holds lists and, in document 3 of a list of documents, \'a b\'')


@pytest.mark.parametrize("value", [{"a": 1}, ["D"], b"D", {1}], ids=str)
def test_nested_metadata_in_dicts(value, refused):
    refused([{"text": "a", "party": value}], 'column "party"', metadata=["party"])


@pytest.mark.parametrize("values", [[{"a": 1}], [["D"]], [b"D"], [pd.Timedelta("1h").to_pytimedelta()]], ids=str)
def test_metadata_in_frames_that_is_no_scalar(values, refused):
    refused(pl.DataFrame({"text": ["a"], "party": values}), 'column "party" holds .* cannot be', metadata=["party"])


def test_lists_in_lists_of_words(refused):
    refused([{"text": ["a", ["b"]]}], r"column \"text\" of a list of documents: \['b'\] is neither text nor a number")


def test_dates_that_are_none(write):
    path = write("a.csv", "text,date\na,2010-05-03\nb,yesterday\n")
    with pytest.raises(lx.InputError, match=f'column "date": "yesterday" is neither a date .*{path}'):
        lx.Tokens.of(lx.read(path, metadata=["date"]).periods("date"), min_count=1)


# Characters


@pytest.mark.parametrize(
    ("name", "before"), [("a.csv", b"text\na\nb\n"), ("a.jsonl", b'{"text": "a"}\n' * 3), ("a.txt", b"a\n" * 3)]
)
@pytest.mark.parametrize("size", [1, 100_000])
def test_invalid_utf_8_is_found_in_its_line(name, before, size, write, refused):
    before += before.splitlines(keepends=True)[-1] * (size - 1)
    path = write(name, before + "naïve\n".encode("latin-1"))
    message = f'"{path}", line {3 + size:,}: byte 0xef is not utf-8; .* encoding="latin-1"'
    refused(path, message)


def test_a_compressed_file_that_is_not_utf_8(write, refused):
    path = write("a.txt.gz", gzip.compress(b"a\n\xff\n"))
    refused(path, f'"{path}", line 2: byte 0xff is not utf-8')


@pytest.mark.parametrize("encoding", ["utf-16", "UTF_16", "utf-32", "utf-16-le"])
def test_what_is_not_utf_16(encoding, write, refused):
    path = write("a.csv", "text\nab")
    refused(path, f'"{path}" is not {encoding.lower().replace("_", "-")}', encoding=encoding)


@pytest.mark.parametrize("encoding", ["utf-9", "hex", ""])
def test_an_unknown_encoding(encoding, write, refused):
    refused(write("a.csv", "text\na\n"), f'there is no encoding "{encoding}": try "utf-8"', encoding=encoding)


def test_utf_16_that_was_not_said_to_be(write, refused):
    refused(write("a.csv", "text\na\n", "utf-16-le"), 'NUL characters in its header: .* perhaps "utf-16"')


@pytest.mark.parametrize(("name", "content"), [("a.csv", "text\na\0b\n"), ("a.jsonl", '{"text": "a\\u0000b"}')])
def test_nuls_in_text_separate_words(name, content, write, decode):
    assert decode(lx.Tokens.of(lx.read(write(name, content)), min_count=1)) == [["a", "b"]]


@pytest.mark.parametrize("document", [{"text": "a \ud800"}, {"text": ["a", "\ud800"]}, {"text": "a", "\udfff": "b"}])
def test_half_a_character(document, refused, write):
    refused([document], "holds half a character", metadata="all")


def test_half_a_character_in_json(write, refused):
    path = write("a.jsonl", '{"text": "a \\ud83d"}\n')
    refused(path, f"""column 'text' of "{path}": 'a .ud83d' holds half a character""")


# Rows


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('text,party\na,D\n"b,R\nc,D\n', "up to line 4: unexpected end of data"),
        ('"text,party\na,D\n', "up to line 2: unexpected end of data"),
        ('text,party\n"a"b,D\n', "up to line 2: ',' expected after '\"'"),
        ("text,party\na,D\nb,R,5\n", "line 3: 3 values where the header has 2 columns"),
        ("\n\ntext,party\na,D\nb\n", "line 5: 1 values where the header has 2 columns"),
    ],
)
def test_a_csv_file_against_the_rules(content, message, write, refused):
    path = write("a.csv", content)
    refused(path, f'"{path}", {message}')


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{broken", "not JSON"),
        ('["a"]', "a JSON list where an object should be"),
        ("5", "a JSON int"),
        ("[" * 100_000, "not JSON"),
    ],
)
@pytest.mark.parametrize("before", [1, 500])
def test_a_bad_line_of_json(line, message, before, write, refused):
    path = write("a.jsonl", '{"text": "a"}\n\n' * before + line + "\n")
    refused(path, f'"{path}", line {2 * before + 1:,}: {message}')


# Size


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_a_line_of_100_megabytes(name, write):
    words = "".join(f"{number:099} " for number in range(1000))
    path = write(name, "text\n" * (name == "a.csv") + words * 1000 + "\n")
    read = lx.Tokens.of(lx.read(path))
    assert (len(read), read.documents, len(read.vocabularies[0])) == (1_000_000, 1, 1000)


@pytest.mark.slow
def test_a_million_empty_documents(write):
    path = write("a.txt", "\n" * 999_999 + "word\n")
    read = lx.Tokens.of(lx.read(path), min_count=1)
    assert (read.documents, read.document(999_999).tolist()) == (1_000_000, [0])


@pytest.fixture
def small_disk(tmp_path):
    """A folder that takes no more than a megabyte, by a small disk if one can be had, else by a limit for files."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    mounted = os.geteuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0
    if not mounted:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    yield folder
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)
    else:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [400, 25], ids=["while reading", "while writing"])
def test_a_full_disk(tokens, small_disk):
    corpus = lx.read([{"text": ["word"] * tokens}] * 10_000)
    with pytest.raises(lx.StorageError, match=f'cannot write .*"{small_disk}.*": (No space left|File too large)'):
        lx.Tokens.of(corpus, cache=small_disk)
    assert list(small_disk.iterdir()) == []


def test_a_cache_that_is_a_file(write):
    path = write("cache-file", "")
    with pytest.raises(lx.StorageError, match=f'cannot write the tokens to "{path}".*LAPLEX_CACHE'):
        lx.Tokens.of(lx.read([{"text": "a"}]), cache=path)


@pytest.mark.parametrize("mode", [0o555, 0])
def test_a_cache_without_permission(mode, public, as_nobody):
    cache = public / "cache"
    cache.mkdir(mode=mode)
    with as_nobody(), pytest.raises(lx.StorageError, match=f'cannot .*"{cache}.*": Permission denied'):
        lx.Tokens.of(lx.read([{"text": "a"}]), min_count=1, cache=cache)
