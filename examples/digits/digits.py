"""The data of the digits examples: 8x8 pictures of digits, values 0 to 16, and their labels.

load() reads digits.csv or digits.csv.gz from this folder: 64 pixels and the label in each row, the form of UCI's
"Optical Recognition of Handwritten Digits". Without such a file it takes the same rows from scikit-learn where that is
installed (sklearn.datasets.load_digits), and otherwise draws a set of the same form: strokes on a
32x32 grid, bent, shifted, thickened and soiled at random, then counted in 4x4 blocks as UCI counts its
bitmaps. The origin that load() returns says which of the two it was, and callers print it.
"""
import gzip
import os

import numpy as np

FOLDER = os.path.dirname(os.path.abspath(__file__))
DRAWN_ROWS = 1797
HELD_OUT = 360  # rows that training never sees; the same ones in every run

STROKES = {  # polylines on the unit square, y down; one list of strokes per way to write the digit
    0: [[[(.5, .05), (.8, .25), (.82, .7), (.5, .95), (.2, .72), (.18, .28), (.5, .05)]]],
    1: [[[(.3, .25), (.55, .05), (.55, .95)]], [[(.5, .05), (.5, .95)], [(.3, .95), (.72, .95)]]],
    2: [[[(.2, .25), (.45, .05), (.75, .2), (.7, .45), (.2, .93), (.82, .93)]]],
    3: [[[(.2, .12), (.5, .05), (.77, .2), (.65, .42), (.42, .47), (.7, .55), (.8, .75), (.5, .95), (.2, .87)]]],
    4: [[[(.6, .95), (.6, .05), (.15, .65), (.85, .65)]], [[(.25, .05), (.2, .5), (.8, .5)], [(.72, .1), (.65, .95)]]],
    5: [[[(.8, .07), (.3, .07), (.25, .45), (.6, .4), (.8, .62), (.65, .9), (.2, .92)]]],
    6: [[[(.7, .05), (.35, .3), (.2, .65), (.35, .93), (.7, .9), (.78, .65), (.5, .52), (.23, .68)]]],
    7: [[[(.18, .08), (.8, .08), (.42, .95)]], [[(.18, .08), (.8, .08), (.42, .95)], [(.3, .5), (.75, .5)]]],
    8: [[[(.5, .5), (.25, .3), (.5, .05), (.75, .28), (.5, .5), (.22, .75), (.5, .95), (.78, .75), (.5, .5)]]],
    9: [[[(.78, .35), (.5, .5), (.22, .35), (.35, .08), (.68, .08), (.78, .35), (.7, .7), (.55, .95)]]],
}


def _segments(strokes, random):
    """The strokes bent by a random affine map and trembling corners: an array (segments, 2 ends, x and y)."""
    turn, slant, wide, high = random.normal(0, [.16, .18, .12, .09])
    bend = np.array([[1 + wide, slant], [0, 1 + high]]) @ np.array(
        [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    shift = random.normal(0, .035, 2)
    found = []
    for stroke in strokes:
        points = np.array(stroke) - .5
        points = (points + random.normal(0, .03, points.shape)) @ bend.T + .5 + shift
        found += list(zip(points[:-1], points[1:]))
    return np.array(found)


def _draw_one(digit, random):
    ways = STROKES[digit]
    ends = _segments(ways[random.integers(len(ways))], random)
    grid = (np.arange(32) + .5) / 32
    pixels = np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 1, 2)
    start, along = ends[:, 0], ends[:, 1] - ends[:, 0]
    share = ((pixels - start) * along).sum(-1) / np.maximum((along ** 2).sum(-1), 1e-9)
    nearest = start + np.clip(share, 0, 1)[..., None] * along
    distance = np.sqrt(((pixels - nearest) ** 2).sum(-1)).min(1)
    ink = distance < random.uniform(.045, .085)
    ink ^= random.random(ink.shape) < .02
    return ink.reshape(8, 4, 8, 4).sum((1, 3)).ravel()


def draw(rows=DRAWN_ROWS, seed=1998):
    random = np.random.Generator(np.random.PCG64(seed))
    labels = random.integers(0, 10, rows)
    return np.array([np.append(_draw_one(label, random), label) for label in labels])


def _read(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", ndmin=2)
    if table.shape[1] != 65 or len(table) <= HELD_OUT:
        raise SystemExit(f"{path}: needs 65 columns and more than {HELD_OUT} rows, has {table.shape[1]} and "
                         f"{len(table)}; see README.md beside it")
    return table


def _installed():
    """UCI's rows as scikit-learn ships them, or None where it is not installed."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        return None
    found = load_digits()
    return np.column_stack([found.data, found.target])


def load():
    """(train pixels 0..1, train labels, held-out pixels, held-out labels, origin); the split is fixed."""
    for name in ("digits.csv.gz", "digits.csv"):
        path = os.path.join(FOLDER, name)
        if os.path.exists(path):
            table, origin = _read(path), name
            break
    else:
        table, origin = _installed(), "UCI's, from the installed scikit-learn"
        if table is None:
            table, origin = draw(), "drawn by digits.py (no digits.csv.gz in its folder, no scikit-learn)"
    table = table[np.random.Generator(np.random.PCG64(7)).permutation(len(table))]
    pixels, labels = table[:, :64].astype(np.float32) / 16, table[:, 64].astype(np.int64)
    return pixels[HELD_OUT:], labels[HELD_OUT:], pixels[:HELD_OUT], labels[:HELD_OUT], origin
