"""Time of one epoch of the package by the paper's authors.

`speed.py --part authors` calls it with the Python of an environment that has probabilistic-word-embeddings 1.18.2.

    python benchmarks/authors.py TEXT DIMENSIONS EDGES STRENGTH

TEXT is a file of words. The graph has EDGES random word–word edges per row, as in `speed.py`. Prints the seconds.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import networkx as nx
from probabilistic_word_embeddings.embeddings import LaplacianEmbedding
from probabilistic_word_embeddings.estimation import map_estimate


def main() -> None:
    words = Path(sys.argv[1]).read_text().split()
    dimensions, edges, strength = int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    vocabulary = sorted(set(words))
    draw = random.Random(1)
    graph = nx.Graph()
    graph.add_nodes_from(vocabulary)
    while graph.number_of_edges() < len(vocabulary) * edges // 2:
        graph.add_edge(*draw.sample(vocabulary, 2))
    embedding = LaplacianEmbedding(
        vocabulary=set(vocabulary), dimensionality=dimensions, graph=graph, lambda0=1.0, lambda1=strength, seed=1
    )
    start = time.perf_counter()
    map_estimate(embedding, data=words, model="cbow", ws=5, ns=5, epochs=1, training_loss=False, loglevel="ERROR")
    print(time.perf_counter() - start)


if __name__ == "__main__":
    main()
