#!/usr/bin/env python3
"""A job that can never start is warned of at submission, naming what was asked and what there is; `dove why` says the
same first."""
import os
import sys
import unittest

from cluster import Cluster, until

SAID = [
    (["--gpus-per-node", "99"], "a node must have 99 GPUs, and no node of pool default has more than 2"),
    (["-n1", "--gpus-per-task=99"], "a task needs 99 GPUs, and no node of pool default has more than 2"),
    (["--mem", "64G"], "a node must have 64 GiB of memory, and no node of pool default has more than "),
    (["-c", "100"], "a task needs 100 cores, and no node of pool default has more than 4"),
    (["--gpus-per-node", "A100:1"], "needs 1 A100; pool default has no A100 (it has 4 "),
    (["-C", "nvlink"], "no node of pool default has the feature nvlink"),
    (["--gres", "rdma:1"], "needs 1 rdma; no node of pool default has any"),
    (["-x", "node1,node2"], "--nodelist and --exclude leave no node of pool default"),
    (["-w", "node9"], "asks for node node9, which pool default does not have"),
    (["-N3"], "needs 3 nodes; pool default has 2"),
    (["-n", "100"], "needs 100 tasks at once; all nodes of pool default together can hold 8"),
]


class NeverStarts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=2, gpus=2, cores=4).__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)

    def submit(self, *options):
        done = self.cluster.run("submit", "-o", "name", *options, "--", "true")
        return done.stdout.strip(), done.stderr

    def test_what_is_impossible_is_said_at_submission_and_first(self):
        for options, text in SAID:
            with self.subTest(options):
                job, said = self.submit(*options)
                self.assertIn("this job cannot start: " + text, said)
                self.assertIn("It waits until nodes join or change", said)
                first = self.cluster.run("why", job).stdout.splitlines()[1]
                self.assertIn(text, first)
                self.cluster.run("cancel", job)

    def test_what_may_start_is_not_warned_of(self):
        for options in (["-n8"], ["-N2", "--gpus-per-node=2"], ["-w", "node1"], ["-x", "node1"], ["-c4"], ["--exclusive"],
                        ["-N2", "-w", "node1"]):
            with self.subTest(options):
                job, said = self.submit(*options)
                self.assertEqual(said, "")
                self.cluster.wait(int(job))

    def test_an_image_that_no_node_has(self):
        if os.geteuid() != 0:
            self.skipTest("containers need root")
        images = os.path.join(self.cluster.folder, "images")
        os.makedirs(images + "/small/bin")
        cluster = Cluster(nodes=2, agent_options=["--images", images, "--look-s", "1"])
        with cluster:
            script = os.path.join(cluster.folder, "job.sh")
            with open(script, "w") as file:
                file.write("#!/bin/bash\n#SBATCH --container-image=not-there\ntrue\n")
            text = "this job cannot start: no node of pool default has the image not-there (they have small)"
            for line in (["submit", "--image", "not-there", "--", "true"], ["sbatch", script],
                         ["sbatch", "--container-image=not-there", "--wrap", "true"]):
                with self.subTest(line):
                    self.assertIn(text, cluster.run(*line).stderr)
            said = cluster.run("submit", "--image", "docker://a.io/b", "--", "true").stderr
            self.assertIn("no node of pool default brings images from registries (they have small)", said)
            self.assertEqual(cluster.run("submit", "--image", "small", "--", "/bin/true").stderr, "")
            os.makedirs(images + "/not-there/bin")
            until(lambda: not cluster.run("submit", "--image", "not-there", "--", "true").stderr, 60,
                  "the agents to see the image")

    def test_memory_that_nothing_limits(self):
        said = self.submit("--mem", "1M")[1]  # its agents run as this user and make no cgroups
        self.assertIn("memory is reserved but not limited: no node of pool default", said)
        self.assertEqual(self.submit()[1], "")

    def test_drained_nodes_have_a_text_of_their_own(self):
        self.cluster.run("drain", "node1", "node2", "--reason", "fan")
        try:
            job, said = self.submit()
            self.assertIn("both nodes are drained (fan): the job waits until one is taken back", said)
            self.assertIn("both matching nodes are drained (fan)", self.cluster.run("why", job).stdout)
        finally:
            self.cluster.run("undrain", "node1", "node2")
        self.cluster.wait(int(job))


if __name__ == "__main__":
    sys.exit(unittest.main())
