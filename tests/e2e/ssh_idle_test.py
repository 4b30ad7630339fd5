#!/usr/bin/env python3
"""OpenSSH's client under a rule that ends idle jobs: keys that are pressed count, what a connection says by itself does not."""
# limit_s: 120
import shutil
import subprocess
import sys
import threading
import unittest

from cluster import SKIP
from ssh_bed import SshBed


class SshIdleTest(SshBed):
    AGENT_OPTIONS = ("--look-s", "1")

    def connect(self, job, command):
        process = subprocess.Popen(["ssh", "-tt", "-o", "ServerAliveInterval=1", *self.options("ada"), f"{job}@127.0.0.1", command],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        process.stdout.readline()  # it is in the task
        return process

    def test_keys_count_and_neither_an_open_connection_nor_its_output(self):
        # Sessions whose page nobody opens, so that SSH is their only input.
        page = "import os, socket, time; s = socket.socket(socket.AF_UNIX); s.bind(os.environ['DOVE_SOCKETS'] + '/app'); s.listen(); time.sleep(600)"
        typed_in, left_open = (self.submit("ada", ["/usr/bin/python3", "-c", page], cores=1, app={"name": "editor", "socket": "app"})
                               for _ in range(2))
        for job in (typed_in, left_open):
            self.cluster.wait_state(job, "running")
        typed = self.connect(typed_in, "echo here; exec cat")
        self.connect(left_open, "while :; do date; sleep 1; done")
        over = threading.Event()

        def types():
            while not over.wait(0.5):
                typed.stdin.write("\n")
                typed.stdin.flush()
        typist = threading.Thread(target=types)
        typist.start()
        self.addCleanup(typist.join)
        self.addCleanup(over.set)
        self.cluster.api.call("PUT", "/v1/objects/idle_rule/all",
                              {"no_input_for_s": 5, "grace_s": 0, "warning_s": 2})
        ended = self.cluster.wait(left_open, limit_s=60)
        self.assertEqual(ended["state"], "stopped_idle")
        self.assertRegex(ended["idle"]["evidence"], r"^no input for \d+ s \(limit 5 s\)$")
        self.assertEqual(self.cluster.job(typed_in)["state"], "running")
        events = self.cluster.api.call("GET", f"/v1/events?job={typed_in}&kind=IdleObserved")["events"]
        self.assertEqual(events, [], "whoever types is never warned")


if __name__ == "__main__":
    if not all(shutil.which(name) for name in ("ssh", "ssh-keygen")):
        print("there is no openssh-client (tools/setup test)")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
