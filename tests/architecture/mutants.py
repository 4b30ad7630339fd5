#!/usr/bin/env python3
"""mutants.py: the seeded bugs of src/sim/mutants still apply to the program, so that exploration can be tried on them.

Each is a patch of one production file, and opens with the sentence that says what is wrong. bench/explore builds with each
and looks for it.
"""
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(os.path.dirname(os.path.abspath(__file__))).parent.parent
PATCHES = sorted((ROOT / "src" / "sim" / "mutants").glob("*"))


class Mutants(unittest.TestCase):
    def test_there_are_at_least_ten(self):
        self.assertGreaterEqual(len(PATCHES), 10)

    def test_each_is_a_bug_of_one_production_file(self):
        for patch in PATCHES:
            with self.subTest(patch.name):
                self.assertRegex(patch.name, r"^\d\d-[a-z-]+\.patch$")
                text = patch.read_text()
                self.assertRegex(text.splitlines()[0], r"^[A-Z].{20,}\.$")
                files = re.findall(r"^\+\+\+ b/(\S+)$", text, re.M)
                self.assertEqual(len(files), 1)
                self.assertRegex(files[0], r"^src/(?!sim/).+\.cc$")
                self.assertNotIn("_test.cc", files[0])

    def test_each_still_applies(self):
        for patch in PATCHES:
            with self.subTest(patch.name):
                done = subprocess.run(["git", "apply", "--check", str(patch)], cwd=ROOT, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, f"{patch.name}: {done.stderr}; write the same bug anew into the "
                                 "present source, and keep its `git diff -U1` as the patch")


if __name__ == "__main__":
    unittest.main()
