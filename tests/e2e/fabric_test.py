#!/usr/bin/env python3
"""Tasks of a gang find the network cards that are nearest to their devices, and the planes that administrators
declared: the cards are a tree of files as the kernel makes them (--sys)."""
import os
import subprocess
import unittest

from cluster import DOVE, Cluster, until

SHOWN = ("NCCL_IB_HCA", "UCX_NET_DEVICES", "NCCL_IB_DISABLE", "NCCL_SOCKET_IFNAME", "DOVE_PLANE_STORAGE")
PRINT = "; ".join(f"echo {name}=${{{name}-unset}}" for name in SHOWN) + "; ulimit -l"


def add_card(root, name, interface, state="4: ACTIVE"):
    device = os.path.join(root, "devices", name)
    os.makedirs(os.path.join(device, "net", interface))
    ports = os.path.join(root, "class/infiniband", name, "ports/1")
    os.makedirs(ports)
    for path, text in ((f"{device}/numa_node", "0"), (f"{ports}/state", state), (f"{ports}/link_layer", "InfiniBand")):
        with open(path, "w") as file:
            file.write(text + "\n")
    os.symlink(device, os.path.join(root, "class/infiniband", name, "device"))


class Fabric(unittest.TestCase):
    def start(self, *planes):
        cluster = Cluster(nodes=2, gpus=2)
        root = os.path.join(cluster.folder, "sys")
        cluster.agent_options = [*cluster.agent_options, "--sys", root, *planes]
        os.makedirs(root)
        for name, interface in (("mlx5_0", "ib0"), ("mlx5_1", "ib1"), ("mlx5_2", "ib2")):
            add_card(root, name, interface, "1: DOWN" if name == "mlx5_2" else "4: ACTIVE")
        cluster.__enter__()
        self.addCleanup(cluster.__exit__, None, None, None)
        return cluster

    def shown(self, cluster, nodes):
        job = cluster.submit({"name": "one", "command": ["bash", "-c", PRINT], "gpus": 1, "tasks": nodes,
                              "tasks_per_node": 1})
        self.assertEqual(cluster.wait(job)["state"], "completed", cluster.logs(job))
        lines = cluster.logs(job).split()
        return dict(line.split("=", 1) for line in lines if "=" in line), lines[-1]

    def test_a_gang_uses_the_cards_that_are_up_and_left_to_it(self):
        cluster = self.start("--planes", "user=eth0,storage=ib1")
        found, memlock = self.shown(cluster, nodes=2)
        self.assertEqual(found, {"NCCL_IB_HCA": "=mlx5_0:1", "UCX_NET_DEVICES": "mlx5_0:1", "NCCL_IB_DISABLE": "unset",
                                 "NCCL_SOCKET_IFNAME": "=eth0", "DOVE_PLANE_STORAGE": "ib1"})
        most = subprocess.run(["bash", "-c", "ulimit -Hl"], capture_output=True, text=True, check=True).stdout.strip()
        self.assertIn(memlock, (most, "unlimited"))
        alone, _ = self.shown(cluster, nodes=1)
        self.assertEqual(alone["NCCL_IB_HCA"], "unset")

    def test_gangs_that_ask_for_cards_of_their_own_get_different_ones(self):
        cluster = self.start()
        self.assertEqual(cluster.api.call("GET", "/v1/nodes/node1")["countables_free"], {"nics": 2})
        show = "echo $DOVE_NICS $NCCL_IB_HCA; sleep 600"
        ask = {"name": "own", "command": ["bash", "-c", show], "tasks": 2, "tasks_per_node": 1,
               "countables": {"nics": 1}}
        jobs = [cluster.submit(ask), cluster.submit(ask)]
        for job in jobs:
            cluster.wait_state(job, "running")
        lines = [until(lambda job=job: cluster.logs(job).split(), 20, "its cards") for job in jobs]
        self.assertEqual(lines, [["mlx5_0", "=mlx5_0:1"], ["mlx5_1", "=mlx5_1:1"]])
        third = cluster.submit(ask)
        self.assertIn("nics", str(cluster.api.call("GET", f"/v1/jobs/{third}/why")))
        cluster.api.call("POST", f"/v1/jobs/{jobs[0]}/cancel", {})
        cluster.wait_state(third, "running")
        self.assertEqual(until(lambda: cluster.logs(third).split(), 20, "its cards")[0], "mlx5_0")
        for job in (jobs[1], third):
            cluster.api.call("POST", f"/v1/jobs/{job}/cancel", {})

    def test_planes_that_make_no_sense_are_refused(self):
        done = subprocess.run([DOVE, "agent", "--planes", "gpu"], capture_output=True, text=True, timeout=30)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("user=eth0,storage=ib4,gpu=ib0+ib1", done.stderr)


if __name__ == "__main__":
    unittest.main()
