"""What every benchmark shares: the build, percentiles, and the closing line.

A benchmark is an executable of the figure's name. It sets up what it needs, prints its figures (-o json for
machines; tools/figures records them), ends with `NAME: <figure> (bar <bar>): met|short`, and exits 0 only when
every bar is met (with --test: also when it is short, so that a test may run less than the bar asks for).
"""
import json
import os
import platform
import subprocess
import sys
import time

# What the brain alone runs with when its benchmark declares no settings.
UNDECLARED = "order priority_fifo, placement best_fit (a new cluster's are learned and expected_fit)"

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))


def build(target="build"):
    if "DOVE" not in os.environ:
        subprocess.run(["make", "-s", "-C", ROOT, target], check=True, stdout=sys.stderr)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if "model name" in line), "?")
    return f"{os.cpu_count()} cores, {model}, Linux {platform.release()}"


class Report:
    def __init__(self, name):
        self.name = name
        self.json = "-o" in sys.argv and sys.argv[sys.argv.index("-o") + 1:][:1] == ["json"]
        self.figures = {"machine": machine(), "date": time.strftime("%Y-%m-%d"), "load": os.getloadavg()[0]}
        self.bars = []

    def say(self, text):
        print(text, file=sys.stderr if self.json else sys.stdout, flush=True)

    def settings(self, text):
        """Names the settings that are not the defaults, and what the defaults are; recorded with the figures."""
        self.figures["settings"] = text
        self.say(f"  settings: {text}")

    def figure(self, name, value, text=None):
        self.figures[name] = value
        self.say(f"  {name}: {text or value}")

    def bar(self, figure, bar, met):
        """figure and bar are short texts; met says whether it was."""
        self.bars.append((figure, bar, bool(met)))

    def close(self):
        met = bool(self.bars) and all(ok for _, _, ok in self.bars)
        if self.json:
            print(json.dumps({**self.figures, "bars": [
                {"figure": figure, "bar": bar, "met": ok} for figure, bar, ok in self.bars], "met": met}))
        else:
            figures = ", ".join(figure for figure, _, _ in self.bars)
            bars = ", ".join(bar for _, bar, _ in self.bars)
            print(f"{self.name}: {figures} (bar {bars}): {'met' if met else 'short'}")
        sys.exit(0 if met or "--test" in sys.argv else 1)
