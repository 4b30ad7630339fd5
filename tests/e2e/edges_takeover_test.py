#!/usr/bin/env python3
"""`dove proxy`, `dove ssh-gateway` and `dove slurm` know two controllers, the one that stands by first: they serve as ever, and go
on when the one that leads is killed."""
# limit_s: 240
# waits
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest
from urllib.parse import parse_qs, urlsplit

import postgres
from cluster import SKIP, Api
from controllers import Controllers, until
from ports import free_port
from proxy_test import APP, Browser

LIMIT_S = 60


class EdgesTakeoverTest(unittest.TestCase):
    def setUp(self):
        self.port = free_port()
        self.cluster = Controllers(count=2, nodes=2, server_options=["--sessions-url", f"http://*.localhost:{self.port}"]).__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)
        self.urls = ",".join(reversed(self.cluster.url.split(",")))
        self.tokens = {name: self.cluster.api.call("POST", f"/v1/users/{name}/token?create=1")["token"]
                       for name in ("ada", "slurm-1")}
        self.run_dove("apply", "-f", "-", token=self.cluster.token,
                      input="kind: Executor\nname: slurm\nservice_account: slurm-1\nnodes: [node2]\n")
        self.job = self.cluster.api.call("POST", "/v1/jobs", {
            "name": "lab", "command": ["/usr/bin/python3", "-c", APP], "cores": 1,
            "app": {"name": "notebook", "socket": "app", "path": "/lab"}}, {"X-Dove-User": "ada"})["id"]
        self.cluster.wait_state(self.job, "running")

    def run_dove(self, *words, token, **more):
        return self.cluster.run(*words, DOVE_URL=self.cluster.url, DOVE_TOKEN=token, **more)

    def file(self, name, text):
        path = os.path.join(self.cluster.folder, name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(text)
        return path

    def spawn(self, *words):
        process = self.cluster.spawn(*words, "--url", self.urls, stdout=subprocess.DEVNULL)
        def end():
            process.kill()
            process.wait(10)
        self.addCleanup(end)
        return process

    # -- the proxy

    def ask(self, browser, path):
        """Its answer; None: the proxy does not listen yet, or had nobody to ask."""
        try:
            return browser.ask(self.host(), path)
        except (OSError, http.client.HTTPException):
            return None

    def host(self):
        return f"j{self.job}.localhost:{self.port}"

    def enter(self, leader):
        browser = Browser(self.port)
        def sent_to_leader():
            sent = self.ask(browser, "/lab")
            where = urlsplit(sent.headers["Location"]) if sent is not None and sent.status == 303 else None
            return where if where and f"{where.scheme}://{where.netloc}" == leader.url else None
        where = until(sent_to_leader, LIMIT_S, "a browser to be sent to the console of the leader")
        self.assertEqual(where.path, f"/enter/{self.job}")
        api = Api(leader.url, self.tokens["ada"])
        status, headers, text = api.raw("POST", "/v1/sign-in", {"token": self.tokens["ada"]},
                                        {"Authorization": "", "Origin": leader.url})
        self.assertEqual(status, 201, text)
        status, _, text = api.raw("POST", f"/v1/jobs/{self.job}/entries", {"state": parse_qs(where.query)["state"][0]},
                                  {"Authorization": "", "Cookie": headers["Set-Cookie"].split(";")[0], "Origin": leader.url})
        api.close()
        self.assertEqual(status, 201, text)
        let_in = browser.ask(self.host(), f"/.dove/enter?job={self.job}&code={json.loads(text)['code']}&path=/lab")
        self.assertEqual(let_in.status, 303, let_in.text)
        return browser

    def until_served(self, browser):
        def served():
            answer = self.ask(browser, "/x")
            return answer is not None and answer.status == 200
        until(served, LIMIT_S, "the app to answer")

    # -- the gateway

    def gateway(self):
        def announced():
            status, _, text = self.cluster.api.raw("GET", "/v1/ssh-gateway")
            return json.loads(text) if status == 200 else None
        return until(announced, LIMIT_S, "the gateway to announce itself")

    def ssh(self, port, key):
        done = subprocess.run(
            ["ssh", "-F", "none", "-p", str(port), "-i", key, "-o", "IdentitiesOnly=yes", "-o", "UserKnownHostsFile=/dev/null",
             "-o", "StrictHostKeyChecking=no", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-o", "ConnectTimeout=20",
             f"{self.job}@127.0.0.1", "echo in $DOVE_JOB_ID"], capture_output=True, timeout=LIMIT_S, check=False)
        self.assertEqual(done.stdout.decode(), f"in {self.job}\n", done.stderr)

    # -- the adapter of a Slurm

    def contact(self):
        """What the ledger thinks of the adapter. Without a Slurm it calls all the same."""
        return self.cluster.api.call("GET", "/v1/nodes/node2")["executors"][0]["contact"]

    def test_all_go_on_when_the_leader_is_killed(self):
        leader = self.cluster.wait_leader()
        self.spawn("proxy", "--domain", "localhost", "--port", str(self.port))
        adapter = self.spawn("slurm", "--key-file", self.file("slurm.key", self.tokens["slurm-1"]), "--interval", "200ms",
                             "--state-dir", os.path.join(self.cluster.folder, "slurm"))
        has_ssh = shutil.which("ssh") is not None
        if has_ssh:
            shutil.copy(os.path.join(leader.data, "ssh_gateway_token"), os.path.join(self.cluster.folder, "gateway.token"))
            self.spawn("ssh-gateway", "--port", "0", "--key-file", os.path.join(self.cluster.folder, "gateway.token"),
                       "--data", os.path.join(self.cluster.folder, "ssh"))
            key = os.path.join(self.cluster.folder, "key")
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
            self.run_dove("ssh-key", "add", key + ".pub", token=self.tokens["ada"])
        browser = self.enter(leader)
        self.until_served(browser)
        until(lambda: self.contact() != "silent", LIMIT_S, "the adapter to be heard")
        if has_ssh:
            port = self.gateway()["port"]
            self.ssh(port, key)

        # While it stands still the next leader finds that it is silent.
        adapter.send_signal(signal.SIGSTOP)
        leader.kill()
        other = self.cluster.wait_leader(but=leader.number)
        self.until_served(browser)
        if has_ssh:
            self.assertEqual(self.gateway()["port"], port)
            self.ssh(port, key)
        self.until_served(self.enter(other))
        until(lambda: self.contact() == "silent", LIMIT_S, "the adapter to be missed")
        adapter.send_signal(signal.SIGCONT)
        until(lambda: self.contact() != "silent", LIMIT_S, "the adapter to be heard by the next leader")


if __name__ == "__main__":
    if why := postgres.missing():
        print(f"skipped: {why}")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
