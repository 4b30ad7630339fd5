#!/usr/bin/env python3
"""People as they meet it: an administrator gives roles on the command line, a member looks on, a browser signs in with a
link, an auditor reads who did what, and who is disabled is out. What a former log says of members becomes bindings."""
import json
import os
import subprocess
import sys
import unittest

from cluster import DOVE, Cluster, until


class People(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, cores=4).__enter__()
        cls.tokens = {}
        for name in ("ada", "bob", "eve", "max", "aud"):
            cls.tokens[name] = cls.cluster.api.call("POST", f"/v1/users/{name}/token?create=1")["token"]
        cls.dove("role", "grant", "auditor", "aud")
        with open(os.path.join(cls.cluster.folder, "lab.yaml"), "w") as file:
            file.write("kind: Project\nname: vision\n---\nkind: Group\nname: team\nusers: [ada]\n")
        applied = cls.dove("apply", "-f", file.name)
        assert "everybody may submit for project" in applied.stdout + applied.stderr, applied
        cls.dove("role", "grant", "member", "team", "--group", "--project", "vision")
        cls.dove("role", "grant", "manager", "max", "--project", "vision")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    @classmethod
    def dove(cls, *words, who=None, fails=False):
        mine = {"DOVE_URL": cls.cluster.url, "DOVE_TOKEN": cls.tokens[who]} if who else {}
        done = cls.cluster.run(*words, check=False, **mine)
        assert (done.returncode != 0) == fails, (words, done.returncode, done.stdout, done.stderr)
        return done

    def browse(self, method, path, body=None, cookie="", origin=None):
        connection = self.cluster.connection()
        headers = {"Content-Type": "application/json", "Origin": origin or self.cluster.url}
        if cookie:
            headers["Cookie"] = cookie
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text) if text else None, answer.getheader("Set-Cookie")

    def test_a_priority_above_0_is_the_administrators_and_scripts_for_slurm_go_without_it(self):
        refused = self.dove("submit", "--priority", "3", "--", "true", who="eve", fails=True)
        self.assertIn("only administrators may give a higher one", refused.stderr)
        mine = {"DOVE_URL": self.cluster.url, "DOVE_TOKEN": self.tokens["eve"]}
        done = self.cluster.run("--parsable", "--hold", "--priority=3", "--wrap", "true", name="sbatch", **mine)
        self.assertIn("--priority 3 is ignored", done.stderr)
        self.assertEqual(self.cluster.job(int(done.stdout))["priority"], 0)
        self.dove("submit", "--priority", "-3", "--", "true", who="eve")
        self.dove("submit", "--priority", "3", "--", "true")

    def test_roles_are_given_and_taken(self):
        self.assertIn("member of project vision", self.dove("whoami", who="ada").stdout)
        self.assertIn("max", self.dove("submit", "--account", "vision", "--", "true", who="eve", fails=True).stderr)
        self.dove("role", "grant", "member", "eve", "--project", "vision", who="bob", fails=True)
        self.dove("role", "grant", "member", "eve", "--project", "vision", who="max")
        job = self.dove("submit", "--account", "vision", "--hold", "-o", "name", "--", "true", who="eve").stdout.strip()
        self.dove("cancel", job, who="ada", fails=True)
        self.dove("cancel", job, who="max")
        self.dove("role", "revoke", "member", "eve", "--project", "vision", who="max")
        self.dove("submit", "--account", "vision", "--", "true", who="eve", fails=True)
        self.assertIn("dove role list", self.dove("role", "revoke", "member", "eve", "--project", "vision", fails=True).stderr)
        listed = self.dove("role", "list", "--project", "vision").stdout
        self.assertRegex(listed, r"manager +project vision +max")
        self.assertIn("manager", self.dove("role", "grant", "manger", "eve", fails=True).stderr)

    def test_a_link_signs_a_browser_in_once(self):
        link = self.dove("console", who="ada").stdout.strip()
        code = link.partition("#code=")[2]
        status, me, cookie = self.browse("POST", "/v1/sign-in", {"token": code})
        self.assertEqual((status, me["user"]), (201, "ada"))
        cookie = cookie.partition(";")[0]
        self.assertEqual(self.browse("POST", "/v1/sign-in", {"token": code})[0], 401)
        self.assertEqual(self.browse("GET", "/v1/me", cookie=cookie)[1]["user"], "ada")
        job = {"command": ["true"], "hold": True}
        refused = self.browse("POST", "/v1/jobs", job, cookie, origin="https://evil.example.org")
        self.assertEqual((refused[0], refused[1]["code"]), (403, "cross_origin"))
        self.assertEqual(self.browse("POST", "/v1/jobs", job, cookie)[0], 201)
        self.assertIn("session", json.dumps(self.cluster.caller(self.tokens["ada"]).call("GET", "/v1/keys")))
        self.assertEqual(self.browse("POST", "/v1/sign-out", cookie=cookie)[0], 204)
        self.assertEqual(self.browse("GET", "/v1/me", cookie=cookie)[1]["code"], "session_over")

    def test_an_auditor_reads_who_did_what(self):
        self.dove("node", "drain", "node1", who="bob", fails=True)
        self.dove("audit", who="eve", fails=True)

        def refused():
            return [line for line in self.dove("audit", who="aud").stdout.splitlines()
                    if "bob" in line and "admin_only" in line]
        until(refused, 30, "the refusal in the audit")
        said = self.dove("audit", who="aud").stdout
        self.assertRegex(said, r"ObjectApplied Binding vision.managers")
        self.assertNotIn("ControllerStarted", said)

    def test_what_is_open_ends_with_its_key(self):
        job = self.dove("submit", "-o", "name", "--", "sh", "-c", "echo here; exec sleep 300", who="ada").stdout.strip()
        self.addCleanup(self.dove, "cancel", job)
        self.cluster.wait_state(job, "running")
        key = json.loads(self.dove("key", "create", "gone", "-o", "json", who="ada").stdout)
        mine = {**self.cluster.environment, **self.cluster.trusts(), "DOVE_URL": self.cluster.url, "DOVE_TOKEN": key["key"]}
        programs = []
        for words in (["logs", "-f", job], ["exec", job, "--", "sh", "-c", "echo here; exec sleep 300"]):
            program = subprocess.Popen([DOVE, *words], env=mine, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            for at_the_end in (program.stdout.close, program.wait, program.kill):
                self.addCleanup(at_the_end)
            self.assertEqual(program.stdout.readline(), "here\n")
            programs.append(program)
        self.dove("key", "revoke", key["id"], who="ada")
        for program in programs:
            program.wait(20)

    def test_who_is_disabled_is_out(self):
        link = self.dove("console", who="bob").stdout.strip()
        _, _, cookie = self.browse("POST", "/v1/sign-in", {"token": link.partition("#code=")[2]})
        cookie = cookie.partition(";")[0]
        self.cluster.api.call("PUT", "/v1/objects/user/bob", {"disabled": True})
        self.assertEqual(self.browse("GET", "/v1/me", cookie=cookie)[1]["code"], "user_disabled")
        self.assertIn("disabled", self.dove("ps", who="bob", fails=True).stderr)
        self.cluster.api.call("PUT", "/v1/objects/user/bob", {"disabled": False})
        self.dove("ps", who="bob")


if __name__ == "__main__":
    sys.exit(unittest.main())
