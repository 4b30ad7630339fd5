#!/usr/bin/env python3
"""dove wait, events -f, logs -f and attach go on over a restart of the server, and cost nothing while nothing happens;
dove attach prints each line once; dove logs says why a job never started."""
import os
import re
import select
import subprocess
import time
import unittest

from cluster import DOVE, Cluster, until

CPU_S_MAX = 0.2


def cpu_s(pid):
    """What the process has used so far."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Follow(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, cores=8, server_options=["--fence-s", "10"]).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def begin(self, *arguments, **more):
        return subprocess.Popen([DOVE, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True,
                                env={**self.cluster.environment, "DOVE_DATA": self.cluster.data}, **more)

    def restart_server(self):
        self.cluster.server.kill()
        self.cluster.server.wait(10)
        self.cluster.api.close()
        self.cluster.start_server()

    def test_followers_survive_a_restart_of_the_server(self):
        go = os.path.join(self.cluster.folder, "go")
        job = self.cluster.submit({"name": "long", "command": [
            "sh", "-c", f"echo first; until test -e {go}; do sleep 0.1; done; echo last; exit 7"]})
        self.cluster.wait_state(job, "running")
        until(lambda: self.cluster.logs(job) == "first\n", 20, "its first line")
        wait = self.begin("wait", str(job))
        logs = self.begin("logs", "-f", str(job))
        attached = self.begin("attach", "--tail=1", str(job))
        self.assertEqual(attached.stdout.readline(), "first\n")
        events = self.begin("events", "-f", "--after=0", "-j", str(job), "-o", "json")
        self.assertIn("JobSubmitted", events.stdout.readline())  # so it is connected
        self.assertEqual(logs.stdout.readline(), "first\n")
        for _ in range(2):
            self.restart_server()
            self.cluster.wait_connected()
        open(go, "w").close()
        self.assertEqual(wait.wait(30), 7, wait.stderr.read())
        self.assertEqual(logs.communicate(timeout=30)[0], "last\n")
        self.assertEqual(attached.communicate(timeout=30)[0], "last\n")
        self.assertEqual(attached.returncode, 7)
        seen = ""
        while "EndJob" not in seen:
            line = events.stdout.readline()
            self.assertTrue(line, events.stderr.read() if events.poll() is not None else seen)
            seen += line
        events.terminate()
        events.communicate(timeout=10)
        wait.communicate()

    def test_waiting_for_many_costs_the_client_nothing(self):
        count = 2000
        job = self.cluster.submit({"name": "many", "cores": 1, "command": ["true"], "hold": True,
                                   "array": f"0-{count - 1}"})
        wait = self.begin("wait", str(job))
        time.sleep(0.5)
        self.cluster.run("release", str(job))
        used = 0.0
        while wait.poll() is None:
            try:
                used = max(used, cpu_s(wait.pid))
            except (FileNotFoundError, ProcessLookupError, IndexError):
                break
            time.sleep(0.2)
        _, errors = wait.communicate(timeout=120)
        self.assertEqual(wait.returncode, 0, errors)
        self.assertLessEqual(used, CPU_S_MAX)

    def test_what_is_watched_is_shown_again_when_it_has_changed_and_not_before(self):
        job = self.cluster.submit({"name": "seen", "command": ["sleep", "600"]})
        self.cluster.wait_state(job, "running")
        views = {"ps": self.begin("ps", "--name=seen,next", "--watch", "-o", "name"),
                 "show": self.begin("show", str(job), "--watch", "-o", "name"),
                 "nodes": self.begin("nodes", "--watch", "-o", "name")}
        for name, view in views.items():
            self.assertEqual(view.stdout.readline(), ("node1" if name == "nodes" else str(job)) + "\n")
        time.sleep(3)  # who asks every 2 s would have shown it again
        for view in views.values():
            self.assertEqual(select.select([view.stdout], [], [], 0)[0], [], "nothing has changed")
            self.assertLessEqual(cpu_s(view.pid), CPU_S_MAX)
        began = time.monotonic()
        other = self.cluster.submit({"name": "next", "command": ["sleep", "600"]})
        while views["ps"].stdout.readline() != f"{other}\n":
            pass
        self.assertLess(time.monotonic() - began, 5)  # it is held for 10 s while nothing changes
        for each in (job, other):
            self.cluster.api.call("POST", f"/v1/jobs/{each}/cancel")
        for view in views.values():
            view.terminate()
            view.communicate(timeout=10)

    def test_wait_names_what_did_not_complete(self):
        job = self.cluster.submit({"name": "some", "command": [
            "sh", "-c", "exit $((SLURM_ARRAY_TASK_ID % 3))"], "array": "0-5"})
        done = self.cluster.run("wait", str(job), check=False)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(sorted(re.findall(r"job (\S+) failed, exit code (\d)", done.stderr)),
                         [(f"{job}_{i}", str(i % 3)) for i in range(6) if i % 3])

    def test_attach_prints_each_line_once(self):
        loop = "for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; sleep 0.2; done"
        for arguments, script in ((["-"], f"#!/bin/bash\n{loop}\n"), (["--", "sh", "-c", loop], None)):
            job = self.cluster.run("submit", "-o", "name", "--chdir", self.cluster.folder, *arguments,
                                   input=script).stdout.strip()
            done = self.cluster.run("attach", "--tail", "100", job)
            lines = (done.stdout + done.stderr).splitlines()
            wanted = [f"{name} {i}" for name in ("out", "err") for i in range(1, 6)]
            self.assertEqual(sorted(line for line in lines if line[:3] in ("out", "err")), sorted(wanted))

    def test_attach_begins_with_the_last_lines(self):
        go = os.path.join(self.cluster.folder, "go-tail")
        job = self.cluster.submit({"name": "tail", "command": [
            "sh", "-c", f"seq 5; until test -e {go}; do sleep 0.1; done; echo last"]})
        until(lambda: self.cluster.logs(job) == "1\n2\n3\n4\n5\n", 20, "its first lines")
        attached = [self.begin("attach", f"--tail={count}", str(job)) for count in (0, 2, 9)]
        self.assertEqual([process.stdout.readline() for process in attached[1:]], ["4\n", "1\n"])
        time.sleep(0.3)  # for the first, which has nothing to say yet
        open(go, "w").close()
        self.assertEqual([process.stdout.read() for process in attached],
                         ["last\n", "5\nlast\n", "2\n3\n4\n5\nlast\n"])
        for process in attached:
            process.communicate(timeout=30)

    def test_a_job_that_never_started_says_why(self):
        plain = os.path.join(self.cluster.folder, "plain")
        open(plain, "w").close()
        job = self.cluster.run("submit", "-o", "name", "--chdir", self.cluster.folder, "-",
                               input=f"#!/bin/bash\n#SBATCH -o {plain}/x.out\ntrue\n").stdout.strip()
        self.assertEqual(self.cluster.wait(job)["state"], "failed")
        for follow in ([], ["-f"]):
            done = self.cluster.run("logs", *follow, job, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(f"cannot open the output file {plain}/x.out: Not a directory", done.stderr)
        self.assertIn("cannot open the output file", self.cluster.run("ps", "-a", "-o", "wide").stdout)

    def test_a_missing_output_directory_is_made(self):
        script = "#!/bin/bash\n#SBATCH -o log_%j/deep/x.out\necho hello\n"
        job = self.cluster.run("submit", "-o", "name", "--chdir", self.cluster.folder, "-",
                               input=script).stdout.strip()
        self.assertEqual(self.cluster.wait(job)["state"], "completed")
        with open(os.path.join(self.cluster.folder, f"log_{job}/deep/x.out")) as file:
            self.assertEqual(file.read(), "hello\n")


if __name__ == "__main__":
    unittest.main()
