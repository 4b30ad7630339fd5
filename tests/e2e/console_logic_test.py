#!/usr/bin/env python3
"""The web console's logic by vitest. Skips where the console was left out of the build."""
import os
import re
import subprocess
import sys

from cluster import ROOT, SKIP
from console_test import CONSOLE, ENVIRONMENT


def counts_of(text):
    """(passed, failed) of vitest's line `Tests  1 failed | 31 passed (32)`."""
    line = next((one for one in reversed(text.splitlines()) if one.strip().startswith("Tests ")), "")
    found = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed)", line)}
    return found.get("passed", 0), found.get("failed", 0)


def main():
    if not os.path.exists(os.path.join(ROOT, "build/console/stamp")):
        print("skipped: the console was left out of the build")
        return SKIP
    done = subprocess.run(["npx", "--no-install", "vitest", "run", "--no-color"], cwd=CONSOLE, env=ENVIRONMENT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240)
    passed, failed = counts_of(done.stdout)
    if done.returncode != 0:
        print(done.stdout)
    failed = max(failed, int(done.returncode != 0))
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
