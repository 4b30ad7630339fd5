#!/usr/bin/env python3
"""What pages give to copy works on a new cluster: what they declare is applied, in the order in which it stands."""
import os
import re
import textwrap
import unittest

from cluster import ROOT, Cluster

# Pages whose declarations need nothing that stands elsewhere.
PAGES = ("guide/backfill.md", "guide/placement.md", "guide/queues.md", "operate/boot.md", "operate/slurm.md", "operate/users.md")
BLOCK = re.compile(r"^```yaml\n(kind: [\s\S]*?)^```$|\n\n((?:    .*\n)+)", re.M)


def declarations(page):
    with open(os.path.join(ROOT, "docs", page), encoding="utf-8") as file:
        for match in BLOCK.finditer(file.read()):
            text = match.group(1) or textwrap.dedent(match.group(2))
            if text.startswith("kind: "):
                yield text


class Pages(unittest.TestCase):
    def test_what_they_declare_is_applied(self):
        for page in PAGES:
            with self.subTest(page), Cluster(nodes=0) as cluster:
                found = list(declarations(page))
                self.assertTrue(found, "it declares nothing")
                for text in found:
                    done = cluster.run("apply", "-f", "-", input=text, check=False)
                    self.assertEqual(done.returncode, 0, f"{text}\n{done.stderr}")


if __name__ == "__main__":
    unittest.main()
