#!/usr/bin/env python3
"""Every path and method of api/openapi.yaml is there, wants its token, and answers errors as it says; what is sent and
answered on a tour of the API is as the document says, both ways (contract.py; every other test checks its own)."""
import http.client
import json
import os
import re
import sys
import unittest
import urllib.parse

from cluster import ROOT, SKIP, Api, Cluster, until
from contract import Contract, is_bare

METHODS = {"get", "post", "put", "patch", "delete"}
OPEN = {"/.well-known/openid-configuration", "/v1/identity-keys", "/healthz", "/readyz", "/version", "/openapi.yaml"}

# Whoever calls these has no token yet, or has it in the body.
NO_TOKEN_YET = {"/v1/agents/join", "/v1/sign-in", "/v1/sign-in/{way}", "/v1/sign-in/{way}/callback", "/v1/device-sign-ins",
                "/v1/device-sign-ins/wait", "/v1/entries", "/v1/boot/{name}/script", "/v1/boot/{name}/join-token"}
# Whoever asks there without what it takes is refused by other means than a token.
REFUSED = {"/v1/agents/join": 401, "/v1/boot/{name}/join-token": 403}


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
        cls.contract = Contract.load()
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
        operation, _ = self.contract.operation(method, path.partition("?")[0])
        if operation:
            self.assertIn(str(answer.status), operation["responses"], f"{method} {path}")
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

    def test_every_object_says_which_fields_it_has(self):
        def bare(part, where):
            if isinstance(part, dict) and is_bare(part):
                yield where
            for name, inner in part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ():
                yield from bare(inner, f"{where}/{name}")
        self.assertEqual(list(bare(self.contract.document, "")), [])

    def test_every_kind_of_record_has_a_schema(self):
        """tests/golden/records.jsonl has one record of each kind, with every field (src/server/record_json_test.cc)."""
        record = self.contract.document["components"]["schemas"]["Record"]
        described = [kind for each in record["allOf"] for word in [each["if"]["properties"]["kind"]]
                     for kind in word.get("enum", [word.get("const")])]
        self.assertEqual(sorted(described), sorted(record["properties"]["kind"]["enum"]))
        with open(os.path.join(ROOT, "tests/golden/records.jsonl")) as file:
            shown = [json.loads(line) for line in file]
        self.assertEqual({one["kind"] for one in shown}, set(described))
        for one in shown:
            with self.subTest(one["kind"]):
                self.assertEqual(self.contract.wrong({"$ref": "#/components/schemas/Record"}, one), [])
        one = {**shown[0], "data": {**shown[0]["data"], "undocumented": 1}}
        self.assertNotEqual(self.contract.wrong({"$ref": "#/components/schemas/Record"}, one), [])

    def test_every_operation_names_the_errors_that_it_answers(self):
        with open(os.path.join(ROOT, "api/authz.yaml")) as file:
            open_to_all = set(re.findall(r"^(\w+): \{who: anyone\b", file.read(), re.MULTILINE))
        self.assertIn("signIn", open_to_all)
        for method, pattern in self.operations:
            operation = self.contract.document["paths"][pattern][method.lower()]
            name, answers = operation["operationId"], operation["responses"]
            with self.subTest(name):
                self.assertNotIn("default", answers)
                wanted = {"400", "413", "429", "500", "503"}
                wanted |= set() if name in open_to_all else {"401", "403"}
                wanted |= {"404"} if "{" in pattern else set()
                self.assertEqual(wanted - set(answers), set())
                for status in answers:
                    if int(status) >= 400:
                        self.assertIn("application/problem+json", self.contract.resolve(answers[status])["content"])

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
            if pattern in NO_TOKEN_YET:
                status = self.ask(method, self.path(pattern))[0]
                self.assertIn(status, (REFUSED[pattern],) if pattern in REFUSED else (200, 400, 404), pattern)
                continue
            for token in (None, "wrong", "e" * 43, "1.1.wrong"):
                with self.subTest(method + " " + pattern, token=token):
                    answer = self.ask(method, self.path(pattern), token)
                    self.assertEqual(answer[0], 401, answer)
                    self.problem(answer)

    def test_a_user_is_no_administrator_and_no_agent(self):
        token = self.cluster.api.call("POST", "/v1/users/ann/token?create=1")["token"]
        for method, path in [("DELETE", "/v1/nodes/node1"), ("POST", "/v1/nodes/node1/drain"),
                             ("PUT", "/v1/objects/pool/p"), ("DELETE", "/v1/objects/queue/default"),
                             ("POST", "/v1/users/ann/token?create=1"), ("POST", "/v1/join-tokens")]:
            with self.subTest(method + " " + path):
                answer = self.ask(method, path, token)
                self.assertEqual(answer[0], 403, answer)
                self.problem(answer)
        self.assertIn(self.ask("POST", "/v1/agents/node1/sync", token)[0], (401, 403))

    def test_what_is_not_there(self):
        admin = self.cluster.api.headers["Authorization"].split()[1]
        for path in ("/nothing", "/v1", "/v2/jobs", "/v1/jobs/1/nothing", "/v1/jobs/", "/V1/jobs"):
            with self.subTest(path):
                answer = self.ask("GET", path, admin)
                self.assertEqual(answer[0], 404)
                self.assertEqual(self.problem(answer), "no_such_path")
        for method, path in [("PATCH", "/v1/jobs"), ("PUT", "/v1/jobs/1"), ("DELETE", "/healthz")]:
            with self.subTest(method + " " + path):
                answer = self.ask(method, path, admin)
                self.assertEqual(answer[0], 405)
                self.assertEqual(self.problem(answer), "method_not_allowed")


class Tour(unittest.TestCase):
    """Each operation is used as it is meant, with every field at least once."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=2, cores=4, gpus=2).__enter__()
        cls.api = cls.cluster.api

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)  # checks what was recorded

    def test_jobs(self):
        self.api.call("PUT", "/v1/objects/project/vision", {"limits": {"jobs_running": 100}})
        full = {
            "name": "all of it", "script": "#!/bin/sh\nsleep 60\n", "script_arguments": ["a"], "environment": {"A": "1"},
            "workdir": self.cluster.folder, "stdout_path": "%j.out", "stderr_path": "%j.err", "stdin_path": "/dev/null",
            "output_append": True, "output_rotate": "1Mi", "umask": "022", "stop_signal": "TERM", "warn_signal": 10,
            "warn_before_s": 60, "source_name": "x.sh", "labels": {"comment": "tour"}, "nodes": 1, "tasks": 2,
            "per_task": {"cores": 1, "memory": "64Mi", "gpus": 1}, "per_node": {"memory": "1Mi"}, "project": "vision",
            "priority": 3, "time_limit": "1h", "kill_grace": "1s", "begin_at": "2020-01-01T00:00:00Z",
            "deadline": "2099-01-01T00:00:00Z", "retries_max": 1, "requeue": True, "features": [],
            "nodes_excluded": ["elsewhere"], "preempt": "checkpoint", "checkpoint_signal": 10, "checkpoint_grace": "2s",
            "slice_min_s": 30, "spread": "pack", "domain": "rack", "label": "t", "near_labels": [], "apart_labels": ["u"]}
        job = self.cluster.submit(full, **{"Idempotency-Key": "tour"})
        self.assertEqual(self.cluster.submit(full, **{"Idempotency-Key": "tour"}), job)
        self.cluster.wait_state(job, "running")
        later = self.cluster.submit({"command": ["true"], "groups": [{"name": "a", "tasks": 1, "gpus": 1}, {"tasks": 1}],
                                     "dependencies": [{"kind": "afterok", "job": job, "delay": "1s"}]})
        array = self.cluster.submit({"command": ["true"], "array": "0-2%1"})
        shared = self.cluster.submit({"command": ["sleep", "60"], "gpus": "500m"})
        greedy = self.cluster.submit({"command": ["true"], "cores": 4, "gpu_model": "B200", "gpus": 1})
        self.cluster.wait(array)
        self.cluster.wait_state(shared, "running")
        for target in (f"/v1/jobs/{job}", f"/v1/jobs/{later}/why", f"/v1/jobs/{greedy}/why", f"/v1/jobs/{shared}",
                       "/v1/jobs?full=1", "/v1/jobs?limit=2", f"/v1/jobs?ids={array}&state=ended,waiting&user=admin",
                       "/v1/jobs?queue=default&project=p&pool=default&name=job&label=t&submitted_from=0&submitted_before=1",
                       "/v1/jobs?ended_from=0&ended_before=1", "/v1/jobs?labels=comment%3Dtour&labels=a%3Db", f"/v1/jobs/{array}"):
            self.api.call("GET", target)
        self.api.raw("GET", f"/v1/jobs/{array}/logs?rank=0&stream=stdout&offset=0&tail=5&follow=0&attempt=1")
        self.api.call("POST", f"/v1/jobs/{job}/checkpoint")
        self.api.call("POST", f"/v1/jobs/{job}/signal", {"signal": "CONT", "batch_only": True})
        step = self.api.raw("POST", f"/v1/jobs/{job}/steps", {
            "command": ["sh", "-c", "echo out; printf '\\377' >&2"], "tasks": 1, "environment": {}, "stdin": "none"})
        self.assertIn(b'"ended"', step[2])
        for action, body in [("priority", {"priority": 9}), ("hold", None), ("release", None), ("requeue", None)]:
            self.api.raw("POST", f"/v1/jobs/{later}/{action}", body)
        self.api.call("POST", f"/v1/jobs/{job}/cancel")
        self.cluster.wait(job)
        for other in (later, shared, greedy):
            self.api.raw("DELETE", f"/v1/jobs/{other}")
        self.api.call("GET", f"/v1/jobs/{job}")

    def test_nodes(self):
        self.api.call("POST", "/v1/nodes/node2/drain", {"reason": "tour"})
        self.api.call("POST", "/v1/nodes/node2/undrain")
        self.api.call("POST", "/v1/nodes/node2/findings", {"check": "fan", "severity": "warning", "remedy": "none",
                                                           "device": 0, "evidence": "slow"})
        self.api.call("POST", "/v1/nodes/node2/action", {"action": "drain", "now": False, "by_us": 0, "why": "tour"})
        for target in ("/v1/nodes", "/v1/nodes?removed=1&limit=1", "/v1/nodes?pool=default&state=ready&name=node1&feature=",
                       "/v1/nodes?brief=1", "/v1/nodes/node2"):
            self.api.call("GET", target)
        self.api.call("POST", "/v1/nodes/node2/findings", {"check": "fan", "severity": "good"})
        self.api.call("POST", "/v1/nodes/node2/action", {"action": "resume"})
        self.api.call("POST", "/v1/maintenance-plan", {"action": "reboot", "nodes": ["node1"], "now": True, "each_s": 30})

    def test_declared_objects(self):
        objects = [
            {"kind": "Cluster", "fence": "9s", "countables": {"licence": 3}, "on_hang": "show", "hang_after": "1h"},
            {"kind": "Pool", "name": "p", "nodes": ["node[1-2]"], "users": ["ann"], "time_limit_max": "1h", "preflight": False},
            {"kind": "Queue", "name": "q", "limits": {"gpus": 2, "memory": "1Gi", "slices": {"1g.18gb": 1},
                                                      "gpus_by_model": {"H200": "500m"}, "countables": {"licence": 1}},
             "guaranteed": {"cores": 1}, "weight": 2, "band": 1, "order": "fair_share", "promises": 1},
            {"kind": "Node", "name": "node1", "topology": [{"level": "rack", "name": "r1"}], "cores_reserved": 1,
             "memory_reserved": "1Mi", "countables": {"fpga": 1}},
            {"kind": "Limit", "name": "*", "limits": {"jobs_waiting": 1000}},
            {"kind": "User", "name": "ann", "linux_user": "nobody", "domain": "d"},
            {"kind": "Project", "name": "r", "users": ["ann"], "limits": {"cores": "1500m"}},
            {"kind": "Domain", "name": "d", "title": "The department"},
            {"kind": "Group", "name": "g", "users": ["ann"]},
            {"kind": "Binding", "name": "b", "role": "viewer", "project": "r", "groups": ["g"]},
            {"kind": "User", "name": "slurm-1"}, {"kind": "User", "name": "slurm-2"},
            {"kind": "Executor", "name": "slurm", "service_account": "slurm-1", "nodes": ["slurm1"], "runs_jobs": True},
            {"kind": "Executor", "name": "other", "service_account": "slurm-2", "nodes": ["other1"], "runs_jobs": True},
            {"kind": "Settings", "name": "moves", "job": {"executor": {
                "slurm": {"percent": 50, "users": ["ann"], "projects": ["r"], "queues": ["q"], "pools": ["p"]}, "other": 0}}},
            {"kind": "Settings", "name": "of-r", "project": "r", "job": {"executor": "slurm", "priority": 1}},
            {"kind": "Reservation", "name": "later", "nodes": ["node2"], "starts_at": "2090-01-01T00:00:00Z",
             "ends_at": "2090-01-02T00:00:00Z", "outage": True}]
        objects = [{**one, "labels": {"team": "vision", "of": one["kind"]}} for one in objects]
        self.api.call("POST", "/v1/objects?dry_run=1", {"objects": objects})
        self.api.call("POST", "/v1/objects", {"objects": objects})
        for one in self.api.call("GET", "/v1/objects")["objects"]:
            again = self.api.call("PUT", f"/v1/objects/{one['kind'].lower()}/{one['name'].replace('*', '%2A')}", one)
            self.assertEqual(again["change"], "none")
        for target, member, count in (("/v1/objects?labels=team=vision", "objects", len(objects)),
                                      ("/v1/objects?labels=team=vision&labels=of=Pool", "objects", 1),
                                      ("/v1/pools?labels=of=Pool", "pools", 1), ("/v1/queues?labels=of=Pool", "queues", 0),
                                      ("/v1/nodes?labels=of=Node", "nodes", 1)):
            self.assertEqual(len(self.api.call("GET", target)[member]), count, target)
        self.assertEqual(self.api.raw("GET", "/v1/nodes?labels=team")[0], 400)
        self.api.raw("PUT", "/v1/secrets/labelled", b"value")
        secret = self.api.call("GET", "/v1/objects?kind=Secret")["objects"][-1]
        path = "/v1/objects/secret/" + urllib.parse.quote(secret["name"], safe="")
        self.assertEqual(self.api.call("PUT", path, {**secret, "labels": {"team": "vision"}})["change"], "update")
        for target in ("/v1/pools?limit=1", "/v1/queues?name=q", "/v1/objects?kind=Queue&limit=1", "/v1/objects/reservation/later"):
            self.api.call("GET", target)
        self.api.call("PUT", "/v1/objects/queue/q", {"limits": None, "weight": None})
        token = self.api.call("POST", "/v1/users/ann/token?create=0")["token"]
        self.api.call("POST", "/v1/sign-in", {"token": token})
        self.api.call("POST", "/v1/sign-in", {"token": self.api.call("POST", "/v1/sign-in-codes")["code"]})
        self.api.call("GET", "/v1/me")
        self.api.call("GET", "/v1/events?audit=1&user=admin&from=1&before=9000000000000000&order=newest")
        for target in ("/v1/keys?name=ci&limit=1", "/v1/secrets?name=hub&labels=team=vision", "/v1/apps?name=code&labels=a=b"):
            self.api.call("GET", target)
        self.api.raw("POST", "/v1/sign-out")
        self.api.call("POST", "/v1/join-tokens", {"node": "spare", "ttl_s": 60})
        later = self.api.call("GET", "/v1/objects/reservation/later")
        self.api.raw("DELETE", "/v1/objects/reservation/later?version=" + "0" * 16)
        self.api.raw("DELETE", "/v1/objects/reservation/later?version=" + later["version"])
        self.api.raw("DELETE", "/v1/objects/pool/p")

    def test_the_log_and_the_cluster(self):
        job = self.cluster.submit({"command": ["true"]})
        self.cluster.wait(job)
        until(lambda: any(one["kind"] == "EndJob" for one in
                          self.api.call("GET", f"/v1/events?job={job}&kind=JobSubmitted,EndJob&limit=10")["events"]),
              20, "the job's end in the log")
        self.api.call("GET", "/v1/events?after=0&limit=10000")
        for target in ("/v1/cluster", "/healthz", "/readyz", "/version", "/metrics", "/openapi.yaml", "/v1/identity-keys"):
            self.api.raw("GET", target)

    def test_an_agent(self):
        """What agents send is sent once by hand: a join, a sync with its ticket, a report."""
        token = self.api.call("POST", "/v1/join-tokens", {"node": "byhand"})["token"]
        known = next(one["data"]["inventory"] for one in self.api.call("GET", "/v1/events?kind=NodeRegistered")["events"])
        hello = {"protocol": 1, "name": "byhand", "boot_id": "b", "address": "127.0.0.1", "version": "test", "epoch_seen": 0,
                 "log_head_seen": 0, "inventory": known, "placements": [], "steps": [], "ticket": ""}
        agent = Api(self.cluster.url, token)
        joined = agent.call("POST", "/v1/agents/join", hello)
        agent = Api(self.cluster.url, joined["agent_token"])
        hello["ticket"] = agent.call("POST", "/v1/agents/byhand/sync", hello)["ticket"]
        session = agent.call("POST", "/v1/agents/byhand/sync", hello)
        agent.call("POST", "/v1/agents/byhand/report", {
            "session": session["session"], "report": 1, "applied": 0, "epoch_seen": session["epoch"],
            "log_head_seen": session["log_head"], "placements_hash": "0" * 16,
            "events": [{"kind": "finding", "check": "fan", "severity": "warning", "remedy": "none", "device": -1,
                        "evidence": "slow"}]})


if __name__ == "__main__":
    if Contract.load() is None:
        print("skipped: needs python3-yaml and python3-jsonschema (tools/setup test)")
        sys.exit(SKIP)
    sys.exit(unittest.main())
