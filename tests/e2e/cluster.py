"""A real cluster of real processes on this machine, for end-to-end tests and benchmarks.

    with Cluster(nodes=4, gpus=2) as cluster:
        job = cluster.submit({"name": "hello", "command": ["true"]})
        cluster.wait(job)

The server and every agent are processes of their own in their own session, on loopback with free ports; they
are ended by their own pids, and with them everything that carries the cluster's folder in its environment.
With gpus=None nothing is emulated: nodes have what this machine has.
Every request that a test makes with Api, and every one that run() makes a `dove` send over plain HTTP, is checked against
api/openapi.yaml when the cluster is stopped, where python3-jsonschema is installed (contract.py). Else standard library only.
"""
import glob
import http.client
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.parse

from contract import Recorder
from recording_relay import RecordingRelay

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOVE = os.environ.get("DOVE", os.path.join(ROOT, "build/release/dove"))
FORMER = os.environ.get("DOVE_FORMER", DOVE + "-former")  # as DOVE, of the former level (src/model/level.h)
SKIP = 77  # exit status of a test that could not run here
ENDED = {"completed", "failed", "cancelled", "timed_out", "node_lost", "dependency_never_met", "stopped_idle"}


class ApiError(Exception):
    def __init__(self, status, body):
        super().__init__(f"{status}: {body}")
        self.status = status
        self.body = body


class Api:
    """One keep-alive connection to a server; made again when it broke."""

    recorder = Recorder()

    def __init__(self, url, token, timeout=30, user=None, ca_file=None):
        parts = urllib.parse.urlsplit(url)
        self.tls = ssl.create_default_context(cafile=ca_file) if parts.scheme == "https" else None
        self.host, self.port, self.timeout = parts.hostname, parts.port, timeout
        self.headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
        if user:
            self.headers["X-Dove-User"] = user
        self.connection = None

    def raw(self, method, path, body=None, headers=None):
        """(status, headers, bytes); retried once on a connection that had been idle and died."""
        payload = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
        for last in (False, True):
            fresh = self.connection is None
            if fresh:
                self.connection = self.connect()
                self.connection.connect()
                self.connection.sock.setsockopt(6, 1, 1)  # TCP_NODELAY
            try:
                self.connection.request(method, path, payload, {**self.headers, **(headers or {})})
                answer = self.connection.getresponse()
                text = answer.read()
                sent = payload.encode() if isinstance(payload, str) else payload
                self.recorder.add(method, path, sent, answer.status, dict(answer.getheaders()), text)
                return answer.status, dict(answer.getheaders()), text
            except (http.client.HTTPException, ConnectionError):
                self.close()
                if last or fresh:
                    raise

    def connect(self):
        if self.tls:
            return http.client.HTTPSConnection(self.host, self.port, timeout=self.timeout, context=self.tls)
        return http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)

    def call(self, method, path, body=None, headers=None):
        status, _, text = self.raw(method, path, body, headers)
        value = json.loads(text) if text else None
        if status >= 400:
            raise ApiError(status, value)
        return value

    def close(self):
        if self.connection:
            self.connection.close()
            self.connection = None


def until(condition, limit_s, what):
    """Waits until condition() is true and returns it; fails after limit_s seconds."""
    deadline = time.monotonic() + limit_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {limit_s} s still waiting for {what}")
        time.sleep(0.02)


def cannot_run_containers():
    """Why tests with containers cannot run here; None: they can."""
    if os.geteuid() != 0:
        return "containers need root"
    if not shutil.which("runc") and not shutil.which("crun"):
        return "there is no OCI runtime (tools/setup test)"
    if not os.path.exists("/bin/busybox"):
        return "there is no /bin/busybox (tools/setup test)"
    return None


def make_bare_image(path, *folders):
    """An image without programs: /usr of the machine is to be a volume of its containers."""
    for folder in ("usr", "etc", "tmp", *folders):
        os.makedirs(f"{path}/{folder}")
    for folder in ("bin", "lib", "lib64"):
        os.symlink("usr/" + folder, f"{path}/{folder}")


class Cluster:
    def __init__(self, nodes=1, gpus=0, cores=8, memory="16Gi", server_options=(), agent_options=(),
                 folder=None, log=None, run_as_self=True, tls=os.environ.get("DOVE_E2E_TLS") == "1"):
        self.folder = folder or tempfile.mkdtemp(prefix="dove-e2e.")
        self.keep = folder is not None or "DOVE_TEST_KEEP" in os.environ  # its logs, for a look afterwards
        self.data = os.path.join(self.folder, "server")
        self.names = [f"node{i + 1}" for i in range(nodes)]
        self.gpus, self.cores, self.memory = gpus, cores, memory
        self.server_options, self.agent_options = list(server_options), list(agent_options)
        if tls:
            self.server_options += ["--tls", "--agents-port", "0"]
        self.server = None
        self.agents = {}
        self.port = 0
        self.url = self.api = self.relay = None
        self.run_as_self = run_as_self
        self.agent_url = None  # where agents find the server, if not at its own port
        self.log = log or open(os.path.join(self.folder, "processes.log"), "ab")
        self.environment = {**os.environ, "DOVE_E2E": self.folder}
        for name in ("DOVE_URL", "DOVE_TOKEN", "DOVE_DATA", "DOVE_JOB_TOKEN", "DOVE_INSECURE"):
            self.environment.pop(name, None)

    def __enter__(self):
        try:
            self.start_server()
            for name in self.names:
                self.start_agent(name)
            self.wait_connected()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, kind, error, trace):
        self.stop()
        if self.relay:
            self.relay.close()
            self.relay = None
        problems = Api.recorder.problems()
        if kind is None and problems:
            raise AssertionError("not as api/openapi.yaml says:\n" + "\n".join(problems))
        if kind is None and not self.keep:
            shutil.rmtree(self.folder, ignore_errors=True)
        elif kind is not None:
            print(f"the cluster's folder is kept: {self.folder}", file=sys.stderr)
        return False

    def spawn(self, *arguments, program=DOVE, **more):
        return subprocess.Popen([program, *arguments], stdin=subprocess.DEVNULL, stderr=self.log,
                                env=self.environment, start_new_session=True, **more)

    def start_server(self):
        process = self.spawn("server", "--data", self.data, "--port", str(self.port), *self.server_options,
                             stdout=subprocess.PIPE)
        line = process.stdout.readline().decode()
        if "ready" not in line:
            process.wait(10)
            raise RuntimeError(f"the server did not start: {line!r}, exit {process.returncode}; "
                               f"see {self.log.name}")
        process.stdout.close()
        self.server = process
        self.url = line.split()[-1].strip()
        self.port = urllib.parse.urlsplit(self.url).port
        with open(os.path.join(self.data, "token")) as file:
            self.api = Api(self.url, file.read().strip(), ca_file=self.ca_file())

    def ca_file(self):
        """The certificate of the server's own authority; None without TLS."""
        return os.path.join(self.data, "ca.pem") if (self.url or "").startswith("https:") else None

    def trusts(self):
        """What a command with a URL of its own needs besides."""
        path = self.ca_file()
        return {"DOVE_CA_FILE": path} if path and os.path.exists(path) else {}

    def agents_port(self):
        """Where agents call; None without TLS, where they do so at the server's port. It changes with each life of the
        server."""
        if not self.url.startswith("https:"):
            return None
        with open(self.log.name) as file:
            lines = [json.loads(line) for line in file if '"event":"listening"' in line]
        last = max(i for i, line in enumerate(lines) if line.get("port") == self.port)
        return next((line["port"] for line in lines[last + 1:] if line.get("tls")), None)  # agents listen, too, later

    def caller(self, token):
        """Calls as whose token it is."""
        return Api(self.url, token, ca_file=self.ca_file())

    def connection(self, timeout=30, **more):
        """A bare one to the server, as a browser's."""
        where = urllib.parse.urlsplit(self.url)
        if where.scheme == "http":
            return http.client.HTTPConnection(where.hostname, where.port, timeout=timeout, **more)
        return http.client.HTTPSConnection(where.hostname, where.port, timeout=timeout,
                                           context=ssl.create_default_context(cafile=self.ca_file()), **more)

    def start_agent(self, name):
        folder = os.path.join(self.folder, "nodes", name)
        os.makedirs(folder, exist_ok=True)
        options = []
        if not os.path.exists(os.path.join(folder, "agent_token")):
            token = self.api.call("POST", "/v1/join-tokens", {"node": name})["token"]
            path = os.path.join(folder, "join_token")
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
                file.write(token)
            options = ["--join-token-file", path]
        sizes = [] if self.gpus is None else ["--gpus", str(self.gpus), "--cores", str(self.cores),
                                              "--memory", self.memory]
        self.agents[name] = self.spawn(
            "agent", "--name", name, "--data", folder, "--url", self.agent_url or self.url, *sizes,
            "--shared", os.path.join(self.folder, "shared"), *(["--run-as-self"] if self.run_as_self else []),
            *options, *self.agent_options, stdout=subprocess.DEVNULL)

    def wait_connected(self, limit_s=20):
        def connected():
            return sum(node["contact"] == "connected" for node in self.nodes()) == len(self.names)
        until(connected, limit_s, "all agents to connect")

    def nodes(self):
        return self.api.call("GET", "/v1/nodes")["nodes"]

    def submit(self, job, **headers):
        return self.api.call("POST", "/v1/jobs", job, headers)["id"]

    def job(self, job):
        return self.api.call("GET", f"/v1/jobs/{job}")

    def wait(self, job, limit_s=30):
        """The job once it has ended."""
        def ended():
            found = self.job(job)
            return found if found["state"] in ENDED else None
        return until(ended, limit_s, f"job {job} to end")

    def wait_state(self, job, state, limit_s=30):
        until(lambda: self.job(job)["state"] == state, limit_s, f"job {job} to be {state}")

    def logs(self, job, rank=0):
        return self.api.raw("GET", f"/v1/jobs/{job}/logs?rank={rank}")[2].decode()

    def relayed(self):
        """The variable by which a client with DOVE_DATA is recorded; none where the server is not there, or has TLS."""
        if not self.server or self.server.poll() is not None or not self.url.startswith("http:"):
            return {}
        if not self.relay:
            self.relay = RecordingRelay(lambda: self.port, Api.recorder)
        return {"DOVE_URL": self.relay.url}

    def run(self, *arguments, check=True, input=None, limit_s=60, name=None, cwd=None, recorded=True, **environment):
        """A dove command against this cluster; name: the face it is called by (sbatch, tcloud). recorded: it is given the
        relay's URL where it would find the server's in the data directory."""
        program = DOVE
        if name:
            faces = os.path.join(self.folder, "faces")
            os.makedirs(faces, exist_ok=True)
            program = os.path.join(faces, name)
            if not os.path.lexists(program):
                os.symlink(DOVE, program)
        named = {"DOVE_URL", "DOVE_DATA"} & set(environment) or "--url" in arguments
        own = self.relayed() if recorded and not named else {}
        done = subprocess.run([program, *arguments], input=input, capture_output=True, text=True, cwd=cwd,
                              timeout=limit_s,
                              env={**self.environment, "DOVE_DATA": self.data, **self.trusts(), **own, **environment})
        if check and done.returncode != 0:
            raise AssertionError(f"{[name or 'dove', *arguments]} exited {done.returncode}\n"
                                 f"{done.stdout}{done.stderr}")
        return done

    def processes(self):
        """Pids of everything whose environment names this cluster's folder."""
        found = []
        mark = ("DOVE_E2E=" + self.folder).encode()
        inside = (self.folder + "/").encode()
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    text = file.read()
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    text += b"\0" + file.read()
            except OSError:
                continue
            if mark in text or inside in text:
                found.append(int(entry))
        return found

    def stop(self):
        own = [*self.agents.values(), *([self.server] if self.server else [])]
        for process in own:
            process.kill()
        for process in own:
            process.wait(10)
        self.agents.clear()
        self.server = None
        deadline = time.monotonic() + 10
        while (left := self.processes()) and time.monotonic() < deadline:
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.02)
        self.close_networks()

    def close_networks(self):
        """Takes away the rules that killed agents left: every packet of this machine would be looked at by them for ever."""
        nft = shutil.which("nft", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        if not nft or os.geteuid() != 0:
            return
        for rules in glob.glob(f"{self.folder}/**/ways/rules") + glob.glob(f"{self.folder}/*/*/ways/rules"):
            with open(rules, errors="replace") as file:
                found = re.match(r"table (inet dovetail_[0-9a-f]+)\n", file.read(100))
            if found:  # a table that is not there is the usual case
                subprocess.run([nft, "delete", "table", *found[1].split()], check=False, stderr=subprocess.DEVNULL)
