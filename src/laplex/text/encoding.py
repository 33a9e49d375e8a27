"""Vectors of occurrences from an encoder such as BERT: which occurrences are encoded, and how.

Of a frequent word some occurrences are taken, by slice and unit in turn, so that neither a long period nor a talkative
speaker crowds out others. An occurrence is encoded with the text around it; of its word pieces' vectors the mean, the
first or the last is taken. Texts of much the same length are encoded together. What is done is on disk: an encoding
that was interrupted goes on where it stopped.
N occurrences, D dimensions.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from laplex.errors import InputError, check_int
from laplex.runtime.display import bar, say
from laplex.runtime.processors import available_threads
from laplex.text.corpus import Corpus
from laplex.text.occurrences import CHARACTERS_AROUND, Occurrences, made_of
from laplex.text.passages import spans_at
from laplex.text.tokens import Tokens, cache_folder

DOCUMENT = "document"  # the unit of a corpus without one
PIECES_PER_BATCH = 2_048  # with padding
OCCURRENCES_PER_READ = 4_096  # whose texts are cut into pieces together
KIND = "encoding"

Pooling = Literal["mean", "first", "last"]


def encode(
    corpus: Corpus | Tokens,
    words: Sequence[str],
    encoder: str | os.PathLike[str],
    *,
    by: Sequence[str] = (),
    most: int = 2_000,
    layers: int | Sequence[int] = -1,
    pooling: Pooling = "mean",
    pieces: int = 128,
    download: bool = False,
    threads: int | None = None,
    seed: int = 1,
    quiet: bool = False,
) -> Occurrences:
    """Encode occurrences of words with an encoder from Hugging Face's `transformers`.

    Args:
        corpus: A Corpus of one language, or Tokens with their originals.
        words: The words.
        encoder: The folder of an encoder with a fast tokenizer, or its name, if it is in the local cache. Its weights
            must be in the safetensors format.
        by: Columns that vectors will vary by; each of their values gets an equal part of the occurrences.
        most: How many occurrences of a word are encoded.
        layers: The layer whose vectors are taken, from 0 (the embeddings) or backwards from −1; of several, their mean.
        pooling: Which of a word's pieces counts: their "mean", the "first" or the "last".
        pieces: How many word pieces of the text around an occurrence the encoder reads.
        download: Fetch the encoder from the hub if it is not there.
        threads: The number of threads, by default one for each processor that the process may use.
        seed: By which occurrences are chosen.
        quiet: Print nothing.

    Returns:
        The Occurrences, kept in the cache. Where the corpus has no unit, documents are the unit "document".

    Example:
        occurrences = lx.encode(speeches, ["tax", "health"], "sentence-transformers/all-MiniLM-L6-v2", by=["party"])
    """
    most, pieces = check_int("most", most), check_int("pieces", pieces, 8)
    layers = [layers] if isinstance(layers, int) else list(layers)
    if isinstance(words, str):
        raise InputError(f'words is a list: write words=["{words}"]')
    if pooling not in ("mean", "first", "last"):
        raise InputError(f'pooling="{pooling}": write "mean", "first" or "last"')
    tokens = corpus if isinstance(corpus, Tokens) else Tokens.of(corpus, keep=words, quiet=quiet)
    if len(tokens.vocabularies) > 1:
        raise InputError(f"the corpus has {len(tokens.vocabularies)} languages: encode one at a time")
    ids = [tokens.vocabularies[0][word] for word in dict.fromkeys(words)]
    documents, positions = sample(tokens, ids, by, most, seed)
    with bar("finding occurrences", quiet=quiet) as progress:
        rows = rows_at(tokens, documents, positions, progress.update)
    read = Encoder(encoder, layers, pooling, pieces, download, threads or available_threads())
    identity = {"tokens": tokens.digest, "words": ids, "by": list(by), "most": most, "seed": seed, "how": read.identity}
    key = hashlib.blake2b(json.dumps(identity, sort_keys=True).encode(), digest_size=12).hexdigest()
    with bar("encoding", quiet=quiet) as progress:
        vectors = encoded(read, rows, cache_folder() / f"{KIND}-{key}", progress.update)
    unit = tokens.unit or DOCUMENT
    metadata = [*tokens.columns, *([] if tokens.unit else [DOCUMENT])]
    kept = {
        name: tokens.settings[name]
        for name in ("periods", "period_lengths", "last_dates", "bins", "numbers", "sources")
    }
    language = tokens.vocabularies[0].language or None
    made = made_of(rows, vectors, ("word", "text", "start", "end"), metadata, unit, language, read.description, kept)
    say(f"{made}", quiet=quiet)
    return made


def sample(
    tokens: Tokens, ids: Sequence[int], by: Sequence[str], most: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The documents of the chosen occurrences, and their positions there, in the order of the text."""
    wanted = np.zeros(len(tokens.vocabularies[0]), bool)
    wanted[list(ids)] = True
    places = np.flatnonzero(wanted[tokens.ids])
    document = np.searchsorted(tokens.offsets, places, "right") - 1
    word = np.asarray(tokens.ids[places], np.int64)
    slices = tokens.slices(by).of_document[document].astype(np.int64)
    unit = document if tokens.unit is None else tokens.codes(tokens.unit)[document].astype(np.int64)
    chance = np.random.default_rng([seed, 11]).random(len(places))
    turn = _place_in_group(chance, word, slices, unit)  # of an occurrence among those of its unit
    turn = _place_in_group(turn + chance, word, slices)  # of a slice, the first of each unit before the second of any
    turn = _place_in_group(turn + chance, word)
    chosen = np.flatnonzero(turn < most)
    return document[chosen], places[chosen] - tokens.offsets[document[chosen]]


def _place_in_group(value: NDArray[Any], *groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of each value among those of its group, in their order, from 0."""
    order = np.lexsort((value, *groups[::-1]))
    sorted_groups = [group[order] for group in groups]
    is_new = np.ones(len(order), bool)
    is_new[1:] = np.any([np.diff(group) != 0 for group in sorted_groups], axis=0)
    first = np.maximum.accumulate(np.where(is_new, np.arange(len(order)), 0))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - first
    return place


def rows_at(tokens: Tokens, documents: NDArray[np.int64], positions: NDArray[np.int64], report: Any) -> pl.DataFrame:
    """A row for each occurrence: its word, the text around it, where it stands there, and its metadata."""
    texts, starts, ends = [], [], []
    for first in range(0, len(documents), OCCURRENCES_PER_READ):
        part = slice(first, first + OCCURRENCES_PER_READ)
        for text, start, end in spans_at(tokens, documents[part], positions[part]):
            low = max(start - CHARACTERS_AROUND, 0)
            texts.append(text[low : end + CHARACTERS_AROUND])
            starts.append(start - low)
            ends.append(end - low)
        report(len(texts) / len(documents), f"{len(texts):,} of {len(documents):,} occurrences")
    spelled = tokens.vocabularies[0].words
    columns: dict[str, Any] = {"word": [spelled[i] for i in tokens.ids[tokens.offsets[documents] + positions].tolist()]}
    columns |= {"text": texts, "start": starts, "end": ends}
    if tokens.unit is None:
        columns[DOCUMENT] = list(map(str, documents.tolist()))
    for name in tokens.columns:
        values = tokens.values(name)
        columns[name] = [values[code] for code in tokens.codes(name)[documents].tolist()]
    return pl.DataFrame(columns)


class Encoder:
    """An encoder of `transformers`, with the layers and the pooling that are asked of it.

    Attributes:
        identity: What decides its vectors, as JSON.
        description: The same in words.
        dimensions: The length of a vector.
    """

    def __init__(
        self,
        source: str | os.PathLike[str],
        layers: Sequence[int],
        pooling: Pooling,
        pieces: int,
        download: bool,
        threads: int,
    ) -> None:
        try:
            import torch
            import transformers
        except ImportError as error:
            raise InputError(f'encoding needs {error.name}: pip install "laplex[encoder]"') from None
        self._torch, self._layers, self._pooling = torch, list(layers), pooling
        torch.set_num_threads(threads)
        options: dict[str, Any] = {"local_files_only": not download}
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(source, **options)
            model = transformers.AutoModel.from_pretrained(source, use_safetensors=True, **options)
        except (OSError, ValueError) as error:
            where = "" if download or Path(source).is_dir() else "; download=True fetches it from the hub"
            raise InputError(f'the encoder "{source}" cannot be opened{where}: {str(error).splitlines()[0]}') from None
        if not self._tokenizer.is_fast:
            raise InputError(f'the encoder "{source}" has no fast tokenizer, which says where word pieces stand')
        self._model = model.eval()
        depth, width = int(model.config.num_hidden_layers) + 1, int(model.config.hidden_size)
        if wrong := [layer for layer in self._layers if not -depth <= layer < depth]:
            raise InputError(f"layers={wrong[0]}: the encoder has layers 0 to {depth - 1}")
        example = self._tokenizer("a", return_special_tokens_mask=True)
        ids, special = example["input_ids"], example["special_tokens_mask"]
        self._before, self._after = ids[: special.index(0)], ids[len(special) - special[::-1].index(0) :]
        most = getattr(model.config, "max_position_embeddings", pieces) - 2
        self._room = min(pieces, most) - len(self._before) - len(self._after)
        self.dimensions = width
        weights = hashlib.blake2b(digest_size=12)
        for name, array in sorted(model.state_dict().items()):
            weights.update(name.encode() + array.detach().contiguous().reshape(-1)[:4096].numpy().tobytes())
        self.identity = [weights.hexdigest(), [layer % depth for layer in self._layers], pooling, self._room]
        named = ", ".join(str(layer % depth) for layer in self._layers)
        self.description = f"{Path(source).name}, layer {named} of {depth - 1}, {pooling} of word pieces"

    def windows(
        self, texts: Sequence[str], starts: Sequence[int], ends: Sequence[int]
    ) -> Iterator[tuple[list[int], range]]:
        """The word pieces around each occurrence with special ones, and which of them are those of the word."""
        split = self._tokenizer(
            list(texts),
            add_special_tokens=False,
            return_offsets_mapping=True,
            return_attention_mask=False,
            verbose=False,
        )
        before = len(self._before)
        for ids, places, start, end in zip(split["input_ids"], split["offset_mapping"], starts, ends, strict=True):
            mine = [i for i, (low, high) in enumerate(places) if low < end and high > start and high > low]
            if not mine:
                mine = [min(len(ids) - 1, sum(low < start for low, _ in places))]
            low = max(0, min(mine[0] - (self._room - len(mine)) // 2, len(ids) - self._room))
            window = ids[low : low + self._room]
            inside = range(mine[0] - low + before, min(mine[-1] + 1 - low, len(window)) + before)
            yield [*self._before, *window, *self._after], inside

    def vectors(self, batch: Sequence[tuple[list[int], range]]) -> NDArray[np.float32]:
        """(n, D) The vectors of occurrences that are encoded together."""
        torch, width = self._torch, max(len(ids) for ids, _ in batch)
        padding = self._tokenizer.pad_token_id or 0
        ids = torch.tensor([[*ids, *[padding] * (width - len(ids))] for ids, _ in batch])
        mask = torch.tensor([[1] * len(ids) + [0] * (width - len(ids)) for ids, _ in batch])
        with torch.inference_mode():
            hidden = self._model(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
            mean = sum(hidden[layer] for layer in self._layers) / len(self._layers)
        found = []
        for row, (_, inside) in enumerate(batch):
            part = {"mean": inside, "first": inside[:1], "last": inside[-1:]}[self._pooling]
            found.append(mean[row, part.start : part.stop].mean(0).numpy())
        return np.stack(found)


def encoded(encoder: Encoder, rows: pl.DataFrame, folder: Path, report: Any) -> NDArray[np.float16]:
    """(N, D) The vectors of all rows; what an interrupted run has done is in the folder, and is not done again."""
    folder.mkdir(parents=True, exist_ok=True)
    shape, path, done_path = (len(rows), encoder.dimensions), folder / "vectors.bin", folder / "done.bin"
    if not path.exists() or path.stat().st_size != 2 * shape[0] * shape[1] or not done_path.exists():
        for made, size in ((path, 2 * shape[0] * shape[1]), (done_path, len(rows))):
            with open(made, "wb") as file:
                file.truncate(size)
    vectors = np.memmap(path, np.float16, "r+", shape=shape)
    done = np.memmap(done_path, np.uint8, "r+", shape=(len(rows),))
    finished = int(done.sum())
    texts, starts, ends = (rows[name].to_list() for name in ("text", "start", "end"))
    for first in range(0, len(rows), OCCURRENCES_PER_READ):
        chosen = [i for i in range(first, min(first + OCCURRENCES_PER_READ, len(rows))) if not done[i]]
        if not chosen:
            continue
        windows = list(encoder.windows(*([values[i] for i in chosen] for values in (texts, starts, ends))))
        for batch in batches([len(ids) for ids, _ in windows]):
            numbers = [chosen[i] for i in batch]
            vectors[numbers] = encoder.vectors([windows[i] for i in batch])
            vectors.flush()
            done[numbers] = 1
            finished += len(batch)
            report(finished / len(rows), f"{finished:,} of {len(rows):,} occurrences")
    return np.array(vectors)


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Texts of much the same length together, the longest first, as many as PIECES_PER_BATCH allows with padding."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    while order:
        size = max(PIECES_PER_BATCH // lengths[order[0]], 1)
        yield order[:size]
        order = order[size:]
