#!/usr/bin/python3
"""Kubernetes' device plug-ins serve an agent without a kubelet: found, watched, asked, restarted, lost."""
import json
import os
import signal
import stat
import sys
import unittest

import device_plugin
from cluster import SKIP, Cluster, until
from device_plugin import Plugin
from devices_test import FORBIDDEN, MAJOR, NO_DRIVER, TRIES, can_make_devices
from isolation_test import cannot_run, make_image


class DevicePlugins(unittest.TestCase):
    def setUp(self):
        root = os.geteuid() == 0
        self.cluster = Cluster(nodes=1, gpus=0, agent_options=["--cgroups", "on" if root else "off",
                                                               "--plugin-gpus", "*/gpu,other.org/npu=NPU3:16Gi"])
        folder = self.cluster.folder
        os.chmod(folder, 0o755)
        self.directory = folder + "/plug-ins"
        self.cluster.agent_options += ["--device-plugins", self.directory, "--images", folder + "/images",
                                       "--cdi-dirs", folder + "/cdi"]
        self.cluster.__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)
        self.plugin = self.begin("acme.com/gpu", [("acme-0", 0), ("acme-1", 1), ("acme-2", None)])
        until(lambda: self.states() == ["gpu"] * 3, 20, "the devices to be told")

    def begin(self, resource, devices, **more):
        plugin = Plugin(self.directory, resource, devices, **more)
        plugin.answer = lambda ids: {"envs": {"ACME_VISIBLE": ",".join(ids)}}
        plugin.start()
        self.addCleanup(plugin.stop)
        plugin.register()
        return plugin

    def restart_agent(self):
        agent = self.cluster.agents["node1"]
        agent.kill()
        agent.wait(10)
        self.cluster.start_agent("node1")
        self.cluster.wait_connected()

    def register_again(self, plugin):
        """With an agent that has just been started."""
        def registered():
            try:
                plugin.register()
                return True
            except Exception:
                return False
        until(registered, 10, "the plug-in to be heard")

    def devices(self):
        return self.cluster.nodes()[0]["devices"]

    def states(self):
        return [device["kind"] for device in self.devices()]

    def run_job(self, script, **job):
        job = self.cluster.submit({"name": "plugged", "command": ["/bin/sh", "-c", script], **job})
        return self.cluster.wait(job), self.cluster.logs(job).strip()

    def events(self, found):
        return json.dumps(self.cluster.api.call("GET", f"/v1/events?job={found['id']}"))

    def test_devices_are_listed_and_given_by_id(self):
        devices = self.devices()
        self.assertEqual([device["uuid"] for device in devices], ["acme-0", "acme-1", "acme-2"])
        self.assertEqual([device["vendor"] for device in devices], ["acme"] * 3)
        self.assertEqual(devices[1]["numa_node"], 1)
        found, log = self.run_job("echo $ACME_VISIBLE $DOVE_DEVICES", gpus=2)
        self.assertEqual(found["state"], "completed", log)
        visible, ids = log.split()
        self.assertEqual(visible, ",".join(f"acme-{i}" for i in ids.split(",")))
        self.assertEqual(self.plugin.allocated, [visible.split(",")])
        found, log = self.run_job("echo ${ACME_VISIBLE-none}")
        self.assertEqual(log, "none", "a task without devices")
        self.assertEqual(len(self.plugin.allocated), 1)

    def test_an_unhealthy_device_is_given_to_nobody_until_it_is_well(self):
        self.plugin.health["acme-0"] = "Unhealthy"
        self.plugin.tell()
        until(lambda: self.states() == ["lost", "gpu", "gpu"], 10, "the loss to be told at once")
        _, log = self.run_job("echo $ACME_VISIBLE", gpus=2)
        self.assertEqual(log, "acme-1,acme-2")
        self.plugin.health["acme-0"] = "Healthy"
        self.plugin.tell()
        until(lambda: self.states() == ["gpu"] * 3, 10, "it to be back")

    def test_a_plugin_that_goes_takes_its_devices_and_brings_them_back(self):
        self.plugin.stop()  # with its socket
        until(lambda: self.states() == ["lost"] * 3, 10, "its devices to be lost")
        self.plugin.start()
        self.plugin.register()
        until(lambda: self.states() == ["gpu"] * 3, 10, "its devices to be back, by the same ids")
        _, log = self.run_job("echo $ACME_VISIBLE", gpus=3)
        self.assertEqual(log, "acme-0,acme-1,acme-2")

    def test_two_plugins_serve_side_by_side(self):
        other = self.begin("other.org/npu", [("npu-0", 0)], pre_start=True)
        until(lambda: len(self.devices()) == 4, 10, "both plug-ins' devices")
        found = self.devices()[3]
        self.assertEqual((found["vendor"], found["model"], found["memory_bytes"]), ("other", "NPU3", 16 << 30))
        _, log = self.run_job("echo $ACME_VISIBLE", gpus=1, gpu_model="NPU3")
        self.assertEqual(log, "npu-0")
        self.assertEqual(other.started, [["npu-0"]], "it wants PreStartContainer to be called")
        self.assertEqual(self.plugin.started, [])
        _, log = self.run_job("echo $ACME_VISIBLE", gpus=4)
        self.assertIn(log, ("acme-0,acme-1,acme-2", "npu-0"))
        self.assertEqual(sorted(map(len, [self.plugin.allocated[-1], other.allocated[-1]])), [1, 3])

    def test_what_is_no_gpu_is_counted_and_given_by_unit(self):
        adapters = self.begin("net.org/hca", [("hca-0", 0), ("hca-1", 1), ("hca-2", 1)])
        adapters.answer = lambda ids: {"envs": {"HCA": ",".join(ids)}}
        amount = lambda: self.cluster.nodes()[0]["countables"].get("net.org/hca")
        until(lambda: amount() == 3, 10, "the adapters to be counted")
        self.assertEqual(len(self.devices()), 3, "they are no devices")
        hold = self.cluster.submit({"name": "hold", "command": ["/bin/sh", "-c", "echo $HCA $ACME_VISIBLE; sleep 300"],
                                    "countables": {"net.org/hca": 2}, "gpus": 1})
        until(lambda: self.cluster.logs(hold), 20, "the first to have its units")
        self.assertEqual(self.cluster.logs(hold).split(), ["hca-0,hca-1", "acme-0"])
        self.restart_agent()  # the next one knows whose they are
        self.register_again(adapters)
        self.register_again(self.plugin)
        until(lambda: amount() == 3, 20, "the adapters to be back")
        found, log = self.run_job("echo $HCA", countables={"net.org/hca": 1})
        self.assertEqual((found["state"], log), ("completed", "hca-2"))
        self.cluster.api.call("POST", f"/v1/jobs/{hold}/cancel", {})
        self.cluster.wait(hold)
        _, log = self.run_job("echo $HCA", countables={"net.org/hca": 3})
        self.assertEqual(log, "hca-0,hca-1,hca-2")
        adapters.health["hca-1"] = "Unhealthy"
        adapters.tell()
        until(lambda: amount() == 2, 10, "one to be counted no more")
        _, log = self.run_job("echo $HCA", countables={"net.org/hca": 2})
        self.assertEqual(log, "hca-0,hca-2")

    def test_what_was_decided_before_a_restart_waits_for_its_plugins(self):
        adapters = self.begin("net.org/hca", [("hca-0", 0)])
        adapters.answer = lambda ids: {"envs": {"HCA": ",".join(ids)}}
        until(lambda: self.cluster.nodes()[0]["countables"].get("net.org/hca") == 1, 10, "the adapter to be counted")
        self.cluster.agents["node1"].send_signal(signal.SIGSTOP)  # it hears nothing of what is decided
        script = "echo ${HCA-no adapter} ${ACME_VISIBLE-no device}"
        job = self.cluster.submit({"name": "early", "command": ["/bin/sh", "-c", script], "gpus": 1,
                                   "countables": {"net.org/hca": 1}})
        until(lambda: self.cluster.job(job)["attempts"], 10, "its launch to be decided")
        self.restart_agent()
        self.register_again(self.plugin)
        until(lambda: self.states() == ["gpu"] * 3, 10, "the devices to be told again")
        until(lambda: self.cluster.logs(job) == "", 10, "no output: the adapters' plug-in is still away")
        self.assertEqual(self.cluster.job(job)["state"], "preparing")
        self.register_again(adapters)
        self.assertEqual(self.cluster.wait(job)["state"], "completed")
        self.assertEqual(self.cluster.logs(job).strip(), "hca-0 acme-0")
        self.assertEqual(len(self.cluster.job(job)["attempts"]), 1)

    def test_a_refusal_fails_the_launch_and_says_why(self):
        def refuse(ids):
            raise RuntimeError("the firmware is too old")
        self.plugin.answer = refuse
        found, _ = self.run_job("true", gpus=1)
        self.assertEqual(found["state"], "failed")
        self.assertIn("plug-in of acme.com/gpu: Allocate failed", self.events(found))
        self.assertIn("the firmware is too old", self.events(found))

    def test_a_wrong_registration_is_refused(self):
        with self.assertRaises(Exception) as refused:
            self.plugin.register(version="v1alpha")
        self.assertIn("v1beta1 is", str(refused.exception))
        wrong = Plugin(self.directory, "gpu", [])
        with self.assertRaises(Exception) as refused:
            wrong.register()
        self.assertIn("vendor.com/name", str(refused.exception))
        self.assertEqual(self.states(), ["gpu"] * 3)

    def test_an_agent_that_is_restarted_is_registered_with_anew(self):
        wait = self.cluster.folder + "/go"
        script = f"#!/bin/sh\nwhile ! [ -e {wait} ]; do sleep 0.1; done\nsrun printenv ACME_VISIBLE\n"
        job = self.cluster.submit({"name": "long", "script": script, "gpus": 2})
        self.cluster.wait_state(job, "running")
        self.restart_agent()
        self.register_again(self.plugin)
        until(lambda: self.states() == ["gpu"] * 3, 10, "the devices to be told again")
        with open(wait, "w"):
            pass
        self.assertEqual(self.cluster.wait(job)["state"], "completed", self.cluster.logs(job))
        self.assertEqual(self.cluster.logs(job).strip().count("acme-"), 2, "a step that starts later has it too")

    @unittest.skipUnless(os.geteuid() == 0 and can_make_devices(), "device files can be made by root only")
    def test_files_are_those_that_the_plugin_names(self):
        files = self.cluster.folder + "/dev"
        os.mkdir(files)
        for i in range(3):
            os.mknod(f"{files}/acme-{i}", stat.S_IFCHR, os.makedev(MAJOR, i))
            os.chmod(f"{files}/acme-{i}", 0o666)
        pb = device_plugin.messages()
        spec = lambda path: pb.DeviceSpec(container_path=path, host_path=path, permissions="rw")
        with open(self.cluster.folder + "/library", "w") as file:
            file.write("of acme\n")
        mount = pb.Mount(container_path="/lib/acme.so", host_path=file.name, read_only=True)
        self.plugin.answer = lambda ids: {"devices": [spec(f"{files}/{name}") for name in ids], "mounts": [mount],
                                          "annotations": {"acme.com/ids": ",".join(ids)},
                                          "cdi_devices": [pb.CDIDevice(name="acme.com/gpu=any")]}
        job = self.cluster.submit({"name": "tries", "command": ["python3", "-c", TRIES, files], "gpus": 1})
        self.assertEqual(self.cluster.wait(job)["state"], "completed", self.cluster.logs(job))
        answers = [int(line.split()[1]) for line in self.cluster.logs(job).splitlines()]
        self.assertEqual(sorted(answers), [FORBIDDEN, FORBIDDEN, NO_DRIVER])
        texts = [one["text"] for one in self.cluster.job(job)["warnings"]]
        self.assertEqual(len(texts), 1, "a process has no mounts")
        for part in ("/lib/acme.so", "acme.com/gpu=any", "annotation acme.com/ids"):
            self.assertIn(part, texts[0])
        self.assertIn("/lib/acme.so", self.cluster.run("show", str(job)).stdout)
        if cannot_run():
            return
        make_image(self.cluster.folder + "/images/small")
        os.mkdir(self.cluster.folder + "/cdi")
        with open(self.cluster.folder + "/cdi/acme.json", "w") as file:
            json.dump({"cdiVersion": "0.6.0", "kind": "acme.com/gpu",
                       "devices": [{"name": "any", "containerEdits": {"env": ["FROM_CDI=yes"]}}]}, file)
        found, log = self.run_job(f"ls {files}; cat /lib/acme.so; echo $FROM_CDI", gpus=2,
                                  container={"image": "small"})
        self.assertEqual(found["state"], "completed", log)
        self.assertEqual(log.split("\n"), [*self.plugin.allocated[-1], "of acme", "yes"])

    def test_a_second_agent_does_not_take_the_socket(self):
        self.cluster.names.append("node2")
        self.cluster.start_agent("node2")
        self.assertNotEqual(self.cluster.agents["node2"].wait(20), 0)
        with open(self.cluster.log.name) as file:
            self.assertIn("a kubelet or another agent listens there", file.read())
        self.assertEqual(self.states(), ["gpu"] * 3)


if __name__ == "__main__":
    if why := device_plugin.missing():
        print("skipped:", why)
        sys.exit(SKIP)
    unittest.main(verbosity=2)
