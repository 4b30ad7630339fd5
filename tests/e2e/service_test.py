#!/usr/bin/env python3
"""What systemd hears of the server, of an agent, of the proxy, of the SSH gateway, of a backup that follows and of the adapter beside a
Slurm: that they are ready, that they get on, and nothing while they do not; and that it understands our units."""
import glob
import os
import shutil
import signal
import socket
import subprocess
import time
import unittest

from cluster import DOVE, ROOT, Cluster, until
from ports import free_port

WATCHDOG_S = 1.0


class Notified:
    """A program under a service manager that only listens."""

    def __init__(self, cluster, *arguments):
        path = os.path.join(cluster.folder, f"notify-{arguments[0]}")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.socket.setblocking(False)
        self.heard = []
        self.process = subprocess.Popen(
            [DOVE, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=cluster.log, start_new_session=True,
            env={**cluster.environment, "NOTIFY_SOCKET": path, "WATCHDOG_USEC": str(int(WATCHDOG_S * 1e6))})

    def listen(self):
        try:
            while True:
                self.heard.extend(self.socket.recv(4096).decode().splitlines())
        except BlockingIOError:
            return self.heard

    def count(self, word):
        return self.listen().count(word)

    def close(self):
        self.process.kill()
        self.process.wait(10)
        self.socket.close()


class Service(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(nodes=0).__enter__()

    def tearDown(self):
        self.cluster.__exit__(None, None, None)

    def check(self, service):
        try:
            until(lambda: service.count("READY=1") == 1, 20, "READY")
            until(lambda: service.count("WATCHDOG=1") >= 3, 20, "the watchdog to be fed")
            os.kill(service.process.pid, signal.SIGSTOP)
            service.listen()
            fed = service.count("WATCHDOG=1")
            time.sleep(2 * WATCHDOG_S)
            self.assertEqual(service.count("WATCHDOG=1"), fed, "what stands still says nothing")
            os.kill(service.process.pid, signal.SIGCONT)
            until(lambda: service.count("WATCHDOG=1") > fed, 20, "it to go on")
            service.process.terminate()
            service.process.wait(20)
            self.assertEqual(service.count("STOPPING=1"), 1)
        finally:
            service.close()

    def test_server(self):
        self.check(Notified(self.cluster, "server", "--data", os.path.join(self.cluster.folder, "other"), "--port", "0"))

    def test_agent(self):
        token = self.cluster.api.call("POST", "/v1/join-tokens", {"node": "n"})["token"]
        path = os.path.join(self.cluster.folder, "join")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(token)
        self.check(Notified(self.cluster, "agent", "--name", "n", "--url", self.cluster.url, "--run-as-self", "--cores", "2",
                            "--data", os.path.join(self.cluster.folder, "n"), "--join-token-file", path))

    def test_proxy(self):
        self.check(Notified(self.cluster, "proxy", "--url", self.cluster.url, "--domain", "localhost", "--port", str(free_port())))

    def test_ssh_gateway(self):
        self.check(Notified(self.cluster, "ssh-gateway", "--url", self.cluster.url, "--port", "0", "--key-file",
                            os.path.join(self.cluster.data, "ssh_gateway_token"), "--data", os.path.join(self.cluster.folder, "ssh")))

    def test_backup(self):
        self.check(Notified(self.cluster, "backup", os.path.join(self.cluster.folder, "kept"), "--data", self.cluster.data,
                            "--plain", "--follow"))

    def test_slurm(self):
        """Where there is no Slurm it gets on all the same."""
        path = os.path.join(self.cluster.folder, "key")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write("none")
        self.check(Notified(self.cluster, "slurm", "--url", self.cluster.url, "--key-file", path, "--interval", "200ms",
                            "--state-dir", os.path.join(self.cluster.folder, "slurm")))

    def test_every_unit_is_told_and_watched(self):
        for unit in glob.glob(os.path.join(ROOT, "deploy/systemd/*.service")):
            with open(unit) as file:
                lines = file.read().splitlines()
            self.assertIn("Type=notify", lines, unit)
            self.assertTrue(any(line.startswith("WatchdogSec=") for line in lines), unit)

    def test_an_adapter_that_was_replaced_is_not_begun_anew(self):
        """It exits with 4. Begun anew it would replace the other one, and that one would replace it again."""
        with open(os.path.join(ROOT, "deploy/systemd/dove-slurm.service")) as file:
            self.assertIn("RestartPreventExitStatus=4", file.read().splitlines())

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd-analyze")
    def test_systemd_understands_every_line_of_the_units(self):
        units = glob.glob(os.path.join(ROOT, "deploy/systemd/*.service"))
        self.assertGreaterEqual(len(units), 5)
        for unit in units:
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
            wrong = [line for line in done.stderr.splitlines()
                     if os.path.basename(unit) in line and "/usr/bin/dove" not in line]  # it is not installed here
            self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
