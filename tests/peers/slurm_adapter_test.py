#!/usr/bin/env python3
# limit_s: 600
# waits
"""dove slurm beside a real Slurm: what Slurm runs is reported device by device, placeholders hold exactly what is
wanted, and nothing is left behind or taken to have ended when one of the sides is killed. The controller is a fake that
speaks POST /v1/executors/slurm/sync.

Skips where Slurm (tools/setup peers, as root) is missing.
"""
import datetime
import http.server
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import unittest
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests/e2e"), os.path.join(ROOT, "bench")]
from cluster import DOVE, SKIP, until  # noqa: E402
from ports import free_port  # noqa: E402
from slurm_lab import SlurmLab, available, job_fields, placeholder_user  # noqa: E402

GIB = 1 << 30
KEY = "the-key-of-the-service-account"


class FakeController:
    """Keeps the last report and says what is wanted, as the real one does; refuses reports that come too late."""

    def __init__(self):
        self.changed = threading.Condition()
        self.version, self.versions, self.wanted, self.reports, self.last = 1, {1}, [], [], {}
        self.refusing, self.refused = False, 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = outer.answer(self.path, self.headers["Authorization"], body)
                text = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, path, key, body):
        if path != "/v1/executors/slurm/sync" or key != "Bearer " + KEY:
            return 401, {"title": "Unauthorized", "status": 401, "detail": "who are you?"}
        with self.changed:
            if self.refusing:
                self.refused += 1
                return 503, {"title": "Unavailable", "status": 503, "detail": "not now"}
            if body["number"] <= self.last.get(body["incarnation"], 0):
                return 409, {"title": "Conflict", "status": 409, "detail": "an older report"}
            self.last[body["incarnation"]] = body["number"]
            if body["seen"] not in self.versions:  # a hello: it may be from before a restart
                return 200, {"version": self.version, "wanted": self.wanted}
            self.reports.append((time.time(), body))
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.version != body["seen"] or self.refusing, timeout=body["wait_s"])
            if self.refusing:
                return 503, {"title": "Unavailable", "status": 503, "detail": "not now"}
            return 200, {"version": self.version, "wanted": self.wanted}

    def want(self, *wanted):
        with self.changed:
            self.wanted, self.version = list(wanted), self.version + 1
            self.versions.add(self.version)
            self.changed.notify_all()

    def report(self):
        with self.changed:
            return self.reports[-1][1] if self.reports else {"allocations": [], "placeholders": [], "nodes": []}

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def wanted(job, node, devices, attempt=1, cores=(0, 1), memory=GIB, until=None, user="nobody"):
    return {"job": job, "attempt": attempt, "node": node, "cores": list(cores), "devices": devices,
            "memory_bytes": memory, "until": until, "user": user, "name": "train"}


class SlowPrologLab(SlurmLab):
    """Its nodes prepare for ten seconds after an allocation, and salloc waits for them."""

    def write_config(self):
        super().write_config()
        prolog = self.folder + "/prolog"
        with open(os.open(prolog, os.O_WRONLY | os.O_CREAT, 0o755), "w") as file:
            file.write("#!/bin/sh\nsleep 10\n")
        with open(self.folder + "/slurm.conf", "a") as file:
            file.write(f"PrologFlags=Alloc\nProlog={prolog}\n")


class Bed(unittest.TestCase):
    maxDiff = None
    make_lab = staticmethod(lambda: SlurmLab(nodes=6, cpus=4, gpus=4))

    @classmethod
    def setUpClass(cls):
        cls.lab = cls.make_lab().__enter__()
        cls.addClassCleanup(cls.lab.__exit__, None, None, None)

    def setUp(self):
        self.controller = FakeController()
        self.addCleanup(self.controller.stop)
        self.folder = self.lab.folder
        self.key = self.folder + "/key"
        with open(self.key, "w") as file:
            file.write(KEY + "\n")
        self.adapter = None
        self.addCleanup(self.clear)
        self.start_adapter()

    def adapter_options(self):
        self.metrics_port = free_port()
        return ["--metrics", f"127.0.0.1:{self.metrics_port}"]

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=10) as answer:
            return answer.read().decode()

    def start_adapter(self):
        self.log = open(f"{self.folder}/log/adapter", "ab")
        self.adapter = subprocess.Popen(
            [DOVE, "slurm", "--url", self.controller.url, "--key-file", self.key, "--executor", "slurm",
             *self.adapter_options()],
            env=self.lab.environment, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.log.close()

    def end_adapter(self, how=signal.SIGTERM):
        self.adapter.send_signal(how)
        code = self.adapter.wait(15)
        self.adapter = None
        return code

    def clear(self):
        if self.adapter:
            self.end_adapter()
        self.lab.run("scancel -u root; scancel -u nobody")
        self.lab.until("squeue -h", lambda out: not out.strip())

    # -- Slurm's side

    def sbatch(self, *options, script="sleep 300"):
        return int(self.lab.run(["sbatch", "--parsable", "-c", "1", "--mem=100", "-o", "/dev/null", *options, "--wrap",
                                 script]))

    def running(self, job):
        self.lab.until(f"squeue -h -j {job} -o %T", lambda out: out.strip() == "RUNNING")
        return self.fields(job)

    def fields(self, job):
        return job_fields(self.lab.run(f"scontrol show job -d {job}"))

    def indices(self, job):
        """Those of all its devices, as scontrol -d shows them."""
        return sorted(int(i) for i in re.findall(r"\(IDX:(\d+)\)", self.lab.run(f"scontrol show job -d {job}")))

    def jobs(self, *states):
        """(id, name) of the jobs in Slurm's queue."""
        option = ["-t", ",".join(states)] if states else []
        lines = self.lab.run(["squeue", "-h", "-o", "%i %j", *option]).splitlines()
        return [tuple(line.split(maxsplit=1)) for line in lines]

    # -- the controller's side

    def allocation(self, job, node=None):
        return next((one for one in self.controller.report()["allocations"]
                     if one["id"] == str(job) and node in (None, one["node"])), None)

    def placeholder(self, job, node):
        return next((one for one in self.controller.report()["placeholders"]
                     if (one["job"], one["node"]) == (job, node)), None)

    def placed(self, job, node, state="confirmed", limit_s=15):
        """The report of the placeholder once it is in that state."""
        def found():
            one = self.placeholder(job, node)
            return one if one and one["state"] == state else None
        try:
            return until(found, limit_s, f"the placeholder of {job} on {node} to be {state}")
        except TimeoutError as error:
            raise AssertionError(f"{error}: {self.controller.report()}") from None


class Adapter(Bed):
    def test_a_foreign_job_is_reported_with_its_devices_and_cores(self):
        until(lambda: self.controller.reports, 10, "the first report")
        first = self.sbatch("--gres=gpu:1", "-w", "n0", "-J", "first")
        self.running(first)
        started = time.time()
        one = until(lambda: self.allocation(first), 10, "the report")
        self.assertLess(time.time() - started, 5)
        self.assertEqual((one["node"], one["devices"], one["cores"], one["memory_bytes"], one["name"], one["user"]),
                         ("n0", [0], [0], 100 << 20, "first", "root"))
        self.assertIsNone(one["ends_by"])
        second = self.sbatch("--gres=gpu:h200_2:1", "-w", "n0", "-t", "60", "-J", "second")
        self.running(second)
        two = until(lambda: self.allocation(second), 10, "the report")
        self.assertEqual((two["devices"], two["cores"]), ([2], [1]))
        self.assertRegex(two["ends_by"], r"^20\d\d-\d\d-\d\dT")
        both = self.sbatch("-N2", "-n2", "-w", "n1,n2", "--gres=gpu:2", "-J", "both")
        self.running(both)
        until(lambda: self.allocation(both, "n1") and self.allocation(both, "n2"), 10, "both nodes")
        self.assertEqual(self.allocation(both, "n2")["devices"], [0, 1])
        self.lab.run(["scancel", str(first)])
        until(lambda: not self.allocation(first), 15, "its end")
        self.assertEqual(self.allocation(second)["devices"], [2])

    def test_a_placeholder_holds_exactly_its_device(self):
        self.controller.want(wanted(17, "n3", [2]))
        placed = self.placed(17, "n3")
        self.assertEqual(placed["devices"], [2])
        self.assertEqual(self.indices(placed["id"]), [2])
        self.assertEqual(self.jobs(), [(placed["id"], "dove-17.1@dove")])
        self.assertIsNone(self.allocation(placed["id"]), "ours is not foreign")
        self.assertEqual(self.fields(placed["id"])["UserId"], placeholder_user("nobody(65534)"))
        # Foreign jobs get the lowest free devices, and never the one that is held.
        theirs = self.sbatch("--gres=gpu:3", "-w", "n3")
        self.running(theirs)
        self.assertEqual(self.indices(theirs), [0, 1, 3])
        self.controller.want()
        until(lambda: not self.placeholder(17, "n3"), 10, "the release")
        until(lambda: [name for _, name in self.jobs()] == ["wrap"], 10, "the release in Slurm")

    def test_t19_a_release_out_of_order_does_not_collide(self):
        """T-19: A gets 0 and B gets 1, A ends, and C is ours: in order it would be on device 1 on one side."""
        a = self.sbatch("--gres=gpu:1", "-w", "n0")
        self.running(a)
        b = self.sbatch("--gres=gpu:1", "-w", "n0")
        self.running(b)
        self.assertEqual((self.indices(a), self.indices(b)), ([0], [1]))
        self.lab.run(["scancel", str(a)])
        until(lambda: not self.allocation(a) and self.allocation(b), 15, "the end of A to be reported")
        self.assertEqual(self.allocation(b)["devices"], [1])
        self.controller.want(wanted(19, "n0", [0]))  # what the ledger saw free
        self.assertEqual(self.indices(self.placed(19, "n0")["id"]), [0])
        d = self.sbatch("--gres=gpu:1", "-w", "n0")
        self.running(d)
        self.assertEqual(self.indices(d), [2])
        self.controller.want(wanted(19, "n0", [0]), wanted(20, "n0", [1]))  # what B still holds
        self.assertIn(f"Slurm job {b} of root", self.placed(20, "n0", "refused")["why"])

    def test_the_slides_example_field_by_field(self):
        """T-16: 2 CPUs, 4 GB and 1 GPU on each of four nodes."""
        nodes = ("n1", "n3", "n4", "n5")
        self.controller.want(*(wanted(16, node, [i % 4], attempt=2, memory=4 * GIB)
                               for i, node in enumerate(nodes)))
        for i, node in enumerate(nodes):
            fields = self.fields(self.placed(16, node)["id"])
            expected = {"JobName": "dove-16.2@dove", "JobState": "RUNNING", "NodeList": node, "NumNodes": "1",
                        "NumCPUs": "2", "CPUs/Task": "2", "TRES": "cpu=2,mem=4G,node=1,billing=2", "Mem": "4096",
                        "MinMemoryNode": "4G", "CPU_IDs": "0-1", "GRES": f"gpu:h200_{i % 4}:1(IDX:{i % 4})",
                        "TresPerNode": f"gres:gpu:h200_{i % 4}:1", "ReqNodeList": node, "UserId": placeholder_user("nobody(65534)"),
                        "TimeLimit": "UNLIMITED", "BatchFlag": "0", "AdminComment": "dovetail",
                        "Comment": "dovetail"}
            self.assertEqual({name: fields.get(name) for name in expected}, expected)

    def test_the_slides_example_the_other_way_field_by_field(self):
        """T-17: a user's job of Slurm's with 2 CPUs, 4 GB and 1 GPU on each of four nodes, as the ledger hears of it."""
        nodes = ["n1", "n3", "n4", "n5"]
        job = self.sbatch("-J", "slide", "-N4", "-n4", "-c", "2", "--mem=4G", "--gres=gpu:1", "-w", ",".join(nodes), "-t", "30")
        fields = self.running(job)
        until(lambda: all(self.allocation(job, node) for node in nodes), 15, "all four nodes")
        ends = datetime.datetime.fromisoformat(fields["EndTime"]).astimezone(datetime.timezone.utc)
        expected = {"id": str(job), "name": "slide", "user": "root", "account": "", "partition": fields["Partition"],
                    "priority": int(fields["Priority"]), "cores": [0, 1], "memory_bytes": 4 * GIB, "devices": [0],
                    "ends_by": ends.strftime("%Y-%m-%dT%H:%M:%S.000000Z")}
        for node in nodes:
            self.assertEqual({name: self.allocation(job, node)[name] for name in expected}, expected)
        self.assertIsNone(self.allocation(job, "n2"))
        self.lab.run(["scancel", str(job)])
        until(lambda: not self.allocation(job), 15, "its end")

    def test_a_device_that_slurm_holds_is_refused_and_leaves_nothing_in_the_queue(self):
        theirs = self.sbatch("--gres=gpu:h200_1:1", "-w", "n2")
        self.running(theirs)
        until(lambda: self.allocation(theirs), 10, "its report")
        self.controller.want(wanted(21, "n2", [1]))
        self.assertIn(f"Slurm job {theirs}", self.placed(21, "n2", "refused")["why"])
        self.assertEqual(self.jobs(), [(str(theirs), "wrap")])
        # No device is in the way here, but the cores are: Slurm itself refuses, at once.
        full = self.sbatch("-c", "4", "-w", "n1")
        self.running(full)
        self.controller.want(wanted(22, "n1", [0]))
        self.assertIn("no room", self.placed(22, "n1", "refused")["why"])
        self.assertEqual(sorted(self.jobs()), sorted([(str(theirs), "wrap"), (str(full), "wrap")]))
        self.controller.want(wanted(22, "n1", [0], attempt=2), wanted(23, "nowhere", [0]))
        self.assertIn("no node nowhere", self.placed(23, "nowhere", "refused")["why"])

    def test_slurmctld_killed_and_back(self):
        theirs = self.sbatch("--gres=gpu:1", "-w", "n0")
        self.running(theirs)
        self.controller.want(wanted(24, "n0", [3]))
        held = self.placed(24, "n0")["id"]
        self.lab.save_jobs()
        self.lab.kill_controller()
        try:
            until(lambda: self.controller.report().get("complete") is False, 40, "Slurm's silence to be reported")
            self.assertIsNotNone(self.allocation(theirs), "what was there is not taken to have ended")
            self.assertEqual(self.placeholder(24, "n0")["state"], "confirmed")
            self.controller.want(wanted(24, "n0", [3]), wanted(25, "n1", [1]))
        finally:
            self.lab.start_controller()
        back = time.time()
        self.assertEqual(self.indices(self.placed(25, "n1", limit_s=30)["id"]), [1])
        self.assertLess(time.time() - back, 10)
        self.assertEqual(self.placed(24, "n0")["id"], held)
        self.assertEqual(self.allocation(theirs)["devices"], [0])
        self.assertEqual(len(self.jobs()), 3)

    def test_slurmctld_forgets_a_placeholder(self):
        """Killed before it has saved its jobs: it is asked for again."""
        self.controller.want(wanted(32, "n2", [1]))
        self.placed(32, "n2")
        self.lab.kill_controller()
        until(lambda: self.controller.report().get("complete") is False, 40, "Slurm's silence to be reported")
        self.lab.start_controller()
        until(lambda: self.controller.report().get("complete"), 40, "Slurm's return to be reported")
        # What slurmctld still knows of the former one is ended first.
        named = lambda: [job for job, name in self.jobs("RUNNING") if name == "dove-32.1@dove"]
        until(lambda: named() == [self.placed(32, "n2")["id"]], 30, "one that runs, and its report")
        self.assertEqual(self.indices(named()[0]), [1])

    def test_slurm_forgets_a_placeholder_while_the_adapter_is_away(self):
        self.controller.want(wanted(37, "n2", [1]))
        held = self.placed(37, "n2")["id"]
        self.end_adapter(signal.SIGKILL)
        self.lab.forget_soon()
        self.addCleanup(self.lab.forget_soon, 300)
        self.lab.run(["scancel", held])
        self.lab.until(f"squeue --states=all --noheader -j {held}", lambda out: not out.strip(), 100)
        self.controller.want({**wanted(37, "n2", [1]), "id": held})
        self.start_adapter()
        back = time.time()
        self.assertIn(f"no job {held}", self.placed(37, "n2", "ended")["why"])
        self.controller.want(wanted(37, "n2", [1]))
        self.assertEqual(self.indices(self.placed(37, "n2")["id"]), [1])
        self.assertLess(time.time() - back, 10)

    def test_the_adapter_killed_and_back(self):
        self.controller.want(wanted(26, "n0", [1]), wanted(27, "n1", [2]))
        held = {job: self.placed(job, node)["id"] for job, node in ((26, "n0"), (27, "n1"))}
        self.end_adapter(signal.SIGKILL)
        self.controller.want(wanted(26, "n0", [1]))  # 27 ended meanwhile
        self.assertEqual(len(self.jobs()), 2)
        self.start_adapter()
        until(lambda: self.jobs() == [(held[26], "dove-26.1@dove")], 10, "the orphan to be released")
        self.assertEqual(self.placed(26, "n0")["id"], held[26])
        # Ended in order it leaves its placeholders, too.
        self.assertEqual(self.end_adapter(), 0)
        self.assertEqual(self.jobs(), [(held[26], "dove-26.1@dove")])

    def test_the_controller_silent_and_back(self):
        self.controller.want(wanted(28, "n0", [1]))
        held = self.placed(28, "n0")["id"]
        with self.controller.changed:
            self.controller.refusing = True
        self.controller.want()
        until(lambda: self.controller.refused >= 3, 20, "three refused reports")
        self.assertEqual(self.jobs(), [(held, "dove-28.1@dove")])
        with self.controller.changed:
            self.controller.refusing = False
        until(lambda: not self.jobs(), 10, "the release")

    def test_a_placeholder_that_slurm_ends_is_reported_and_asked_for_again(self):
        self.controller.want(wanted(29, "n0", [1]))
        held = self.placed(29, "n0")["id"]
        self.lab.run(["scancel", held])
        until(lambda: any(one["state"] == "ended" and one["id"] == held and "CANCELLED" in one["why"]
                          for _, report in self.controller.reports for one in report["placeholders"]),
              10, "its end to be reported")
        until(lambda: (self.placeholder(29, "n0") or {}).get("id") not in (held, "", None), 10, "another one")
        self.assertEqual(self.indices(self.placed(29, "n0")["id"]), [1])

    def test_a_placeholder_ends_with_its_node(self):
        self.controller.want(wanted(33, "n3", [1]), wanted(34, "n2", [1]))
        held = self.placed(33, "n3")["id"]
        self.lab.run("scontrol update nodename=n3 state=down reason='lost power'")
        until(lambda: any(one["state"] == "ended" and one["id"] == held and "NODE_FAIL" in one["why"]
                          for _, report in self.controller.reports for one in report["placeholders"]),
              15, "its end to be reported")
        self.assertEqual(self.placeholder(34, "n2")["state"], "confirmed")
        # It is wanted still, as if our work ran there: it is held again once Slurm has the node.
        self.lab.run("scontrol update nodename=n3 state=resume", check=False)  # its slurmd may have said so before
        until(lambda: (self.placeholder(33, "n3") or {}).get("id") not in (held, "", None), 20, "another one")
        self.assertEqual(self.placed(33, "n3")["devices"], [1])

    def test_a_placeholders_end_follows_that_of_its_job(self):
        def until_in(hours):
            return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + hours * 3600))

        def limit_of(job):
            days, rest = ("0-" + self.fields(job)["TimeLimit"]).split("-")[-2:]
            hours, minutes, _ = rest.split(":")
            return int(days) * 1440 + int(hours) * 60 + int(minutes)

        self.controller.want(wanted(35, "n4", [0], until=until_in(1)))
        held = self.placed(35, "n4")["id"]
        self.assertIn(limit_of(held), (62, 63))
        self.controller.want(wanted(35, "n4", [0], until=until_in(30)))
        until(lambda: limit_of(held) in (30 * 60 + 2, 30 * 60 + 3), 10, "a later end")
        self.controller.want(wanted(35, "n4", [0], until=None))
        until(lambda: self.fields(held)["TimeLimit"] == "UNLIMITED", 10, "no end")
        self.assertEqual(self.placed(35, "n4")["id"], held)

    def test_a_job_that_is_ending_keeps_its_device(self):
        """Slurm 22.05 gives a device to the next job while the processes of the last one are still being killed."""
        ready = f"{self.folder}/work.ready"
        stubborn = self.sbatch("--gres=gpu:h200_2:1", "-w", "n4",
                               script=f"trap '' TERM; touch {ready}; sleep 100 & wait; wait")
        self.running(stubborn)
        until(lambda: os.path.exists(ready) and self.allocation(stubborn), 15, "its report")
        self.lab.run(["scancel", str(stubborn)])
        until(lambda: (str(stubborn), "wrap") in self.jobs("COMPLETING"), 10, "it to be ending")
        self.controller.want(wanted(30, "n4", [2]))
        self.assertRegex(self.placed(30, "n4", "refused")["why"],
                         f"Slurm job {stubborn} of root (is still ending|runs) on it")
        self.assertEqual(self.allocation(stubborn)["devices"], [2])

    def test_a_users_job_by_our_name_is_no_placeholder(self):
        forged = self.sbatch("--gres=gpu:h200_1:1", "-w", "n5", "-J", "dove-31.1@dove")
        until(lambda: not self.jobs(), 20, "it to go")
        self.controller.want(wanted(31, "n5", [1]))
        self.assertNotEqual(self.placed(31, "n5")["id"], str(forged))

    def test_a_jobs_name_may_be_any_bytes(self):
        job = self.sbatch("-w", "n0", b"--job-name=bad\xff\xfe\nname\x01\"q")
        self.running(job)
        self.assertEqual(until(lambda: self.allocation(job), 10, "its report")["name"], 'bad?? name "q')
        self.assertTrue(self.controller.report()["complete"])

    def test_nodes_and_their_states(self):
        until(lambda: len(self.controller.report()["nodes"]) == 6, 10, "all nodes")
        self.lab.run("scontrol update nodename=n5 state=drain reason='bad fan'")
        try:
            node = until(lambda: next((one for one in self.controller.report()["nodes"]
                                       if (one["name"], one["state"]) == ("n5", "drained")), None), 10, "the drain")
            self.assertEqual(node["reason"], "bad fan")
        finally:
            self.lab.run("scontrol update nodename=n5 state=resume")
            self.lab.until("sinfo -h -n n5 -o %t", lambda out: out.strip() == "idle")
            self.lab.saved("node_state")

    def test_the_exposure_is_measured(self):
        until(lambda: self.controller.reports, 10, "the first report")
        job = self.sbatch("-w", "n0")
        self.running(job)
        until(lambda: self.allocation(job), 10, "the report")
        page = self.metrics()
        self.assertIn("dove_slurm_exposure_seconds_count 1", page)
        self.assertIn('dove_slurm_mode{mode="watch"} 1', page)
        self.end_adapter()
        with open(f"{self.folder}/log/adapter") as file:
            lines = [json.loads(line) for line in file if line.startswith("{")]
        reported = [line for line in lines if line["event"] == "foreign_job_reported" and line["slurm_job"] == job]
        self.assertEqual(len(reported), 1)
        self.assertLess(reported[0]["exposure_ms"], 5000)
        self.assertGreaterEqual([line for line in lines if line["event"] == "exposure"][-1]["jobs"], 1)


class SlowProlog(Bed):
    make_lab = staticmethod(lambda: SlowPrologLab(nodes=1, cpus=4, gpus=2))

    def test_a_placeholder_does_not_wait_for_the_prolog(self):
        until(lambda: self.controller.reports, 10, "the first report")
        asked = time.monotonic()
        self.controller.want(wanted(40, "n0", [1]))
        self.assertEqual(self.indices(self.placed(40, "n0")["id"]), [1])
        self.assertLess(time.monotonic() - asked, 5)


if __name__ == "__main__":
    if not available():
        print("no Slurm here: tools/setup peers installs it (as root)")
        sys.exit(SKIP)
    sys.exit(unittest.main())
