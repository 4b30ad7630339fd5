#!/usr/bin/env python3
"""Apps that a site declares, sessions beside a job, stop and start, `dove run` with and without a terminal, and warnings
on terminals: real processes, one node.
"""
# limit_s: 300
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

from cluster import DOVE, Cluster, until

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from session_test import Session, get  # noqa: E402

# Lists a directory on a Unix socket: what TensorBoard does, as far as anybody here can see.
BOARD = r'''
import http.server, os, socketserver, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def address_string(self):
        return "-"
    def do_GET(self):
        body = " ".join([self.path, *sorted(os.listdir(os.environ.get("DOVE_LOG_DIRECTORY", "."))), *sys.argv[1:]]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
Server(os.environ["DOVE_SOCKETS"] + "/app", Handler).serve_forever()
'''


class Terminal:
    """A command with a pseudo terminal of its own."""

    def __init__(self, words, environment, rows=40, columns=120):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(words[0], words, environment)
        self.resize(rows, columns)
        self.text = ""
        self.code = None

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.fd, text.encode())

    def read(self, wait_s):
        if not select.select([self.fd], [], [], wait_s)[0]:
            return True
        try:
            piece = os.read(self.fd, 65536)
        except OSError:
            return False
        self.text += piece.decode(errors="replace")
        return bool(piece)

    def expect(self, pattern, limit_s=30):
        deadline = time.monotonic() + limit_s
        while not (found := re.search(pattern, self.text)):
            assert time.monotonic() < deadline, f"no {pattern!r} in {self.text!r}"
            assert self.read(0.2) or re.search(pattern, self.text), f"it ended without {pattern!r}: {self.text!r}"
        self.text = self.text[found.end():]
        return found

    def end(self):
        while self.read(0.2):
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class AppsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, cores=4).__enter__()
        cls.api = cls.cluster.api
        cls.environment = {**cls.cluster.environment, "DOVE_DATA": cls.cluster.data}

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def tearDown(self):
        for job in self.api.call("GET", "/v1/jobs?state=active,waiting,held")["jobs"]:
            self.api.raw("POST", f"/v1/jobs/{job['id']}/cancel")  # it may have ended

    def dove(self, *words, code=0, **environment):
        done = subprocess.run([DOVE, *words], capture_output=True, text=True, timeout=60,
                              env={**self.environment, **environment})
        self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done.stdout + done.stderr

    def declare(self, name, job=None, **more):
        body = {"job": {"command": [sys.executable, "-c", BOARD], "app": {"socket": "app"}} if job is None else job, **more}
        return self.api.call("PUT", f"/v1/objects/app/{name}", body)

    def session(self, *words):
        made = Session(self.cluster, *words)

        def close():
            if made.process.poll() is None:
                made.process.kill()
            made.process.communicate()
        self.addCleanup(close)
        return made

    def job(self, job):
        return self.api.call("GET", f"/v1/jobs/{job}")

    def wait_state(self, job, *states):
        return until(lambda: (page := self.job(job))["state"] in states and page, 30, f"job {job} to be {states}")

    def test_an_app_of_the_site_is_started_by_its_name(self):
        self.declare("board", title="The site's board")
        listed = self.dove("app", "list")
        self.assertRegex(listed, r"board +The site's board +everybody\n")
        self.assertRegex(listed, r"notebook +JupyterLab +everybody \(built in\)")
        session = self.session("app", "start", "board", "--local", "-c", "2", "--name", "mine", "--", "more words")
        port, _ = session.url()
        status, body = get(port, "/x")
        self.assertEqual(status, 200)
        self.assertTrue(body.endswith("more words"), body)
        job = self.job(session.job)
        self.assertEqual((job["name"], job["request"]["cores"]), ("mine", 2))
        self.assertIn("open", session.end())

    def test_the_sites_own_wins_over_what_is_built_in(self):
        self.declare("code")
        self.addCleanup(self.api.raw, "DELETE", "/v1/objects/app/code")
        said = self.dove("code", "--detach", "--program=/none", "here")
        self.assertIn("--program has no effect: this site declares the app code itself", said)
        job = int(re.search(r"Submitted job (\d+)", said)[1])
        self.assertEqual(self.job(job)["exec"]["command"][0], sys.executable)
        self.assertEqual(self.job(job)["exec"]["command"][-1], "here")
        self.assertIn("dove app list", self.dove("app", "start", "nothing", code=3))

    def test_an_app_without_a_port_is_refused_with_the_remedy(self):
        for app in ({}, {"app": {}}, {"app": {"name": "x"}}):
            status, _, text = self.api.raw("PUT", "/v1/objects/app/bad", {"job": {"command": ["true"], **app}})
            answer = json.loads(text)
            self.assertEqual((status, answer["code"], answer["field"]), (400, "app_without_port", "job.app"), answer)
            self.assertIn("$DOVE_SOCKETS/app", answer["detail"])
        status, _, text = self.api.raw("PUT", "/v1/objects/app/bad", {"job": {"comand": [], "app": {"port": 1}}})
        self.assertEqual(json.loads(text)["field"], "job.comand")
        self.assertIn("warnings", self.declare("huge", {"command": ["true"], "cores": 4000, "app": {"port": 80}}))

    def test_a_stopped_session_starts_again_as_itself(self):
        self.declare("board")
        said = self.dove("app", "start", "board", "--detach", "--set", "workdir=" + self.cluster.folder)
        job = re.search(r"Submitted job (\d+)", said)[1]
        self.wait_state(job, "running")
        self.assertIn("job_active", self.api.raw("POST", f"/v1/jobs/{job}/hold")[2].decode())
        self.assertIn("is stopped", self.dove("stop", job))
        stopped = self.wait_state(job, "held")
        self.assertEqual(stopped["attempts"][-1]["stop_reason"], "requeued")
        self.assertIn("stopped by its user; `dove start` runs it again", self.dove("ps"))
        self.assertIn("dove start", self.dove("why", job))
        self.dove("start", job)
        again = self.wait_state(job, "running")
        self.assertEqual((again["attempt"], again["exec"]["workdir"]), (2, self.cluster.folder))
        self.assertIn("runs", self.dove("start", job, code=4))
        self.dove("restart", job)
        until(lambda: self.job(job)["attempt"] == 3 and self.job(job)["state"] == "running", 30, "the third attempt")
        self.dove("cancel", job)
        self.wait_state(job, "cancelled")
        self.assertIn("has ended", self.dove("stop", job, code=4))
        self.dove("start", job)
        self.wait_state(job, "running")

    def test_what_is_no_session_is_not_stopped(self):
        job = str(self.cluster.submit({"command": ["sleep", "60"]}))
        self.wait_state(job, "running")
        said = self.dove("stop", job, code=4)
        self.assertIn(f"`dove cancel {job}` ends it, `dove requeue --hold {job}`", said)
        self.dove("requeue", "--hold", job)
        self.wait_state(job, "held")

    def test_a_session_beside_a_job_shows_its_logs_and_ends_with_it(self):
        self.declare("tensorboard")
        self.addCleanup(self.api.raw, "DELETE", "/v1/objects/app/tensorboard")
        logs = os.path.join(self.cluster.folder, "logs-of-a-job")
        os.makedirs(logs, exist_ok=True)
        said = self.dove("submit", f"--workdir={self.cluster.folder}", "--tensorboard=logs-of-a-job", "--",
                         "sh", "-c", "echo 1 >logs-of-a-job/events.out; sleep 300")
        main = re.search(r"Submitted job (\d+)", said)[1]
        side = re.search(r"job (\d+) is its tensorboard, on (\S+): `dove open", said)
        self.assertEqual(side[2], logs)
        page = self.wait_state(side[1], "running")
        self.assertEqual((page["parent"], page["name"]), (int(main), f"tensorboard.{main}"))
        session = self.session("open", side[1], "--local")
        port, _ = session.url()
        self.assertEqual(get(port, "/runs"), (200, "/runs events.out"))
        self.dove("cancel", main)
        self.assertEqual(self.wait_state(side[1], "cancelled", "failed")["state"], "cancelled")

    def test_a_session_beside_a_job_needs_to_know_where_it_writes(self):
        said = self.dove("submit", "--tensorboard", "--", "true", code=2)
        self.assertIn("name where it writes", said)
        self.assertIn("dove app list", self.dove("submit", "--side=none", "--workdir=/tmp", "--", "true", code=3))
        status, _, text = self.api.raw("POST", "/v1/jobs", {"command": ["true"], "side_of": 99999, "app": {"name": "x", "port": 80}})
        self.assertEqual(status, 404, text)

    def test_run_gives_output_and_exit_code(self):
        self.assertIn("hello", self.dove("run", "sh", "-c", "echo hello; exit 3", code=3))
        self.assertIn("--pty is for one task", self.dove("run", "--pty", "-n", "2", "true", code=2))

    def terminal(self, *words):
        return Terminal([DOVE, "run", "--pty", *words], {**self.environment, "TERM": "xterm", "PS1": "$ "})

    def test_a_terminal_is_the_programs_own(self):
        shell = self.terminal("sh")
        job = shell.expect(r"job (\d+) is submitted")[1]
        shell.expect(r"\$ ")
        shell.type("test -t 0 && stty size\n")
        shell.expect("40 120")
        shell.resize(50, 100)
        os.kill(shell.pid, signal.SIGWINCH)
        shell.type("until test \"$(stty size)\" = '50 100'; do :; done; echo re''sized\n")
        shell.expect("resized")
        shell.type("sleep 4321\n")
        until(lambda: "\nsleep 4321\n" in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout,
              30, "what the key is to interrupt")
        shell.type("\x03")
        shell.type("echo still-$((40+2))\n")
        shell.expect("still-42")
        shell.type("exit 7\n")
        self.assertEqual(shell.end(), 7)
        ended = self.wait_state(job, "failed")
        self.assertEqual(ended["exit_code"], 7)

    def test_its_exit_code_is_the_programs_however_quickly_it_ends(self):
        shells = [self.terminal("sh", "-c", f"exit {code}") for code in range(1, 9)]
        self.assertEqual([shell.end() for shell in shells], list(range(1, 9)))

    def test_a_job_ends_with_its_terminal(self):
        shell = self.terminal("sh")
        job = shell.expect(r"job (\d+) is submitted")[1]
        shell.expect(r"\$ ")
        os.kill(shell.pid, signal.SIGKILL)
        os.waitpid(shell.pid, 0)
        ended = self.wait_state(job, "failed", "cancelled")
        self.assertEqual(ended["exit_code"], 129)

    def test_waiting_has_a_reason_and_an_interrupt_cancels(self):
        first = str(self.cluster.submit({"command": ["sleep", "300"], "cores": 4}))
        self.wait_state(first, "running")
        waiting = self.terminal("sh")
        job = waiting.expect(r"job (\d+) is submitted")[1]
        waiting.expect(rf"job {job} is waiting: needs 1 core")
        waiting.type("\x03")
        waiting.expect("is cancelled")
        self.assertEqual(waiting.end(), 130)
        self.wait_state(job, "cancelled")

    def test_an_idle_warning_comes_to_terminals(self):
        self.declare("board")
        said = self.dove("app", "start", "board", "--detach")
        job = re.search(r"Submitted job (\d+)", said)[1]
        self.wait_state(job, "running")
        shell = Terminal([DOVE, "exec", "-it", job, "--", "sh"], {**self.environment, "TERM": "xterm", "PS1": "$ "})
        shell.expect(r"[$#] ")
        self.api.call("PUT", "/v1/objects/idle_rule/all", {"lifetime_s": 65, "grace_s": 0, "warning_s": 60})
        self.addCleanup(self.api.raw, "DELETE", "/v1/objects/idle_rule/all")
        shell.expect(rf"\*\*\* dove: job {job} ends at .*save your work \*\*\*")
        shell.type("echo goes-$((1+1))\n")
        shell.expect("goes-2")
        self.dove("cancel", job)
        shell.expect(rf"\*\*\* dove: job {job} stops now: it was cancelled \*\*\*")
        shell.end()


if __name__ == "__main__":
    unittest.main(verbosity=2)
