#!/usr/bin/env python3
"""An agent finds the GPUs of its machine and notices when one goes: NVML is a fake library (src/devices/nvml), whose
GPUs are a text file that the test edits."""
import json
import os
import unittest

from cluster import Cluster, until

FAKE = os.path.join(os.environ.get("DOVE_BUILD_DIR", "build/release"), "src/libdevices.nvml_fake.so")
GPUS = "driver 550.54.15\ngpus 2 NVIDIA H100 80GB HBM3\n"


class Devices(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(nodes=1, gpus=None, agent_options=["--nvml", os.path.abspath(FAKE), "--look-s", "1"])
        self.state = os.path.join(self.cluster.folder, "gpus")
        self.tell(GPUS)
        self.cluster.environment["DOVE_FAKE_NVML"] = self.state
        self.cluster.__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)

    def tell(self, text):
        with open(self.state + ".new", "w") as file:
            file.write(text)
        os.rename(self.state + ".new", self.state)

    def kinds(self):
        return [device["kind"] for device in self.cluster.nodes()[0]["devices"]]

    def test_gpus_are_found_and_given(self):
        node = self.cluster.nodes()[0]
        self.assertEqual([device["model"] for device in node["devices"]], ["H100", "H100"])
        self.assertEqual(node["devices"][0]["memory_bytes"], 81559 << 20)
        job = self.cluster.submit({"name": "one", "command": ["bash", "-c", "echo $CUDA_VISIBLE_DEVICES"], "gpus": 1,
                                   "gpu_model": "h100"})
        self.assertEqual(self.cluster.wait(job)["state"], "completed")
        self.assertEqual(self.cluster.logs(job).strip(), "0")

    def test_what_goes_is_given_to_nobody_until_it_is_back(self):
        self.tell(GPUS + "gpu 0 lost 1\n")
        until(lambda: self.kinds() == ["lost", "gpu"], 20, "the loss to be told")
        job = self.cluster.submit({"name": "one", "command": ["bash", "-c", "echo $CUDA_VISIBLE_DEVICES"], "gpus": 1})
        self.assertEqual(self.cluster.wait(job)["state"], "completed")
        self.assertEqual(self.cluster.logs(job).strip(), "1")
        self.tell("gpus 2 NVIDIA H100 80GB HBM3\n")  # the driver is unloaded
        until(lambda: self.kinds() == ["lost", "lost"], 20, "the driver's end to be told")
        self.assertEqual(self.cluster.nodes()[0]["contact"], "connected")
        self.tell(GPUS)
        until(lambda: self.kinds() == ["gpu", "gpu"], 20, "all to be back")

    def test_ids_stay_when_the_agent_is_restarted_with_one_gone(self):
        self.tell(GPUS + "gpu 0 lost 1\n")
        until(lambda: self.kinds() == ["lost", "gpu"], 20, "the loss to be told")
        agent = self.cluster.agents["node1"]
        agent.kill()
        agent.wait(10)
        self.cluster.start_agent("node1")
        self.cluster.wait_connected()
        self.assertEqual(self.kinds(), ["lost", "gpu"])

    def shell(self, script, **more):
        return self.cluster.submit({"name": "shell", "command": ["bash", "-c", script], **more})

    def test_a_gpu_is_cut_for_slices_and_made_whole_again(self):
        hold = self.shell("echo $CUDA_VISIBLE_DEVICES; sleep 300", slice="1g.10gb", slices=1)
        self.cluster.wait_state(hold, "running")
        until(lambda: self.cluster.logs(hold), 10, "the task's output")
        more = self.shell("echo $CUDA_VISIBLE_DEVICES", slice="3g.40gb", slices=1)
        self.assertEqual(self.cluster.wait(more)["state"], "completed")
        names = [self.cluster.logs(job).strip() for job in (hold, more)]
        for name in names:
            self.assertRegex(name, r"^MIG-fake-\d-\d+$")
        self.assertEqual(len(set(names)), 2)
        with open(self.state + ".mig") as file:
            self.assertEqual(sum(line.startswith("slice") for line in file), 2)
        self.cluster.api.call("POST", f"/v1/jobs/{hold}/cancel", {})
        self.cluster.wait(hold)
        whole = self.shell("echo $CUDA_VISIBLE_DEVICES", gpus=2)
        self.assertEqual(self.cluster.wait(whole)["state"], "completed")
        with open(self.state + ".mig") as file:
            kept = file.read()
        self.assertNotRegex(kept, r"slice|mode \d 1")

    def test_what_the_driver_refuses_fails_the_launch_and_says_why(self):
        self.tell(GPUS + "gpu 0 in_use 1\ngpu 1 in_use 1\n")
        job = self.shell("true", slice="1g.10gb", slices=1)
        self.assertEqual(self.cluster.wait(job)["state"], "failed")
        self.assertIn("cannot be cut", json.dumps(self.cluster.api.call("GET", f"/v1/events?job={job}")))


if __name__ == "__main__":
    unittest.main()
