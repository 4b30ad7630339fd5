#!/usr/bin/env python3
"""Every operation of api/openapi.yaml with every credential that is not good for it, over TLS: none, wrong, expired, revoked,
of a disabled user, of a job that is over, of another node, used up, of too small a scope. None of them gets an answer, as
api/authz.yaml says."""
import http.client
import os
import re
import ssl
import unittest

from cluster import ROOT, Cluster, until
from openapi_test import METHODS

RULE = re.compile(r"^(\w+): \{who: (\w+)(?:, scope: (\w+), on: (\w+))?\}$")
REACH = {"read": {"read"}, "jobs": {"read", "jobs"}, "log": {"log"}}
# Rules for people, whose tokens and keys these are; visitors come with an entry of their own, too.
PEOPLE = {"person", "visitor", "user", "admin"}


def operations():
    """{operation: (method, path)}, by the document's own layout."""
    found, path, method = {}, None, None
    with open(os.path.join(ROOT, "api/openapi.yaml")) as file:
        for line in file:
            if match := re.match(r"  (/[^:]*):", line):
                path = match[1]
            elif match := re.match(r"    (\w+):", line):
                method = match[1].upper() if match[1] in METHODS else method
            if match := re.search(r"operationId: (\w+)", line):
                found[match[1]] = (method, path)
    return found


def rules():
    with open(os.path.join(ROOT, "api/authz.yaml")) as file:
        return [match.groups() for line in file if (match := RULE.match(line.strip()))]


class Credentials(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=2, cores=4, tls=True).__enter__()
        try:
            cls.begin(cls.cluster.api.call)
        except BaseException:
            cls.cluster.__exit__(RuntimeError, None, None)
            raise

    @classmethod
    def begin(cls, call):
        cluster = cls.cluster
        cls.where = operations()
        cls.job = cluster.submit({"name": "kept", "command": ["sleep", "600"]})
        tokens = {name: call("POST", f"/v1/users/{name}/token?create=1")["token"] for name in ("ada", "off", "root")}
        call("PUT", "/v1/objects/user/root", {"admin": True})
        key = lambda name, **more: call("POST", "/v1/keys", {"name": name, "user": "root", **more})
        expired, revoked = key("expired", scope="all", ttl_s=1), key("revoked", scope="all")
        call("DELETE", f"/v1/keys/{revoked['id']}")
        call("PUT", "/v1/objects/user/off", {"disabled": True})
        ended = cluster.submit({"name": "ended", "command": ["sh", "-c", "echo $DOVE_JOB_TOKEN"]})
        cluster.wait(ended)
        with open(os.path.join(cluster.folder, "nodes/node2/agent_token")) as file:
            other_node = file.read().strip()
        with open(os.path.join(cluster.folder, "nodes/node1/join_token")) as file:
            used_join = file.read().strip()
        with open(cluster.data + "/ssh_gateway_token") as file:
            gateway = file.read().strip()
        # Good for nothing at all.
        cls.dead = {"none": None, "wrong": "x" * 43, "a wrong key": "dovekey_" + "x" * 43, "expired": expired["key"],
                    "revoked": revoked["key"], "disabled": tokens["off"], "a former job's": cluster.logs(ended).strip()}
        assert all(token for kind, token in cls.dead.items() if kind != "none"), "else it would be none once more"
        # Good for something else: who may use it.
        cls.others = {"another node's": (other_node, {"agent", "node"}), "a used join token": (used_join, set()),
                      "the gateway's": (gateway, {"gateway"})}
        cls.user = tokens["ada"]
        cls.keys = {scope: key(scope, scope=scope)["key"] for scope in REACH}
        until(lambda: cls.status("listJobs", expired["key"]) == 401, 20, "the key to expire")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    @classmethod
    def status(cls, operation, token):
        method, path = cls.where[operation]
        path = re.sub(r"\{id\}", str(cls.job) if path.startswith("/v1/jobs/") else "nowhere", path)
        path = re.sub(r"\{name\}", "node1" if "/nodes/" in path or "/agents/" in path else "default", path)
        path = re.sub(r"\{\w+\}", "pool", path)
        context = ssl.create_default_context(cafile=cls.cluster.ca_file())
        connection = http.client.HTTPSConnection("127.0.0.1", cls.cluster.port, timeout=20, context=context)
        try:
            headers = {"Authorization": "Bearer " + token} if token else {}
            connection.request(method, path, None if method == "GET" else b"{}", {**headers, "Content-Type": "application/json"})
            return connection.getresponse().status
        finally:
            connection.close()

    def refused(self, operation, kind, token):
        status = self.status(operation, token)
        # 404: a port for people does not have the operations of agents.
        self.assertIn(status, (401, 403, 404), f"{operation} with {kind} was answered {status}")
        method, _ = self.where[operation]
        if status == 404:
            self.assertIn(self.rule[operation], ("agent", "node", "join"), f"{method} {operation} with {kind}")

    def test_every_operation_refuses_what_is_not_good_for_it(self):
        every = rules()
        self.assertEqual({name for name, *_ in every}, set(self.where), "each operation has a rule")
        self.rule = {name: who for name, who, *_ in every}
        for operation, who, scope, _ in every:
            if who == "anyone":
                continue
            for kind, token in self.dead.items():
                self.refused(operation, kind, token)
            for kind, (token, good_for) in self.others.items():
                # What another node may do is about itself; every path here names node1.
                if who not in good_for or who in ("agent", "node"):
                    self.refused(operation, kind, token)
            if who == "admin" or who not in PEOPLE:
                self.refused(operation, "a user's token", self.user)
            for held, key in self.keys.items():
                if who not in PEOPLE or scope not in REACH[held]:
                    self.refused(operation, f"a key of scope {held}", key)

    def test_what_is_good_is_not_refused(self):
        """Else the other test would prove nothing."""
        for operation, key in (("listJobs", self.keys["read"]), ("holdJob", self.keys["jobs"]), ("readLog", self.keys["log"]),
                               ("getMe", self.user)):
            self.assertNotIn(self.status(operation, key), (401, 403), operation)


if __name__ == "__main__":
    unittest.main()
