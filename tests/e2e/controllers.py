"""Several controllers of one cluster on this machine: one PostgreSQL, and agents that know all of them.

    with Controllers(count=2, nodes=2) as cluster:
        cluster.controllers[0].kill(); cluster.wait_leader(but=0)

It is a Cluster (cluster.py) whose calls go to whichever controller leads.
"""
import http.client
import os
import shutil
import signal
import ssl
import time

from cluster import DOVE, Api, ApiError, Cluster, until
from flaky_link import FlakyLink
from ports import free_port
from postgres import Postgres

# Batches of a former term after one of a later: a leader wrote whose time was over.
LATE = """SELECT count(*) FROM dove.batches b WHERE epoch <
          (SELECT max(epoch) FROM dove.batches e WHERE e.batch < b.batch)"""
KEYS = ("secret", "token", "identity.pem", "ssh_gateway_token")


class Controller:
    def __init__(self, cluster, number):
        self.cluster, self.number = cluster, number
        self.port = free_port()
        self.url = f"{'https' if cluster.tls else 'http'}://127.0.0.1:{self.port}"
        self.data = os.path.join(cluster.folder, f"server{number}")
        self.link = FlakyLink(cluster.postgres.port)  # between it and the database
        self.link.__enter__()
        self.process = None
        self.program = cluster.programs[number] if cluster.programs else DOVE
        self.agents_port = free_port() if cluster.fixed_ports else None

    def start(self):
        options = list(self.cluster.server_options)
        if self.agents_port:
            options[options.index("--agents-port") + 1] = str(self.agents_port)
        self.process = self.cluster.spawn(
            "server", "--data", self.data, "--port", str(self.port), "--store",
            self.cluster.postgres.url(self.link.port),
            *(["--lease-ms", str(self.cluster.lease_ms)] if self.cluster.lease_ms else []),
            *options, program=self.program, stdout=self.cluster.log)

    def ask(self, path):
        """(status, body) of a GET; (0, "") when nobody answers."""
        ca_file = self.cluster.ca_file()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        if ca_file:
            tls = ssl.create_default_context(cafile=ca_file) if os.path.exists(ca_file) else None
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=2, context=tls)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            connection.close()

    def leads(self):
        return self.ask("/readyz")[0] == 200

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait(10)

    def end(self):
        if self.process and self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.kill()
        self.link.__exit__()


class AnyApi:
    """Api of whichever controller answers; waits while none does. It sees what it has written. What may not happen twice
    needs a key. As dove's own clients do (src/wire/cluster/controllers.h), it passes over one that gave no answer in time,
    for a while and unless none is left."""

    LATE_S = 2

    def __init__(self, urls, token, limit_s=60, ca_file=None, timeout=5):
        self.apis = [Api(url, token, timeout=timeout, ca_file=ca_file) for url in urls]
        self.at, self.limit_s = 0, limit_s
        self.silent_until = [0.0] * len(urls)
        self.written = {}  # the head of the log after the last write

    def raw(self, method, path, body=None, headers=None):
        answer = self.ask(method, path, body, {**self.written, **(headers or {})})
        if method != "GET" and answer[0] < 400 and "Dove-Log-Head" in answer[1]:
            self.written = {"Dove-Log-Head": answer[1]["Dove-Log-Head"]}
        return answer

    def ask(self, method, path, body, headers):
        deadline = time.monotonic() + self.limit_s
        while True:
            try:
                answer = self.apis[self.at].raw(method, path, body, headers)
                if answer[0] != 503:
                    return answer
            except (OSError, http.client.HTTPException) as error:
                if time.monotonic() > deadline:
                    raise
                self.apis[self.at].close()
                if isinstance(error, TimeoutError):
                    self.silent_until[self.at] = time.monotonic() + self.LATE_S
            if time.monotonic() > deadline:
                return answer
            self.at = self.another()
            time.sleep(0.02)

    def another(self):
        following = [(self.at + i) % len(self.apis) for i in range(1, len(self.apis) + 1)]
        return next((at for at in following if self.silent_until[at] <= time.monotonic()), following[0])  # itself last

    call = Api.call


class Controllers(Cluster):
    """fsync: the database waits for its disk. Tests that end no machine need not. replica: it waits for a second one, too.
    programs: one for each controller, where they are not all DOVE. fixed_ports: with TLS agents find a controller that starts
    again where it was."""

    def __init__(self, count=2, nodes=2, lease_ms=None, tls=False, fsync=False, replica=False, programs=None, fixed_ports=False,
                 **more):
        super().__init__(nodes=nodes, tls=tls, **more)
        self.tls = tls
        self.count, self.lease_ms, self.replica = count, lease_ms, replica
        self.programs, self.fixed_ports = programs, fixed_ports
        self.postgres = Postgres(self.folder, [] if fsync else ["fsync=off"])
        self.controllers = []

    def start_server(self):
        self.postgres.__enter__()
        if self.replica:
            self.postgres.add_replica()
        self.controllers = [Controller(self, number) for number in range(self.count)]
        first = self.controllers[0]
        first.start()
        until(first.leads, 30, "the first controller to lead")
        for other in self.controllers[1:]:
            os.makedirs(other.data, mode=0o700)
            for name in [*KEYS, *(["ca.pem", "ca.key"] if self.tls else [])]:
                shutil.copy(os.path.join(first.data, name), other.data)
            other.start()
        urls = [one.url for one in self.controllers]
        self.agent_url = self.url = ",".join(urls)
        with open(os.path.join(first.data, "token")) as file:
            self.token = file.read().strip()
        self.api = self.any_api()
        until(lambda: all("standby of" in one.ask("/readyz")[1] for one in self.controllers[1:]), 30, "standbys")

    def any_api(self, timeout=5):
        return AnyApi([one.url for one in self.controllers], self.token, ca_file=self.ca_file(), timeout=timeout)

    def ca_file(self):
        return os.path.join(self.folder, "server0", "ca.pem") if self.tls else None

    def wait_leader(self, but=None, limit_s=30):
        def leading():
            return [one for one in self.controllers if one.number != but and one.leads()]
        return until(leading, limit_s, "a leader")[0]

    def stop(self):
        for one in self.controllers:
            one.end()
        super().stop()
        if self.postgres.process:
            self.postgres.__exit__()


__all__ = ["LATE", "AnyApi", "ApiError", "Controller", "Controllers", "until"]
