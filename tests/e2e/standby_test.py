#!/usr/bin/env python3
"""Two controllers and one PostgreSQL: the leader is killed, stopped and continued, and cut from the database, while
jobs are submitted and tasks run. Nothing is lost, nothing happens twice, no task is ended."""
# limit_s: 600
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

import postgres
from cluster import DOVE, SKIP
from controllers import LATE, Controllers, until
from flaky_link import BEHIND_LINKS, HOSTS, FlakyLink, LinkProcess


class Submissions:
    """A thread that submits one small job after another, each under a key of its own, until it is stopped. After `timeout`
    seconds without an answer it asks another controller."""

    def __init__(self, cluster, timeout=5):
        self.cluster, self.ids, self.failed = cluster, [], []
        self.acknowledged = []  # when each was, by the monotonic clock
        self.api = cluster.any_api(timeout)
        self.out = os.path.join(cluster.folder, "ran")
        os.makedirs(self.out, exist_ok=True)
        self.stops = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stops.set()
        self.thread.join(90)

    def run(self):
        while not self.stops.wait(0.02):
            number = len(self.ids)
            job = {"name": f"s{number}", "command": ["/bin/sh", "-c", f"echo $$ >> {self.out}/{number}"]}
            try:
                self.ids.append(self.api.call("POST", "/v1/jobs", job, {"Idempotency-Key": f"key-{number}"})["id"])
                self.acknowledged.append(time.monotonic())
            except Exception as error:  # the test says what it was
                self.failed.append(error)
                return


def connections_to(port):
    """The local ports of the connections to it that stand."""
    with open("/proc/net/tcp") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    return {row[1].split(":")[1] for row in rows if row[2].endswith(f":{port:04X}") and row[3] == "01"}


class StandbyTest(unittest.TestCase):
    """With TLS, as between machines: agents have a port of their own, and certificates that every controller must believe."""

    tls = True

    def setUp(self):
        self.cluster = self.enterContext(Controllers(count=2, nodes=2, tls=self.tls))
        self.long = [self.cluster.submit({"name": "long", "command": ["/bin/sh", "-c",
                                          f"echo $$ >> {self.cluster.folder}/long{i}; sleep 1000"]}) for i in range(2)]
        for job in self.long:
            self.cluster.wait_state(job, "running")
        until(lambda: all(self.pids(i) for i in range(2)), 20, "the tasks' files")
        self.begun = [self.pids(i) for i in range(2)]

    def enterContext(self, context):  # unittest has it from Python 3.11 on
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    def pids(self, i):
        try:
            with open(f"{self.cluster.folder}/long{i}") as file:
                return file.read().split()
        except FileNotFoundError:
            return []

    def check(self, submissions):
        """After a takeover, with nothing submitted any more."""
        cluster = self.cluster
        self.assertEqual(submissions.failed, [])
        self.assertGreater(len(submissions.ids), 10)
        self.assertEqual(len(set(submissions.ids)), len(submissions.ids))
        for number, job in enumerate(submissions.ids):
            self.assertEqual(cluster.wait(job, 120)["state"], "completed")
            with open(f"{submissions.out}/{number}") as file:
                self.assertEqual(len(file.read().split()), 1, f"job {job} ran once")
        listed = [job for job in cluster.api.call("GET", "/v1/jobs?limit=1000")["jobs"] if job["name"].startswith("s")]
        self.assertEqual(len(listed), len(submissions.ids))
        for i, job in enumerate(self.long):
            self.assertEqual(cluster.job(job)["state"], "running")
            self.assertEqual(self.pids(i), self.begun[i], "its task went on")
            os.kill(int(self.begun[i][0]), 0)
        self.assertEqual(cluster.postgres.sql(LATE), [["0"]])
        # The next leader goes on where the last one's time was, however long it stood by.
        with open(cluster.log.name) as log:
            self.assertNotIn('"event":"clock_leapt"', log.read())
        # An agent asks one controller after the other, a quarter of a second and more apart: one of them may have come
        # back and run all that was submitted while the other still waits for its turn.
        until(lambda: [node["contact"] for node in cluster.nodes()] == ["connected"] * 2, 20, "both agents")

    def test_the_leader_is_killed(self):
        first, second = self.cluster.controllers
        self.assertIn("standby of", second.ask("/readyz")[1])
        self.assertEqual(second.ask("/healthz")[0], 200)
        status, body = second.ask("/v1/controllers")
        self.assertEqual((status, json.loads(body)["code"]), (503, "not_leader"))
        self.assertIn(first.url, body)
        self.assertIn("fsync=off", first.ask("/readyz")[1])
        with Submissions(self.cluster) as submissions:
            time.sleep(2)  # for which it stands by: see the clock in check()
            first.kill()
            self.assertIs(self.cluster.wait_leader(but=0), second)
            first.start()
            until(lambda: "standby of" in first.ask("/readyz")[1], 30, "the first to stand by")
            second.kill()
            self.assertIs(self.cluster.wait_leader(but=1), first)
            time.sleep(0.5)
        self.check(submissions)

    def said(self, event):
        """What the log says of such events."""
        with open(self.cluster.log.name, encoding="utf-8", errors="replace") as log:
            return [json.loads(line) for line in log if f'"event":"{event}"' in line]

    def test_agents_are_connected_to_the_next_leader(self):
        """It certifies none of them before it answers, and shakes hands with none."""
        first, second = self.cluster.controllers
        until(lambda: {said["node"] for said in self.said("controller_stands_by") if said["url"].endswith(f":{second.port}")} ==
              {"node1", "node2"}, 90, "both agents to be connected to the standby")
        port = json.loads(second.ask("/healthz")[1])["agents_port"]
        self.assertNotEqual(port, second.port)
        before = connections_to(port)
        self.assertEqual(len(before), 2)
        epoch = self.cluster.api.call("GET", "/v1/cluster")["epoch"]
        certified = self.said("node_certified")
        first.kill()
        self.cluster.wait_leader(but=0)
        until(lambda: {said["node"] for said in self.said("awaited") if said["epoch"] > epoch} == {"node1", "node2"}, 30,
              "both hellos of the new term")
        self.cluster.wait_connected()
        self.assertEqual(self.said("node_certified"), certified)
        self.assertLessEqual(before, connections_to(port), "they go on")
        for i in range(2):
            self.assertEqual(self.pids(i), self.begun[i])

    def test_a_controller_that_begins_anew_takes_no_agents_while_the_lease_is_its_own(self):
        """Its agents learn from the refused connection that the life which counted on them is over."""
        first, second = self.cluster.controllers
        second.kill()
        first.kill()
        # It knows its term by no name: this one is that of the other controller.
        self.cluster.postgres.sql(f"UPDATE dove.leader SET until = now() + interval '1 hour', "
                                  f"holder = '{socket.gethostname()}:{second.port}', url = 'https://renamed:1'")
        first.start()
        until(lambda: "standby of" in first.ask("/readyz")[1], 30, "the first to stand by")
        second.start()
        until(lambda: second.ask("/healthz")[0] == 200, 30, "the other one to answer")
        until(lambda: json.loads(second.ask("/healthz")[1])["agents_port"], 30, "the other one to listen")
        self.assertEqual(json.loads(first.ask("/healthz")[1]), {"status": "ok", "agents_port": 0})

    def test_the_leader_is_stopped_and_continued(self):
        first, second = self.cluster.controllers
        with Submissions(self.cluster) as submissions:
            time.sleep(0.5)
            first.signal(signal.SIGSTOP)
            self.assertIs(self.cluster.wait_leader(but=0), second)
            first.signal(signal.SIGCONT)
            self.assertEqual(first.process.wait(30), 1, "it ends by itself")
            time.sleep(0.5)
        self.check(submissions)

    def test_the_leader_is_cut_from_the_database(self):
        first, second = self.cluster.controllers
        with Submissions(self.cluster) as submissions:
            time.sleep(0.5)
            first.link.silent = True
            self.assertIs(self.cluster.wait_leader(but=0), second)
            code = json.loads(first.ask("/v1/jobs")[1])["code"] if first.process.poll() is None else "lease_over"
            self.assertEqual(code, "lease_over")
            first.link.silent = False
            self.assertEqual(first.process.wait(60), 1, "it ends by itself")
            time.sleep(0.5)
        self.check(submissions)

    def test_it_is_stopped_in_order_and_commands_know_both(self):
        first, second = self.cluster.controllers
        environment = {**os.environ, "DOVE_URL": self.cluster.url, "DOVE_TOKEN": self.cluster.token, **self.cluster.trusts()}
        first.signal(signal.SIGTERM)
        done = subprocess.run([DOVE, "squeue"], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(first.process.wait(30), 0)
        until(second.leads, 20, "the other one to lead")  # the standby may have answered
        for i, job in enumerate(self.long):
            self.assertEqual(self.cluster.job(job)["state"], "running")
            self.assertEqual(self.pids(i), self.begun[i])

    def test_what_reads_a_log_in_sqlite_says_what_to_use(self):
        first = self.cluster.controllers[0]
        for words in (["backup", os.path.join(self.cluster.folder, "copy"), "--data", first.data, "--plain"],
                      ["replay", "--verify", first.data],
                      ["restore", "--in-place", "--data", first.data],
                      ["server", "--data", first.data, "--port", "0"]):
            done = subprocess.run([DOVE, *words], capture_output=True, text=True, timeout=60, check=False)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn("PostgreSQL", done.stdout + done.stderr, words)

    def test_the_doctor_looks_at_the_database(self):
        url = self.cluster.postgres.url()
        def checks():
            done = subprocess.run([DOVE, "doctor", "store", "--store", url, "-o", "json"], capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertEqual(done.returncode, 1, "fsync is off here")
            return {one["subject"]: one for one in json.loads(done.stdout)["checks"]}
        first, second = self.cluster.controllers
        until(lambda: "seen" in checks()["standby"]["evidence"], 20, "the standby to say that it is there")
        found = checks()
        faults = [name for name, one in found.items() if one["verdict"] == "fault"]
        self.assertEqual(faults, ["fsync"], found)
        self.assertIn(first.url, found["leader"]["evidence"])
        self.assertIn(second.url, found["standby"]["evidence"])
        self.assertIn("no synchronous standby", found["replication"]["evidence"])
        self.assertEqual(found["encryption"]["evidence"], "none, and the connection stays on this machine")
        self.assertRegex(found["chain"]["evidence"], r"^it holds from record 1 to \d+$")
        self.assertRegex(found["disk " + self.cluster.postgres.data]["evidence"], " free$")
        second.kill()
        first.kill()
        until(lambda: checks()["leader"]["verdict"] == "fault", 20, "the end of the lease")
        until(lambda: checks()["standby"]["verdict"] == "warning", 20, "the silence of the standby")

    def test_a_database_elsewhere_without_tls_is_told(self):
        # It is here, under an address that is none of loopback's.
        self.cluster.postgres.url = lambda port=None: f"postgres://dove@0.0.0.0:{port or self.cluster.postgres.port}/dove"
        done = subprocess.run([DOVE, "doctor", "store", "--store", self.cluster.postgres.url(), "-o", "json"], timeout=60,
                              capture_output=True, text=True, check=False)
        check = next(one for one in json.loads(done.stdout)["checks"] if one["subject"] == "encryption")
        self.assertEqual(check["verdict"], "warning")
        self.assertIn("none on the way to 0.0.0.0", check["evidence"])
        self.assertIn("sslmode=verify-full", check["remedy"])
        second = self.cluster.controllers[1]
        with open(self.cluster.log.name) as log:
            self.assertNotIn('"event":"store_not_encrypted"', log.read())
            second.kill()
            second.start()
            until(lambda: '"event":"store_not_encrypted"' in log.read(), 30, "the controller to say so")

    def test_the_doctor_sees_when_the_databases_authority_ends(self):
        postgres = self.cluster.postgres
        for days, verdict in ((20, "warning"), (90, "good")):
            certificate, key = (os.path.join(postgres.folder, name) for name in ("own.pem", "own.key"))
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x",
                            "-addext", "subjectAltName=IP:127.0.0.1", "-days", str(days), "-keyout", key, "-out", certificate],
                           check=True, capture_output=True, timeout=30)
            if postgres.user:
                os.chown(key, postgres.user["user"], postgres.user["group"])
            for name, value in (("ssl_cert_file", certificate), ("ssl_key_file", key), ("ssl", "on")):
                postgres.sql(f"ALTER SYSTEM SET {name} = '{value}'")
            postgres.sql("SELECT pg_reload_conf()")
            url = f"{postgres.url()}?sslmode=verify-full&sslrootcert={certificate}"

            def checks():
                done = subprocess.run([DOVE, "doctor", "store", "--store", url, "-o", "json"], capture_output=True, text=True,
                                      timeout=60, check=False)
                return {one["subject"]: one for one in json.loads(done.stdout)["checks"]}
            found = until(lambda: (seen := checks()).get("encryption") and seen, 20, "the database to take its certificate")
            self.assertEqual(found["encryption"]["evidence"], "TLSv1.3; the server's certificate is verified")
            self.assertEqual(found["certificate " + certificate]["verdict"], verdict, found)

    def test_keys_of_another_cluster_are_refused(self):
        second = self.cluster.controllers[1]
        second.kill()
        with open(os.path.join(second.data, "secret"), "w") as file:
            file.write("0" * 64)
        second.start()
        self.assertNotEqual(second.process.wait(30), 0)


class PlainTest(StandbyTest):
    """As on one machine."""

    tls = False
    test_agents_are_connected_to_the_next_leader = None
    test_a_controller_that_begins_anew_takes_no_agents_while_the_lease_is_its_own = None
    test_the_leader_is_cut_from_the_database = test_what_reads_a_log_in_sqlite_says_what_to_use = None
    test_it_is_stopped_in_order_and_commands_know_both = test_keys_of_another_cluster_are_refused = None
    test_the_leader_is_stopped_and_continued = test_the_doctor_looks_at_the_database = None
    test_a_database_elsewhere_without_tls_is_told = None


class ProofTest(unittest.TestCase):
    def test_what_a_standby_says_is_no_proof(self):
        """The leader sees a break and counts on the fence; the agent reaches the standby alone, and lets its task
        end before another one begins."""
        options = ["--fence-s", "2", *BEHIND_LINKS]
        with Controllers(count=2, nodes=0, cores=1, tls=True, fixed_ports=True, server_options=options) as cluster:
            first, second = cluster.controllers
            ports = (first.port, first.agents_port)
            with FlakyLink(*ports, HOSTS[0]) as one, FlakyLink(*ports, HOSTS[1]) as other:
                links = {"node1": one, "node2": other}
                for name, link in links.items():
                    cluster.agent_url = f"{link.url},{second.url}"
                    cluster.names.append(name)
                    cluster.start_agent(name)
                cluster.wait_connected()
                marks = os.path.join(cluster.folder, "marks")
                os.mkdir(marks)
                script = f"while date +%s.%N > {marks}/$DOVE_NODE.new; do " \
                         f"mv {marks}/$DOVE_NODE.new {marks}/$DOVE_NODE; sleep 0.05; done"
                job = cluster.submit({"name": "long", "command": ["sh", "-c", script], "cores": 1})
                cluster.wait_state(job, "running")
                until(lambda: os.listdir(marks), 20, "the task's mark")
                node = cluster.job(job)["attempts"][-1]["placements"][-1]["node_name"]
                elsewhere = next(name for name in links if name != node)
                links[node].drop = 1.0
                until(lambda: links[node].cut > 0, 20, "the break")
                links[node].silent = True
                until(lambda: os.path.exists(f"{marks}/{elsewhere}"), 60, "the task to run elsewhere")
                begun = time.time()
                with open(f"{marks}/{node}") as file:
                    self.assertLess(float(file.read()), begun - 0.1, "its former task had ended")
                self.assertTrue(first.leads())


class CutFromAgentsTest(unittest.TestCase):
    def test_a_leader_that_no_agent_reaches_leads_on(self):
        """It has its database, and what the agents hear from the standby proves nothing: nobody takes over, no task ends,
        and what was submitted meanwhile runs once they are back."""
        options = ["--silent-after-s", "2", *BEHIND_LINKS]
        with Controllers(count=2, nodes=0, tls=True, fixed_ports=True, server_options=options) as cluster:
            first, second = cluster.controllers
            links = [LinkProcess(one.port, one.agents_port) for one in cluster.controllers]
            try:
                cluster.agent_url = ",".join(link.url for link in links)
                for name in ("node1", "node2"):
                    cluster.names.append(name)
                    cluster.start_agent(name)
                cluster.wait_connected()
                long = cluster.submit({"name": "long", "command": ["sleep", "1000"]})
                cluster.wait_state(long, "running")
                epoch = cluster.api.call("GET", "/v1/cluster")["epoch"]
                links[0].set_silent(True)
                until(lambda: all(node["contact"] == "silent" for node in cluster.nodes()), 30, "the silence to be noticed")
                later = cluster.submit({"name": "later", "command": ["true"]})
                self.assertTrue(first.leads())
                self.assertIn("standby of", second.ask("/readyz")[1])
                links[0].set_silent(False)
                cluster.wait_connected(60)
                self.assertEqual(cluster.wait(later)["state"], "completed")
                found = cluster.job(long)
                self.assertEqual((found["state"], len(found["attempts"])), ("running", 1))
                self.assertEqual(cluster.api.call("GET", "/v1/cluster")["epoch"], epoch)
            finally:
                for link in links:
                    link.end()


if __name__ == "__main__":
    if why := postgres.missing():
        print(f"skipped: {why}")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
