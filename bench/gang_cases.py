"""The cases of gang_bench (src/policies/gang_bench.cc): what each costs in CPU, and what came out."""
import os
import subprocess
import sys

from figure import ROOT


def program():
    """Where gang_bench is: beside the dove of $DOVE, else built in build/release."""
    if "DOVE" in os.environ:
        return os.path.join(os.path.dirname(os.environ["DOVE"]), "src/gang_bench")
    release = os.path.join(ROOT, "build/release")
    subprocess.run(["make", "-s", "-C", ROOT, "build"], check=True, stdout=sys.stderr)
    subprocess.run(["ninja", "-C", release, "--quiet", "gang_bench"], check=True, stdout=sys.stderr)
    return os.path.join(release, "src/gang_bench")


def cases(kind):
    """{name: (milliseconds, "what=came out")} of the cases of that kind, in their order."""
    text = subprocess.run([program(), kind], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in text.splitlines():
        name, us, rest = line.split(" ", 2)
        found[name] = (int(us) / 1000, rest)
    return found


def hold(report, found, prefix, bar_ms):
    """One bar over the slowest of the cases whose name begins so."""
    slowest = max(ms for name, (ms, _) in found.items() if name.startswith(prefix))
    report.bar(f"{prefix} {slowest:.2f} ms", f"{bar_ms} ms", slowest <= bar_ms)
