#!/usr/bin/env python3
# limit_s: 400
# waits
"""The example of TACC's slide, from end to end: on six nodes that a real Slurm and a cluster of ours share, four nodes
with 2 CPUs, 4 GB and 1 GPU each, once for a gang of ours and once for a job of Slurm's, and what each side says that the
other one holds, field by field.

Skips where Slurm (tools/setup peers, as root) is missing.
"""
import datetime
import re

from shared_nodes import GPUS, OBJECTS, SharedNodes, main, numbers_of, until
from slurm_lab import job_fields, placeholder_user

GIB = 1 << 30
BUSY, SLIDES = ("n0", "n2"), ("n1", "n3", "n4", "n5")
MARGIN_S = 5 * 60  # a placeholder ends after its job, by some minutes


def instant(text):
    """Seconds since 1970 of a time as Slurm writes it."""
    return datetime.datetime.fromisoformat(text).timestamp()


class Slide(SharedNodes):
    maxDiff = None
    nodes = agents = 6
    objects = OBJECTS.replace("n[0-1]", "n[0-5]")

    def setUp(self):
        super().setUp()
        for node in BUSY:
            theirs = self.sbatch(f"--gres=gpu:{GPUS}", "-w", node)
            self.running(theirs)
            self.known(theirs, node)
        # So that not every node gives its first GPU.
        for node in SLIDES[1::2]:
            theirs = self.sbatch("--gres=gpu:1", "-w", node)
            self.running(theirs)
            self.known(theirs, node)

    def placeholders(self, job):
        """{node: fields of `scontrol show job -d`} of those of our job."""
        found = {}
        for line in self.lab.run("scontrol show job -d -o").splitlines():
            fields = job_fields(line)
            if fields["JobName"].startswith(f"dove-{job}.") and fields["JobState"] == "RUNNING":
                self.assertNotIn(fields["NodeList"], found, "one for each node")
                found[fields["NodeList"]] = fields
        return found

    def admin_comment(self, slurm_job):
        return self.lab.run(f"squeue -h -j {slurm_job} -O admin_comment:80").strip()

    def test_t16_a_gang_of_ours_in_slurm(self):
        job = self.cluster.submit({"name": "slide", "command": ["sleep", "300"], "nodes": 4, "tasks": 4, "cores": 2, "gpus": 1,
                                   "memory": "4Gi", "time_limit": "30m"}, **{"X-Dove-User": "nobody"})
        self.assertEqual({node for node, _ in self.started(job, 60)}, set(SLIDES))
        attempt = self.cluster.job(job)["attempts"][-1]
        ends = attempt["started_at_us"] / 1e6 + 30 * 60
        held = self.placeholders(job)
        self.assertEqual(set(held), set(SLIDES))
        for place in attempt["placements"]:
            node, (index,) = place["node_name"], (grant["device"] for grant in place["devices"])
            fields, name = held[node], f"dove-{job}.{attempt['number']}@dove"
            expected = {"JobName": name, "JobState": "RUNNING", "NodeList": node, "ReqNodeList": node, "NumNodes": "1",
                        "NumCPUs": "2", "CPUs/Task": "2", "TRES": "cpu=2,mem=4G,node=1,billing=2", "Mem": "4096",
                        "MinMemoryNode": "4G", "GRES": f"gpu:h200_{index}:1(IDX:{index})",
                        "TresPerNode": f"gres:gpu:h200_{index}:1", "UserId": placeholder_user("nobody(65534)"), "BatchFlag": "0",
                        "Comment": "dovetail", "Requeue": "1", "Dependency": "(null)"}
            self.assertEqual({key: fields.get(key) for key in expected}, expected)
            self.assertEqual(self.by_slurms_number(place["cores"]), numbers_of(fields["CPU_IDs"]))
            self.assertEqual(place["memory_bytes"], 4 * GIB)
            self.assertEqual(self.admin_comment(fields["JobId"]), f"dovetail {name}")
            self.assertTrue(ends <= instant(fields["EndTime"]) <= ends + MARGIN_S, (ends, fields["EndTime"]))
        self.assertEqual({index for _, index in self.devices(job)}, {0, 1}, "where Slurm has the first, ours is the second")
        self.cluster.run("cancel", str(job))
        until(lambda: not self.placeholders(job), 20, "the placeholders to go")

    def test_t17_a_job_of_slurms_in_the_ledger(self):
        job = self.sbatch("-J", "slide", "-N4", "-n4", "-c", "2", "--mem=4G", "--gres=gpu:1", "-w", ",".join(SLIDES), "-t", "30")
        self.running(job)
        given = {}
        for node, cores, gres in re.findall(r"Nodes=(\S+) CPU_IDs=(\S+) Mem=4096 GRES=(\S*)",
                                            self.lab.run(f"scontrol show job -d -o {job}")):
            for each in self.lab.run(f"scontrol show hostnames {node}").split():
                given[each] = (numbers_of(cores), numbers_of(re.search(r"IDX:([\d,-]+)", gres)[1]))
        self.assertEqual(set(given), set(SLIDES))
        ends = instant(re.search(r"EndTime=(\S+)", self.lab.run(f"scontrol show job {job}"))[1])
        for node, (cores, devices) in given.items():
            self.known(job, node)
            found = self.foreign(node)[str(job)]
            self.assertEqual((found["name"], found["user"], found["memory_bytes"], set(found["devices"]),
                              self.by_slurms_number(found["cores"])), ("slide", "root", 4 * GIB, devices, cores))
            self.assertAlmostEqual(found["ends_by_us"] / 1e6, ends, delta=1)
        self.assertNotIn(str(job), self.foreign("n0"))
        # Nothing of ours gets what it has, and the rest of its nodes is free.
        ours = self.submit(GPUS - 2, node="n3")
        self.assertTrue(self.started(ours).isdisjoint({("n3", index) for index in given["n3"][1]}))
        self.lab.run(["scancel", str(job)])
        until(lambda: all(str(job) not in self.foreign(node) for node in SLIDES), 20, "its end to be known")


if __name__ == "__main__":
    main()
