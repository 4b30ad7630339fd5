#!/usr/bin/env python3
"""A job on a node that a Slurm schedules, too, starts once the Slurm holds its place; what the Slurm runs is not given
to jobs here, is named by `dove why` and shown with the node, and who waits for it is promised the end that the Slurm
names. Here a fake adapter speaks for a Slurm that is not there."""
import datetime
import re
import threading
import uuid

from cluster import Api, Cluster, until


class FakeAdapter:
    """Says what the test lets it say, and holds what it is told to hold, unless it is to refuse."""

    def __init__(self, cluster, token):
        self.cluster, self.token = cluster, token
        self.allocations, self.nodes, self.refuses, self.gives = [], [], False, True
        self.held, self.runs, self.ends = {}, set(), False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        incarnation, number, seen = uuid.uuid4().hex, 0, 0
        while not self.ends:
            number += 1
            said = {"incarnation": incarnation, "number": number, "seen": seen, "wait_s": 1,
                    "allocations": list(self.allocations), "placeholders": list(self.held.values()),
                    "nodes": self.nodes}
            try:
                answer = self.sync(said)
            except OSError:
                continue  # the server is down
            seen = answer["version"]
            wanted = {(one["job"], one["attempt"], one["node"]): one for one in answer["wanted"]}
            self.runs |= {one["job"] for one in answer["wanted"] if one["runs"]}  # jobs that it is to run itself
            self.held = {key: one for key, one in self.held.items() if key in wanted}
            for key, one in wanted.items():
                state = "refused" if self.refuses else "confirmed" if self.gives else "asked"
                self.held[key] = {"job": key[0], "attempt": key[1], "node": key[2], "id": "1300", "state": state,
                                  "devices": one["devices"]}

    def sync(self, said):
        api = Api(self.cluster.url, self.token, ca_file=self.cluster.ca_file())
        answer = api.call("POST", "/v1/executors/slurm/sync", said)
        api.close()
        return answer

    def end(self):
        self.ends = True
        self.thread.join()


def main():
    with Cluster(nodes=1, gpus=4, cores=8) as cluster:
        token = cluster.api.call("POST", "/v1/users/slurm-1/token?create=1")["token"]
        cluster.run("apply", "-f", "-", input="kind: Executor\nname: slurm\nservice_account: slurm-1\nnodes: [node1]\n"
                                               "queues: {lab: default}\n")
        node = lambda: cluster.api.call("GET", "/v1/nodes/node1")  # noqa: E731
        assert node()["state"] == "drained", node()
        adapter = FakeAdapter(cluster, token)
        try:
            until(lambda: node()["state"] == "ready", 20, "the node to take jobs")
            job = cluster.submit({"name": "first", "gpus": 1, "command": ["true"]})
            ended = cluster.wait(job)
            assert ended["state"] == "completed", ended
            until(lambda: not adapter.held, 20, "its placeholder to be released")

            # What the Slurm runs is not free, until it ends.
            ends = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
            adapter.allocations = [{"id": "77", "node": "node1", "devices": [0, 2], "cores": [0], "user": "ada",
                                    "account": "lab", "partition": "main", "priority": 4000,
                                    "ends_by": ends.strftime("%Y-%m-%dT%H:%M:%SZ")}]
            until(lambda: node()["gpus_free"] == 2, 20, "the allocation to be known")
            shown = cluster.run("nodes", "node1").stdout
            assert re.search(r"slurm job 77 of ada: gpu 0,2, 1 core until \S.*; account lab \(queue default\), partition main, "
                             "priority 4000\n", shown), shown
            waits = cluster.submit({"name": "waits", "gpus": 4, "command": ["true"]})
            why = cluster.run("why", str(waits)).stdout
            assert "slurm job 77 of ada holds gpu 0,2 on node1" in why, why
            until(lambda: cluster.job(waits)["promised_start"], 10, "a promise")
            assert "Promised to start by" in cluster.run("why", str(waits)).stdout
            adapter.allocations = []
            assert cluster.wait(waits)["state"] == "completed"

            # Nothing starts before it is confirmed, whoever is restarted meanwhile.
            adapter.gives = False
            asked = cluster.submit({"name": "asked", "gpus": 1, "command": ["true"]})
            stage = lambda: cluster.job(asked)["attempts"][-1]["stage"]  # noqa: E731
            until(lambda: stage() == "placeholder", 20, "it to wait for its placeholder")
            assert "slurm is to hold its place on node1" in cluster.run("why", str(asked)).stdout
            cluster.server.kill()
            cluster.server.wait(10)
            cluster.start_server()
            until(lambda: cluster.job(asked)["attempts"][-1]["placements"][0]["placeholders"][0]["stage"] == "asked", 20,
                  "the adapter to be heard again")
            assert stage() == "placeholder", cluster.job(asked)
            adapter.gives = True
            assert cluster.wait(asked, 60)["state"] == "completed"

            # A job that is refused is placed anew, and its attempt counts for nothing.
            adapter.refuses = True
            again = cluster.submit({"name": "again", "gpus": 1, "command": ["true"]})
            until(lambda: len(cluster.job(again)["attempts"]) > 1, 30, "a second attempt")
            adapter.refuses = False
            done = cluster.wait(again, 60)
            assert done["state"] == "completed" and done["retries_used"] == 0, done
            assert done["attempts"][0]["stop_reason"] == "placeholder", done["attempts"]
        finally:
            adapter.end()


if __name__ == "__main__":
    main()
