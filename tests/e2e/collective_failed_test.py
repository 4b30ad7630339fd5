#!/usr/bin/env python3
"""dove.collective_failed() in running tasks: a node that two others blame is suspect, unless the cluster says otherwise."""
import json
import os
import unittest

from cluster import Cluster, until

# Ranks 0 and 2 blame rank 1.
BLAMES = """
import os, time, dove
if os.environ["RANK"] != "1":
    dove.collective_failed(1)
open("said-" + os.environ["RANK"], "w").close()
while not os.path.exists("go"):
    time.sleep(0.1)
"""


class CollectiveFailed(unittest.TestCase):
    def gang(self, cluster, name):
        """A gang over all nodes that has said whom it blames; and its nodes by rank."""
        workdir = os.path.join(cluster.folder, name)
        os.mkdir(workdir)
        job = cluster.submit({"name": name, "nodes": 3, "tasks": 3, "command": ["python3", "-c", BLAMES],
                              "workdir": workdir})
        until(lambda: all(os.path.exists(f"{workdir}/said-{rank}") for rank in range(3)), 60, "all ranks to run")
        placed = {task["rank"]: placement["node_name"]
                  for placement in cluster.job(job)["attempts"][-1]["placements"] for task in placement["tasks"]}
        return job, placed

    def events(self, cluster, kind):
        return [json.loads(line) for line in cluster.run("events", "-k", kind, "-o", "json").stdout.splitlines()]

    def test_blamed_by_two(self):
        with Cluster(nodes=3, cores=2) as cluster:
            cluster.api.call("PUT", "/v1/objects/cluster/cluster", {"job_link_votes": False})
            job, _ = self.gang(cluster, "unheard")
            until(lambda: cluster.job(job)["progress"], 30, "what the ranks wrote to be known")
            with open(f"{cluster.folder}/unheard/go", "w"):
                pass
            self.assertEqual(cluster.wait(job)["state"], "completed")
            self.assertEqual(self.events(cluster, "LinkBlamed"), [])

            cluster.api.call("PUT", "/v1/objects/cluster/cluster", {"job_link_votes": True})
            job, placed = self.gang(cluster, "heard")

            def suspected():
                return [one for one in self.events(cluster, "MoveNode") if one["data"]["to"] == "suspect"]
            moved = until(suspected, 30, "a node to be suspect")
            self.assertEqual(len(moved), 1, moved)
            first, *rest = "the network to it failed from ", placed[0], placed[2]
            orders = (rest, rest[::-1])  # as they were heard
            self.assertIn(moved[0]["data"]["why"],
                          [first + ", ".join(f"{name} (says job {job})" for name in names) for names in orders])
            found = {node["name"]: node for node in cluster.nodes()}
            self.assertIn("the network to it failed", cluster.run("nodes", placed[1]).stdout)
            self.assertNotEqual(found[placed[1]]["state"], "ready")
            self.assertEqual([found[name]["state"] for name in (placed[0], placed[2])], ["ready", "ready"])
            said = {(one["data"]["rank"], one["data"]["peer_rank"]) for one in self.events(cluster, "LinkBlamed")}
            self.assertEqual(said, {(0, 1), (2, 1)})
            with open(f"{cluster.folder}/heard/go", "w"):
                pass
            self.assertEqual(cluster.wait(job)["state"], "completed")


if __name__ == "__main__":
    unittest.main()
