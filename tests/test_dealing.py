"""Each of several processes reads its own share of the files."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

import laplex as lx
from laplex.text.dealing import DocumentShare, deal_files, deal_rows

ROWS = 240


def frame(first: int = 0, rows: int = ROWS) -> pl.DataFrame:
    return pl.DataFrame(
        {"text": [f"number {i}" for i in range(first, first + rows)], "party": ["D", "R"] * (rows // 2)}
    )


def files_of(folder: Path, kind: str) -> str:
    """The same documents in files of some kind."""
    if kind == "one Parquet file":
        frame().write_parquet(folder / "all.parquet", row_group_size=30)
    elif kind == "Parquet files":
        for first, rows in ((0, 10), (10, 200), (210, 30)):
            frame(first, rows).write_parquet(folder / f"{first}.parquet")
    elif kind == "CSV files":
        for first in range(0, ROWS, 40):
            frame(first, 40).write_csv(folder / f"{first:03}.csv")
    else:
        (folder / "all.csv.gz").write_bytes(gzip.compress(frame().write_csv().encode()))
    return str(folder)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("kind", ["one Parquet file", "Parquet files", "CSV files", "one compressed file"])
def test_all_documents_are_read_once_by_one_process_each(tmp_path, kind, ranks):
    corpus = lx.read(files_of(tmp_path, kind), metadata=["party"])
    read, documents = [], {row["text"]: row for row in frame().to_dicts()}
    for rank in range(ranks):
        batches = [batch for _, batch in corpus.complete_documents(DocumentShare(rank, ranks))]
        frames = pl.concat([batch.frame for batch in batches])
        if kind == "one compressed file":  # cannot be read in parts: whoever reads it deals out the documents
            assert not any(batch.is_dealt for batch in batches)
            assert len(frames) == ROWS
            continue
        assert all(batch.is_dealt for batch in batches)
        assert abs(len(frames) - ROWS / ranks) <= 2
        assert batches[-1].share == pytest.approx(1.0)
        read += frames.rows()
    if read:
        assert sorted(row[0] for row in read) == sorted(documents)
        assert all(documents[row[0]]["party"] == row[-1] for row in read)


def test_the_number_of_a_document_in_a_message_is_that_in_its_file(tmp_path):
    frame().write_parquet(tmp_path / "all.parquet")
    corpus = lx.read(tmp_path / "all.parquet")
    for _, batch in corpus.complete_documents(DocumentShare(1, 2)):
        text = batch.frame.item(0, 0)
        assert text == f"number {batch.first - 1}"


def test_where_only_some_documents_are_kept_all_are_read(tmp_path):
    """Otherwise one process could have none of those that are kept."""
    corpus = lx.read(files_of(tmp_path, "one Parquet file"), metadata=["party"]).where(party="D")
    batches = [batch for _, batch in corpus.complete_documents(DocumentShare(0, 2))]
    assert sum(len(batch.frame) for batch in batches) == ROWS // 2
    assert not any(batch.is_dealt for batch in batches)


def test_ranges_of_rows_come_from_everywhere_and_are_even():
    shares = [deal_rows([1000, 0, 24], DocumentShare(rank, 4)) for rank in range(4)]
    assert [sum(part.rows for part in share) for share in shares] == [256] * 4
    assert all(max(part.first for part in share) - min(part.first for part in share) > 500 for share in shares)
    assert deal_rows([], DocumentShare(0, 2)) == []


def test_files_of_unlike_sizes_are_not_dealt_out():
    assert deal_files([100, 1, 1], DocumentShare(0, 2)) is None
    assert deal_files([5], DocumentShare(0, 2)) is None
    assert [deal_files([30, 20, 10, 40], DocumentShare(rank, 2)) for rank in (0, 1)] == [[2, 3], [0, 1]]
