#!/usr/bin/env python3
"""Idle sessions with real processes: one that nobody uses is warned, kept, warned again and ended, and says why; one whose app
says that it is used, or that computes, goes on; a restart of the server loses no warning.
"""
# limit_s: 240
import os
import re
import subprocess
import unittest

from cluster import DOVE, Cluster, until

# Serves /used on its socket: when the file of that name was last changed; now, while `busy` is there; nothing while `mute` is.
APP = r"""
import datetime, http.server, json, os, socketserver, sys
folder = sys.argv[1]
class Handler(http.server.BaseHTTPRequestHandler):
    def address_string(self):
        return "-"
    def do_GET(self):
        if os.path.exists(folder + "/mute"):
            return self.send_error(503)
        busy = os.path.exists(folder + "/busy")
        used = datetime.datetime.now().timestamp() if busy else os.stat(folder + "/used").st_mtime
        at = datetime.datetime.fromtimestamp(used, datetime.timezone.utc)
        body = json.dumps({"last_activity": at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
Server(os.environ["DOVE_SOCKETS"] + "/app", Handler).serve_forever()
"""


class IdleTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(nodes=1, cores=8, gpus=2, agent_options=["--look-s", "1"]).__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)
        self.api = self.cluster.api

    def rule(self, **fields):
        self.api.call("PUT", "/v1/objects/idle_rule/all", {"grace_s": 0, **fields})

    def session(self, name, *signs):
        """A running session; what it says stands in its folder."""
        folder = f"{self.cluster.folder}/{name}"
        os.mkdir(folder)
        for sign in ("used", *signs):
            open(f"{folder}/{sign}", "w").close()
        job = self.cluster.submit({"name": name, "command": ["/usr/bin/python3", "-c", APP, folder], "cores": 1,
                                   "app": {"name": name, "socket": "app", "activity": "/used"}})
        self.cluster.wait_state(job, "running")
        return job, folder

    def warned(self, job):
        return self.cluster.job(job).get("idle")

    def events(self, job, kind):
        return self.api.call("GET", f"/v1/events?job={job}&kind={kind}")["events"]

    def test_an_unused_session_is_warned_kept_and_ended_and_others_go_on(self):
        idle, _ = self.session("tab")
        busy, busy_folder = self.session("night", "busy")
        mute, _ = self.session("mute", "mute")
        batch = self.cluster.submit({"command": ["sleep", "600"], "cores": 1})
        self.cluster.wait_state(batch, "running")
        self.rule(no_input_for_s=3, warning_s=3)
        until(lambda: self.warned(idle), 60, "the warning")
        self.assertRegex(self.warned(idle)["evidence"], r"^no input for \d+ s \(limit 3 s\)$")
        self.assertRegex(self.cluster.run("why", str(idle)).stdout, r"nobody uses it: no input for .* unless somebody uses it, or keeps it")
        self.assertIn("idle: no input for", self.cluster.run("ps").stdout)
        # Somebody wants it: it goes on as long as its rule allows, and is then warned anew.
        self.assertRegex(self.cluster.run("keep", str(idle), "--for=4h").stdout, rf"^job {idle} is kept until ")
        self.assertIsNone(self.warned(idle))
        ended = self.cluster.wait(idle)
        self.assertEqual((ended["state"], ended["outcome"]), ("stopped_idle", "stopped_idle"))
        self.assertEqual(ended["idle"]["check"], "input")
        self.assertRegex(self.cluster.run("show", str(idle)).stdout, r"Idle +stopped by the rule all: no input for \d+ s \(limit 3 s\)")
        self.assertGreaterEqual(len(self.events(idle, "IdleObserved")), 2)
        self.assertEqual(len(self.events(idle, "JobKept")), 1)
        # What is used, does not say, or is no session was never even warned.
        for job in (busy, mute, batch):
            self.assertEqual(self.cluster.job(job)["state"], "running")
            self.assertEqual(self.events(job, "IdleObserved"), [])
        # The night is over.
        os.remove(busy_folder + "/busy")
        self.assertEqual(self.cluster.wait(busy)["state"], "stopped_idle")
        for job in (mute, batch):
            self.assertEqual(self.cluster.job(job)["state"], "running")

    def test_what_computes_is_not_idle_whoever_is_there(self):
        spins = "while True: pass"
        works = self.cluster.submit({"command": ["/usr/bin/python3", "-c", spins], "cores": 1, "gpus": 1})
        sleeps = self.cluster.submit({"command": ["sleep", "600"], "cores": 1, "gpus": 1})
        for job in (works, sleeps):
            self.cluster.wait_state(job, "running")
        # Emulated GPUs do nothing: it is the cores that tell them apart.
        self.rule(sessions_only=False, window_s=4, gpu_percent=5, cpu_percent=10, warning_s=1)
        ended = self.cluster.wait(sleeps)
        self.assertEqual(ended["state"], "stopped_idle")
        self.assertRegex(ended["idle"]["evidence"], r"^GPU at 0\.00 % for 4 s \(limit 5 %\); CPU at \d\.\d\d % for 4 s \(limit 10 %\)$")
        self.assertEqual(self.cluster.job(works)["state"], "running")
        self.assertEqual(self.events(works, "IdleObserved"), [])
        # The same is what people are shown, once half a step of ten seconds was measured.
        def steps():
            shown = self.api.call("GET", f"/v1/jobs/{works}/use")["cpu"]["mean"]
            return [step for step in shown if step is not None]

        self.assertGreater(max(until(steps, 60, "a step that was measured")), 10)
        # A step that has just begun has nothing yet.
        until(lambda: re.search(r"(?m)^  GPU +0 %  ▁+$", self.cluster.run("use", str(works)).stdout), 30, "all steps to be measured")

    def test_a_restart_loses_no_warning_and_input_ends_it(self):
        job, folder = self.session("tab")
        self.rule(no_input_for_s=2, warning_s=60)
        before = until(lambda: self.warned(job), 60, "the warning")
        self.cluster.server.kill()
        self.cluster.server.wait()
        self.cluster.start_server()
        self.cluster.wait_connected()
        after = self.warned(job)
        self.assertEqual(after["observed_at"], before["observed_at"])
        self.assertGreater(after["ends_at_us"], before["ends_at_us"], "it has its whole time again")
        command = subprocess.Popen([DOVE, "exec", "-i", str(job), "--", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env={**self.cluster.environment, "DOVE_DATA": self.cluster.data}, text=True)
        self.addCleanup(command.communicate)
        self.addCleanup(command.kill)
        command.stdin.write("here I am\n")
        command.stdin.flush()
        self.assertEqual(command.stdout.readline(), "here I am\n")
        until(lambda: not self.warned(job), 30, "the end of the warning")
        self.assertEqual(len(self.events(job, "IdleEnded")), 1)
        until(lambda: self.warned(job), 30, "the next warning")
        os.utime(folder + "/used")  # in the app, not by us
        until(lambda: not self.warned(job), 30, "the end of the warning")


if __name__ == "__main__":
    unittest.main(verbosity=2)
