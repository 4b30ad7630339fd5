#!/usr/bin/env python3
"""Every path and method of api/openapi.yaml is there, wants its token, and answers errors as it says."""
import http.client
import json
import os
import re
import sys
import unittest

from cluster import ROOT, Cluster

METHODS = {"get", "post", "put", "patch", "delete"}
OPEN = {"/healthz", "/readyz", "/version", "/openapi.yaml"}


def operations(text):
    """(method, path) of every operation, by the document's own layout: no YAML library is needed."""
    path = None
    for line in text[text.index("\npaths:"):text.index("\ncomponents:")].splitlines():
        if match := re.match(r"  (/[^:]*):", line):
            path = match[1]
        elif (match := re.match(r"    (\w+):", line)) and match[1] in METHODS:
            yield match[1].upper(), path


class OpenApi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, cores=4).__enter__()
        with open(os.path.join(ROOT, "api/openapi.yaml")) as file:
            cls.text = file.read()
        cls.operations = list(operations(cls.text))
        cls.job = cls.cluster.submit({"name": "kept", "command": ["true"], "hold": True})

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def path(self, pattern):
        values = {"/v1/jobs/": str(self.job), "/v1/nodes/": "nowhere", "/v1/users/": "nobody"}
        filled = pattern.replace("{kind}", "pool")
        for begin, value in values.items():
            if filled.startswith(begin):
                filled = re.sub(r"\{(id|name)\}", value, filled)
        return re.sub(r"\{\w+\}", "nowhere", filled)

    def ask(self, method, path, token=None, body=b"{}"):
        """(status, content type, body); the head and the first bytes only, as some answers are endless."""
        connection = http.client.HTTPConnection(self.cluster.api.host, self.cluster.port, timeout=20)
        headers = {"Authorization": "Bearer " + token} if token else {}
        connection.request(method, path, body if method != "GET" else None,
                           {**headers, "Content-Type": "application/json"})
        answer = connection.getresponse()
        kind = (answer.getheader("Content-Type") or "").split(";")[0]
        text = answer.read() if answer.getheader("Content-Length") else b""
        connection.close()
        return answer.status, kind, text

    def problem(self, answer):
        status, kind, text = answer
        self.assertEqual(kind, "application/problem+json", answer)
        found = json.loads(text)
        self.assertEqual(found["status"], status)
        for member in ("title", "code", "detail"):
            self.assertTrue(found[member], found)
        self.assertRegex(found["code"], r"^[a-z][a-z0-9_]*$")
        return found["code"]

    def test_the_document_is_served(self):
        self.assertEqual(self.ask("GET", "/openapi.yaml")[2].decode(), self.text)
        self.assertGreater(len(self.operations), 35)

    def test_every_operation_is_there(self):
        admin = self.cluster.api.headers["Authorization"].split()[1]
        for method, pattern in self.operations:
            with self.subTest(method + " " + pattern):
                answer = self.ask(method, self.path(pattern), admin)
                self.assertNotEqual(answer[0], 405)
                self.assertLess(answer[0], 500, answer)
                if answer[0] >= 400:
                    self.assertNotIn(self.problem(answer), ("no_such_path", "method_not_allowed"))

    def test_without_a_token_nothing_is_told(self):
        for method, pattern in self.operations:
            if pattern in OPEN:
                self.assertEqual(self.ask(method, pattern)[0], 200)
                continue
            if pattern == "/v1/agents/join":  # its token is in the body
                continue
            for token in (None, "wrong", "e" * 43, "1.1.wrong"):
                with self.subTest(method + " " + pattern, token=token):
                    answer = self.ask(method, self.path(pattern), token)
                    self.assertEqual(answer[0], 401, answer)
                    self.problem(answer)

    def test_a_user_is_no_administrator_and_no_agent(self):
        token = self.cluster.api.call("POST", "/v1/users/ann/token?create=1")["token"]
        for method, path in [("DELETE", "/v1/nodes/node1"), ("POST", "/v1/nodes/node1/drain"),
                             ("PUT", "/v1/objects/pool/p"), ("DELETE", "/v1/objects/pool/p"),
                             ("POST", "/v1/users/ann/token?create=1"), ("POST", "/v1/join-tokens")]:
            with self.subTest(method + " " + path):
                answer = self.ask(method, path, token)
                self.assertEqual(answer[0], 403, answer)
                self.problem(answer)
        self.assertIn(self.ask("POST", "/v1/agents/node1/sync", token)[0], (401, 403))

    def test_what_is_not_there(self):
        admin = self.cluster.api.headers["Authorization"].split()[1]
        for path in ("/", "/v1", "/v2/jobs", "/v1/jobs/1/nothing", "/v1/jobs/", "/V1/jobs"):
            with self.subTest(path):
                answer = self.ask("GET", path, admin)
                self.assertEqual(answer[0], 404)
                self.assertEqual(self.problem(answer), "no_such_path")
        for method, path in [("PATCH", "/v1/jobs"), ("PUT", "/v1/jobs/1"), ("DELETE", "/healthz")]:
            with self.subTest(method + " " + path):
                answer = self.ask(method, path, admin)
                self.assertEqual(answer[0], 405)
                self.assertEqual(self.problem(answer), "method_not_allowed")


if __name__ == "__main__":
    sys.exit(unittest.main())
