#!/usr/bin/env python3
"""Networks of gangs: nodes are network namespaces on a bridge, jobs are containers on them.

A gang's tasks reach each other by name across nodes; other jobs, and the nodes themselves, do not reach them but by the
ports that they publish; restarted agents change nothing, and when a gang is over nothing of its network is left.
Everything is made in network, mount and process namespaces of the test's own. Needs root, runc, iproute2.
"""
# limit_s: 400
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

from cluster import DOVE, SKIP, Cluster, make_bare_image, until

NODES = {"node1": "10.77.0.1", "node2": "10.77.0.2"}
HUB = "10.77.0.254"
MANY = int(os.environ.get("CONTAINERS", "40"))
# Serves its name at its own address, then asks the others until all have answered with theirs.
MEET = """
import os, socket, threading, time
me = socket.gethostname()
assert me == os.environ["BACKENDAI_CLUSTER_HOST"] in os.environ["BACKENDAI_CLUSTER_HOSTS"].split(","), os.environ
server = socket.create_server((me, 8000))
def serve():
    while True:
        with server.accept()[0] as asked:
            asked.sendall(me.encode())
threading.Thread(target=serve, daemon=True).start()
for other in ("main1", "sub1", "sub2", "sub3", "rank2", os.environ["MASTER_ADDR"]):
    while True:
        try:
            with socket.create_connection((other, 8000), timeout=2) as asked:
                answer = asked.recv(100).decode()
            break
        except OSError:
            time.sleep(0.2)
    assert other in (answer, "rank2", os.environ["MASTER_ADDR"]), (other, answer)
print("met all", flush=True)
while not os.path.exists("/volume/over"):
    time.sleep(0.2)
"""
# No address answers but its own.
TRY = """
import socket, subprocess
if socket.gethostname() == "main1":
    for host, port in {places}:
        try:
            socket.create_connection((host, port), timeout=2)
            print("reached", host, port)
        except OSError as refused:
            print("refused", refused)
"""
SERVE = """
import http.server, os
os.chdir("/tmp")
open("name", "w").write("served")
http.server.ThreadingHTTPServer(("", 80), http.server.SimpleHTTPRequestHandler).serve_forever()
"""


def cannot_run():
    if os.geteuid() != 0:
        return "network namespaces need root"
    for either in (("runc", "crun"), ("ip",), ("nsenter",), ("unshare",)):
        if not any(map(shutil.which, either)):
            return f"there is no {' or '.join(either)} (tools/setup test)"
    for kind in ("vxlan id 1 dstport 4789", "veth", "bridge"):
        made = subprocess.run(["unshare", "--net", "ip", "link", "add", "probe", "type", *kind.split()], capture_output=True)
        if made.returncode != 0:
            return f"this machine's kernel has no {kind.split()[0]}"
    return None


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def make_nodes():
    """A bridge with an address of the test's, and a namespace with a leg on it for each node."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    os.mkdir("/run/netns")
    ip("link", "set", "lo", "up")
    ip("link", "add", "hub", "type", "bridge")
    ip("addr", "add", HUB + "/24", "dev", "hub")
    ip("link", "set", "hub", "up")
    for name, address in NODES.items():
        ip("netns", "add", name)
        ip("link", "add", "leg-" + name, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("link", "set", "leg-" + name, "master", "hub", "up")
        ip("-n", name, "addr", "add", address + "/24", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        ip("-n", name, "link", "set", "lo", "up")


class NodesApart(Cluster):
    """Each agent lives in the network namespace of its name."""

    def spawn(self, *arguments, **more):
        words = [DOVE, *arguments]
        if arguments[0] == "agent":
            name = arguments[arguments.index("--name") + 1]
            words = ["nsenter", f"--net=/run/netns/{name}", *words, "--address", NODES[name]]
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=self.log, env=self.environment,
                                start_new_session=True, **more)


class OnBridge(unittest.TestCase):
    """An image without programs, a volume to write to, and the nodes; `cluster` is for the tests to begin."""

    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="dove-network.")
        os.chmod(cls.root, 0o755)
        make_bare_image(cls.root + "/images/small")
        cls.volume = cls.root + "/volume"
        os.mkdir(cls.volume)
        os.chmod(cls.volume, 0o777)
        make_nodes()

    @classmethod
    def begin(cls):
        cls.cluster = NodesApart(nodes=2, cores=8, server_options=["--host", HUB], agent_options=cls.options())
        cls.cluster.__enter__()

    @classmethod
    def options(cls, *more):
        return ["--images", cls.root + "/images", "--volume-roots", cls.volume + ",/usr", *more]

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)
        shutil.rmtree(cls.root)


class NetworkTest(OnBridge):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.mounts = cls.mounted()
        cls.begin()

    @classmethod
    def mounted(cls):
        with open("/proc/self/mounts") as file:
            return sorted(file)

    def submit(self, script, tasks=1, nodes=1, network="gang", **more):
        container = {"image": "small", "network": network, **more, "volumes": [
            {"source": "/usr"}, {"source": self.volume, "target": "/volume", "writable": True}]}
        return self.cluster.submit({"command": ["/usr/bin/python3", "-c", script], "tasks": tasks, "nodes": nodes,
                                    "cores": 1, "container": container})

    def ended(self, job, state="completed"):
        found = self.cluster.wait(job, 60)
        log = self.cluster.logs(job)
        self.assertEqual(found["state"], state, (log, found["attempts"]))
        return log

    def tell_over(self):
        with open(self.volume + "/over", "w"):
            pass

    @staticmethod
    def namespaces():
        found = set()
        for pid in os.listdir("/proc"):
            try:
                found.add(os.stat(f"/proc/{pid}/ns/net").st_ino)
            except OSError:  # no process, or over
                pass
        return found

    def nothing_is_left(self):
        def left():
            found = [line for line in self.mounted() if line not in self.mounts]
            for name in NODES:
                found += os.listdir(f"{self.cluster.folder}/nodes/{name}/networks")
                links = subprocess.run(["ip", "-n", name, "-o", "link"], capture_output=True, text=True, check=True)
                found += [line for line in links.stdout.splitlines() if "lo:" not in line and "eth0" not in line]
            return found + ["a namespace"] * (len(self.namespaces()) - 1 - len(NODES))
        until(lambda: not left(), 20, "the networks to be gone")

    def setUp(self):
        if os.path.exists(self.volume + "/over"):
            os.unlink(self.volume + "/over")

    def meet(self):
        job = self.submit(MEET, tasks=4, nodes=2)
        until(lambda: all("met all" in self.cluster.logs(job, rank) for rank in range(4)), 40, "the gang to meet")
        return job

    def test_1_a_gang_meets_by_name_and_others_stay_out(self):
        gang = self.meet()
        places = [("100.64.0.18", 8000), ("100.64.0.19", 8000), (NODES["node1"], 22), (HUB, self.cluster.port)]
        foreign = self.ended(self.submit(TRY.format(places=places), tasks=2, nodes=2))
        self.assertEqual(foreign.count("refused"), len(places), foreign)
        self.assertNotIn("reached", foreign)
        # The node itself has no way in.
        for host in ("100.64.0.16", "100.64.0.18"):
            asked = subprocess.run(["nsenter", "--net=/run/netns/node1", sys.executable, "-c",
                                    f"import socket; socket.create_connection(({host!r}, 8000), timeout=2)"],
                                   capture_output=True)
            self.assertNotEqual(asked.returncode, 0)
        self.tell_over()
        self.ended(gang)
        self.nothing_is_left()

    def test_2_a_published_port_leads_in(self):
        job = self.submit(SERVE, ports=[{"port": 80, "node_port": 18080}])
        self.cluster.wait_state(job, "running")
        node = self.cluster.job(job)["nodes"][0]
        url = f"http://{NODES[node]}:18080/name"

        def fetch():
            try:
                with urllib.request.urlopen(url, timeout=2) as answer:
                    return answer.read().decode()
            except OSError:
                return ""
        self.assertEqual(until(fetch, 20, "the published port"), "served")
        self.assertEqual([fetch() for _ in range(50)], ["served"] * 50)
        other = self.submit("", ports=[{"port": 80, "node_port": 18080}])  # the port is taken there
        self.cluster.wait(other, 60)
        self.cluster.run("cancel", str(job))
        self.ended(job, "cancelled")
        self.assertEqual(fetch(), "")
        self.nothing_is_left()

    def test_3_the_agent_may_be_restarted(self):
        gang = self.meet()
        for name in NODES:
            self.cluster.agents[name].kill()
            self.cluster.agents[name].wait()
            self.cluster.start_agent(name)
        self.cluster.wait_connected()
        self.tell_over()
        self.ended(gang)
        self.assertEqual(len(self.cluster.job(gang)["attempts"]), 1)
        self.nothing_is_left()

    def test_3_steps_run_in_the_jobs_network(self):
        gang = self.meet()
        asks = "import os, socket; os.write(1, socket.create_connection(('sub3', 8000), timeout=5).recv(100) + b'\\n')"
        with open(self.cluster.data + "/token") as file:
            inside = {"DOVE_JOB_ID": str(gang), "DOVE_URL": self.cluster.url, "DOVE_JOB_TOKEN": file.read().strip(),
                      "DOVE_CA_FILE": self.cluster.ca_file()}
        done = self.cluster.run("srun", "--ntasks=2", "--nodes=2", "/usr/bin/python3", "-c", asks, **inside)
        self.assertEqual(done.stdout.split(), ["sub3", "sub3"])
        self.tell_over()
        self.ended(gang)
        self.nothing_is_left()

    def test_4_what_a_dead_agent_left_is_swept(self):
        gang = self.meet()
        for name in NODES:
            self.cluster.agents[name].kill()
            self.cluster.agents[name].wait()
        self.cluster.run("cancel", str(gang))
        time.sleep(6)  # the fence
        for name in NODES:
            self.cluster.start_agent(name)
        self.cluster.wait_connected()
        self.cluster.wait(gang, 60)
        self.nothing_is_left()

    def test_5_many_leave_nothing(self):
        jobs = [self.submit("", tasks=2, nodes=2) for _ in range(MANY // 2)] + [self.submit("") for _ in range(MANY)]
        for job in jobs:
            self.assertEqual(self.cluster.wait(job, 120)["state"], "completed")
        self.nothing_is_left()

    def test_6_the_nodes_network_is_asked_for_by_name(self):
        log = self.ended(self.submit(TRY.format(places=[(HUB, self.cluster.port)]).replace('== "main1"', 'in ("node1", "node2")'),
                                     network="host"))
        self.assertIn("reached", log)


if __name__ == "__main__":
    if why := cannot_run():
        print("skipped:", why)
        sys.exit(SKIP)
    if os.environ.get("DOVE_NETWORK_APART") != "1":
        os.environ["DOVE_NETWORK_APART"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc",
                              "--propagation", "private", sys.executable, os.path.abspath(__file__), *sys.argv[1:]])
    unittest.main(verbosity=2)
