#!/usr/bin/env python3
"""hash_fields.py: the hash of the state knows each field of what it hashes.

A field that the hash leaves out may differ between two machines, or between a log and its fold, without a word.
"""
import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(os.path.dirname(os.path.abspath(__file__))).parent.parent
SOURCE = ROOT / "src"
# What follows from the other fields, or is never logged. Each with its reason.
LEFT_OUT = {
    "Job": {"spec": "by its digest", "account": "a number of State::accounts, derived"},
    "Learned": {"kept": "nothing of it is hashed while it is false"},
    "NodeExecutor": {"knows_to_come": "follows from State::level"},
    "State": {"accounts": "derived", "changes": "of the fold, for indexes", "settled": "of the batch at hand"},
}


def structs():
    """{name: its data members} of the structs of the model and of the state."""
    found = {}
    for header in sorted([*SOURCE.glob("model/**/*.h"), *SOURCE.glob("core/state/**/*.h")]):
        text = re.sub(r"//[^\n]*", "", header.read_text())
        for match in re.finditer(r"^struct (\w+)(?: [^{;]*)?\{\n(.*?)^\};", text, re.M | re.S):
            members = set()
            for statement in re.split(r";", re.sub(r"\{[^{}]*\}", "", match[2])):
                statement = " ".join(statement.split())
                member = re.match(r"^(?!using |friend |static |constexpr |enum |struct )[\w:<>, *]+?[ >](\w+)(?: =.*)?$",
                                  statement)
                if member:
                    members.add(member[1])
            found[match[1]] = members
    return found


class HashFields(unittest.TestCase):
    def setUp(self):
        self.hash = re.sub(r"//[^\n]*", "", (SOURCE / "core/state/hash.cc").read_text())
        self.structs = structs()

    def hashed(self):
        """{struct: the members of it that are fed into the hash}."""
        for part in re.split(r"^  (?:void add\(|template |std::uint64_t value)", self.hash, flags=re.M)[1:]:
            head = re.match(r"const (\w+)& (\w+)\) \{", part)
            if head and head[1] in self.structs and head[1] != "JobSpec":
                yield head[1], set(re.findall(rf"\b{head[2]}\.(\w+)", part))
        # A job's fields are listed once, for the hash as for all others.
        listed = re.sub(r"//[^\n]*", "", (SOURCE / "model/job_fields.h").read_text())
        yield "JobSpec", set(re.findall(r"\bv\.(\w+)", listed))
        state = self.hash[self.hash.index("std::uint64_t state_hash("):]
        yield "State", set(re.findall(r"\bs\.(\w+)", state))

    def test_no_field_is_left_out(self):
        missing, seen = [], 0
        for name, fields in self.hashed():
            seen += 1
            left_out = self.structs[name] - fields - set(LEFT_OUT.get(name, {}))
            missing += [f"{name}::{field}" for field in sorted(left_out)]
        self.assertGreater(seen, 50)
        self.assertEqual(missing, [], "raise kHashLevel and hash them by since(), or say here why they are left out")


if __name__ == "__main__":
    unittest.main()
