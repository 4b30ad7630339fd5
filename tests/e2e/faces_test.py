#!/usr/bin/env python3
"""What people type: dove's commands, and the same program under Slurm's and tcloud's names."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

from cluster import DOVE, Cluster, until

SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=alpha
#SBATCH --output=out-%j.txt
echo hello $SLURM_JOB_ID $1
"""
INTERRUPTED = (130, -signal.SIGINT)  # a shell says 130 of both
TUXIV = """\
# kept
entrypoint:
  - echo trained
  - --epochs=3
environment:
  name: base
  dependencies:
    - numpy=1.24
job:
  name: tux
  general:
    - nodes=1
"""


class Faces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=2, gpus=2, cores=4).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def setUp(self):
        self.folder = os.path.join(self.cluster.folder, "home-" + self._testMethodName)
        os.makedirs(self.folder)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        self.write("a.sh", SCRIPT)

    @staticmethod
    def write(path, text):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def call(self, name, *arguments, code=0, **more):
        done = self.cluster.run(*arguments, name=name, check=False, HOME=self.folder, **more)
        self.assertEqual(done.returncode, code, f"{name} {arguments}: {done.stdout}{done.stderr}")
        self.assertNotRegex(done.stdout + done.stderr, r"\x1b\[")  # no terminal, no colours
        return done

    def dove(self, *arguments, **more):
        return self.call("dove", *arguments, **more)

    def sbatch(self, *arguments):
        return int(self.call("sbatch", "--parsable", *arguments).stdout)

    def sleeper(self, *options):
        job = self.sbatch("--job-name=sleeper", *options, "--wrap", "sleep 100")
        self.addCleanup(lambda: self.cluster.run("cancel", "-q", str(job), check=False))
        return job

    # -- Slurm's names

    def test_sbatch(self):
        self.assertRegex(self.call("sbatch", "a.sh").stdout, r"^Submitted batch job \d+\n$")
        job = self.sbatch("a.sh", "word")
        self.cluster.wait(job)
        with open(f"out-{job}.txt") as file:
            self.assertEqual(file.read(), f"hello {job} word\n")
        array = self.sbatch("--array=0-3%2", "--wrap", "echo $SLURM_ARRAY_TASK_ID")
        after = self.sbatch(f"--dependency=afterok:{array}", "--wrap", "cat slurm-*_*.out")
        self.assertEqual(self.cluster.wait(after)["state"], "completed")
        self.assertEqual(self.cluster.logs(after), "0\n1\n2\n3\n")
        count = len(self.cluster.api.call("GET", "/v1/jobs")["jobs"])
        self.call("sbatch", "--test-only", "a.sh")
        self.assertEqual(len(self.cluster.api.call("GET", "/v1/jobs")["jobs"]), count)
        for arguments, words in [(["--jbo-name=x", "a.sh"], "did you mean --job-name"),
                                 (["missing.sh"], "missing.sh"), (["--nodes=two", "a.sh"], "--nodes"),
                                 (["-d", "afterok:99999", "a.sh"], "99999"), (["-t", "soon", "a.sh"], "--time")]:
            with self.subTest(arguments):
                self.assertIn(words, self.call("sbatch", *arguments, code=1).stderr)
        self.assertEqual(self.call("sbatch", input=SCRIPT).stdout[:20], "Submitted batch job ")
        # An option without effect gets a warning, with its place.
        self.write("b.sh", "#!/bin/bash\n#SBATCH --mem-bind=local\ntrue\n")
        self.assertIn("b.sh:2:", self.call("sbatch", "b.sh").stderr)

    def test_squeue_and_scancel(self):
        job, waits = self.sleeper(), self.sleeper("--hold")
        self.cluster.wait_state(job, "running")
        head, *rows = self.call("squeue").stdout.splitlines()
        self.assertEqual(head.split(), "JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)".split())
        found = {row.split()[0]: row.split() for row in rows}
        self.assertEqual(found[str(job)][4], "R")
        self.assertRegex(found[str(job)][7], r"^node[12]$")
        self.assertEqual((found[str(waits)][4], found[str(waits)][7]), ("PD", "(JobHeldUser)"))
        said = self.call("squeue", "-h", "-j", f"{job},{waits}", "-o", "%i|%j|%T|%D").stdout
        self.assertEqual(sorted(said.split()), sorted([f"{job}|sleeper|RUNNING|1", f"{waits}|sleeper|PENDING|1"]))
        said = self.call("squeue", "-h", "-t", "PD", "-O", "JobID:10,State:12").stdout
        self.assertIn(f"{waits:<10}PENDING     ", said)
        self.call("scancel", str(job))
        self.assertEqual(self.cluster.wait(job)["state"], "cancelled")
        self.call("scancel", "--name=sleeper", "--state=PENDING")
        self.assertEqual(self.cluster.wait(waits)["state"], "cancelled")
        self.assertIn("99999", self.call("scancel", "99999", code=1).stderr)

    def test_squeue_shows_the_paths_of_those_that_come_first(self):
        self.sleeper("--hold", "--array=1-200")
        first = self.sleeper("--hold", "--job-name=a-first")
        said = self.call("squeue", "-r", "-h", "-S", "j", "-o", "%j %Z")
        self.assertEqual(said.stdout.splitlines()[0], f"a-first {self.folder}")
        self.assertRegex(said.stderr, r"^squeue: warning: paths are shown of the first 200 of \d+ jobs")
        self.assertEqual(self.call("squeue", "-h", "-j", str(first), "-o", "%Z").stderr, "")

    def test_sinfo_and_scontrol(self):
        said = self.call("sinfo").stdout.splitlines()
        self.assertEqual(said[0].split(), "PARTITION AVAIL TIMELIMIT NODES STATE NODELIST".split())
        self.assertEqual(said[1].split()[:3], ["default*", "up", "infinite"])
        self.assertEqual(sorted(self.call("sinfo", "-h", "-N", "-o", "%N %c").stdout.split()),
                         sorted("node1 4 node2 4".split()))
        job = self.sleeper("--time=5", "-N1")
        self.cluster.wait_state(job, "running")
        text = self.call("scontrol", "show", "job", str(job)).stdout
        found = dict(word.split("=", 1) for word in text.split() if "=" in word)
        self.assertEqual((found["JobId"], found["JobState"], found["TimeLimit"], found["NumNodes"]),
                         (str(job), "RUNNING", "00:05:00", "1"))
        self.assertRegex(found["NodeList"], r"^node[12]$")
        self.assertRegex(found["SubmitTime"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$")
        self.assertEqual(found["WorkDir"], os.path.realpath(self.folder))
        one_line = self.call("scontrol", "-o", "show", "job", str(job)).stdout
        self.assertEqual(len(one_line.strip().splitlines()), 1)
        self.assertIn("Gres=gpu:2", self.call("scontrol", "show", "node", "node1").stdout)
        self.assertIn("Nodes=node[1-2]", self.call("scontrol", "show", "partition").stdout)
        self.assertEqual(self.call("scontrol", "show", "hostnames", "n[1-3,7]").stdout, "n1\nn2\nn3\nn7\n")
        self.assertIn("UP", self.call("scontrol", "ping").stdout)
        self.call("scontrol", "show", "job", "99999", code=1)
        held = self.sleeper("--hold")
        self.call("scontrol", "release", str(held))
        self.cluster.wait_state(held, "running")

    def test_functions_that_the_shell_exports_travel(self):
        function = {"BASH_FUNC_greet%%": "() {  echo hello $1\n}"}
        self.assertEqual(self.cluster.run("bash", "-c", "greet you", name="srun", **function).stdout, "hello you\n")
        self.write("function.sh", "#!/bin/bash\n#SBATCH -o function.out\ngreet all\n")
        self.cluster.run("-W", "function.sh", name="sbatch", **function)
        with open("function.out") as file:
            self.assertEqual(file.read(), "hello all\n")

    def test_srun_makes_its_own_allocation(self):
        said = self.call("srun", "-N2", "-l", "bash", "-c", "echo $DOVE_NODE $SLURM_NTASKS").stdout
        self.assertEqual(sorted(line[:3] for line in said.splitlines()), ["0: ", "1: "])
        self.assertEqual(sorted(line[3:] for line in said.splitlines()), ["node1 2", "node2 2"])
        self.call("srun", "sh", "-c", "exit 3", code=3)
        done = self.call("srun", "sh", "-c", "echo out; echo err >&2")
        self.assertEqual((done.stdout, done.stderr), ("out\n", "err\n"))

    def test_immediate_gives_up_what_does_not_start(self):
        self.assertEqual(self.call("srun", "--immediate=30", "echo", "well").stdout, "well\n")
        for face, command in (("srun", ["true"]), ("salloc", ["true"])):
            said = self.call(face, "--immediate", "--gpus=99", *command, code=1).stderr
            self.assertIn(f"{face}: error: Unable to allocate resources: Requested nodes are busy", said)
        self.assertIn("whole number of seconds", self.call("srun", "--immediate=0", "true", code=1).stderr)
        waiting = self.cluster.api.call("GET", "/v1/jobs?limit=1000&state=waiting")["jobs"]
        self.assertEqual([job for job in waiting if job["name"] in ("true", "interactive")], [], "they are cancelled")

    def test_srun_from_outside_runs_a_step_of_a_job(self):
        job = self.sleeper()
        self.cluster.wait_state(job, "running")
        jobs = lambda: len(self.cluster.api.call("GET", "/v1/jobs?limit=10000")["jobs"])
        before = jobs()
        done = self.call("srun", f"--jobid={job}", "sh", "-c", "echo $SLURM_JOB_ID; exit 3", code=3)
        self.assertEqual(done.stdout, f"{job}\n")
        self.call("scancel", str(job))
        self.cluster.wait(job)
        self.assertIn("not running", self.call("srun", f"--jobid={job}", "true", code=1).stderr)
        self.call("srun", "--jobid=99999", "true", code=1)
        self.assertEqual(jobs(), before, "nothing was submitted")

    # -- tcloud

    def test_tcloud(self):
        userdir = os.path.join(self.folder, "USER")
        self.write("proj/tuxiv.conf", TUXIV.replace("    - numpy=1.24\n", "    - pip\n"))
        self.call("tcloud", "config", "-u", "ann", "--userdir", userdir)
        self.assertIn("ann", self.call("tcloud", "config").stdout)
        self.assertIn("PARTITION", self.call("tcloud", "init").stdout)
        done = self.call("tcloud", "submit", "proj")
        self.assertRegex(done.stdout, r"^Start parsing tuxiv.conf...\nSubmitted batch job \d+\nJob proj submitted.\n$")
        self.assertRegex(done.stderr, r"tuxiv.conf:\d+:\d+: warning: the 2 items of entrypoint are joined")
        job = re.search(r"job (\d+)", done.stdout)[1]
        self.assertIn("JOBID", self.call("tcloud", "ps").stdout)
        self.assertIn("JOBID", self.call("tcloud", "ps", "-j", job).stdout)
        waits = self.sleeper("--hold")
        self.call("tcloud", "cancel", "-j", str(waits))
        self.assertEqual(self.cluster.wait(waits)["state"], "cancelled")
        self.call("tcloud", "submit", "nowhere", code=1)

        self.call("tcloud", "upload", "a.sh")
        self.call("tcloud", "upload", "proj", "data")
        self.assertIn("a.sh", self.call("tcloud", "ls").stdout.split())
        self.assertIn("tuxiv.conf", self.call("tcloud", "ls", "data").stdout)
        self.assertIn("tuxiv.conf", self.call("tcloud", "ls", "-l", "-r", "-a").stdout)
        self.assertEqual(self.call("tcloud", "cat", "a.sh").stdout, SCRIPT)
        os.makedirs("down")
        self.call("tcloud", "download", "a.sh", "down")
        with open("down/a.sh") as file:
            self.assertEqual(file.read(), SCRIPT)
        self.call("tcloud", "download", "data", "down", code=1)
        self.call("tcloud", "download", "-r", "data", "down")
        self.assertTrue(os.path.exists("down/data/tuxiv.conf"))
        for arguments in (["cat", "../../../../etc/passwd"], ["upload", "a.sh", "../../out"],
                          ["download", "../a.sh"], ["ls", "../.."], ["cat", "nowhere"]):
            with self.subTest(arguments):
                self.call("tcloud", *arguments, code=1)
        self.call("tcloud", "env", "ls")
        self.assertIn("Did you mean `dove tcloud ps`", self.call("tcloud", "pss", code=2).stderr)

    def test_tcloud_add(self):
        self.write("tuxiv.conf", TUXIV)
        self.call("tcloud", "add", "numpy=1.26", "scipy")
        with open("tuxiv.conf") as file:
            text = file.read()
        self.assertIn("numpy=1.26", text)
        self.assertIn("scipy", text)
        self.assertNotIn("numpy=1.24", text)
        said = self.dove("submit", "--dry-run", "-o", "json", "tuxiv.conf").stdout
        self.assertEqual(json.loads(said)["name"], "tux")

    # -- dove

    def test_submit_in_every_way(self):
        self.write("d/tuxiv.conf", TUXIV.replace("    - numpy=1.24\n", "    - pip\n"))
        self.write("j.yaml", "name: native\ncommand: [echo, native]\n")
        ways = [(["a.sh", "x"], None, "hello"), (["d"], None, "trained --epochs=3"), (["j.yaml"], None, "native"),
                (["-"], SCRIPT, "hello"), (["--wrap", "echo wrapped"], None, "wrapped"),
                (["--", "echo", "program"], None, "program"),
                (["--format=native", "-"], '{"command": ["echo", "json"]}', "json")]
        for arguments, text, words in ways:
            with self.subTest(arguments):
                job = int(self.dove("submit", "-o", "name", *arguments, input=text).stdout)
                self.assertEqual(self.cluster.wait(job)["state"], "completed")
                self.assertIn(words, self.dove("logs", str(job)).stdout)
        count = len(self.cluster.api.call("GET", "/v1/jobs")["jobs"])
        found = json.loads(self.dove("submit", "--dry-run", "-o", "json", "--gpus=2", "--time=5", "a.sh").stdout)
        self.assertEqual((found["name"], found["time_limit_s"]), ("alpha", 300))
        self.assertEqual(len(self.cluster.api.call("GET", "/v1/jobs")["jobs"]), count)
        self.dove("submit", "nowhere.sh", code=2)
        self.assertIn("did you mean", self.dove("submit", "--nmae=x", "a.sh", code=2).stderr)
        self.assertRegex(self.dove("submit", "--wrap", "true").stdout, r"^Submitted job \d+\n$")
        self.dove("submit", "--wait", "--wrap", "exit 9", code=9)

    def test_a_job_from_hand_to_hand(self):
        job = str(self.sleeper("--hold", "-c2"))
        self.assertIn("held by", self.dove("why", job).stdout)
        self.assertEqual(self.dove("release", job).stdout, f"job {job} released\n")
        self.cluster.wait_state(int(job), "running")
        self.dove("hold", job, code=4)
        self.dove("requeue", job)
        until(lambda: self.cluster.job(job)["attempt"] == 2 and self.cluster.job(job)["state"] == "running", 20,
              "the second attempt")
        self.dove("cancel", job)
        self.assertEqual(self.dove("wait", job, code=143).stdout, "")
        self.assertIn("cancelled", self.dove("show", job).stdout)
        self.assertEqual(len(json.loads(self.dove("show", job, "-o", "json").stdout)["attempts"]), 2)
        self.dove("cancel", job, code=4)
        for command in ("show", "why", "logs", "wait", "cancel", "hold", "release", "requeue"):
            self.assertIn("99999", self.dove(command, "99999", code=3).stderr)
        kinds = [json.loads(line)["kind"] for line in
                 self.dove("events", "-j", job, "-o", "json").stdout.splitlines()]
        self.assertEqual(kinds[0], "JobSubmitted")
        self.assertIn("EndJob", kinds)
        busy = str(self.sleeper())
        self.dove("wait", "--timeout=100ms", busy, code=7)

    def test_formats(self):
        job = self.sleeper()
        self.cluster.wait_state(job, "running")
        self.assertEqual(self.dove("ps", "-o", "name", "-n", "sleeper", "-s", "running,waiting").stdout.split()[-1],
                         str(job))
        found = json.loads(self.dove("ps", "-o", "json").stdout)["jobs"]
        self.assertIn(job, [row["id"] for row in found])
        self.assertRegex(self.dove("ps", "-o", "yaml").stdout, rf"\n    id: {job}\n")
        self.assertEqual(self.dove("ps").stdout.split()[:5], ["ID", "NAME", "USER", "QUEUE", "STATE"])
        self.assertIn("CORES", self.dove("ps", "-o", "wide").stdout.splitlines()[0])
        self.assertIn("did you mean json", self.dove("ps", "-o", "jsn", code=2).stderr)
        self.assertEqual(sorted(self.dove("nodes", "-o", "name").stdout.split()), ["node1", "node2"])
        self.assertEqual(len(json.loads(self.dove("nodes", "-o", "json").stdout)["nodes"]), 2)
        self.assertIn("node1", self.dove("top", "-1").stdout + self.dove("nodes").stdout)

    def test_nodes_drain_and_undrain(self):
        self.dove("drain", "node2", "--reason", "new fan")
        self.assertIn("new fan", self.dove("nodes", "node2").stdout)
        self.assertIn("drain", self.call("sinfo", "-h", "-n", "node2", "-o", "%T").stdout)
        self.dove("undrain", "node2")
        self.assertEqual(self.call("sinfo", "-h", "-n", "node2", "-o", "%T").stdout.strip()[:4], "idle")
        self.dove("drain", "nowhere", code=3)

    def test_help_man_and_completion(self):
        self.assertIn("Did you mean `dove ps`", self.dove("pss", code=2).stderr)
        self.assertIn("Did you mean", self.dove("sumbit", code=2).stderr)
        self.assertIn("Usage: dove submit", self.dove("submit", "--help").stdout)
        self.assertIn(".TH DOVE", self.dove("man").stdout)
        for shell in ("bash", "zsh"):
            script = self.dove("completion", shell).stdout
            self.assertIn("submit", script)
            if shutil.which(shell):
                subprocess.run([shell, "-n", "-c", script], check=True)
        self.assertRegex(self.dove("version").stdout, r"dove \d+\.\d+")
        # A reader that goes away is no error.
        for command in ("man", "completion bash", "events --limit 1000", "ps -a -o json"):
            done = subprocess.run(["bash", "-c", f"set -o pipefail; '{DOVE}' {command} | head -c1 >/dev/null"],
                                  capture_output=True, text=True, timeout=30,
                                  env={**self.cluster.environment, "DOVE_DATA": self.cluster.data})
            self.assertIn(done.returncode, (0, 141), command)
            self.assertEqual(done.stderr, "", command)

    def follow(self, *arguments):
        """A dove process that goes on, with what it printed first."""
        process = subprocess.Popen([DOVE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**self.cluster.environment, "DOVE_DATA": self.cluster.data})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        return process

    def test_an_interrupt_gives_130(self):
        job = self.sbatch("--wrap", "echo begun; sleep 100")
        process = self.follow("logs", "-f", str(job))
        self.assertEqual(process.stdout.readline(), "begun\n")
        process.send_signal(signal.SIGINT)
        self.assertIn(process.wait(10), INTERRUPTED)
        self.assertEqual(self.cluster.job(job)["state"], "running")
        events = self.follow("events", "-f", "-j", str(job))
        until(lambda: os.path.exists(f"/proc/{events.pid}") and self.connected(events.pid), 10, "the stream")
        self.dove("cancel", str(job))
        self.assertIn("CancelRequested", events.stdout.readline())
        events.send_signal(signal.SIGINT)
        self.assertIn(events.wait(10), INTERRUPTED)
        waits = self.follow("wait", str(self.sleeper()))
        until(lambda: self.connected(waits.pid), 10, "wait to ask")
        waits.send_signal(signal.SIGINT)
        self.assertIn(waits.wait(10), INTERRUPTED)

    @staticmethod
    def connected(pid):
        """True once a process holds a socket."""
        try:
            links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        except OSError:
            return False
        return any(link.startswith("socket:") for link in links)

    def test_logs_follow_to_the_end(self):
        job = self.sbatch("--wrap", "for i in 1 2 3; do echo $i; sleep 0.2; done")
        self.assertEqual(self.dove("logs", "-f", str(job)).stdout, "1\n2\n3\n")

    def test_two_clusters_on_one_folder(self):
        data = os.path.join(self.folder, "up")
        up = self.follow("up", "--nodes", "1", "--port", "0", "--data", data)
        self.addCleanup(up.wait, 20)
        self.addCleanup(up.kill)
        until(lambda: os.path.exists(os.path.join(data, "url")), 20, "the first to be up")
        second = self.follow("up", "--nodes", "1", "--port", "0", "--data", data)
        said = second.communicate(timeout=20)
        self.assertNotIn(second.returncode, (0, None))
        self.assertIn(data, said[1])
        self.assertLess(len(said[1]), 2000)
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            third = self.follow("up", "--nodes", "1", "--port", port, "--data", data + "2")
            said = third.communicate(timeout=20)
            self.assertNotIn(third.returncode, (0, None))
            self.assertIn(port, said[1])
        self.assertIsNone(up.poll())
        up.send_signal(signal.SIGTERM)
        up.communicate(timeout=20)
        self.assertIn(up.returncode, (0, 143))

    def test_a_server_that_is_away(self):
        start = time.monotonic()
        done = self.dove("ps", "--url", "http://127.0.0.1:9", code=6)
        self.assertIn("127.0.0.1:9", done.stderr)
        self.assertLess(time.monotonic() - start, 30)


if __name__ == "__main__":
    sys.exit(unittest.main())
