#!/usr/bin/env python3
"""`dove up`, the way in by SSH that it opens, its end by Ctrl-C, SIGTERM or SIGKILL, and `dove up` again: what ran runs again."""
import contextlib
import json
import os
import pty
import shutil
import signal
import subprocess
import tempfile
import unittest

from cluster import DOVE, Cluster, until

TRAPS = "#!/bin/bash\ntrap 'exit 0' TERM\necho start $SLURM_RESTART_COUNT\nfor _ in $(seq 600); do sleep 1; done\n"
DEAF = "#!/bin/bash\ntrap '' TERM\necho up > deaf.$SLURM_RESTART_COUNT\nsleep 600\n"
ONCE = "#!/bin/bash\n#SBATCH --no-requeue\nsleep 600\n"


class UpAgain(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="dove-e2e.")
        # Only for its way to run commands and to find processes: it starts nothing itself.
        self.cluster = Cluster(folder=self.folder)
        self.up, self.pty = None, -1

    def tearDown(self):
        self.end(signal.SIGTERM)
        self.cluster.stop()
        self.cluster.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, on_terminal=False):
        arguments = [DOVE, "up", "--nodes", "2", "--gpus", "0", "--data", self.cluster.data, "--port", "0"]
        out = subprocess.PIPE
        more = {"start_new_session": True}
        if on_terminal:
            self.pty, out = pty.openpty()
            arguments = ["setsid", "--ctty", "--wait", *arguments]
            more = {"stdin": out, "stderr": out}
        self.up = subprocess.Popen(arguments, stdout=out, env=self.cluster.environment, **more)
        if on_terminal:
            os.close(out)
        until(lambda: self.dove("nodes", "-o", "json", check=False).stdout.count('"contact": "connected"') == 2, 30,
              "two nodes")

    def end(self, how):
        if self.up is None:
            return
        if self.pty >= 0:
            os.write(self.pty, b"\x03")
            try:
                while os.read(self.pty, 4096):
                    pass
            except OSError:
                pass
            os.close(self.pty)
            self.pty = -1
        else:
            self.up.send_signal(how)
        self.up.wait(30)
        if self.up.stdout:
            self.up.stdout.close()
        self.up = None

    def dove(self, *arguments, **more):
        return self.cluster.run(*arguments, **more)

    def job(self, job):
        return json.loads(self.dove("show", job, "-o", "json").stdout)

    def submit(self, *arguments, script=None):
        if script is not None:
            return self.dove("submit", "-o", "name", "--chdir", self.folder, "-", *arguments,
                             input=script).stdout.strip()
        return self.dove("submit", "-o", "name", *arguments).stdout.strip()

    def runs(self, job, attempt):
        found = self.job(job)
        return found["state"] == "running" and len(found["attempts"]) == attempt

    def goes_on(self, how, on_terminal=False):
        self.start(on_terminal)
        plain = self.submit("--", "sleep", "600")
        gang = self.submit("-N2", "-n2", "--", "sleep", "600")
        batch = self.submit(script=TRAPS)
        once = self.submit(script=ONCE)
        own = self.submit("--", "sh", "-c", "exit 3")
        waits = self.submit("--begin", "now+1hours", "--", "true")
        again = [plain, gang, batch]
        until(lambda: all(self.runs(job, 1) for job in [*again, once]), 30, "the jobs to run")
        until(lambda: self.job(own)["state"] == "failed", 30, "the job that fails")
        self.end(how)
        self.start(on_terminal)
        for job in again:
            until(lambda job=job: self.job(job)["state"] != "running" or len(self.job(job)["attempts"]) > 1,
                  40, f"job {job} to be taken up")
            self.assertNotIn(self.job(job)["state"], {"failed", "completed"}, self.job(job))
            until(lambda job=job: self.runs(job, 2), 40, f"job {job} to run again")
            first = self.job(job)["attempts"][0]
            self.assertEqual(first["stop_reason"], "node_lost", first)
            self.assertEqual(self.job(job).get("retries_used", 0), 0)
        until(lambda: self.job(once)["state"] == "node_lost", 20, "the job that is not to run again")
        self.assertEqual(self.job(own)["state"], "failed")
        self.assertEqual(self.job(waits)["state"], "waiting")

    def test_the_gateway_that_it_starts_lets_people_in_and_again_after_a_restart(self):
        for attempt in (1, 2):
            self.start()
            job = self.submit("--", "sleep", "600")
            until(lambda: self.runs(job, 1), 20, "the job to run")
            done = self.dove("ssh", job.split("/")[-1], "--", "echo in-$DOVE_JOB_ID", check=False)
            self.assertEqual((done.returncode, done.stdout), (0, f"in-{job.split('/')[-1]}\n"), done.stderr)
            self.dove("cancel", job.split("/")[-1])
            self.end(signal.SIGTERM)

    def test_sigint(self):
        self.goes_on(signal.SIGINT)

    def test_sigterm(self):
        self.goes_on(signal.SIGTERM)

    def test_sigkill(self):
        self.goes_on(signal.SIGKILL)

    def test_ctrl_c_on_a_terminal(self):
        self.goes_on(signal.SIGINT, on_terminal=True)

    def test_a_terminal_gets_four_lines(self):
        self.start(on_terminal=True)
        self.dove("wait", self.submit("--", "true"), limit_s=60)
        os.set_blocking(self.pty, False)
        said = [""]

        def is_greeted():
            with contextlib.suppress(BlockingIOError):
                said[0] += os.read(self.pty, 65536).decode()
            return "Ctrl-C" in said[0]
        until(is_greeted, 30, "what dove up says")
        lines = said[0].splitlines()
        self.assertEqual(len(lines), 4, said[0])
        self.assertRegex(lines[0], r"^dove up: 2 nodes ready at http://127\.0\.0\.1:[0-9]+$")
        self.assertIn("8 cores and 16Gi of memory", lines[1])
        self.assertIn(f"DOVE_DATA={self.cluster.data}: dove submit", lines[2])
        os.set_blocking(self.pty, True)

    def test_killed_while_a_task_is_deaf(self):
        """The next agents wait for the former ones, which are ending a task that ignores SIGTERM."""
        self.start()
        job = self.submit(script=DEAF)
        until(lambda: os.path.exists(os.path.join(self.folder, "deaf.0")), 30, "the job to run")
        self.end(signal.SIGKILL)
        self.start()
        until(lambda: self.runs(job, 2), 40, "the job to run again")
        until(lambda: os.path.exists(os.path.join(self.folder, "deaf.1")), 30, "its second start")


if __name__ == "__main__":
    unittest.main()
