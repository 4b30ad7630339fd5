#!/usr/bin/env python3
"""Every operation of api/openapi.yaml with every credential that is not good for it, over TLS: none, wrong, expired, revoked,
of a disabled user, of a job that is over, of another node, used up, of too small a scope. None of them gets an answer, as
api/authz.yaml says. The operations of agents are tried where they are, at the port of agents, with every certificate and
token but the node's own."""
import http.client
import os
import re
import ssl
import unittest

from certificates import FUTURE, PAST, Authority, openssl
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
    def status(cls, operation, token, port=None, pair=None):
        method, path = cls.where[operation]
        path = re.sub(r"\{id\}", str(cls.job) if path.startswith("/v1/jobs/") else "nowhere", path)
        path = re.sub(r"\{name\}", "node1" if "/nodes/" in path or "/agents/" in path else "default", path)
        path = re.sub(r"\{\w+\}", "pool", path)
        context = ssl.create_default_context(cafile=cls.cluster.ca_file())
        if pair:
            context.load_cert_chain(*pair)
        connection = http.client.HTTPSConnection("127.0.0.1", port or cls.cluster.port, timeout=20, context=context)
        try:
            headers = {"Authorization": "Bearer " + token} if token else {}
            connection.request(method, path, None if method == "GET" else b"{}", {**headers, "Content-Type": "application/json"})
            return connection.getresponse().status
        finally:
            connection.close()

    def refused(self, operation, kind, token):
        status = self.status(operation, token)
        # 404: a port for people does not have the operations of agents, but for those by which a node comes in.
        expected = (404,) if self.rule[operation] == "agent" else (401, 403)
        self.assertIn(status, expected, f"{operation} with {kind} was answered {status}")

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

    def made_pairs(self):
        """Certificates that are not node1's, by what they are; and one that is, made in the same way."""
        folder, data = self.cluster.folder, self.cluster.data
        own, other = Authority(folder + "/own", data + "/ca.pem", data + "/ca.key"), Authority(folder + "/other")
        names = openssl("x509", "-noout", "-ext", "subjectAltName", "-in", folder + "/nodes/node1/agent_certificate.pem")
        of_nodes = re.search(r"URI:dove://[^,\s]+/node/", names)[0]
        closed = {"no certificate": None,
                  "an expired certificate": own.pair(of_nodes + "node1", PAST),
                  "a certificate of a later year": own.pair(of_nodes + "node1", FUTURE),
                  "another authority's certificate": other.pair(of_nodes + "node1"),
                  "a certificate of no node": own.pair("URI:dove://x/user/root"),
                  "a certificate of an unknown node": own.pair(of_nodes + "nowhere")}
        return own.pair(of_nodes + "node1"), closed

    def test_agents_operations_are_refused_where_they_are(self):
        port = self.cluster.agents_port()
        nodes = self.cluster.folder + "/nodes/"
        pair_of = lambda node: (f"{nodes}{node}/agent_certificate.pem", f"{nodes}{node}/agent_key.pem")
        with open(nodes + "node1/agent_token") as file:
            token = file.read().strip()
        good, closed = self.made_pairs()
        operations_here = [name for name, who, *_ in rules() if who == "agent"]
        self.assertGreater(len(operations_here), 5)
        wrong = {**self.dead, **{kind: held for kind, (held, _) in self.others.items()}, "a user's token": self.user,
                 "the administrator's": self.cluster.api.headers["Authorization"].split()[1]}
        for operation in operations_here:
            for kind, pair in closed.items():
                with self.assertRaises((ssl.SSLError, ConnectionError), msg=f"{operation} with {kind}"):
                    self.status(operation, token, port, pair)
            for kind, held in (("node1's token", token), ("its own token", self.others["another node's"][0])):
                status = self.status(operation, held, port, pair_of("node2"))
                self.assertIn(status, (401, 403), f"{operation} with node2's certificate and {kind}")
            for kind, held in wrong.items():
                status = self.status(operation, held, port, pair_of("node1"))
                self.assertIn(status, (401, 403), f"{operation} with node1's certificate and {kind} token")
        # Else the rest would prove nothing: the same certificate and token, and nothing wrong with them.
        for pair in (good, pair_of("node1")):
            self.assertNotIn(self.status("takeReport", token, port, pair), (401, 403, 404))

    def test_what_is_good_is_not_refused(self):
        """Else the other test would prove nothing."""
        for operation, key in (("listJobs", self.keys["read"]), ("holdJob", self.keys["jobs"]), ("readLog", self.keys["log"]),
                               ("getMe", self.user)):
            self.assertNotIn(self.status(operation, key), (401, 403), operation)


if __name__ == "__main__":
    unittest.main()
