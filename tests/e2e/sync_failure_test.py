#!/usr/bin/env python3
"""A disk that fails to write what it was given (EIO of a sync): the server acknowledges nothing of it, ends, and says where and
why; it starts again once the disk works, with what is there, and nothing runs twice. An agent goes on without what it could
not keep, and keeps it later."""
import http.client
import os
import shutil
import subprocess
import sys
import unittest

from cluster import DOVE, SKIP, Cluster, until

HERE = os.path.dirname(os.path.abspath(__file__))


class SyncFailure(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(nodes=1, cores=4)
        self.names, self.cluster.names = self.cluster.names, []
        self.library, self.failing = self.cluster.folder + "/failing_sync.so", self.cluster.folder + "/failing"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.library, HERE + "/failing_sync.c"], check=True)
        self.cluster.environment.update({"LD_PRELOAD": self.library, "DOVE_FAILING_SYNC": self.failing})
        self.cluster.__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)

    def fail(self, of):
        """`of`: in the paths of those files."""
        with open(self.failing + ".new", "w") as file:
            file.write(of + "\n")
        os.rename(self.failing + ".new", self.failing)

    def mend(self):
        os.unlink(self.failing)

    def start_agent(self):
        self.cluster.names = self.names
        self.cluster.start_agent(self.names[0])

    def log(self):
        with open(self.cluster.log.name, errors="replace") as file:
            return file.read()

    def submit_once(self):
        return self.cluster.api.raw("POST", "/v1/jobs", {"name": "unknown", "command": ["true"]}, {"Idempotency-Key": "once"})

    def unknown(self):
        return [job for job in self.cluster.api.call("GET", "/v1/jobs?limit=100")["jobs"] if job["name"] == "unknown"]

    def test_the_log_cannot_be_written(self):
        self.start_agent()
        self.cluster.wait_connected()
        runs = self.cluster.submit({"name": "runs", "command": ["sleep", "600"]})
        self.cluster.wait_state(runs, "running")
        ended = self.cluster.submit({"name": "ended", "command": ["true"]})
        self.cluster.wait(ended)

        self.fail("log.sqlite-wal")
        try:
            status, _, body = self.submit_once()
            self.assertEqual(status, 503, body)
        except (OSError, http.client.HTTPException):
            pass  # it has ended before
        self.assertEqual(self.cluster.server.wait(30), 1)
        self.cluster.api.close()
        self.assertIn("log.sqlite: disk I/O error (Input/output error); check the disk", self.log())
        self.assertIn('"event":"controller_failed"', self.log())
        again = subprocess.run([DOVE, "server", "--data", self.cluster.data, "--port", str(self.cluster.port)],
                               capture_output=True, text=True, timeout=60, env=self.cluster.environment, check=False)
        self.assertEqual(again.returncode, 1, again.stderr)
        self.assertIn("check the disk", again.stderr)

        self.mend()
        self.cluster.start_server()
        self.cluster.wait_connected(60)
        self.assertLessEqual(len(self.unknown()), 1)
        self.assertIn(self.submit_once()[0], (200, 201))
        self.assertEqual(len(self.unknown()), 1, "asked again with its key, it is there once")
        self.assertEqual(self.cluster.job(ended)["state"], "completed")
        self.assertEqual(self.cluster.job(runs)["state"], "running")
        self.assertEqual(self.cluster.wait(self.unknown()[0]["id"])["state"], "completed")

    def test_an_agent_keeps_its_token_later(self):
        self.fail("agent_token")
        self.start_agent()
        self.cluster.wait_connected()
        kept = f"{self.cluster.folder}/nodes/{self.names[0]}/agent_token"
        self.assertFalse(os.path.exists(kept))
        self.assertIn("agent_token cannot be written: Input/output error", self.log())
        job = self.cluster.submit({"command": ["true"]})
        self.assertEqual(self.cluster.wait(job)["state"], "completed")
        self.mend()
        until(lambda: os.path.exists(kept), 20, "the token to be kept")
        agent = self.cluster.agents[self.names[0]]
        agent.kill()
        agent.wait(10)
        self.cluster.start_agent(self.names[0])
        self.cluster.wait_connected(60)
        job = self.cluster.submit({"command": ["true"]})
        self.assertEqual(self.cluster.wait(job, 60)["state"], "completed")


if __name__ == "__main__":
    if not shutil.which("cc"):
        print("skipped: there is no C compiler")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
