#!/usr/bin/env python3
"""What documents say about the program is true: each `dove` command that they name exists, and so does the default port."""
import glob
import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOVE = os.environ.get("DOVE", os.path.join(ROOT, "build/release/dove"))
TREES = ("docs", "deploy", "examples", "api")
READ = (".md", ".yml", ".yaml", ".json", ".sh")
# `dove NAME` in a code span, or at the beginning of a line of an indented or fenced block.
NAMED = re.compile(r"`(?:\S*/)?dove ((?:[a-z][a-z-]* ?){1,3})|^ *(?:\$ )?dove ((?:[a-z][a-z-]* ?){1,3})", re.M)


def documents(*ends):
    yield "README.md"
    for tree in TREES:
        for folder, _, names in os.walk(os.path.join(ROOT, tree)):
            yield from (os.path.relpath(os.path.join(folder, name), ROOT) for name in names if name.endswith(ends or READ))


def is_command(words, names):
    """The words begin with a command, or are the beginning of one of several words (`dove node`)."""
    text = " ".join(words)
    return any(" ".join(words[:count]) in names for count in (1, 2, 3)) or any(name.startswith(text + " ") for name in names)


class Documents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.manual = subprocess.run([DOVE, "man", "--markdown"], capture_output=True, text=True, timeout=30, check=True).stdout

    def test_each_command_that_they_name_exists(self):
        names = set(re.findall(r"^### dove (.+)$", self.manual, re.M))
        self.assertIn("node drain", names)
        wrong, seen = [], 0
        for path in documents():
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                text = file.read()
            for match in NAMED.finditer(text):
                seen += 1
                words = (match.group(1) or match.group(2)).split()
                if not is_command(words, names):
                    wrong.append(f"{path}:{text.count(chr(10), 0, match.start()) + 1}: dove {' '.join(words)}")
        self.assertGreater(seen, 100)
        self.assertEqual(wrong, [])

    def test_each_option_that_they_give_a_command_exists(self):
        options = {name: set(re.findall(r"--([a-z0-9][a-z0-9-]*)", " ".join(re.findall(r"^\| `([^`]*)`", text, re.M))))
                   for name, text in re.findall(r"^### dove (.+)\n([\s\S]*?)(?=^##|\Z)", self.manual, re.M)}
        wrong, seen = [], 0
        for path in documents(*READ, ".py"):
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                text = file.read().replace("\\\n", " ")
            for quoted, line in re.findall(r"`(?:\S*/)?dove ([a-z][^`\n]*)`|^ *(?:\$ )?dove ([a-z][^\n]*)", text, re.M):
                call = re.split(r" -- | # | \| |; ", quoted or line)[0]
                words = call.split()
                command = next((" ".join(words[:count]) for count in (3, 2, 1) if " ".join(words[:count]) in options), None)
                for option in re.findall(r"(?<!\S)--([a-z0-9][a-z0-9-]*)", call) if command else ():
                    seen += 1
                    if option not in {*options[command], "help"}:
                        wrong.append(f"{path}: dove {command} has no --{option}")
        self.assertGreater(seen, 100)
        self.assertEqual(wrong, [])

    def test_they_name_the_directories_that_the_units_have(self):
        kept = set()
        for unit in os.listdir(os.path.join(ROOT, "deploy/systemd")):
            with open(os.path.join(ROOT, "deploy/systemd", unit), encoding="utf-8") as file:
                kept.update(f"/var/lib/{name}" for name in re.findall(r"^StateDirectory=(.+)$", file.read(), re.M))
        self.assertIn("/var/lib/dove/server", kept)
        wrong = []
        for path in documents():
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    wrong += [f"{path}:{number}: {name}" for name in re.findall(r"/var/lib/dove[-/]?[\w/-]*", line)
                              if not any(name == one or name.startswith(one + "/") for one in kept)
                              and not re.search(r"cd /var/lib/dove ", line)]
        self.assertEqual(wrong, [])

    def test_packages_hold_the_pages_that_the_program_names(self):
        sys.path.insert(0, os.path.join(ROOT, "tools"))
        from packaging import layout
        held, named = {*layout.pages(), *glob.glob("docs/recipes/*.md", root_dir=ROOT)}, set()  # those are for its authors
        for folder, _, names in os.walk(os.path.join(ROOT, "src")):
            for name in names:
                if name.endswith((".cc", ".h")):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        named.update(re.findall(r"docs/[\w/-]+\.md", file.read()))
        self.assertGreater(len(named), 10)
        self.assertEqual(named - held, set())

    def test_the_api_document_names_the_port_that_the_server_listens_on(self):
        port = re.search(r"port to listen on, 0 for a free one \((\d+)\)", self.manual).group(1)
        with open(os.path.join(ROOT, "api/openapi.yaml"), encoding="utf-8") as file:
            url = re.search(r'^servers: \[\{url: "(.*)"\}\]$', file.read(), re.M).group(1)
        self.assertEqual(url, f"http://127.0.0.1:{port}")


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    unittest.main()
