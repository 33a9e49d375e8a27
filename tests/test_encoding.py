"""Encoding: which occurrences are taken, that batches and interruptions change nothing, and what is refused."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import laplex as lx
from laplex.errors import InputError
from laplex.text import encoding
from laplex.text.encoding import Encoder, encode, sample

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TEXTS = ["The war is long, and no war is good.", "Taxes pay for a war!", "Peace. No taxation without peace", "a war"]
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "war", "is", "long", "and", "no", "good", "tax", "##es", "##ation"]
PIECES += ["pay", "for", "a", "peace", "without", ".", ",", "!"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A tiny BERT with random weights."""
    folder = tmp_path_factory.mktemp("encoder")
    (folder / "vocab.txt").write_text("\n".join(PIECES))
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"), do_lower_case=True)
    torch.manual_seed(1)
    config = transformers.BertConfig(
        **{"vocab_size": len(PIECES), "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2},
        **{"intermediate_size": 32, "max_position_embeddings": 64},
    )
    transformers.BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LAPLEX_CACHE", str(tmp_path / "cache"))


def corpus():
    rows = [{"text": text, "party": "DR"[i % 2], "date": f"20{i:02}"} for i, text in enumerate(TEXTS)]
    return lx.read(rows, metadata=["party", "date"]).periods("date", "2y")


def by_hand(folder, text, word, which=0):
    """The mean of the pieces of an occurrence of a word in the last layer, one text at a time."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    start = -1
    for _ in range(which + 1):
        start = text.lower().index(word, start + 1)
    split = tokenizer(text, return_offsets_mapping=True, return_tensors="pt")
    places = split.pop("offset_mapping")[0].tolist()
    mine = [i for i, (a, b) in enumerate(places) if a < start + len(word) and b > start and b > a]
    with torch.inference_mode():
        return model(**split).last_hidden_state[0, mine].mean(0).numpy()


def test_vectors_are_those_of_the_encoder_one_text_at_a_time(encoder):
    found = encode(corpus(), ["war", "taxes", "peace"], encoder, quiet=True)
    words = [found.vocabularies[0].words[i] for i in found.ids]
    assert Counter(words) == {"war": 4, "peace": 2, "taxes": 1}
    expected = {
        "war": [by_hand(encoder, TEXTS[0], "war"), by_hand(encoder, TEXTS[0], "war", 1)]
        + [by_hand(encoder, TEXTS[1], "war"), by_hand(encoder, TEXTS[3], "war")],
        "taxes": [by_hand(encoder, TEXTS[1], "taxes")],
        "peace": [by_hand(encoder, TEXTS[2], "peace"), by_hand(encoder, TEXTS[2], "peace", 1)],
    }
    for word, vectors in expected.items():
        mine = [i for i, one in enumerate(words) if one == word]
        np.testing.assert_allclose(found.vectors[mine], vectors, atol=2e-3)
    assert found.unit == "document"
    assert found.columns == ("party", "date", "period", "document")
    assert found.settings["period_lengths"] == {"period": "2y"}
    assert "layer 2 of 2" in found.encoder


def test_batches_do_not_change_vectors(encoder, monkeypatch, tmp_path):
    whole = encode(corpus(), ["war", "peace"], encoder, quiet=True).vectors
    monkeypatch.setattr(encoding, "PIECES_PER_BATCH", 1)
    monkeypatch.setenv("LAPLEX_CACHE", str(tmp_path / "other"))
    alone = encode(corpus(), ["war", "peace"], encoder, quiet=True).vectors
    np.testing.assert_allclose(whole, alone, atol=2e-3)


def test_an_interrupted_encoding_goes_on_where_it_stopped(encoder, monkeypatch):
    monkeypatch.setattr(encoding, "PIECES_PER_BATCH", 1)
    encoded, vectors = [], Encoder.vectors

    def stops(self, batch):
        if len(encoded) == 3:
            raise KeyboardInterrupt
        encoded.append(batch)
        return vectors(self, batch)

    monkeypatch.setattr(Encoder, "vectors", stops)
    with pytest.raises(KeyboardInterrupt):
        encode(corpus(), ["war", "peace"], encoder, quiet=True)
    monkeypatch.setattr(Encoder, "vectors", lambda self, batch: encoded.append(batch) or vectors(self, batch))
    found = encode(corpus(), ["war", "peace"], encoder, quiet=True)
    assert len(encoded) == len(found) == 6
    assert (np.abs(found.vectors).max(1) > 0).all()


def test_layers_and_pooling(encoder):
    options = {"quiet": True}
    both, first = (encode(corpus(), ["taxation"], encoder, layers=layers, **options) for layers in ([1, 2], 1))
    second = encode(corpus(), ["taxation"], encoder, layers=2, **options)
    np.testing.assert_allclose(both.vectors, (first.vectors + second.vectors) / 2, atol=2e-3)
    pooled = [encode(corpus(), ["taxation"], encoder, pooling=name, **options).vectors for name in ("first", "last")]
    np.testing.assert_allclose(second.vectors, (pooled[0] + pooled[1]) / 2, atol=2e-3)  # tax ##ation


def test_long_texts_are_cut_around_the_word(encoder):
    text = "the good " * 300 + "war " + "is long " * 300
    found = encode(lx.read([{"text": text}]), ["war"], encoder, pieces=20, quiet=True)
    window = "the good " * 4 + "war " + "is long " * 4 + "is"  # with two special pieces, twenty
    np.testing.assert_allclose(found.vectors[0], by_hand(encoder, window, "war"), atol=2e-3)


def test_a_sample_takes_units_and_slices_in_turn():
    rows = [{"text": "war " * 50, "party": "D", "speaker": "a"}] + [
        {"text": "war", "party": "DR"[i % 2], "speaker": f"s{i}"} for i in range(20)
    ]
    tokens = lx.Tokens.of(lx.read(rows, metadata=["party"], unit="speaker"), min_count=1, quiet=True)
    documents, positions = sample(tokens, [0], ["party"], 20, seed=1)
    speakers = Counter(tokens.codes("speaker")[documents].tolist())
    parties = Counter(tokens.codes("party")[documents].tolist())
    assert max(speakers.values()) == 1
    assert set(parties.values()) == {10}
    documents, positions = sample(tokens, [0], [], 1000, seed=1)
    assert len(documents) == 70
    assert len({*zip(documents.tolist(), positions.tolist())}) == 70


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"words": "war"}, r'words=\["war"\]'),
        ({"words": ["war", "wars"]}, "wars"),
        ({"pooling": "max"}, 'pooling="max"'),
        ({"layers": 7}, "layers 0 to 2"),
        ({"encoder": "no-such-encoder"}, "download=True"),
    ],
)
def test_what_cannot_be_encoded_is_refused(encoder, options, message):
    arguments = {"words": ["war"], "encoder": encoder, "quiet": True} | options
    with pytest.raises(InputError, match=message):
        encode(corpus(), **arguments)


def test_the_command_line_encodes_fits_and_compares(encoder, laplex, tmp_path):
    random = np.random.default_rng(0)
    texts = ["the war is good and long", "no war is good", "a war and peace", "the peace is long", "taxes and peace"]
    rows = [
        f"{texts[random.integers(3)] if i % 2 else texts[random.integers(5)]},{'DR'[i % 2]},s{i % 20}"
        for i in range(200)
    ]
    path = tmp_path / "speeches.csv"
    path.write_text("text,party,speaker\n" + "\n".join(rows) + "\n")
    made, model = tmp_path / "war.occurrences", tmp_path / "war.laplex"
    words = ["--word", "war", "--word", "peace"]
    result = laplex(
        "encode", path, *words, "--group", "party", "--unit", "speaker", "--encoder", encoder, "--out", made
    )
    assert result.returncode == 0, result.stderr
    assert "Occurrences: " in result.stdout
    assert f"laplex fit {made} --group party" in " ".join(result.stderr.replace("\\\n", " ").split())
    result = laplex("fit", made, "--group", "party", "--out", model)
    assert result.returncode == 0, result.stderr
    assert lx.load(model).columns == ("party",)
    assert lx.load(model).settings["model"]["likelihood"] == "gaussian"
    result = laplex("fit", made, "--group", "party", "--epochs", "3", "--out", model)
    assert result.returncode == 1
    assert "--epochs is of text" in result.stderr
    table = tmp_path / "change.csv"
    result = laplex("change", made, "party", "--csv", table)
    assert result.returncode == 0, result.stderr
    assert {"war", "peace"} == {line.split(",")[0] for line in table.read_text().splitlines()[1:]}
