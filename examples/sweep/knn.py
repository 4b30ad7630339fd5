"""One point of the sweep: accuracy of k nearest neighbours on the held-out digits, as one line of JSON in a file."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "digits"))

import numpy as np

import digits


def accuracy(k, pixels, labels, test_pixels, test_labels):
    distance = ((test_pixels ** 2).sum(1)[:, None] - 2 * test_pixels @ pixels.T + (pixels ** 2).sum(1))
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :k]
    votes = np.zeros((len(test_labels), 10))
    for place in range(k):  # a nearer neighbour decides a tie
        votes[np.arange(len(test_labels)), labels[nearest[:, place]]] += 1 + 1e-3 / (place + 1)
    return float((votes.argmax(1) == test_labels).mean())


def main():
    if len(sys.argv) != 3 or not sys.argv[1].isdigit() or int(sys.argv[1]) < 1:
        sys.exit("usage: knn.py K RESULT_FILE, K at least 1")
    k, path = int(sys.argv[1]), sys.argv[2]
    data = digits.load()
    result = {"k": k, "accuracy": round(accuracy(k, *data), 4)}
    with open(path + ".tmp", "w") as file:
        json.dump(result, file)
    os.replace(path + ".tmp", path)
    print(f"k = {k}: accuracy {result['accuracy']:.4f}")


if __name__ == "__main__":
    main()
