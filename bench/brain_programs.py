"""Runs the *_bench programs of the brain, which print one line of JSON for each run."""
import json
import os
import subprocess
import sys

from figure import ROOT


def run_program(name, *arguments):
    folder = os.environ.get("DOVE_BUILD", os.path.join(ROOT, "build/release"))
    if "DOVE_BUILD" not in os.environ:
        if not os.path.exists(os.path.join(folder, "build.ninja")):
            subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True, stdout=sys.stderr)
        subprocess.run(["cmake", "--build", folder, "--target", name], check=True, stdout=sys.stderr)
    done = subprocess.run([os.path.join(folder, "src", name), *arguments], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]
