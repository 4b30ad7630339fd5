#!/usr/bin/env python3
"""The pages of fields are true: docs/guide/job_file.md has those of a submission, docs/operate/kinds.md the kinds of declared
objects with theirs, as api/openapi.yaml has them; the defaults there are what a new server answers."""
import os
import re
import subprocess
import sys
import unittest

from cluster import DOVE, ROOT, SKIP, Cluster

try:
    import yaml
except ImportError:
    print("skipped: needs python3-yaml")
    sys.exit(SKIP)

OF_ALL = {"kind", "name", "version", "labels"}
UNITS = ("_s", "_us", "_bytes")  # how a field is also read; the pages say it once
# With what an object is declared that says as little as it may.
LEAST = {
    "Pool": {"name": "p"}, "Queue": {"name": "q"}, "Node": {"name": "n1"}, "Limit": {"name": "u"}, "Domain": {"name": "d"},
    "Project": {"name": "p"}, "User": {"name": "u"}, "Group": {"name": "g"}, "Binding": {"name": "b", "role": "viewer"},
    "Reservation": {"name": "r", "nodes": ["n1"], "starts_at": "2030-01-01T00:00:00Z", "ends_at": "2030-01-02T00:00:00Z"},
    "Executor": {"name": "e", "service_account": "s", "nodes": ["n1"]}, "IdleRule": {"name": "i", "exempt": True},
    "App": {"name": "a", "job": {"command": ["x"], "app": {"port": 80}}}, "Settings": {"name": "s"},
    "BootConfig": {"name": "b", "nodes": ["n1"], "controller": "https://10.0.0.1:7717", "kernel": "http://10.0.0.2/k",
                   "from": ["10.0.1.0/24"]},
}
SPAN_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def page(path):
    with open(os.path.join(ROOT, "docs", path), encoding="utf-8") as file:
        return file.read()


def section(text, title):
    return re.search(rf"^## {re.escape(title)}\n([\s\S]*?)(?=^## |\Z)", text, re.M).group(1)


def rows(text):
    """{field: the last cell of its row}, of all tables whose first column is `field`."""
    found = {}
    for table in re.findall(r"^\| field \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.M):
        for line in table.splitlines():
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            for name in re.findall(r"`(\w+)`", cells[0]):
                found[name] = cells[-1]
    return found


def plain(names):
    """Without the fields that are another one in other units."""
    return {name for name in names if not any(name.endswith(unit) and name.removesuffix(unit) in names for unit in UNITS)}


def seconds(text):
    return float(text[:-1]) * SPAN_S[text[-1]] if text[-1:] in SPAN_S else float(text)


class Fields(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        with open(os.path.join(ROOT, "api/openapi.yaml"), encoding="utf-8") as file:
            cls.schemas = yaml.load(file, yaml.CSafeLoader)["components"]["schemas"]

    def test_the_page_of_job_files_has_all_fields(self):
        text = page("guide/job_file.md")
        jobs = text[:text.index("\n## Containers\n")]
        for part, schema in ((jobs, "Submission"), (section(text, "Containers"), "Container"), (section(text, "Apps"), "App")):
            self.assertEqual(plain(rows(part)), plain(self.schemas[schema]["properties"]), schema)

    def test_its_example_is_a_job(self):
        (example,) = re.findall(r"^```yaml\n([\s\S]*?)^```$", page("guide/job_file.md"), re.M)
        with Cluster(nodes=0) as cluster:
            said = cluster.run("submit", "--dry-run", "--format", "native", "-", input=example)
        self.assertEqual((yaml.safe_load(said.stdout)["name"], said.stderr), ("train", ""))

    def test_the_page_of_kinds_has_all_of_them_with_their_fields(self):
        text = page("operate/kinds.md")
        kinds = self.schemas["Object"]["properties"]["kind"]["enum"]
        self.assertEqual(re.findall(r"^## ([A-Za-z]+)$", text, re.M), kinds)
        for kind in kinds:
            part = section(text, kind)
            fields = plain(self.schemas[f"{kind}Object"]["properties"]) - OF_ALL
            said_below = {name for line in part.splitlines() if not line.startswith("|") for name in re.findall(r"`(\w+)`", line)}
            self.assertEqual(set(rows(part)) - fields, set(), kind)
            self.assertEqual(fields - set(rows(part)) - said_below, set(), kind)
        limits = plain(self.schemas["Limits"]["properties"])
        self.assertEqual(plain(rows(section(text, "Limits and guarantees"))), limits)

    def test_commands_name_all_kinds(self):
        kinds = self.schemas["Object"]["properties"]["kind"]["enum"]
        for command in ("apply", "get"):
            said = subprocess.run([DOVE, command, "--help"], capture_output=True, text=True, timeout=30, check=True).stdout.lower()
            self.assertEqual([kind for kind in kinds if not re.search(rf"\b{kind.lower()}\b", said)], [], command)

    def test_defaults_are_what_a_new_server_answers(self):
        text = page("operate/kinds.md")
        account = "kind: Project\nname: p\n---\nkind: User\nname: s\nservice_of: p\n"
        with Cluster(nodes=0) as cluster:
            cluster.run("apply", "-f", "-", input=account)
            for kind, fields in LEAST.items():
                cluster.run("apply", "-f", "-", input=yaml.safe_dump({"kind": kind, **fields}))
            objects = {item["kind"]: item for item in cluster.api.call("GET", "/v1/objects")["objects"]
                       if item["kind"] == "Cluster" or item["name"] == LEAST.get(item["kind"], {}).get("name")}
        self.assertEqual(set(objects), {"Cluster", *LEAST})
        seen = 0
        for kind, answer in objects.items():
            for name, cell in rows(section(text, kind)).items():
                if not cell or cell.startswith("needed") or name in LEAST.get(kind, {}):
                    continue
                said = yaml.safe_load(cell.strip("`"))
                with self.subTest(kind=kind, field=name):
                    if name + "_s" in answer:
                        self.assertEqual(seconds(str(said)), answer[name + "_s"])
                    elif name == "multifactor":
                        said["age_span_s"] = seconds(said.pop("age_span"))
                        self.assertEqual(said, answer[name])
                    else:
                        self.assertEqual(said, answer[name] if name in answer else answer[name + "_bytes"])
                seen += 1
        self.assertGreater(seen, 80)


if __name__ == "__main__":
    unittest.main()
