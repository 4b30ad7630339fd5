#!/usr/bin/env python3
"""Huge pages are asked for, waited for, found, and held: a task has those that it asked for and no others.

What the kernel holds is tried with 8 pages of 2 MiB that the test sets aside, as root, and gives back.
"""
import os
import re
import subprocess
import unittest

from cluster import DOVE, ApiError, Cluster, until
from isolation_test import cannot_run, make_image

HERE = os.path.dirname(os.path.abspath(__file__))
MI = 1 << 20
SET_ASIDE = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"


def number_in(path):
    with open(path) as file:
        return int(file.read())


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(str(text))


class Counted(unittest.TestCase):
    """An inventory states them: four pages of 2 MiB and one of 1 GiB."""

    def setUp(self):
        self.cluster = Cluster(nodes=1, gpus=None)
        inventory = self.cluster.folder + "/inventory.yaml"
        write(inventory, "cores: 8\nmemory: 16Gi\ncountables: {hugepages-2Mi: 8Mi, hugepages-1Gi: 1Gi}\n")
        self.cluster.agent_options += ["--cgroups", "off", "--inventory", inventory]
        self.cluster.__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)

    def submit(self, **asked):
        return self.cluster.submit({"name": "pages", "command": ["sleep", "300"], "countables": asked})

    def test_two_that_do_not_fit_at_once_run_one_after_the_other(self):
        first = self.submit(**{"hugepages-2Mi": "6Mi"})
        self.cluster.wait_state(first, "running")
        self.assertEqual(self.cluster.nodes()[0]["countables_free"]["hugepages-2Mi"], 2 * MI)
        second = self.submit(**{"hugepages-2Mi": "4Mi"})
        beside = self.submit(**{"hugepages-2Mi": 2 * MI, "hugepages-1Gi": "1Gi"})
        self.cluster.wait_state(beside, "running")
        why = self.cluster.run("why", str(second)).stdout
        self.assertRegex(why, r"needs 4 MiB of hugepages-2Mi.*free on one node is 0.*8 MiB")
        shown = self.cluster.run("nodes", "node1").stdout
        self.assertIn("hugepages-2Mi 8 MiB of 8 MiB in use", shown)
        self.assertIn("hugepages-1Gi 1 GiB of 1 GiB in use", shown)
        self.cluster.run("cancel", str(first))
        self.cluster.wait_state(second, "running")

    def test_more_than_any_node_has_is_said_to_fit_nowhere(self):
        job = self.submit(**{"hugepages-2Mi": "16Mi"})
        why = until(lambda: self.cluster.run("why", str(job)).stdout, 10, "an answer")
        self.assertRegex(why, "needs 16 MiB of hugepages-2Mi.*8 MiB")

    def test_what_is_no_whole_page_or_no_size_is_refused(self):
        for asked, why in (({"hugepages-2Mi": "3Mi"}, "no whole number of pages: ask for a multiple of 2Mi"),
                           ({"hugepages-1Gi": 2 * MI}, "ask for a multiple of 1Gi"),
                           ({"hugepages-2Mi": "two"}, "is not understood; write bytes"),
                           ({"hugepages-2MB": "2Mi"}, "hugepages-2Mi")):
            with self.assertRaises(ApiError) as refused:
                self.submit(**asked)
            self.assertIn(why, str(refused.exception))

    def test_an_emulated_node_keeps_none_for_itself(self):
        done = subprocess.run([DOVE, "agent", "--name", "n", "--data", self.cluster.folder + "/n", "--url",
                               "http://127.0.0.1:1", "--cores", "4", "--huge-pages-kept", "hugepages-2Mi=4Mi"],
                              capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--huge-pages-kept is of a machine's own pages, this one is emulated", done.stderr)

    def test_job_files_and_gres_ask_for_them(self):
        folder = self.cluster.folder
        write(folder + "/job.yaml", "command: [sleep, '300']\ncountables: {hugepages-2Mi: 4Mi}\n")
        native = self.cluster.run("submit", folder + "/job.yaml").stdout
        job = int(re.search(r"\d+", native)[0])
        self.cluster.wait_state(job, "running")
        write(folder + "/job.sh", f"#!/bin/sh\n#SBATCH --chdir={folder} --gres=hugepages-2Mi:2M,hugepages-1Gi:1Gi\n"
                                  "sleep 300\n")
        batch = int(re.search(r"\d+", self.cluster.run("sbatch", folder + "/job.sh").stdout)[0])
        self.cluster.wait_state(batch, "running")
        self.assertEqual(self.cluster.nodes()[0]["countables_free"], {"hugepages-1Gi": 0, "hugepages-2Mi": 2 * MI})


class Found(unittest.TestCase):
    def test_what_the_kernel_lists_is_offered_and_a_change_is_told(self):
        cluster = Cluster(nodes=1, gpus=None)
        root = cluster.folder + "/sys"
        pages = root + "/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
        write(pages, 8)
        cluster.agent_options += ["--cgroups", "off", "--sys", root]
        with cluster:
            node = cluster.nodes()[0]
            self.assertEqual(node["countables"]["hugepages-2Mi"], 16 * MI)
            write(pages, 64)
            until(lambda: cluster.nodes()[0]["countables"]["hugepages-2Mi"] == 128 * MI, 60, "the change to be told")
            self.assertEqual(node["memory_bytes"] - cluster.nodes()[0]["memory_bytes"], 112 * MI,
                             "they are nobody else's memory")


class Held(unittest.TestCase):
    """On this machine's own pages."""

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0 or not os.path.exists(SET_ASIDE):
            raise unittest.SkipTest("only root sets pages aside, of a kernel that has them")
        cls.before = number_in(SET_ASIDE)
        cls.addClassCleanup(lambda: write(SET_ASIDE, cls.before))
        write(SET_ASIDE, cls.before + 8)
        if number_in(SET_ASIDE) != cls.before + 8:
            raise unittest.SkipTest("the kernel has not 8 pages of 2 MiB in one piece to set aside")
        cls.cluster = Cluster(nodes=1, gpus=None, agent_options=["--cgroups", "on"])
        folder = cls.cluster.folder
        os.chmod(folder, 0o755)
        cls.takes = make_image(folder + "/images/small") + "/bin/takes_huge_pages"
        subprocess.run(["cc", "-O1", "-static", "-o", cls.takes, HERE + "/takes_huge_pages.c"], check=True)
        cls.cluster.agent_options += ["--images", folder + "/images"]
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)
        node = cls.cluster.nodes()[0]
        if "huge pages" in node["not_enforced"]:
            raise unittest.SkipTest(node["not_enforced"])

    def said(self, script, pages=None, **job):
        if pages:
            job["countables"] = {"hugepages-2Mi": pages}
        job = self.cluster.submit({"name": "takes", "command": ["/bin/sh", "-c", script], **job})
        self.assertEqual(self.cluster.wait(job)["state"], "completed", self.cluster.logs(job))
        return self.cluster.logs(job).split()

    def test_a_task_has_what_it_asked_for_and_no_more(self):
        script = f"{self.takes} 4; {self.takes} 6"
        self.assertEqual(self.said(script, "4Mi"), ["mapped", "ENOMEM"])
        self.assertEqual(self.said(script), ["ENOMEM", "ENOMEM"], "nothing was asked for")

    def test_tasks_and_steps_of_an_attempt_have_them_together(self):
        script = f"#!/bin/sh\nsrun -n 1 {self.takes} 4\nsrun -n 1 {self.takes} 6\n"
        job = self.cluster.submit({"name": "steps", "script": script, "countables": {"hugepages-2Mi": "4Mi"}})
        self.assertEqual(self.cluster.wait(job)["state"], "completed", self.cluster.logs(job))
        self.assertEqual(self.cluster.logs(job).split(), ["mapped", "ENOMEM"])

    @unittest.skipIf(cannot_run(), cannot_run())
    def test_a_container_has_a_file_system_of_them(self):
        script = ("takes_huge_pages 4 /dev/hugepages/a; takes_huge_pages 6 /dev/hugepages/b; ls /dev/hugepages; "
                  "takes_huge_pages 6; while read d p t o r; do [ $p = /dev/hugepages ] && echo $t $o; done < /proc/mounts;"
                  "true")
        said = self.said(script, "4Mi", container={"image": "small"})
        self.assertEqual(said[:5], ["mapped", "ENOMEM", "a", "b", "ENOMEM"])
        self.assertEqual(said[5], "hugetlbfs")
        self.assertLessEqual({"rw", "nosuid", "nodev", "noexec", "pagesize=2M"}, set(said[6].split(",")))
        none = self.said("ls /dev; takes_huge_pages 2", container={"image": "small"})
        self.assertNotIn("hugepages", none)
        self.assertEqual(none[-1], "ENOMEM")


if __name__ == "__main__":
    unittest.main()
