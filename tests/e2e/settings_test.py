#!/usr/bin/env python3
"""Settings: what a submission leaves out comes from the nearest level, and a lock holds, whatever the front door."""
import os
import sys
import unittest

from cluster import Cluster

OBJECTS = """\
kind: Settings
name: defaults
job: {time_limit: 20m, environment: {PROXY: "proxy:1"}}
locked: [environment]
---
kind: Queue
name: slow
---
kind: Project
name: vision
---
kind: Settings
name: vision
project: vision
job: {queue: slow}
"""


class Settings(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(nodes=1, cores=4).__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.cluster.folder)
        self.dove("apply", "-f", "-", input=OBJECTS)

    def dove(self, *arguments, check=True, input=None):
        return self.cluster.run(*arguments, check=check, input=input, cwd=self.cluster.folder)

    def test_they_fill_in_and_say_so(self):
        said = self.dove("submit", "-A", "vision", "--wrap", "echo $PROXY")
        self.assertIn('queue = "slow" (settings "vision" of project vision)', said.stderr)
        self.assertIn('time_limit = 1200 (settings "defaults" of the cluster)', said.stderr)
        job = int(said.stdout.split()[-1])
        self.cluster.wait(job)
        self.assertEqual(self.cluster.logs(job), "proxy:1\n")
        self.assertEqual(self.cluster.job(job)["time_limit_s"], 1200)
        self.assertEqual(self.cluster.job(job)["queue"], "slow")
        own = int(self.dove("submit", "-t", "5", "-o", "name", "--wrap", "true").stdout)
        self.assertEqual(self.cluster.job(own)["time_limit_s"], 300)
        self.assertEqual(self.cluster.job(own)["queue"], "default")

    def test_those_of_a_project_are_its_members_to_see(self):
        token = self.cluster.api.call("POST", "/v1/users/eve/token?create=1")["token"]
        eve = self.cluster.caller(token)
        self.addCleanup(eve.close)
        self.dove("apply", "-f", "-", input="kind: Binding\nname: v\nrole: member\nproject: vision\nusers: [ann]\n")
        seen = [each["name"] for each in eve.call("GET", "/v1/objects?kind=settings")["objects"]]
        self.assertEqual(seen, ["defaults"])

    def test_what_is_secret_is_not_declared(self):
        for text, code in (("kind: User\nname: kim\npassword_hash: x\n", "passwords are set with `dove passwd kim`"),
                           ("kind: Secret\nname: hf\n", "secrets are not declared in files")):
            said = self.dove("apply", "-f", "-", input=text, check=False)
            self.assertNotEqual(said.returncode, 0, text)
            self.assertIn(code, said.stderr)

    def test_a_secret_that_is_set_has_labels(self):
        self.dove("secret", "set", "hub", input="value")
        name = self.dove("get", "secret", "-o", "name").stdout.strip().split("/", 1)[1]
        self.dove("apply", "-f", "-", input=f"kind: Secret\nname: {name}\nlabels: {{team: vision}}\n")
        self.assertEqual(self.dove("get", "secret", "--labels", "team=vision", "-o", "name").stdout.split(), ["secret/" + name])

    def test_a_lock_holds(self):
        refused = self.dove("submit", "--export", "PROXY=mine", "--wrap", "true", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn('settings "defaults" of the cluster lock it as "proxy:1"', refused.stderr)

    def test_what_is_wrong_is_named(self):
        wrong = self.dove("apply", "-f", "-", check=False, input="kind: Settings\nname: x\njob: {quue: slow}\n")
        self.assertIn("quue", wrong.stderr)
        self.assertEqual(self.dove("get", "settings", "-o", "name").stdout.split(), ["settings/defaults", "settings/vision"])
        secret = self.dove("apply", "-f", "-", check=False, input="kind: Secret\nname: x\nsealed: abc\n")
        self.assertIn("secrets are not declared in files", secret.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
