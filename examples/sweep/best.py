"""Reads the results of the sweep and prints them, best last; fails unless every k of 1..8 is there."""
import json
import os
import sys

EXPECTED = range(1, 9)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: best.py RESULTS_FOLDER")
    results = []
    for k in EXPECTED:
        path = os.path.join(sys.argv[1], f"k{k}.json")
        try:
            with open(path) as file:
                results.append(json.load(file))
        except (OSError, ValueError) as error:
            sys.exit(f"{path}: {error}; did task {k - 1} of the sweep succeed?")
    results.sort(key=lambda result: (result["accuracy"], -result["k"]))
    for result in results:
        print(f"k = {result['k']}: accuracy {result['accuracy']:.4f}")
    print(f"best: k = {results[-1]['k']} with {results[-1]['accuracy']:.4f}")


if __name__ == "__main__":
    main()
