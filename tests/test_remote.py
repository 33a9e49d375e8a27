"""Text is read from other machines, and keys are told to nobody."""

from __future__ import annotations

import io
import traceback
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from remote_files import Store, serving

import laplex as lx
from laplex.runtime.program import record_command
from laplex.text.dealing import DocumentShare
from laplex.text.remote import public_address

SECRETS = ("s3cretKEY", "s1gnature", "pa55word", "KEYNAME")
ROWS = 400


def parquet(rows: int = ROWS, first: int = 0) -> bytes:
    words = ["tax", "budget", "school", "war", "peace", "vote", "law", "court"]
    texts = [" ".join(words[(number + i * i) % 8] for i in range(12)) for number in range(first, first + rows)]
    frame = pl.DataFrame({"text": texts, "party": ["D", "R"] * (rows // 2)})
    file = io.BytesIO()
    frame.write_parquet(file, row_group_size=50)
    return file.getvalue()


@pytest.fixture
def store():
    with serving({"/texts.parquet": parquet(), "/bucket/texts.parquet": parquet()}) as store:
        yield store


def addresses(store: Store) -> dict[str, tuple[str, dict[str, str] | None]]:
    """The same file at an address without secrets, and with each kind of them."""
    return {
        "plain": (store.address("/texts.parquet"), None),
        "signed": (store.address("/texts.parquet?X-Amz-Signature=s1gnature"), None),
        "password": (store.address("/texts.parquet", "me:pa55word@"), None),
        "s3": ("s3://bucket/texts.parquet", store.s3_options),
    }


@pytest.mark.parametrize("kind", ["plain", "signed", "password", "s3"])
def test_text_behind_an_address_is_that_of_the_file(store, tmp_path, kind):
    address, options = addresses(store)[kind]
    (tmp_path / "texts.parquet").write_bytes(parquet())
    there = lx.read(address, metadata=["party"], storage_options=options)
    here = lx.read(tmp_path / "texts.parquet", metadata=["party"])
    one, two = (lx.Tokens.of(corpus, min_count=1, cache=tmp_path / "cache", quiet=True) for corpus in (here, there))
    assert one.digest != ""
    assert one.ids.tolist() == two.ids.tolist()
    assert one.codes("party").tolist() == two.codes("party").tolist()
    assert two.settings["sources"] == [public_address(address)]
    if kind == "signed":
        assert any("s1gnature" in path for path, _ in store.requests)  # the server needs it
    if kind == "s3":
        assert all(authorization.startswith("AWS4-HMAC-SHA256") for _, authorization in store.requests)


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("kind", ["signed", "password", "s3"])
def test_secrets_are_in_no_file_that_is_written_and_in_nothing_that_is_said(store, tmp_path, capfd, kind):
    address, options = addresses(store)[kind]
    corpus = lx.read(address, metadata=["party"], storage_options=options)
    shown = [repr(corpus), str(corpus), corpus._repr_html_(), corpus.identity, corpus.name]
    model = lx.Model(["party"], lx.Ridge() + lx.Groups("party", 10.0), dimensions=4)
    with record_command(["fit", address, "--group", "party"]):
        run = {"min_count": 1, "epochs": 2, "threads": 1, "cache": tmp_path / "cache"}
        fitted = lx.fit(model, corpus, checkpoint=tmp_path / "checkpoint", **run)
    fitted.save(tmp_path / "model")
    shown += [repr(fitted), repr(fitted.settings), *capfd.readouterr()]
    lx.report(fitted, tmp_path / "report.html", quiet=True)
    written = all_bytes(tmp_path)
    assert b"texts.parquet" in written  # the public part is known
    for secret in SECRETS:
        assert secret.encode() not in written
        assert all(secret not in text for text in shown)
    assert public_address(address) in fitted.settings["command"]


@pytest.mark.parametrize("kind", ["signed", "password", "s3"])
@pytest.mark.parametrize("failure", ["missing", "forbidden", "not Parquet", "gone"])
def test_secrets_are_in_no_error(store, tmp_path, kind, failure):
    address, options = addresses(store)[kind]
    name = "forbidden" if failure == "forbidden" else "missing"
    if failure in ("missing", "forbidden"):
        address = address.replace("texts.parquet", f"{name}.parquet")
    if failure == "not Parquet":
        store.files |= dict.fromkeys(store.files, b"no parquet " * 100)

    def read() -> None:
        corpus = lx.read(address, metadata=["party"], storage_options=options)
        store.files.clear()
        lx.Tokens.of(corpus, min_count=1, cache=tmp_path, quiet=True)

    with pytest.raises(lx.InputError) as caught:
        read()
    said = "".join(traceback.format_exception(caught.value))
    assert all(secret not in said for secret in SECRETS)
    assert public_address(address) in said
    if failure == "forbidden":
        assert "403" in said


def test_several_addresses_are_one_corpus(tmp_path):
    with serving({"/a.parquet": parquet(100), "/b.parquet": parquet(60, 100)}) as store:
        corpus = lx.read([store.address("/a.parquet"), store.address("/b.parquet")], metadata=["party"])
        assert lx.Tokens.of(corpus, min_count=1, cache=tmp_path, quiet=True).documents == 160


def test_a_share_of_a_file_is_a_share_of_what_is_fetched():
    """The file is larger than what Polars fetches to find its end."""
    random = np.random.default_rng(1)
    frame = pl.DataFrame({"text": [random.bytes(100).hex() for _ in range(40_000)]})
    file = io.BytesIO()
    frame.write_parquet(file, row_group_size=1000)
    with serving({"/large.parquet": file.getvalue()}) as store:
        source = lx.read(store.address("/large.parquet")).parts[0].source
        shares = []
        for rank in range(4):
            store.sent.clear()
            shares.append(pl.concat([batch.frame for batch in source.batches(["text"], DocumentShare(rank, 4))]))
            assert store.sent["/large.parquet"] < 0.6 * len(file.getvalue())
    assert [len(share) for share in shares] == [10_000] * 4
    assert pl.concat(shares).sort("text").equals(frame.sort("text"))


def test_text_that_has_changed_behind_its_address_is_read_again(store, tmp_path):
    run = {"min_count": 1, "cache": tmp_path, "quiet": True}
    before = lx.Tokens.of(lx.read(store.address("/texts.parquet")), **run)
    store.files["/texts.parquet"] = parquet(ROWS, 3)
    after = lx.Tokens.of(lx.read(store.address("/texts.parquet")), **run)
    assert before.ids.tolist() != after.ids.tolist()


def test_text_that_changes_between_two_readings_is_refused(store, tmp_path):
    corpus = lx.read(store.address("/texts.parquet"))
    assert corpus.identity
    store.files["/texts.parquet"] = parquet(ROWS, 3)
    with pytest.raises(lx.InputError, match="changed while it was being read"):
        lx.Tokens.of(corpus, min_count=1, cache=tmp_path, quiet=True)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("ftp://me:pa55word@example.org/a.parquet", "ftp://"),
        ("https://me:pa55word@example.org/a.csv?key=s1gnature", "no Parquet file"),
        (["https://me:pa55word@example.org/a.parquet", "here.parquet"], "some sources are addresses"),
    ],
)
def test_addresses_that_cannot_be_read(source, message):
    with pytest.raises(lx.InputError, match=message) as caught:
        lx.read(source)
    assert all(secret not in str(caught.value) for secret in SECRETS)


def test_options_of_a_store_are_for_addresses(tmp_path):
    (tmp_path / "texts.parquet").write_bytes(parquet())
    with pytest.raises(lx.InputError, match="storage_options= is for addresses"):
        lx.read(tmp_path / "texts.parquet", storage_options={"aws_secret_access_key": "s3cretKEY"})
