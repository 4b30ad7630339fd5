#!/usr/bin/env python3
"""Sessions at the seam: `dove notebook`, `code` and `tensorboard` with stand-ins that serve as the real programs do, and with
the real ones where they are installed (JUPYTER, CODE_SERVER, TENSORBOARD_PYTHON name them).
"""
# limit_s: 300
import base64
import http.client
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import unittest

from cluster import DOVE, Cluster, cannot_run_containers, make_bare_image, until
from ports import free_port

# Takes the options of JupyterLab and code-server that matter; serves HTTP and a WebSocket that says everything again.
STAND_IN = r'''#!/usr/bin/python3
import base64, hashlib, http.server, os, socketserver, sys, time
words = sys.argv[1:]
path = next((word.split("=", 1)[1] for word in words if word.startswith("--ServerApp.sock=")), None)
path = path or words[words.index("--socket") + 1]
if "--slow" in words:
    time.sleep(2)
if "--broken" in words:
    print("cannot find my configuration", file=sys.stderr)
    sys.exit(3)
if "--silent" in words:
    print("thinking", file=sys.stderr, flush=True)
    time.sleep(600)
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def address_string(self):
        return "-"
    def do_GET(self):
        if self.headers.get("Upgrade") == "websocket":
            return self.echo()
        body = " ".join([self.path, *words]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def echo(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        while head := self.rfile.read(2):
            size = head[1] & 127
            mask = self.rfile.read(4)
            text = bytes(byte ^ mask[index % 4] for index, byte in enumerate(self.rfile.read(size)))
            self.wfile.write(bytes([head[0], len(text)]) + text)
            if head[0] & 15 == 8:
                return
class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
Server(path, Handler).serve_forever()
'''


class Session:
    """A running `dove notebook` (or another command of this kind), and what it has said."""

    def __init__(self, cluster, *words, cwd=None, **environment):
        self.process = subprocess.Popen([DOVE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
                                        env={**cluster.environment, "DOVE_DATA": cluster.data, **environment})
        self.lines = []
        self.errors = ""
        self.job = None

    def expect(self, pattern):
        """Reads until a line has the pattern."""
        while line := self.process.stdout.readline():
            self.lines.append(line)
            if found := re.match(r"Submitted job (\d+)", line):
                self.job = int(found[1])
            if found := re.search(pattern, line):
                return found
        self.errors += self.process.stderr.read()
        raise AssertionError(f"no {pattern!r} in {self.lines} {self.errors}")

    def url(self):
        found = self.expect(r"is at http://127\.0\.0\.1:(\d+)(/\S*)$")
        return int(found[1]), found[2]

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        out, errors = self.process.communicate(timeout=20)
        self.lines.append(out)
        return self.errors + errors


def get(port, path):
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    client.request("GET", path)
    answer = client.getresponse()
    body = answer.read().decode(errors="replace")
    client.close()
    return answer.status, body


def web_socket(port, path="/"):
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    key = base64.b64encode(os.urandom(16)).decode()
    connection.sendall((f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(1)
    assert head.startswith(b"HTTP/1.1 101"), head
    return connection


def write_stand_in(path):
    with open(path, "w") as file:
        file.write(STAND_IN)
    os.chmod(path, 0o755)
    return path


class SessionBed(unittest.TestCase):
    def tearDown(self):
        for job in self.cluster.api.call("GET", "/v1/jobs?state=active,waiting")["jobs"]:
            self.cluster.api.raw("POST", f"/v1/jobs/{job['id']}/cancel")  # it may have ended

    def session(self, *words, **more):
        made = Session(self.cluster, *words, **more)

        def close():
            if made.process.poll() is None:
                made.process.kill()
            made.process.communicate()
        self.addCleanup(close)
        return made


class SessionTest(SessionBed):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, cores=4).__enter__()
        cls.program = write_stand_in(cls.cluster.folder + "/stand-in")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def notebook(self, *words, **more):
        return self.session("notebook", f"--program={self.program}", "-c", "1", *words, **more)

    # -- the way in

    def test_a_notebook_from_its_submission_to_a_page_and_a_web_socket(self):
        folder = tempfile.mkdtemp(dir=self.cluster.folder)
        session = self.notebook("-t", "10", "--", "--slow", cwd=folder, MY_OWN="exported")
        port, path = session.url()
        self.assertEqual(path, "/lab")
        self.assertTrue(any(re.search(r"runs on node1; waiting for notebook to answer", line) for line in session.lines))
        status, body = get(port, "/lab?a=b")
        self.assertEqual(status, 200)
        self.assertRegex(body, r"^/lab\?a=b lab --no-browser --ServerApp.sock=\S+/sockets/app --ServerApp.sock_mode=0600 "
                               r"--ServerApp.token= --ServerApp.password= (--allow-root )?--slow$")
        with web_socket(port) as connection:
            text = b"said again"
            mask = os.urandom(4)
            connection.sendall(bytes([0x81, 0x80 | len(text)]) + mask +
                               bytes(byte ^ mask[index % 4] for index, byte in enumerate(text)))
            self.assertEqual(connection.recv(2 + len(text)), bytes([0x81, len(text)]) + text)
        job = self.cluster.job(session.job)
        self.assertEqual(job["exec"]["app"], {"name": "notebook", "socket": "app", "health": "/api", "path": "/lab",
                                              "activity": "jupyter"})
        self.assertEqual(job["exec"]["workdir"], os.path.realpath(folder))
        self.assertEqual(job["exec"]["environment"]["MY_OWN"], "exported")
        # Nobody but the task's user enters the directory of its sockets.
        directory = re.search(r"--ServerApp.sock=(\S+)/app", body)[1]
        self.assertEqual(stat.S_IMODE(os.stat(directory).st_mode), 0o700)
        errors = session.end()
        self.assertEqual(session.process.returncode, 130)
        self.assertIn(f"job {session.job} goes on: `dove open {session.job}` leads to it again", errors)
        self.assertEqual(self.cluster.job(session.job)["state"], "running")
        again = self.session("open", str(session.job), "--rm")
        port, path = again.url()
        self.assertEqual(get(port, path)[0], 200)
        self.assertIn(f"job {session.job} is cancelled", again.end())
        self.assertEqual(self.cluster.wait(session.job)["state"], "cancelled")

    def test_an_editor_serves_the_present_directory(self):
        session = self.session("code", f"--program={self.program}", "-c", "1", "--local-port", "0")
        port, path = session.url()
        status, body = get(port, path)
        self.assertEqual((status, path), (200, "/"))
        self.assertRegex(body, r"/ --socket \S+/app --socket-mode 600 --auth none .*\.$")

    def test_it_says_why_it_waits_and_detaches(self):
        blocker = self.cluster.submit({"command": ["sleep", "600"], "cores": 4})
        self.cluster.wait_state(blocker, "running")
        done = self.cluster.run("notebook", f"--program={self.program}", "--detach", "-c", "4")
        job = int(re.search(r"Submitted job (\d+)", done.stdout)[1])
        self.assertIn(f"`dove open {job}` leads to it", done.stdout)
        session = self.session("open", str(job))
        session.expect(rf"Job {job} is waiting: .*cores")
        self.cluster.api.call("POST", f"/v1/jobs/{blocker}/cancel")
        port, _ = session.url()
        self.assertEqual(get(port, "/lab")[0], 200)
        self.cluster.api.call("POST", f"/v1/jobs/{job}/cancel")
        _, errors = session.process.communicate(timeout=20)
        self.assertEqual(session.process.returncode, 4)
        self.assertIn(f"job {job} has ended: cancelled", errors)

    def test_it_starts_at_its_time_and_not_before(self):
        later = ("notebook", f"--program={self.program}", "--detach", "-c", "1", "--start-at")
        morning = int(re.search(r"Submitted job (\d+)", self.cluster.run(*later, "tomorrow 10:00").stdout)[1])
        soon = int(re.search(r"Submitted job (\d+)", self.cluster.run(*later, "now+3").stdout)[1])
        self.cluster.wait_state(soon, "running")
        job = self.cluster.job(soon)
        self.assertGreaterEqual(job["attempts"][0]["started_at_us"] - job["submitted_at_us"], 2_000_000)  # instants are whole seconds
        self.assertEqual(self.cluster.job(morning)["state"], "waiting")
        self.assertIn("10:00", self.cluster.run("why", str(morning)).stdout)
        for one in (morning, soon):
            self.cluster.api.call("POST", f"/v1/jobs/{one}/cancel")

    def test_an_interrupt_before_it_runs_cancels_what_it_submitted(self):
        blocker = self.cluster.submit({"command": ["sleep", "600"], "cores": 4})
        self.cluster.wait_state(blocker, "running")
        session = self.notebook()
        session.expect("is waiting")
        self.assertIn(f"job {session.job} is cancelled", session.end())
        self.assertEqual(self.cluster.wait(session.job)["state"], "cancelled")

    def test_it_survives_a_restarted_server_and_follows_a_requeued_job(self):
        session = self.notebook()
        port, path = session.url()
        self.assertEqual(get(port, path)[0], 200)

        def answers():
            try:
                return get(port, path)[0] == 200
            except (OSError, http.client.HTTPException):
                return False
        self.cluster.server.kill()
        self.cluster.server.wait()
        self.assertFalse(answers())
        self.cluster.start_server()
        self.cluster.wait_connected()
        until(answers, 20, "the way in to be open again")
        self.cluster.api.call("POST", f"/v1/jobs/{session.job}/requeue")
        until(lambda: self.cluster.job(session.job)["attempt"] == 2 and answers(), 30, "the next attempt to answer")
        # Where the next attempt has to wait, so does the session, and says why.
        self.cluster.api.call("POST", "/v1/nodes/node1/drain", {"reason": "a test"})
        self.cluster.api.call("POST", f"/v1/jobs/{session.job}/requeue")
        session.expect(rf"Job {session.job} is waiting: ")
        self.cluster.api.call("POST", "/v1/nodes/node1/undrain")
        self.assertEqual(session.url(), (port, path))
        self.assertTrue(answers())

    def test_a_job_of_ones_own_with_an_app(self):
        number = free_port()
        job = self.cluster.submit({"command": ["/usr/bin/python3", "-m", "http.server", "--bind", "127.0.0.1", str(number)],
                                   "cores": 1, "app": {"name": "files", "port": number}})
        port, path = self.session("open", str(job)).url()
        self.assertEqual(path, "/")
        self.assertIn("Directory listing", get(port, "/")[1])

    # -- what goes wrong

    def test_an_app_that_ends_says_what_it_said_last(self):
        session = self.notebook("--", "--broken")
        _, errors = session.process.communicate(timeout=40)
        self.assertEqual(session.process.returncode, 1)
        self.assertRegex(errors, r"job \d+ has ended: failed, exit code 3; it said last:\n  cannot find my configuration")

    def test_an_app_that_never_answers_says_what_it_said_last(self):
        session = self.notebook("--patience", "2", "--", "--silent")
        _, errors = session.process.communicate(timeout=40)
        self.assertEqual(session.process.returncode, 7)
        self.assertRegex(errors, r"notebook has not answered at socket app within 2 s: .*has no socket app")
        self.assertIn("it said last:\n  thinking", errors)

    def test_a_program_that_is_missing_says_what_to_install(self):
        for words, remedy in ((("notebook",), "pip install jupyterlab"), (("code",), "code-server/install"),
                              (("tensorboard", "--program=/nowhere/python3", "/tmp"), "pip install tensorboard")):
            with self.subTest(words=words):
                session = self.session(*words, *([] if len(words) > 1 else ["--program=no-such-program"]), "-c", "1")
                _, errors = session.process.communicate(timeout=40)
                self.assertEqual(session.process.returncode, 1)
                self.assertIn(remedy, errors)
                self.assertIn("no-such-program" if len(words) == 1 else "/nowhere/python3", errors)

    def test_what_is_no_session_or_not_ones_own_says_so(self):
        job = self.cluster.submit({"command": ["sleep", "600"], "cores": 1})
        done = self.cluster.run("open", str(job), check=False)
        self.assertEqual(done.returncode, 4)
        self.assertIn(f"job {job} is not a session; `dove port-forward {job} PORT`", done.stderr)
        token = self.cluster.api.call("POST", "/v1/users/mallory/token?create=1")["token"]
        done = self.cluster.run("open", str(job), check=False, DOVE_URL=self.cluster.url, DOVE_TOKEN=token)
        self.assertEqual(done.returncode, 5)
        done = self.cluster.run("tensorboard", str(job), check=False)
        self.assertEqual(done.returncode, 4)
        self.assertIn("name the log directory", done.stderr)
        self.assertEqual(self.cluster.run("tensorboard", check=False).returncode, 2)
        self.assertEqual(self.cluster.run("notebook", "--local-port=70000", check=False).returncode, 2)

    def test_an_app_must_say_where_it_serves(self):
        for app, field in (({}, "name"), ({"name": "x"}, "port"), ({"name": "x", "port": 80, "socket": "y"}, "port"),
                           ({"name": "x", "port": 0}, "port"), ({"name": "x", "port": 80, "path": "lab"}, "path"),
                           ({"name": "x", "port": 80, "path": "//evil.example"}, "path"),
                           ({"name": "x", "port": 80, "health": "/a b"}, "health"), ({"name": "x", "port": 80, "more": 1}, "more")):
            status, _, text = self.cluster.api.raw("POST", "/v1/jobs", {"command": ["true"], "app": app})
            self.assertEqual(status, 400, text)
            self.assertIn(field, json.loads(text)["field"])
            if app == {"name": "x"}:
                self.assertEqual(json.loads(text)["code"], "app_without_port")

    @unittest.skipIf(os.geteuid() != 0, "to be another user needs root")
    def test_another_user_of_this_machine_does_not_get_in(self):
        session = self.notebook()
        port, _ = session.url()
        other = subprocess.run(["setpriv", "--reuid=61001", "--regid=61001", "--clear-groups", "/usr/bin/python3", "-c",
                                f"import socket; peer = socket.create_connection(('127.0.0.1', {port}), timeout=20)\n"
                                "try:\n peer.sendall(b'GET /lab HTTP/1.0\\r\\n\\r\\n'); print(peer.recv(100))\n"
                                "except ConnectionError: print(b'')"], capture_output=True, text=True, timeout=60)
        self.assertEqual(other.stdout, "b''\n", other.stderr)
        self.assertIn("a connection from another user of this machine was refused", session.end())

    # -- the real ones, where somebody names them; tests/peers/apps_test.py does

    def real(self, variable, program):
        found = os.environ.get(variable)
        if not found:
            self.skipTest(f"{variable} names no {program}")
        return found

    def test_the_real_jupyterlab(self):
        program = self.real("JUPYTER", "jupyter-lab").replace("jupyter-lab", "jupyter")
        session = self.session("notebook", f"--program={program}", "-c", "1", f"--export=ALL,PATH={os.path.dirname(program)}:/usr/bin:/bin")
        port, path = session.url()
        status, body = get(port, path)
        self.assertEqual(status, 200)
        self.assertIn("JupyterLab", body)
        self.assertIn('"version"', get(port, "/api")[1])

    def test_the_real_code_server(self):
        program = self.real("CODE_SERVER", "code-server")
        port, path = self.session("code", f"--program={program}", "-c", "1").url()
        self.assertEqual(get(port, "/healthz")[0], 200)

    def test_the_real_tensorboard(self):
        program = self.real("TENSORBOARD_PYTHON", "tensorboard")
        if os.path.basename(program) == "tensorboard":
            program = os.path.join(os.path.dirname(program), "python3")
        port, path = self.session("tensorboard", f"--program={program}", "-c", "1", self.cluster.folder).url()
        status, body = get(port, path)
        self.assertEqual(status, 200)
        self.assertIn("TensorBoard", body)


@unittest.skipIf(cannot_run_containers(), cannot_run_containers())
class ContainerSessionTest(SessionBed):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="dove-session.")
        os.chmod(cls.root, 0o755)
        make_bare_image(cls.root + "/images/bare")
        os.mkdir(cls.root + "/programs")
        cls.program = write_stand_in(cls.root + "/programs/stand-in")
        cls.cluster = Cluster(cores=4, agent_options=["--cgroups", "on", "--images", cls.root + "/images",
                                                      "--volume-roots", f"/usr,{cls.root}"])
        cls.cluster.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)
        shutil.rmtree(cls.root, ignore_errors=True)

    def test_a_notebook_in_a_container(self):
        volumes = f"/usr:/usr,{self.root}/programs:{self.root}/programs"
        session = self.session("notebook", "--image=bare", f"--volume={volumes}", f"--program={self.program}", "-c", "1",
                               "--mem=256M", OF_MY_SHELL="yes")
        port, path = session.url()
        self.assertEqual(get(port, path)[0], 200)
        exec_of = self.cluster.job(session.job)["exec"]
        self.assertNotIn("OF_MY_SHELL", exec_of["environment"])
        self.assertNotIn("workdir", exec_of)
        session.end()

    def test_a_session_in_an_image_keeps_its_home_when_it_is_stopped_and_started(self):
        volumes = f"/usr:/usr,{self.root}/programs:{self.root}/programs"
        session = self.session("notebook", "--image=bare", f"--volume={volumes}", f"--program={self.program}", "-c", "1", "--mem=256M")
        session.url()
        session.end()
        job = str(session.job)
        shell = ("exec", job, "--", "sh", "-c")
        self.assertEqual(self.cluster.run(*shell, "cd && pwd && echo kept > note").stdout, "/home/user\n")
        self.cluster.run("stop", job)
        self.cluster.wait_state(job, "held")
        self.cluster.run("start", job)
        self.cluster.wait_state(job, "running")
        self.assertEqual(self.cluster.run(*shell, "cat ~/note").stdout, "kept\n")
        self.cluster.run("cancel", job)


if __name__ == "__main__":
    unittest.main()
