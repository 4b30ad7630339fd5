#!/usr/bin/env python3
"""Egress of gang networks: to the world and the controller, not to the node, other gangs or the cloud's metadata.

Nodes are network namespaces on a bridge, as in network_test.py; the world is an address behind the bridge. Settings of
forwarding are those of the nodes' own namespaces. Needs root, runc, iproute2, nftables.
"""
import os
import shutil
import socket
import subprocess
import sys
import threading
import unittest

import network_test
from cluster import SKIP, Cluster, until
from network_test import HUB, NODES, OnBridge, ip

WORLD = "203.0.113.5"
ELSEWHERE = "198.51.100.7"
METADATA = "169.254.169.254"
PORT = 9000
VXLAN_PORT = 4789
# Says of each place whether it answers, and as whom it knows us.
ASK = """
import os, socket, ssl, urllib.request
def ask(kind, host, port):
    with socket.socket(socket.AF_INET, kind) as asks:
        asks.settimeout(2)
        asks.connect((host, port))
        asks.send(b"who am I")
        return asks.recv(100).decode()
for kind, host, port in {places}:
    try:
        print(host, "answers", ask(getattr(socket, "SOCK_" + kind), host, port))
    except OSError as refused:
        print(host, "refused", refused)
for url in os.environ["DOVE_URL"].split(","):
    try:
        request = urllib.request.Request(url + "/v1/jobs/" + os.environ["DOVE_JOB_ID"])
        request.add_header("Authorization", "Bearer " + os.environ["DOVE_JOB_TOKEN"])
        trusts = ssl.create_default_context(cafile=os.environ.get("DOVE_CA_FILE"))
        print("controller", urllib.request.urlopen(request, timeout=3, context=trusts).status)
    except OSError as refused:
        print("controller refused", refused)
print(open("/etc/resolv.conf").read().replace("\\n", ";"))
for line in open("/proc/net/dev"):
    name = line.split(":")[0].strip()
    if name in ("out0", "gang0"):
        import fcntl, struct
        asked = fcntl.ioctl(socket.socket(), 0x8921, struct.pack("16sI12x", name.encode(), 0))  # SIOCGIFMTU
        print(name, struct.unpack("16sI12x", asked)[1])
"""
SERVE = """
import socket
server = socket.create_server(("", 8000))
open("/volume/serving", "w").close()
while True:
    server.accept()[0].sendall(b"entered")
"""


def cannot_run():
    if not shutil.which("nft"):
        return "there is no nft (tools/setup test)"
    return network_test.cannot_run()


def serve_world():
    """In the test's own namespace: who asks is told as whom."""
    streams = socket.create_server(("", PORT))
    packets, frames = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    packets.bind((ELSEWHERE, PORT))  # or it answers from another address
    frames.bind((ELSEWHERE, VXLAN_PORT))

    def answer_streams():
        while True:
            asks, address = streams.accept()
            with asks:
                asks.sendall(address[0].encode())

    def answer_packets(to):
        while True:
            _, address = to.recvfrom(100)
            to.sendto(address[0].encode(), address)
    threading.Thread(target=answer_streams, daemon=True).start()
    for one in (packets, frames):
        threading.Thread(target=answer_packets, args=(one,), daemon=True).start()


def on(node, *words, **more):
    return subprocess.run(["nsenter", f"--net=/run/netns/{node}", *words], capture_output=True, text=True, **more)


def forward(node, value):
    on(node, "sh", "-c", f"echo {value} > /proc/sys/net/ipv4/ip_forward", check=True)


class Out(OnBridge):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for address in (WORLD, ELSEWHERE, METADATA):
            ip("addr", "add", address + "/32", "dev", "hub")
        for name in NODES:
            ip("-n", name, "link", "set", "eth0", "mtu", "1400")
            ip("-n", name, "route", "add", "default", "via", HUB)
            forward(name, 1)
        serve_world()
        cls.begin()

    def setUp(self):
        for name in os.listdir(self.volume):
            os.unlink(os.path.join(self.volume, name))

    def submit(self, script, cluster=None, network="gang", **more):
        container = {"image": "small", "volumes": [
            {"source": "/usr"}, {"source": self.volume, "target": "/volume", "writable": True}]}
        if network:
            container["network"] = network
        return (cluster or self.cluster).submit({"command": ["/usr/bin/python3", "-c", script], "cores": 1,
                                                 "container": container, **more})

    def asked(self, *places, cluster=None, **more):
        """What a task says of these places, by their hosts."""
        cluster = cluster or self.cluster
        job = self.submit(ASK.format(places=[("STREAM", host, port) if isinstance(host, str) else (*host, port)
                                             for host, port in places]), cluster, **more)
        found = cluster.wait(job, 60)
        log = cluster.logs(job)
        self.assertEqual(found["state"], "completed", (log, found["attempts"]))
        self.where = found["attempts"][-1]["nodes"][0]
        self.warnings = [one["text"] for one in cluster.job(job)["warnings"]]
        return dict(line.split(" ", 1) for line in log.splitlines())

    def restart(self, node, *options):
        self.cluster.agents[node].terminate()
        self.cluster.agents[node].wait()
        self.cluster.agent_options = self.options(*options)
        self.cluster.start_agent(node)
        self.cluster.wait_connected()
        until(lambda: all(one["contact"] == "connected" for one in self.cluster.nodes()), 20, "the agents")

    def test_1_out_to_the_world_and_the_controller(self):
        answers = self.asked((WORLD, PORT), (("DGRAM", ELSEWHERE), PORT))
        self.assertEqual(answers[WORLD], "answers " + NODES[self.where], "translated to the node's address")
        self.assertEqual(answers[ELSEWHERE], "answers " + NODES[self.where])
        self.assertIn("refused", self.asked((("DGRAM", ELSEWHERE), VXLAN_PORT))[ELSEWHERE], "no frames for other gangs")
        self.assertEqual(answers["controller"], "200")
        self.assertEqual(answers["out0"], "1400", "as the node's own way")
        spread = self.asked((WORLD, PORT), nodes=2, tasks=2)
        self.assertEqual(spread["gang0"], "1350", "less what VXLAN adds")
        self.assertIn("answers", spread[WORLD])

    def test_2_not_to_the_node_nor_to_metadata_nor_to_others(self):
        held = [subprocess.Popen(["nsenter", f"--net=/run/netns/{name}", sys.executable, "-c",
                                  "import socket; s = socket.create_server(('', 9100), backlog=9); print(flush=True)\n"
                                  "while True: s.accept()[0].sendall(b'the node')"], stdout=subprocess.PIPE)
                for name in NODES]
        try:
            for one in held:
                one.stdout.readline()
            server = self.submit(SERVE)
            until(lambda: os.path.exists(self.volume + "/serving"), 30, "the other gang to serve")
            node = self.cluster.job(server)["nodes"][0]
            shown = on(node, "ip", "-4", "route", check=True).stdout
            other = next(line.split()[0] for line in shown.splitlines() if line.startswith("100.112."))
            answers = self.asked((METADATA, PORT), (NODES["node1"], 9100), (NODES["node2"], 9100), (other, 8000), ("100.64.0.16", 8000), (WORLD, PORT))
            self.assertIn("answers", answers[WORLD])
            self.assertIn("refused", answers[METADATA])
            self.assertIn("refused", answers[NODES[self.where]])
            self.assertIn("refused", answers[other])
            self.assertIn("refused", answers["100.64.0.16"])
            # From outside nothing leads in, even for who knows the way.
            ip("route", "add", other + "/32", "via", NODES[node])
            with self.assertRaises(OSError):
                socket.create_connection((other, 8000), timeout=2)
            ip("route", "del", other + "/32")
            self.cluster.run("cancel", str(server))
            self.cluster.wait(server)
        finally:
            for one in held:
                one.kill()
                one.wait()
                one.stdout.close()

    def test_3_only_to_what_is_named(self):
        for name in NODES:
            self.restart(name, "--networks-out", ELSEWHERE + "/32")
        answers = self.asked((WORLD, PORT), (ELSEWHERE, PORT))
        self.assertIn("refused", answers[WORLD])
        self.assertIn("answers", answers[ELSEWHERE])
        self.assertEqual(answers["controller"], "200")
        for name in NODES:
            self.restart(name, "--networks-out", "no")
        answers = self.asked((WORLD, PORT))
        self.assertIn("refused", answers[WORLD])
        self.assertEqual(answers["controller"], "200")
        for name in NODES:
            self.restart(name)
        self.assertIn("answers", self.asked((WORLD, PORT))[WORLD])

    def test_3_to_whichever_controller_leads(self):
        first = f"{self.cluster.url.split(':')[0]}://{WORLD}:1"  # has gone
        self.cluster.agent_url = first + "," + self.cluster.url
        try:
            for name in NODES:
                self.restart(name, "--networks-out", "no")
            answers = self.asked((ELSEWHERE, PORT))
            self.assertIn("refused", answers[ELSEWHERE])
            self.assertEqual(answers["controller"], "200")
        finally:
            self.cluster.agent_url = None
            for name in NODES:
                self.restart(name)

    def told_of_forwarding(self):
        with open(self.cluster.log.name) as file:
            return "net.ipv4.ip_forward=1" in file.read()

    def test_4_a_node_that_does_not_forward_says_so(self):
        for name in NODES:
            forward(name, 0)
        try:
            self.assertIn("refused", self.asked((WORLD, PORT))[WORLD])
            self.restart("node1")
            until(self.told_of_forwarding, 20, "the agent to say what is missing")
        finally:
            for name in NODES:
                forward(name, 1)
        self.assertIn("answers", self.asked((WORLD, PORT))[WORLD], "no restart is needed")

    def test_5_it_is_the_default_where_it_is_offered(self):
        for name in NODES:
            self.restart(name)  # what leads to other nodes is told at each connection
        alone = self.asked((WORLD, PORT), network=None)
        self.assertIn("out0", alone, "the device of a gang's network")
        self.assertEqual(alone["controller"], "200")
        spread = self.asked((WORLD, PORT), network=None, nodes=2, tasks=2)
        self.assertIn("gang0", spread)
        self.assertEqual(self.warnings, [])
        self.assertNotIn("out0", self.asked((WORLD, PORT), network="host"))
        self.assertEqual(self.warnings, [])

    def test_6_who_cannot_offer_it_says_so(self):
        for name in NODES:
            forward(name, 0)
            self.restart(name)
        try:
            answers = self.asked((WORLD, PORT), network=None)
            self.assertNotIn("out0", answers)
            self.assertIn("answers", answers[WORLD], "in the node's own network")
            self.assertEqual(len(self.warnings), 1)
            self.assertIn("--container-network", self.warnings[0])
            self.assertIn("ip_forward", self.cluster.run("nodes", "node1").stdout)
            self.asked((WORLD, PORT), network=None, nodes=2, tasks=2)
            self.assertIn("when the job was submitted", self.warnings[0])
            for name in NODES:
                self.restart(name, "--default-network", "gang")
            job = self.submit("", network=None)
            found = self.cluster.wait(job, 60)
            self.assertNotEqual(found["state"], "completed")
            self.assertIn("offers no gang network", self.cluster.run("show", str(job)).stdout)
            for name in NODES:
                self.restart(name, "--default-network", "host")
            self.assertNotIn("out0", self.asked((WORLD, PORT), network=None))
            self.assertEqual(self.warnings, [])
        finally:
            for name in NODES:
                forward(name, 1)
                self.restart(name)

    def test_7_nothing_is_left(self):
        def left():
            found = []
            for name in NODES:
                found += on(name, "nft", "list", "tables", check=True).stdout.split()
                links = on(name, "ip", "-o", "link", check=True).stdout.splitlines()
                found += [line for line in links if "lo:" not in line and "eth0" not in line]
            return found
        self.assertIn("answers", self.asked((WORLD, PORT))[WORLD])
        self.assertTrue(left())
        until(lambda: not left(), 40, "table and devices to be gone")

    def test_8_a_controller_on_loopback_is_reached(self):
        with Cluster(nodes=1, cores=4, agent_options=self.options()) as alone:
            answers = self.asked(("127.0.0.1", alone.port), cluster=alone)
            self.assertEqual(answers["controller"], "200")
            self.assertIn("refused", answers["127.0.0.1"], "loopback inside is the gang's")
            alone.agent_url = f"{alone.url.split(':')[0]}://127.0.0.2:1,{alone.url}"
            alone.agents["node1"].terminate()
            alone.agents["node1"].wait()
            alone.start_agent("node1")
            alone.wait_connected()
            self.assertEqual(self.asked(cluster=alone)["controller"], "200", "the second of two there")


if __name__ == "__main__":
    if why := cannot_run():
        print("skipped:", why)
        sys.exit(SKIP)
    if os.environ.get("DOVE_NETWORK_APART") != "1":
        os.environ["DOVE_NETWORK_APART"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc",
                              "--propagation", "private", sys.executable, os.path.abspath(__file__), *sys.argv[1:]])
    unittest.main(verbosity=2)
