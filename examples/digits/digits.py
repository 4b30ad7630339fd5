"""The data of the digits example: UCI's 1797 pictures of 8x8 pixels, values 0 to 16, and their labels.

load() reads digits.csv.gz from this folder, 64 pixels and the label in each row; LICENSE.data.md says whose it is.
"""
import gzip
import os

import numpy as np

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.csv.gz")
HELD_OUT = 360  # rows that training never sees; the same ones in every run


def _read(path):
    with gzip.open(path, "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", ndmin=2)
    if table.shape[1] != 65 or len(table) <= HELD_OUT:
        raise SystemExit(f"{path}: needs 65 columns and more than {HELD_OUT} rows, has {table.shape[1]} and "
                         f"{len(table)}; see README.md beside it")
    return table


def load():
    """(train pixels 0..1, train labels, held-out pixels, held-out labels); the split is fixed."""
    table = _read(FILE)
    table = table[np.random.Generator(np.random.PCG64(7)).permutation(len(table))]
    pixels, labels = table[:, :64].astype(np.float32) / 16, table[:, 64].astype(np.int64)
    return pixels[HELD_OUT:], labels[HELD_OUT:], pixels[:HELD_OUT], labels[:HELD_OUT]
