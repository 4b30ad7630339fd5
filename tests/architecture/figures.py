#!/usr/bin/env python3
"""figures.py: docs/figures.md, and each figure of README.md and of other pages, is what docs/figures.json gives, and tools/figures records
what benchmarks print."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BENCH = '''#!/usr/bin/env python3
"""How many pies are eaten. Bar: all of them."""
import json
print("a line that is no JSON")
print(json.dumps({{"machine": "a kitchen", "date": "2026-11-22", "load": 0.5, "pies": {pies}, "settings": "{settings}",
                  "bars": [{{"figure": "{pies} pies", "bar": "3", "met": {pies} >= 3}}], "met": {pies} >= 3}}))
raise SystemExit(0 if {pies} >= 3 else 1)
'''


def figures(*arguments):
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tools/figures"), *arguments],
                          capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


class ThisTree(unittest.TestCase):
    def test_the_page_is_what_the_recorded_results_give(self):
        self.assertEqual(figures("--check"), (0, ""))


class Recording(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dove-figures-")
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.mkdir(self.root + "/bench")
        os.mkdir(self.root + "/docs")
        self.write("docs/figures.json", "{}\n")

    def write(self, path, text, mode=0o644):
        with open(os.path.join(self.root, path), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(os.path.join(self.root, path), mode)

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def run_tool(self, *arguments):
        return figures("--root", self.root, *arguments)

    def bench(self, pies, settings=""):
        self.write("bench/pies", BENCH.format(pies=pies, settings=settings), 0o755)

    def test_a_run_is_recorded_and_shown(self):
        self.bench(4)
        self.assertEqual(self.run_tool("--run", "pies"), (0, ""))
        entry = json.loads(self.read("docs/figures.json"))["pies"]
        self.assertEqual(entry["what"], "How many pies are eaten")
        self.assertEqual((entry["machine"], entry["date"], entry["met"]), ("a kitchen", "2026-11-22", True))
        page = self.read("docs/figures.md")
        self.assertIn("| `pies` | How many pies are eaten | 4 pies | 3 | 2026-11-22, A |", page)
        self.assertIn("| A | a kitchen |", page)
        self.assertNotIn("## Settings", page)
        self.assertEqual(self.run_tool("--check"), (0, ""))

    def test_a_short_figure_and_other_settings_are_shown_and_the_text_by_hand_stays(self):
        self.bench(4)
        self.run_tool("--run", "pies")
        entries = json.loads(self.read("docs/figures.json"))
        entries["pies"]["what"] = "Pies, eaten"
        self.write("docs/figures.json", json.dumps(entries))
        self.bench(2, settings="half of the oven")
        self.assertEqual(self.run_tool("--run", "pies"), (0, ""))
        page = self.read("docs/figures.md")
        self.assertIn("| `pies` | Pies, eaten | 2 pies **(short)** | 3 |", page)
        self.assertIn("| `pies` | half of the oven |", page)

    def test_a_page_that_is_out_of_date_fails(self):
        self.bench(4)
        self.run_tool("--run", "pies")
        self.write("docs/figures.md", self.read("docs/figures.md").replace("4 pies", "5 pies"))
        code, out = self.run_tool("--check")
        self.assertEqual(code, 1)
        self.assertIn("run tools/figures", out)

    def test_a_figure_of_the_readme_is_as_recorded(self):
        self.bench(4)
        self.write("README.md", "In a day, <!--figure pies-->3 pies<!----> are eaten.\n")
        self.assertEqual(self.run_tool("--run", "pies"), (0, ""))
        self.assertEqual(self.read("README.md"), "In a day, <!--figure pies-->4 pies<!----> are eaten.\n")
        self.write("README.md", "In a day, <!--figure pies-->5 pies<!----> are eaten.\n")
        code, out = self.run_tool("--check")
        self.assertEqual((code, "README.md is not what" in out), (1, True), out)
        self.write("README.md", "In a day, <!--figure cakes-->5 cakes<!----> are eaten.\n")
        code, out = self.run_tool("--check")
        self.assertEqual((code, "has no `cakes`" in out), (1, True), out)
        self.write("README.md", "In a day, <!--figure pies-->5 pies are eaten, <!--figure pies-->4 pies<!----> today.\n")
        code, out = self.run_tool("--check")
        self.assertEqual((code, "needs a `<!---->`" in out), (1, True), out)

    def test_a_figure_of_a_page_of_docs_is_as_recorded(self):
        self.bench(4)
        os.mkdir(self.root + "/docs/decisions")
        page = "docs/decisions/0001-pies.md"
        self.write(page, "Today <!--figure pies 1-->3 pies<!----> are eaten.\n")
        self.assertEqual(self.run_tool("--run", "pies"), (0, ""))
        self.assertEqual(self.read(page), "Today <!--figure pies 1-->4 pies<!----> are eaten.\n")
        self.assertEqual(self.run_tool("--check"), (0, ""))
        self.write(page, "Today <!--figure pies 1-->5 pies<!----> are eaten.\n")
        code, out = self.run_tool("--check")
        self.assertEqual((code, f"{page} is not what" in out), (1, True), out)
        self.write(page, "Today <!--figure pies 2-->5 pies<!----> are eaten.\n")
        code, out = self.run_tool("--check")
        self.assertEqual((code, f"{page}: `pies` has figures 1 to 1, not 2" in out), (1, True), out)

    def test_a_typed_figure_says_from_what_until_it_is_recorded(self):
        self.bench(4)
        self.run_tool("--run", "pies")
        entries = json.loads(self.read("docs/figures.json"))
        entries["pies"].update({"typed": "a note of the cook", "taken": "the best of two days"})
        entries["make pies"] = {**entries["pies"], "what": "One pie"}
        self.write("docs/figures.json", json.dumps(entries))
        self.assertEqual(self.run_tool(), (0, ""))
        page = self.read("docs/figures.md")
        self.assertIn("| 4 pies | 3 | 2026-11-22, A, typed |", page)
        self.assertIn("| `make pies` | One pie | 4 pies | 2026-11-22, A, typed |", page)
        self.assertIn("| `make pies`, `pies` | a note of the cook |", page)
        self.assertIn("| `make pies`, `pies` | the best of two days |", page)
        self.assertEqual(self.run_tool("--run", "pies"), (0, ""))
        page = self.read("docs/figures.md")
        self.assertIn("| 4 pies | 3 | 2026-11-22, A |", page)
        self.assertIn("| `make pies` | a note of the cook |", page)
        self.assertIn("| `make pies`, `pies` | the best of two days |", page)

    def test_an_entry_without_a_benchmark_fails(self):
        self.bench(4)
        self.run_tool("--run", "pies")
        os.remove(self.root + "/bench/pies")
        code, out = self.run_tool("--check")
        self.assertEqual(code, 1)
        self.assertIn("`pies` is no executable of bench/", out)

    def test_a_benchmark_that_prints_no_figures_is_not_recorded(self):
        self.write("bench/pies", "#!/bin/sh\necho nothing; exit 3\n", 0o755)
        code, out = self.run_tool("--run", "pies")
        self.assertEqual(code, 1)
        self.assertIn("exit 3", out)
        self.assertEqual(self.read("docs/figures.json"), "{}\n")
        code, out = self.run_tool("--run", "cakes")
        self.assertEqual((code, "bench/cakes" in out), (1, True))


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    unittest.main()
