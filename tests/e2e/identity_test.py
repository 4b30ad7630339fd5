#!/usr/bin/env python3
"""A running job shows others who it is: a token that a library which no one here wrote (jose) verifies from the issuer's
name alone. Nobody else gets one in the job's name."""
# limit_s: 60
import json
import os
import subprocess
import sys
import unittest

from cluster import DOVE, ROOT, SKIP, ApiError, Cluster, until

CONSOLE = os.path.join(ROOT, "console")
TOOLS = os.path.join(ROOT, ".tools/node_modules/.bin")


class Identity(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, cores=4).__enter__()
        cls.tokens = {name: cls.cluster.api.call("POST", f"/v1/users/{name}/token?create=1")["token"] for name in ("ada", "bob")}
        cls.cluster.api.call("PUT", "/v1/objects/project/vision", {})
        cls.cluster.api.call("PUT", "/v1/objects/binding/vision", {"role": "member", "project": "vision", "users": ["ada"]})
        cls.cluster.api.call("PUT", "/v1/objects/binding/boss", {"role": "manager", "project": "vision", "users": ["bob"]})

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def job(self, script):
        api = self.cluster.caller(self.tokens["ada"])
        job = api.call("POST", "/v1/jobs", {"name": "reader", "project": "vision", "script": "#!/bin/sh\n" + script})["id"]
        self.addCleanup(api.close)
        return api, job

    def verify(self, token, audience):
        path = (TOOLS + ":" if os.path.exists(TOOLS + "/node") else "") + os.environ["PATH"]
        trusts = {"NODE_EXTRA_CA_CERTS": self.cluster.ca_file()} if self.cluster.ca_file() else {}
        return subprocess.run(["node", "browser/verify_token.mjs", token, self.cluster.url, audience], cwd=CONSOLE, text=True,
                              env={**os.environ, **trusts, "PATH": path}, capture_output=True, timeout=30)

    def output(self, api, job):
        return api.raw("GET", f"/v1/jobs/{job}/logs")[2].decode().strip()

    def test_a_job_is_known_by_its_token(self):
        api, job = self.job(f"exec {DOVE} identity-token https://store.example.org\n")
        until(lambda: api.call("GET", f"/v1/jobs/{job}")["state"] == "completed", 20, "the job")
        token = self.output(api, job)
        verified = self.verify(token, "https://store.example.org")
        self.assertEqual(verified.returncode, 0, verified.stderr)
        claims = json.loads(verified.stdout)
        self.assertEqual(claims["sub"], "project:vision:user:ada")
        self.assertEqual((claims["job"], claims["job_name"], claims["attempt"]), (str(job), "reader", 1))
        self.assertEqual(claims["exp"] - claims["iat"], 600)
        self.assertNotEqual(self.verify(token, "https://other.example.org").returncode, 0)
        head, body, signature = token.split(".")
        self.assertNotEqual(self.verify(f"{head}.{body[:-2]}AA.{signature}", "https://store.example.org").returncode, 0)
        # It opens nothing here.
        with self.assertRaises(ApiError) as refused:
            self.cluster.caller(token).call("GET", "/v1/me")
        self.assertEqual(refused.exception.status, 401)

    def test_nobody_else_gets_one(self):
        api, job = self.job("sleep 600\n")
        until(lambda: api.call("GET", f"/v1/jobs/{job}")["state"] == "running", 20, "the job")
        callers = [self.cluster.caller(token) for token in self.tokens.values()] + [self.cluster.api]
        for caller in callers:
            with self.assertRaises(ApiError) as refused:
                caller.call("POST", f"/v1/jobs/{job}/identity-token", {"audience": "x"})
            self.assertEqual((refused.exception.status, refused.exception.body["code"]), (403, "only_the_job"))
        api.call("POST", f"/v1/jobs/{job}/cancel")
        done = self.cluster.run("identity-token", "x", check=False)
        self.assertIn("called by a running job", done.stderr)


if __name__ == "__main__":
    if not os.path.exists(CONSOLE + "/node_modules/jose"):
        print("skipped: jose is missing (tools/console)")
        sys.exit(SKIP)
    unittest.main()
