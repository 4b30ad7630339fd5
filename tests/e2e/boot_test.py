#!/usr/bin/env python3
"""A machine that keeps nothing across a reboot: its script, the token for its boot, and its node, which is the same again."""
import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import unittest
import urllib.parse

from cluster import ROOT, Cluster, until
from ports import free_port

JOIN = os.path.join(ROOT, "deploy/boot/join")
CONFIG = {"nodes": ["gpu-[001-004]"], "kernel": "http://127.0.0.1:1/vmlinuz", "initrd": "http://127.0.0.1:1/initrd",
          "from": ["127.0.0.0/8"], "token_lifetime": "2m"}


@unittest.skipUnless(os.geteuid() == 0, "ports below 1024 take root")
class Boot(unittest.TestCase):
    def setUp(self):
        self.cluster = self.enterContext(Cluster(nodes=0))
        self.config()

    def config(self, **fields):
        self.cluster.api.call("PUT", "/v1/objects/boot_config/gpu", {**CONFIG, "controller": self.cluster.url, **fields})

    def ask(self, node="gpu-001", root=True):
        """(status, code or token), as a machine asks that has no token at all."""
        where = urllib.parse.urlsplit(self.cluster.url)
        plain = socket.create_connection((where.hostname, where.port), 20, self.source() if root else None)
        connection = http.client.HTTPConnection(where.hostname, where.port, timeout=20)
        connection.sock = plain
        if where.scheme == "https":
            context = ssl.create_default_context(cafile=self.cluster.ca_file())
            connection.sock = context.wrap_socket(plain, server_hostname=where.hostname)
        connection.request("POST", f"/v1/boot/{node}/join-token", "{}")
        answer = connection.getresponse()
        body = json.loads(answer.read())
        connection.close()
        return answer.status, body.get("token") or body["code"]

    @staticmethod
    def source():
        """A port that takes root."""
        for port in range(1023, 511, -1):
            with socket.socket() as probe:
                try:
                    probe.bind(("127.0.0.1", port))
                    return ("127.0.0.1", port)
                except OSError:
                    continue
        raise OSError("no port below 1024 is free")

    def boot(self, name, command_line):
        """The machine comes up with nothing but its image: what deploy/boot/join does, then the agent. Gives its settings."""
        folder = os.path.join(self.cluster.folder, "machine", name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder + "/image")
        with open(folder + "/cmdline", "w") as file:
            file.write(command_line + "\n")
        with open(folder + "/agent.yaml", "w") as file:
            file.write("cores: 4\ngpus: 2\nrun-as-self: true\nname: nobody\n")
        subprocess.run([JOIN], check=True, timeout=60, stderr=self.cluster.log, env={
            **self.cluster.environment, "DOVE_COMMAND_LINE": folder + "/cmdline", "DOVE_SETTINGS": folder + "/agent.yaml",
            "DOVE_RUN_DIR": folder + "/run", "DOVE_IMAGE_DIR": folder + "/image", "DOVE_BOOT_WAIT": "0.2"})
        self.cluster.agents[name] = self.cluster.spawn(
            "agent", "--config", folder + "/agent.yaml", "--data", folder + "/data", "--shared",
            os.path.join(self.cluster.folder, "shared"), stdout=subprocess.DEVNULL)
        return folder

    def script(self, node):
        connection = self.cluster.connection()
        connection.request("GET", f"/v1/boot/{node}/script")
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def command_line(self, node):
        status, text = self.script(node)
        self.assertEqual(status, 200, text)
        self.assertTrue(text.startswith("#!ipxe\nkernel http://127.0.0.1:1/vmlinuz initrd=initrd "), text)
        return text.splitlines()[1].split(" ", 2)[2]

    def node(self, name="gpu-001"):
        return self.cluster.api.call("GET", f"/v1/nodes/{name}")

    def goes_down(self, name="gpu-001"):
        self.cluster.agents[name].kill()
        self.cluster.agents.pop(name).wait(10)
        until(lambda: self.node(name)["contact"] != "connected", 30, "the node to be away")

    def arm(self, *options):
        return self.cluster.run("node", "boot", "gpu-001", *options).stdout

    def test_a_boot_gives_one_token_to_whom_it_may(self):
        self.assertEqual(self.ask(), (403, "boot_not_armed"))
        self.assertIn("node gpu-001: one boot is expected until ", self.arm("--within", "15m"))
        self.assertEqual(self.ask(root=False), (403, "boot_not_from_root"))
        self.assertEqual(self.ask("gpu-002"), (403, "boot_not_armed"))
        self.assertEqual(self.ask("login"), (403, "boot_not_from_here"))
        self.config(**{"from": ["10.0.0.0/8"]})
        self.assertEqual(self.ask(), (403, "boot_not_from_here"))
        self.config()
        status, _ = self.ask()
        self.assertEqual(status, 201)
        self.assertEqual(self.ask(), (403, "boot_used"))
        self.arm()
        self.assertIn("no boot is expected any more", self.arm("--off"))
        self.assertEqual(self.ask(), (403, "boot_not_armed"))

        def refused():
            return {event["data"]["code"] for event in self.cluster.api.call("GET", "/v1/events?kind=CallsRefused")["events"]}
        until(lambda: {"boot_not_armed", "boot_not_from_root", "boot_not_from_here", "boot_used"} <= refused(), 20,
              "the refusals to be in the log")

    def test_a_wiped_machine_is_the_same_node_again(self):
        self.assertEqual(self.script("login")[0], 404)
        line = self.command_line("gpu-001")
        self.assertEqual("dove.authority=" in line, self.cluster.url.startswith("https:"))
        self.arm()
        folder = self.boot("gpu-001", line)
        self.cluster.names.append("gpu-001")
        self.cluster.wait_connected()
        first = self.node()
        self.assertEqual(len(first["devices"]), 2)
        with open(folder + "/run/join_token") as file:
            spent = file.read().strip()

        # Each attempt that finds no other one alive writes a line; a second one beside the first would end with 7.
        held, lines = os.path.join(self.cluster.folder, "held"), os.path.join(self.cluster.folder, "lines")
        job = self.cluster.submit({"command": ["sh", "-c", f"exec 9>{held}; flock -n 9 || exit 7; echo alone >>{lines}; "
                                               "exec sleep 600"], "gpus": 1})

        def ran(times):
            with open(lines) as file:
                return file.read() == "alone\n" * times
        until(lambda: os.path.exists(lines) and ran(1), 30, "the job to run")
        self.goes_down()
        self.arm()
        self.boot("gpu-001", line)
        self.cluster.wait_connected(60)
        again = self.node()
        self.assertEqual((again["id"], again["name"]), (first["id"], first["name"]))
        self.assertEqual([device["id"] for device in again["devices"]], [device["id"] for device in first["devices"]])
        # What ran there is accounted for: it has ended before it runs again.
        until(lambda: ran(2), 60, "the job to run again")
        self.cluster.wait_state(job, "running")
        status, body = self.join_with(spent)
        self.assertEqual((status, body["code"]), (401, "join_token_invalid"))

    def join_with(self, token):
        connection = self.cluster.connection()
        connection.request("POST", "/v1/agents/join", "{}", {"Authorization": "Bearer " + token.split(".")[0]})
        answer = connection.getresponse()
        body = json.loads(answer.read())
        connection.close()
        return answer.status, body

    @unittest.skipUnless(shutil.which("nginx"), "there is no nginx")
    def test_nginx_gives_scripts_and_nothing_else(self):
        port = free_port()
        where = urllib.parse.urlsplit(self.cluster.url)
        with open(os.path.join(ROOT, "deploy/boot/nginx.conf")) as file:
            text = file.read().replace("10.0.0.2:80", f"127.0.0.1:{port}").replace("/srv/boot", self.cluster.folder + "/www")
        text = text.replace("https://10.0.0.1:7717", f"{where.scheme}://{where.netloc}")
        text = text.replace("/etc/nginx/dove-ca.pem", self.cluster.ca_file() or "/dev/null")
        if where.scheme == "http":
            text = "".join(line for line in text.splitlines(True) if "proxy_ssl_" not in line)
        path = os.path.join(self.cluster.folder, "nginx.conf")
        with open(path, "w") as file:
            file.write(f"user root; daemon off; pid {self.cluster.folder}/nginx.pid; error_log stderr;\nevents {{}}\n"
                       f"http {{ access_log off; {text} }}\n")
        self.nginx = subprocess.Popen(["nginx", "-c", path, "-p", self.cluster.folder], stderr=self.cluster.log,
                                      env=self.cluster.environment)
        self.addCleanup(self.nginx.wait, 10)
        self.addCleanup(self.nginx.terminate)

        def through(method, target):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request(method, target)
            answer = connection.getresponse()
            text = answer.read().decode()
            connection.close()
            return answer.status, text

        def answers():
            try:
                return through("GET", "/v1/boot/gpu-001/script")
            except OSError:
                return None
        self.assertEqual(until(answers, 10, "nginx"), self.script("gpu-001"))
        self.assertEqual(through("POST", "/v1/boot/gpu-001/script")[0], 403)
        for target in ("/v1/boot/gpu-001/join-token", "/healthz", "/v1/nodes"):
            self.assertEqual(through("GET", target)[0], 404, target)


class Join(unittest.TestCase):
    """deploy/boot/join, where no controller ever lets it in."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="dove-join."))
        os.makedirs(self.folder + "/bin")
        self.program("curl", 'echo "$@" >>"$0.calls"; echo 403 127.0.0.1')
        self.program("openssl", 'echo "$@" >>"$0.calls"')
        # Nothing waits, and the last wait ends it.
        self.program("sleep", 'echo "$@" >>"$0.calls"; [ "$(wc -l <"$0.calls")" -lt "$WAITS" ]')

    def program(self, name, text):
        with open(f"{self.folder}/bin/{name}", "w") as file:
            file.write("#!/bin/sh\n" + text + "\n")
        os.chmod(file.name, 0o755)

    def calls(self, name):
        with open(f"{self.folder}/bin/{name}.calls") as file:
            return file.read().splitlines()

    def join(self, command_line, waits):
        with open(self.folder + "/cmdline", "w") as file:
            file.write(command_line + "\n")
        ended = subprocess.run([JOIN], timeout=60, capture_output=True, env={
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "DOVE_COMMAND_LINE": self.folder + "/cmdline",
            "DOVE_SETTINGS": self.folder + "/agent.yaml", "DOVE_RUN_DIR": self.folder + "/run",
            "DOVE_IMAGE_DIR": self.folder, "WAITS": str(waits)})
        self.assertNotEqual(ended.returncode, 0)
        self.assertFalse(os.path.exists(self.folder + "/agent.yaml"))

    def test_it_asks_every_controller_and_more_and_more_rarely(self):
        self.join("quiet dove.node=n1 dove.url=http://10.0.0.1:7717/,http://10.0.0.2/dove//", 6)
        asked = [call.split()[-1] for call in self.calls("curl")]
        self.assertEqual(asked, ["http://10.0.0.1:7717/v1/boot/n1/join-token", "http://10.0.0.2/dove/v1/boot/n1/join-token"] * 6)
        for wait, longest in zip(map(float, self.calls("sleep")), (10, 20, 40, 80, 160, 180), strict=True):
            self.assertTrue(longest / 2 <= wait <= longest, (wait, longest))

    def test_it_asks_for_the_authority_where_the_controller_is(self):
        self.join("dove.node=n1 dove.url=https://10.0.0.1/,https://[::1],https://[::1]:7717 dove.authority=d", 1)
        at = [call.split()[2] for call in self.calls("openssl")]
        self.assertEqual(at, ["10.0.0.1:443", "[::1]:443", "[::1]:7717"])


@unittest.skipUnless(socket.has_dualstack_ipv6(), "there is no IPv6")
class Strangers(unittest.TestCase):
    def test_one_that_asks_too_often_stands_in_nobody_elses_way(self):
        cluster = self.enterContext(Cluster(nodes=0, server_options=["--host", "::", "--insecure"], tls=False))

        def ask(connection):
            connection.request("POST", "/v1/boot/n1/join-token", "{}")
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())["code"]

        def asker(address):
            connection = http.client.HTTPConnection("127.0.0.1", cluster.port, timeout=20, source_address=(address, 0))
            self.addCleanup(connection.close)
            return connection
        often = asker("127.0.0.1")
        for _ in range(20_000):
            answer = ask(often)
            if answer != (403, "boot_not_from_here"):
                break
        self.assertEqual(answer, (429, "rate_limited"))
        self.assertEqual(ask(asker("127.0.0.2")), (403, "boot_not_from_here"))


if __name__ == "__main__":
    unittest.main()
