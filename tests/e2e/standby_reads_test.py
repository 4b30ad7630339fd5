#!/usr/bin/env python3
"""Two controllers and one PostgreSQL: the one that stands by answers reads as the leader does, with everybody's rights, and
never without what its client has written. What only the leader knows, and a log that it cannot follow, it refuses."""
# limit_s: 300
import http.client
import json
import os
import subprocess
import sys
import threading
import time
import unittest
import urllib.parse

import postgres
from cluster import DOVE, ROOT, SKIP, Api
from controllers import Controllers, until

sys.path.insert(0, os.path.join(ROOT, "python"))
from dove.connection import Api as PythonApi  # noqa: E402
from dove.endpoint import Endpoint  # noqa: E402

HEAD = "Dove-Log-Head"
# Not in the log: known by the leader alone, or of this controller.
LIVE = ("observed_by", "version", "agent_pid", "not_enforced", "now_us", "refusals", "progress", "steps",
        "warnings", "shares", "refused")


def stripped(value):
    if isinstance(value, dict):
        return {key: stripped(item) for key, item in value.items() if key not in LIVE}
    return [stripped(item) for item in value] if isinstance(value, list) else value


class StandbyReadsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Controllers(count=2, nodes=1, cores=2).__enter__()
        cls.first, cls.second = cls.cluster.controllers
        cls.leader = Api(cls.first.url, cls.cluster.token)
        cls.standby = Api(cls.second.url, cls.cluster.token)
        cls.tokens = {name: cls.leader.call("POST", f"/v1/users/{name}/token?create=1")["token"] for name in ("ada", "bob")}
        cls.leader.call("PUT", "/v1/objects/queue/slow", {"kind": "Queue", "name": "slow", "weight": 2})
        ada = Api(cls.first.url, cls.tokens["ada"])
        cls.ended = ada.call("POST", "/v1/jobs", {"name": "ended", "command": ["true"]})["id"]
        cls.cluster.wait(cls.ended)
        cls.running = ada.call("POST", "/v1/jobs", {"name": "running", "command": ["sleep", "1000"], "cores": 2})["id"]
        cls.cluster.wait_state(cls.running, "running")
        cls.waiting = ada.call("POST", "/v1/jobs", {"name": "waiting", "command": ["true"], "cores": 2})["id"]

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def both(self, path, token=None):
        """What leader and standby answer, the standby no less than the leader knew."""
        one, other = (Api(controller.url, token or self.cluster.token) for controller in (self.first, self.second))
        status, headers, text = one.raw("GET", path)
        self.assertIn(HEAD, headers, path)
        other_status, other_headers, other_text = other.raw("GET", path, headers={HEAD: headers[HEAD]})
        self.assertGreaterEqual(int(other_headers.get(HEAD, 0)), int(headers[HEAD]), (path, other_text))
        return (status, text), (other_status, other_text)

    def test_reads_are_those_of_the_leader(self):
        head = int(self.leader.raw("GET", "/v1/cluster")[1][HEAD])
        for path in ("/v1/jobs?limit=1000&full=1", "/v1/jobs?order=newest&limit=2", "/v1/jobs?state=waiting", f"/v1/jobs/{self.ended}",
                     f"/v1/jobs/{self.running}", f"/v1/jobs/{self.waiting}/why", "/v1/nodes", "/v1/nodes/node1", "/v1/pools",
                     "/v1/queues", "/v1/objects", "/v1/objects/queue/slow", "/v1/keys", "/v1/secrets", "/v1/me", "/v1/cluster",
                     "/v1/apps", "/v1/identity-keys", "/v1/quota?user=ada", "/version", "/v1/users/ada/ssh-keys",
                     f"/v1/events?limit=50&after={head - 40}", "/v1/events?audit=1&order=newest&limit=20"):
            for _ in range(20):  # the log may go on between the two
                (status, text), (other_status, other_text) = self.both(path)
                self.assertEqual((status, other_status), (200, 200), (path, other_text))
                one, other = stripped(json.loads(text)), stripped(json.loads(other_text))
                if one == other:
                    break
            self.assertEqual(one, other, path)
        shown = self.standby.call("GET", f"/v1/jobs/{self.running}")
        self.assertEqual(shown["observed_by"], self.first.url)
        self.assertNotIn("observed_by", self.leader.call("GET", f"/v1/jobs/{self.running}"))
        self.assertEqual(self.standby.call("GET", "/v1/nodes")["nodes"][0]["observed_by"], self.first.url)

    def test_metrics_say_who_leads(self):
        for api, leads in ((self.leader, "1"), (self.standby, "0")):
            text = api.raw("GET", "/metrics")[2].decode()
            self.assertIn(f"dove_controller_leads {leads}\n", text)
            self.assertIn("dove_jobs_running 1\n", text)

    def test_the_console_is_served(self):
        one, other = (self.first.ask("/"), self.second.ask("/"))
        self.assertEqual(one, other)

    def test_own_writes_are_seen(self):
        """Asked at once, a standby waits for the record; it would be tens of milliseconds behind."""
        for number in range(30):
            status, headers, text = self.leader.raw("POST", "/v1/jobs", {"name": f"own{number}", "command": ["true"], "cores": 2})
            self.assertEqual(status, 201)
            job = json.loads(text)["id"]
            shown = self.standby.call("GET", f"/v1/jobs/{job}", headers={HEAD: headers[HEAD]})
            self.assertEqual(shown["name"], f"own{number}")
            status, headers, _ = self.leader.raw("DELETE", f"/v1/jobs/{job}")
            self.assertEqual(self.standby.call("GET", f"/v1/jobs/{job}", headers={HEAD: headers[HEAD]})["phase"], "ended")

    def test_commands_and_the_package_see_what_they_wrote(self):
        urls = f"{self.second.url},{self.first.url}"
        environment = {**os.environ, "DOVE_URL": urls, "DOVE_TOKEN": self.tokens["ada"]}

        def dove(*words):
            done = subprocess.run([DOVE, *words], env=environment, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, (words, done.stderr))
            return done.stdout
        for _ in range(10):  # each in a process of its own: a job that the standby does not know yet is the leader's to tell
            job = dove("submit", "--cores", "2", "-o", "name", "--", "true").strip()
            dove("why", job)
            dove("cancel", job)
        api = PythonApi(Endpoint(url=urls, token=self.tokens["ada"]))
        for _ in range(10):
            job = api.post("/v1/jobs", {"name": "from Python", "command": ["true"], "cores": 2}, key=os.urandom(8).hex())["id"]
            api._at = 0  # the standby
            self.assertEqual(api.get(f"/v1/jobs/{job}")["name"], "from Python")
            self.assertEqual(api._at, 0, "the standby has answered")
            api.post(f"/v1/jobs/{job}/cancel")
            api._at = 0
            self.assertEqual(api.get(f"/v1/jobs/{job}")["phase"], "ended")

    def test_rights_are_those_of_the_log(self):
        before = self.leader.call("GET", "/v1/objects/cluster/cluster")["job_visibility"]
        self.leader.call("PUT", "/v1/objects/cluster/cluster", {"kind": "Cluster", "job_visibility": "members"})
        try:
            for path in (f"/v1/jobs/{self.running}", f"/v1/jobs/{self.waiting}/why", "/v1/jobs", "/v1/events?audit=1", "/v1/keys",
                         "/v1/events?limit=10000", "/v1/me", "/v1/users/ada/ssh-keys", "/v1/secrets", "/metrics"):
                (status, text), (other_status, other_text) = self.both(path, self.tokens["bob"])
                if path == "/metrics":
                    self.assertNotIn(b'"ada"', text + other_text)
                    continue
                self.assertEqual(status, other_status, (path, text, other_text))
                if status != 200:
                    self.assertEqual(json.loads(text)["code"], json.loads(other_text)["code"])
                elif path == "/v1/jobs":
                    self.assertEqual(json.loads(other_text)["jobs"], [])
                elif "events" not in path:
                    self.assertEqual(stripped(json.loads(text)), stripped(json.loads(other_text)), path)
            self.assertEqual(self.both(f"/v1/jobs/{self.running}", self.tokens["bob"])[1][0], 403)
        finally:
            self.leader.call("PUT", "/v1/objects/cluster/cluster", {"kind": "Cluster", "job_visibility": before})
        self.assertEqual(self.refusal(Api(self.second.url, "nobody's"), "/v1/jobs"), "not_leader", "the leader may know it")
        connection = http.client.HTTPConnection("127.0.0.1", self.second.port, timeout=5)
        connection.request("GET", "/v1/jobs")
        self.assertEqual(connection.getresponse().status, 401)
        connection.close()

    def test_what_it_refuses_is_in_its_own_log_as_the_audit_has_it(self):
        self.assertEqual(Api(self.second.url, self.tokens["bob"]).raw("GET", "/v1/events?audit=1")[0], 403)

        def refused():
            with open(os.path.join(self.cluster.folder, "processes.log")) as file:
                lines = [json.loads(line) for line in file if '"event":"access_refused"' in line]
            return [line for line in lines if line["who"] == "bob" and line["operation"] == "getEvents"]
        line = until(refused, 20, "the standby to log it")[0]
        self.assertEqual({"address", "code", "times"} - line.keys(), set(), line)
        self.assertEqual((line["address"], line["times"] >= 1), ("127.0.0.1", True))

        def shown():
            standby = self.leader.call("GET", "/v1/controllers")["controllers"][1]["refused"]
            return [one for one in standby["last"] if (one["who"], one["operation"]) == ("bob", "getEvents")]
        one = until(shown, 20, "the leader to show it")[0]
        self.assertEqual((one["address"], one["code"], one["times"] >= 1), ("127.0.0.1", line["code"], True))
        self.assertLess(one["ago_ms"], 60_000)
        self.assertGreaterEqual(self.leader.call("GET", "/v1/controllers")["controllers"][1]["refused"]["calls"], 1)

    def refusal(self, api, path, method="GET", body=None):
        status, headers, text = api.raw(method, path, body)
        self.assertEqual(status, 503, (path, text))
        self.assertEqual((headers["Dove-Leader"], headers["Retry-After"]), (self.first.url, "1"), path)
        return json.loads(text)["code"]

    def test_what_only_the_leader_knows_is_refused(self):
        for path in (f"/v1/jobs/{self.running}/why", f"/v1/jobs/{self.running}/logs", f"/v1/jobs/{self.running}/exec",
                     "/v1/controllers", "/v1/ssh-gateway", "/v1/users/ada/notices", "/v1/sign-in", "/v1/jobs/999999", "/v1/nodes/none"):
            self.assertEqual(self.refusal(self.standby, path), "not_leader", path)
        for path in ("/v1/agents/node1/stream", "/v1/nothing"):  # no operations of the API
            status, text = self.second.ask(path)
            self.assertEqual((status, json.loads(text)["code"]), (503, "not_leader"), path)
        for method, path, body in (("POST", "/v1/jobs", {"command": ["true"]}), ("DELETE", f"/v1/jobs/{self.running}", None),
                                   ("POST", "/v1/sign-in", {"token": "x"}), ("PUT", "/v1/objects/queue/q", {"kind": "Queue"})):
            status, _, text = self.standby.raw(method, path, body)
            self.assertEqual((status, json.loads(text)["code"]), (503, "not_leader"), path)
            self.assertIn(self.first.url, json.loads(text)["detail"])
        self.assertEqual(self.second.ask("/readyz")[0], 503)

    def test_a_record_that_does_not_come_is_refused_in_time(self):
        begun = time.monotonic()
        status, headers, text = self.standby.raw("GET", "/v1/jobs", headers={HEAD: "123456789"})
        self.assertEqual((status, json.loads(text)["code"]), (503, "standby_behind"))
        self.assertEqual((headers["Dove-Leader"], headers["Retry-After"]), (self.first.url, "1"))
        self.assertTrue(1.5 < time.monotonic() - begun < 4)
        self.assertEqual(self.standby.raw("GET", "/v1/jobs", headers={HEAD: "soon"})[0], 400)
        begun = time.monotonic()
        for path, status in (("/v1/jobs", 401), ("/version", 200)):  # nothing waits for somebody without a token
            connection = http.client.HTTPConnection("127.0.0.1", self.second.port, timeout=5)
            connection.request("GET", path, headers={HEAD: "123456789"})
            self.assertEqual(connection.getresponse().status, status, path)
            connection.close()
        self.assertLess(time.monotonic() - begun, 1.5)

    def test_what_stays_open_goes_on(self):
        lines, where = [], urllib.parse.urlsplit(self.second.url)
        connection = http.client.HTTPConnection(where.hostname, where.port, timeout=20)
        connection.request("GET", "/v1/events", headers={"Authorization": f"Bearer {self.cluster.token}", "Accept": "text/event-stream"})
        stream = connection.getresponse()
        self.assertEqual(stream.status, 200)
        head = int(self.standby.raw("GET", "/v1/cluster")[1][HEAD])
        answered = []
        watch = threading.Thread(target=lambda: answered.append(
            Api(self.second.url, self.cluster.token).call("GET", f"/v1/jobs?since={head}&wait_s=20")))
        watch.start()
        job = self.leader.call("POST", "/v1/jobs", {"name": "watched", "command": ["true"], "cores": 2})["id"]
        while not any(b"JobSubmitted" in line for line in lines):
            lines.append(stream.readline())
            self.assertTrue(lines[-1], "the stream ended")
        watch.join(20)
        self.assertIn(job, [one["id"] for one in answered[0]["jobs"]])
        waited = []
        wait = threading.Thread(target=lambda: waited.append(
            Api(self.second.url, self.cluster.token).raw("GET", f"/v1/jobs/{job}/wait?until=ended")[2]))
        wait.start()
        time.sleep(0.2)
        self.leader.call("DELETE", f"/v1/jobs/{job}")
        wait.join(20)
        self.assertIn(b"cancelled", waited[0])
        connection.close()

    def test_who_cannot_follow_the_log_answers_nothing(self):
        self.assertEqual(self.standby.raw("GET", "/v1/jobs")[0], 200)
        self.second.link.silent = True
        begun = time.monotonic()
        try:
            until(lambda: self.second.ask("/v1/cluster")[0] == 503, 15, "the standby to refuse")
            self.assertLess(time.monotonic() - begun, 10)
            self.assertEqual(json.loads(self.standby.raw("GET", "/v1/jobs")[2])["code"], "not_leader")
        finally:
            self.second.link.silent = False
        until(lambda: self.standby.raw("GET", "/v1/jobs")[0] == 200, 60, "the standby to follow again")


class TakeoverTest(unittest.TestCase):
    def test_a_former_leader_and_a_new_one_answer(self):
        with Controllers(count=2, nodes=1) as cluster:
            first, second = cluster.controllers
            job = cluster.submit({"name": "long", "command": ["sleep", "1000"]})
            cluster.wait_state(job, "running")
            environment = {**os.environ, "DOVE_URL": cluster.url, "DOVE_TOKEN": cluster.token}
            for old, new in ((first, second), (second, first)):
                until(lambda: len(cluster.api.call("GET", "/v1/controllers")["controllers"]) == 2, 20, "the standby to be known")
                subprocess.run([DOVE, "controller", "hand-over"], env=environment, check=True, timeout=60, stdout=subprocess.DEVNULL)
                until(new.leads, 30, "the other one to lead")
                api = Api(old.url, cluster.token)
                until(lambda: api.raw("GET", f"/v1/jobs/{job}")[0] == 200, 20, "the former leader to answer reads")
                until(lambda: api.call("GET", f"/v1/jobs/{job}")["observed_by"] == new.url, 20, "the new leader to be named")
                written = Api(new.url, cluster.token).raw("POST", "/v1/jobs", {"name": "next", "command": ["true"]})
                status, _, text = api.raw("GET", f"/v1/jobs/{json.loads(written[2])['id']}", headers={HEAD: written[1][HEAD]})
                self.assertEqual(status, 200, text)


if __name__ == "__main__":
    if why := postgres.missing():
        print(f"skipped: {why}")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
