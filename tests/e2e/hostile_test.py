#!/usr/bin/env python3
"""Hostile and broken API bodies, queries, HTTP and job files against a real server.

Each is answered with a stable code and the place, nothing of it is stored, and the server lives on.
"""
import json
import os
import socket
import subprocess
import sys
import unittest

from cluster import DOVE, Cluster

BIG = 10 << 20
OK = '"command": ["true"]'


def job(fields):
    return "{" + OK + ", " + fields + "}"


# body of POST /v1/jobs, code, field ("" where the place is the whole body or stands in the detail)
JOBS = [
    # not a JSON object
    ("", "malformed_json", ""),
    ("{", "malformed_json", ""),
    ("nul", "malformed_json", ""),
    ("[]", "wrong_type", ""),
    ("null", "wrong_type", ""),
    ("7", "wrong_type", ""),
    ('"text"', "wrong_type", ""),
    (job('"name": "a"') + "}", "malformed_json", ""),
    (job('"name": "a",'), "malformed_json", ""),
    (job("'name': 'a'"), "malformed_json", ""),
    (job('"priority": NaN'), "malformed_json", ""),
    (job('"priority": 1e999'), "malformed_json", ""),
    ("\0" * 64, "malformed_json", ""),
    ("\ufeff", "malformed_json", ""),
    ("[" * 100_000, "too_deep", ""),
    ('{"a":' * 50_000, "too_deep", ""),
    ("[" * 30_000 + "]" * 30_000, "too_deep", ""),
    # not text
    (b'{"command": ["\xff\xfe"]}', "invalid_utf8", ""),
    (b'{"command": ["true"], "name": "\xc0\xaf"}', "invalid_utf8", ""),
    (b'{"command": ["true"], "name": "\xed\xa0\x80"}', "invalid_utf8", ""),
    (b'{"command": ["true"], "name": "\xf5\x80\x80\x80"}', "invalid_utf8", ""),
    (job('"name": "\\ud800"'), "malformed_json", ""),
    (job('"name": "a\\u0000b"'), "bad_value", "name"),
    # members that are missing, doubled, unknown
    ("{}", "missing_field", "command"),
    ('{"name": "only"}', "missing_field", "command"),
    ('{"command": []}', "missing_field", "command"),
    (job(OK), "duplicate_field", "command"),
    (job('"script": "#!/bin/sh"'), "given_twice", "command"),
    (job('"user": "root"'), "unknown_field", "user"),
    (job('"job_id": 1'), "unknown_field", "job_id"),
    (job('"__proto__": {"admin": true}'), "unknown_field", "__proto__"),
    (job('"time_limt": 5'), "unknown_field", "time_limt"),
    (job('"groups": [{"per_task": {"gpu": 1}}]'), "unknown_field", "groups[0].per_task.gpu"),
    # wrong types
    ('{"command": "true"}', "wrong_type", "command"),
    ('{"command": {"0": "true"}}', "wrong_type", "command"),
    ('{"command": [7]}', "wrong_type", "command[0]"),
    ('{"command": ["a", null]}', "wrong_type", "command[1]"),
    ('{"command": [["a"]]}', "wrong_type", "command[0]"),
    ('{"script": 7}', "wrong_type", "script"),
    (job('"name": ["a"]'), "wrong_type", "name"),
    (job('"tasks": "4"'), "wrong_type", "tasks"),
    (job('"tasks": true'), "wrong_type", "tasks"),
    (job('"tasks": 1.5'), "wrong_type", "tasks"),
    (job('"tasks": {}'), "wrong_type", "tasks"),
    (job('"hold": "yes"'), "wrong_type", "hold"),
    (job('"environment": []'), "wrong_type", "environment"),
    (job('"environment": {"A": 1}'), "wrong_type", "environment.A"),
    (job('"groups": {}'), "wrong_type", "groups"),
    (job('"groups": [7]'), "wrong_type", "groups[0]"),
    (job('"features": "fast"'), "wrong_type", "features"),
    (job('"dependencies": "afterok:1"'), "wrong_type", "dependencies"),
    (job('"labels": {"a": []}'), "wrong_type", "labels.a"),
    # negative and overflowing amounts
    (job('"tasks": 0'), "out_of_range", "tasks"),
    (job('"tasks": -1'), "out_of_range", "tasks"),
    (job('"tasks": 2147483648'), "out_of_range", "tasks"),
    (job('"tasks": 18446744073709551615'), "out_of_range", "tasks"),
    (job('"tasks": 99999999999999999999999'), "wrong_type", "tasks"),
    (job('"nodes": -2'), "out_of_range", "nodes"),
    (job('"nodes": "4-2"'), "bad_value", "nodes"),
    (job('"nodes": 100000, "tasks_per_node": 100000'), "out_of_range", "tasks"),
    (job('"cores": -1'), "out_of_range", "cores"),
    (job('"cores": 4294967297'), "out_of_range", "cores"),
    (job('"cores": "0x10"'), "bad_value", "cores"),
    (job('"memory": "-4Gi"'), "bad_value", "memory"),
    (job('"memory": 9223372036854775808'), "out_of_range", "memory"),
    (job('"memory": "99999999Ei"'), "bad_value", "memory"),
    (job('"memory": "16 quadrillion"'), "bad_value", "memory"),
    (job('"gpus": -1'), "out_of_range", "gpus"),
    (job('"gpus": 1000000000'), "out_of_range", "gpus"),
    (job('"share_milli": 1000'), "out_of_range", "share_milli"),
    (job('"gpus": 1, "share_milli": 500'), "bad_value", "share_milli"),
    (job('"priority": 99999999999'), "out_of_range", "priority"),
    (job('"time_limit": -5'), "out_of_range", "time_limit"),
    (job('"time_limit": "tomorrow"'), "bad_value", "time_limit"),
    (job('"time_limit": 9223372036854775807'), "out_of_range", "time_limit"),
    (job('"time_limit_s": 9223372036854775807'), "out_of_range", "time_limit_s"),
    (job('"retries_max": -1'), "out_of_range", "retries_max"),
    (job('"countables": {"rdma": -1}'), "out_of_range", "countables.rdma"),
    (job('"countables": {"../rdma": 1}'), "bad_value", "countables.../rdma"),
    (job('"array": "0-99999999999"'), "bad_value", "array"),
    (job('"array": "9-1"'), "bad_value", "array"),
    (job('"array": "-5"'), "bad_value", "array"),
    (job('"array": "0-999999"'), "bad_value", "array"),
    (job('"array": "0-3%0"'), "bad_value", "array"),
    (job('"stop_signal": 9999'), "out_of_range", "stop_signal"),
    (job('"umask": "9999"'), "bad_value", "umask"),
    # names, places and what is not there
    (job('"name": ""'), "bad_value", "name"),
    (job('"name": "a\\nb"'), "bad_value", "name"),
    (job('"name": "\\u001b[31mred"'), "bad_value", "name"),
    (job('"workdir": "../../etc"'), "bad_value", "workdir"),
    (job('"workdir": "/a/../../etc"'), "bad_value", "workdir"),
    (job('"stdout_path": "../../etc/passwd"'), "bad_value", "stdout_path"),
    (job('"stdout_path": "a/../../b"'), "bad_value", "stdout_path"),
    (job('"stderr_path": "a\\nb"'), "bad_value", "stderr_path"),
    (job('"stdin_path": "a\\u0000"'), "bad_value", "stdin_path"),
    (job('"environment": {"A=B": "c"}'), "bad_value", "environment.A=B"),
    (job('"environment": {"": "c"}'), "bad_value", "environment."),
    (job('"environment": {"A": "\\u0000"}'), "bad_value", "environment.A"),
    (job('"queue": "nowhere"'), "queue_unknown", "queue"),
    (job('"pool": "nowhere"'), "pool_unknown", "pool"),
    (job('"dependencies": [{"kind": "afterok", "job": 987654}]'), "dependency_unknown", "dependencies"),
    (job('"dependencies": [{"kind": "afterwards", "job": 1}]'), "bad_value", "dependencies[0].kind"),
    # too much
    (job('"name": "' + "n" * 100_000 + '"'), "too_long", "name"),
    ('{"command": ["' + "x" * (3 << 20) + '"]}', "too_long", "command[0]"),
    ('{"script": "' + "x" * BIG + '"}', "body_too_large", ""),
    (job('"name": "' + "n" * BIG + '"'), "body_too_large", ""),
    (job('"environment": {"A": "' + "x" * (4 << 20) + '"}'), "too_long", "environment.A"),
    (job('"features": [' + ",".join(['"f"'] * 5000) + "]"), "too_many", "features"),
    (job('"groups": [' + ",".join(["{}"] * 5000) + "]"), "too_many", "groups"),
]

# method, path, body, code
CALLS = [
    ("GET", "/v1/jobs/0", None, "no_such_job"),
    ("GET", "/v1/jobs/-1", None, "no_such_job"),
    ("GET", "/v1/jobs/99999999999999999999", None, "no_such_job"),
    ("GET", "/v1/jobs/987654", None, "no_such_job"),
    ("GET", "/v1/jobs/1e3", None, "no_such_job"),
    ("GET", "/v1/jobs/..%2f..%2ftoken", None, "no_such_job"),
    ("GET", "/v1/../token", None, "no_such_path"),
    ("GET", "/%00", None, "malformed_request"),
    ("GET", "/v1/jobs/%zz", None, "malformed_request"),
    ("GET", "/v1/jobs?limit=-1", None, "bad_parameter"),
    ("GET", "/v1/jobs?limit=99999999999999999999", None, "bad_parameter"),
    ("GET", "/v1/jobs?limit=ten", None, "bad_parameter"),
    ("GET", "/v1/jobs?state=asleep", None, "bad_parameter"),
    ("GET", "/v1/events?after=-1", None, "bad_parameter"),
    ("POST", "/v1/jobs/1/priority", b'{"priority": "high"}', "wrong_type"),
    ("POST", "/v1/jobs/1/signal", b'{"signal": "NOPE"}', "bad_signal"),
    ("POST", "/v1/jobs/1/signal", b'{"signal": -9}', "bad_signal"),
    ("POST", "/v1/nodes/..%2fnode1/drain", b"{}", "no_such_node"),
    ("POST", "/v1/nodes/nowhere/drain", b"{}", "no_such_node"),
    ("POST", "/v1/nodes/node1/drain", b'{"reason": 7}', "wrong_type"),
    ("GET", "/v1/objects/queue/..%2f..%2ftoken", None, "no_such_queue"),
    ("PUT", "/v1/objects/pool/a", b'{"kind": "Pool", "name": "b"}', "name_differs"),
    ("PUT", "/v1/objects/pool/a", b'{"kind": "Queue", "name": "a"}', "kind_differs"),
    ("PUT", "/v1/objects/crowd/a", b'{"kind": "Pool", "name": "a"}', "no_such_kind"),
    ("PUT", "/v1/objects/queue/q", b'{"kind": "Queue", "name": "q", "limits": {"cores": -7}}',
     "out_of_range"),
    ("PUT", "/v1/objects/queue/q", b'{"kind": "Queue", "name": "q", "limits": []}', "wrong_type"),
    ("PUT", "/v1/objects/user/u", b'{"kind": "User", "name": "u", "token_sha256": "x"}', "bad_value"),
    ("PUT", "/v1/objects/cluster/dove", b'{"kind": "Cluster", "name": "dove", "fence_s": -1}',
     "out_of_range"),
    ("POST", "/v1/join-tokens", b'{"ttl_s": -1}', "out_of_range"),
    ("POST", "/v1/users/a%20b/token", b"{}", "bad_name"),
    ("PATCH", "/v1/jobs", b"{}", "method_not_allowed"),
    ("POST", "/v1/agents/join", b'{"token": "guess"}', "join_token_invalid"),
]

# bytes sent, how the status begins that comes back
WIRE = [
    (b"\0\0\0\0\r\n\r\n", "400"),
    (b"GET\r\n\r\n", "400"),
    (b"GET / HTTP/9.9\r\n\r\n", "400"),
    (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", "431"),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 200_000 + b"\r\n\r\n", "431"),
    (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 5000 + b"\r\n", "431"),
    (b"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", "400"),
    (b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", "400"),
    (b"POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", "400"),
    (b"POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", "4"),
    (b"POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "400"),
    (b"POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
     "400"),
    (b"POST /v1/jobs HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", "501"),
    (b"POST /v1/jobs HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n", "401"),
    (b"POST /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer TOKEN\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n", "400"),
    (b"POST /v1/jobs HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", "4"),
    (b"POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 10485760\r\n\r\n{", "401"),
    (b"POST /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer TOKEN\r\nContent-Length: 10485760\r\n\r\n{", "413"),
    (b"GET /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + b"\xff" * 40 + b"\r\n\r\n", "4"),
    (b"GET /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Basic cm9vdDo=\r\n\r\n", "401"),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\r\n\r\n", "400"),
]

S = b"#!/bin/bash\n"
# name of the file, its bytes, a word of the message
FILES = [
    ("a.sh", b"", "1:1"),
    ("a.sh", b"\0\0\0\0", "1:1"),
    ("a.sh", b"echo no first line\n", "1:1"),
    ("a.sh", S + b"echo \xff\xfe\n#SBATCH\n", "UTF-8"),
    ("a.sh", S + b"#SBATCH --ntasks=-1\n", "2:"),
    ("a.sh", S + b"#SBATCH --ntasks=99999999999999999999\n", "2:"),
    ("a.sh", S + b"#SBATCH --nodes=3-1\n", "2:"),
    ("a.sh", S + b"#SBATCH --mem=-5G\n", "2:"),
    ("a.sh", S + b"#SBATCH --mem=99999999999T\n", "2:"),
    ("a.sh", S + b"#SBATCH --gres=gpu:-1\n", "2:"),
    ("a.sh", S + b"#SBATCH --time=1:2:3:4:5\n", "2:"),
    ("a.sh", S + b"#SBATCH --array=0-999999999999\n", "2:"),
    ("a.sh", S + b"#SBATCH --array=-\n", "2:"),
    ("a.sh", S + b"#SBATCH --dependency=afterok:x\n", "2:"),
    ("a.sh", S + b"#SBATCH --nmae=x\n", "did you mean"),
    ("a.sh", S + b"#SBATCH --output=a\tb\x01\n", "2:"),
    ("a.sh", S + b"#SBATCH --job-name='unclosed\n", "2:"),
    ("a.sh", S + b"#SBATCH --chdir\n", "2:"),
    ("a.sh", S + b"#SBATCH --comment=" + b"x" * BIG + b"\n", "a.sh"),
    ("a.sh", S + b"x" * BIG, "a.sh"),
    ("tuxiv.conf", b"\xff\xfe\x00", "tuxiv.conf"),
    ("tuxiv.conf", b"entrypoint: [", "tuxiv.conf:1:"),
    ("tuxiv.conf", b"entrypoint: {a: b}\n", "tuxiv.conf:1:"),
    ("tuxiv.conf", b"entrypoint:\n\t- echo\n", "tuxiv.conf:2:"),
    ("tuxiv.conf", b"a: &a [*a]\nentrypoint: [x]\n", "tuxiv.conf"),
    ("tuxiv.conf", b"[" * 50_000, "tuxiv.conf"),
    ("tuxiv.conf", b"- a\n", "tuxiv.conf:1:"),
    ("tuxiv.conf", b"entrypoint: [x]\njob: {general: [ntasks=-4]}\n", "tuxiv.conf:2:"),
    ("tuxiv.conf", b"entrypoint: [x]\nenvironment: {name: ../../up}\n", "tuxiv.conf:2:"),
    ("tuxiv.conf", b"entrypoint:\n" + b"- " + b"x" * BIG + b"\n", "tuxiv.conf"),
    ("job.yaml", b"command: [true]\ntasks: -1\n", "tasks"),
    ("job.yaml", b"command: true\n", "command"),
    ("job.json", b'{"command": ["a"], "comand": ["b"]}', "did you mean"),
    ("job.json", b'{"command": ["a"]', "job.json"),
    ("job.json", b'{"command":' + b"[" * 90_000, "job.json"),
]


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, cores=4).__enter__()
        cls.kept = cls.cluster.submit({"name": "kept", "command": ["true"], "hold": True})
        cls.before = cls.stored()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    @classmethod
    def stored(cls):
        """Everything that a request could have changed."""
        api = cls.cluster.api
        jobs = api.call("GET", "/v1/jobs?full=1")["jobs"]
        return jobs, api.call("GET", "/v1/objects")["objects"], [n["state"] for n in cls.cluster.nodes()]

    def tearDown(self):
        self.assertIsNone(self.cluster.server.poll(), "the server has ended")
        self.assertEqual(self.stored(), self.before)

    def check(self, label, answer, code, field=None):
        status, headers, body = answer
        with self.subTest(label):
            self.assertTrue(400 <= status < 500, (status, body[:300]))
            self.assertEqual(headers.get("Content-Type", "").split(";")[0], "application/problem+json")
            problem = json.loads(body)
            self.assertEqual(problem["status"], status)
            self.assertTrue(problem["title"] and problem["detail"], problem)
            self.assertLess(len(body), 4000)
            self.assertEqual(problem["code"], code, problem)
            if field:
                self.assertIn(field, problem.get("field", ""), problem)
            elif field == "":  # the body as a whole, or a line of it
                place = problem.get("field", "") + problem["detail"]
                self.assertRegex(place, r"line \d+, column \d+|expected an object|byte|parsing", problem)

    def test_bodies_of_submissions(self):
        for body, code, field in JOBS:
            raw = body if isinstance(body, bytes) else body.encode()
            self.check(raw[:90], self.cluster.api.raw("POST", "/v1/jobs", raw), code, field)

    def test_other_calls(self):
        for method, path, body, code in CALLS:
            self.check((method, path, body), self.cluster.api.raw(method, path, body), code)

    def test_headers(self):
        body = b'{"command": ["true"]}'
        for name, value in [("Idempotency-Key", "k" * 256), ("X-Dove-User", "u" * 65), ("X-Dove-User", "a b\t"),
                            ("X-Dove-User", "../root")]:
            answer = self.cluster.api.raw("POST", "/v1/jobs", body, {name: value})
            with self.subTest((name, value[:10])):
                self.assertTrue(400 <= answer[0] < 500, answer)
                self.assertIn(name, json.loads(answer[2]).get("field", ""))

    def test_broken_http(self):
        host, port = self.cluster.api.host, self.cluster.port
        for sent, status in WIRE:
            with self.subTest(sent[:80]), socket.create_connection((host, port), timeout=20) as peer:
                answer = b""
                try:
                    peer.sendall(sent.replace(b"Bearer TOKEN", self.cluster.api.headers["Authorization"].encode()))
                    peer.shutdown(socket.SHUT_WR)
                    while more := peer.recv(65536):
                        answer += more
                except ConnectionError:
                    pass
                self.assertRegex(answer.split(b"\r\n")[0].decode(), r"^HTTP/1\.1 " + status)
                self.assertIn(b"application/problem+json", answer)

    def test_connections_that_say_nothing(self):
        peers = [socket.create_connection((self.cluster.api.host, self.cluster.port)) for _ in range(200)]
        for i, peer in enumerate(peers):
            if i % 2:
                peer.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\n{")
        self.assertEqual(self.cluster.api.call("GET", "/healthz")["status"], "ok")
        for peer in peers:
            peer.close()

    def test_job_files(self):
        folder = os.path.join(self.cluster.folder, "files")
        environment = {**self.cluster.environment, "DOVE_DATA": self.cluster.data}
        for name, content, word in FILES:
            os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, name)
            with open(path, "wb") as file:
                file.write(content)
            done = subprocess.run([DOVE, "submit", path], env=environment, capture_output=True, timeout=30)
            said = done.stderr.decode()  # fails on what is not UTF-8
            with self.subTest((name, content[:60])):
                self.assertIn(done.returncode, (1, 2), said[:500])
                self.assertIn(word, said[:2000])
                self.assertLess(len(said), 4000)
                self.assertEqual(done.stdout, b"")
            os.unlink(path)

    def test_odd_places_of_files(self):
        folder = os.path.join(self.cluster.folder, "odd")
        os.makedirs(os.path.join(folder, "empty"))
        os.symlink("loop.sh", os.path.join(folder, "loop.sh"))
        for path in (os.path.join(folder, "empty"), os.path.join(folder, "loop.sh"), "/dev/zero", "/proc/self/mem", "a" * 5000, ""):
            with self.subTest(path[:60]):
                done = self.cluster.run("submit", path, check=False, limit_s=20)
                self.assertIn(done.returncode, (1, 2), done.stderr)
                self.assertTrue(done.stderr)

    def test_z_the_log_is_clean(self):
        """Last: what is on disk after all of it decides again to the same."""
        self.assertGreaterEqual(len(JOBS) + len(CALLS) + len(WIRE) + len(FILES), 100)
        done = subprocess.run([DOVE, "replay", "--verify", self.cluster.data], capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
