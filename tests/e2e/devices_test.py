#!/usr/bin/env python3
"""An agent finds the GPUs of its machine and notices when one goes: NVML is a fake library (src/devices/nvml), whose
GPUs are a text file that the test edits."""
import json
import os
import shutil
import stat
import subprocess
import tempfile
import unittest

from cluster import Cluster, until
from isolation_test import cannot_run, make_image

FAKE = os.path.join(os.environ.get("DOVE_BUILD_DIR", "build/release"), "src/libdevices.nvml_fake.so")
GPUS = "driver 550.54.15\ngpus 2 NVIDIA H100 80GB HBM3\n"


class Devices(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(nodes=1, gpus=None, agent_options=["--nvml", os.path.abspath(FAKE), "--look-s", "1"])
        self.state = os.path.join(self.cluster.folder, "gpus")
        self.port = os.path.join(self.cluster.folder, "sys/class/infiniband/mlx5_0/ports/1")
        os.makedirs(self.port)
        with open(self.port + "/state", "w") as file:
            file.write("4: ACTIVE\n")
        self.cluster.agent_options += ["--sys", os.path.join(self.cluster.folder, "sys")]
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

    def test_memory_errors_close_the_device_and_a_port_that_goes_the_node(self):
        self.tell(GPUS + "gpu 0 ecc_uncorrected 2\n")
        node = lambda: self.cluster.api.call("GET", "/v1/nodes/node1")
        until(lambda: node()["devices"][0]["free_milli"] == 0, 20, "the device to be closed")
        said = self.cluster.run("nodes", "node1").stdout
        self.assertIn("memory_errors of device 0", said)
        self.assertIn("2 memory errors that could not be corrected", said)
        job = self.shell("echo $CUDA_VISIBLE_DEVICES", gpus=1)
        self.assertEqual(self.cluster.wait(job)["state"], "completed")
        self.assertEqual(self.cluster.logs(job).strip(), "1")
        self.tell(GPUS + "gpu 0 ecc_uncorrected 0\n")  # it was reset
        until(lambda: node()["devices"][0]["free_milli"] == 1000, 20, "the device to be open again")
        with open(self.port + "/state", "w") as file:
            file.write("1: DOWN\n")
        until(lambda: node()["state"] != "ready", 20, "the node to be closed")
        self.assertIn("port mlx5_0/1 was active and is now '1: DOWN'", self.cluster.run("nodes", "node1").stdout)
        why = self.cluster.run("why", str(self.shell("true", gpus=1))).stdout
        self.assertIn("silent; node1: port:mlx5_0/1 (InfiniBand port mlx5_0/1 was active", why)

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


def can_make_devices():
    """Whether root can make device files in the directory of temporary files, and try to open them."""
    folder = tempfile.mkdtemp()
    try:
        os.mknod(folder + "/probe", 0o666 | stat.S_IFCHR, os.makedev(MAJOR, 0))
        os.open(folder + "/probe", os.O_RDONLY)
    except OSError as error:
        return error.errno == NO_DRIVER
    finally:
        shutil.rmtree(folder)


def make_devices(folder):
    """Emulated GPUs with a file each and one file that belongs to all of them, and an image: the files' folder, and the
    agent's options."""
    os.chmod(folder, 0o755)
    files = folder + "/dev"
    os.mkdir(files)
    for minor, name in enumerate([*(f"gpu{i}" for i in range(DEVICES)), "shared"]):
        os.mknod(f"{files}/{name}", stat.S_IFCHR, os.makedev(MAJOR, minor))
        os.chmod(f"{files}/{name}", 0o666)
    with open(folder + "/inventory.yaml", "w") as file:
        file.write(f"cores: 8\nmemory: 16Gi\ndevices: [{{count: {DEVICES}, model: H200, memory: 141Gi, "
                   f"files: ['{files}/gpu{{}}', {files}/shared]}}]\n")
    make_image(folder + "/images/small")
    return files, ["--inventory", folder + "/inventory.yaml", "--images", folder + "/images"]


DEVICES = 8
MAJOR = 240  # for local use: nothing is behind it, so what may be opened says ENXIO, what may not EPERM
NO_DRIVER, FORBIDDEN = 6, 1
TRIES = """import os, sys
for name in sorted(os.listdir(sys.argv[1])):
    try:
        os.open(sys.argv[1] + "/" + name, os.O_RDONLY)
    except OSError as error:
        print(name, error.errno)
os.open("/dev/null", os.O_RDWR), os.open("/dev/urandom", os.O_RDONLY), os.open("/dev/ptmx", os.O_RDWR)
"""


@unittest.skipUnless(os.geteuid() == 0 and can_make_devices(), "device files can be made by root only")
class Rules(unittest.TestCase):
    """Tasks open their own devices and no others, whatever CUDA_VISIBLE_DEVICES says."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, gpus=None, agent_options=["--cgroups", "on"])
        cls.files, options = make_devices(cls.cluster.folder)
        cls.cluster.agent_options += [*options, "--cdi-dirs", cls.cluster.folder + "/cdi"]
        cls.cluster.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def opened(self, **job):
        """What a task may open of the emulated devices."""
        script = "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 exec python3 -c \"$0\" " + self.files
        job = self.cluster.submit({"name": "tries", "command": ["bash", "-c", script, TRIES], **job})
        found = self.cluster.wait(job)
        log = self.cluster.logs(job)
        self.assertEqual(found["state"], "completed", log)
        answers = dict(line.split() for line in log.splitlines())
        self.assertEqual(len(answers), DEVICES + 1, log)
        self.assertEqual(set(answers.values()) - {str(NO_DRIVER), str(FORBIDDEN)}, set(), log)
        return [name for name, error in sorted(answers.items()) if int(error) == NO_DRIVER]

    def setUp(self):
        node = self.cluster.nodes()[0]
        if "devices of others" in node.get("not_enforced", "") or "pages and devices" in node.get("not_enforced", ""):
            self.skipTest(node["not_enforced"])

    def test_a_task_opens_its_own_devices_and_no_others(self):
        self.assertEqual(self.opened(gpus=2), ["gpu0", "gpu1", "shared"])
        hold = self.cluster.submit({"name": "hold", "command": ["sleep", "60"], "gpus": 3})
        self.cluster.wait_state(hold, "running")
        self.assertEqual(self.opened(gpus=2), ["gpu3", "gpu4", "shared"])
        self.cluster.api.call("POST", f"/v1/jobs/{hold}/cancel", {})
        self.cluster.wait(hold)

    def test_a_task_without_devices_opens_none(self):
        self.assertEqual(self.opened(), [])

    def test_a_share_of_a_device_opens_that_device(self):
        self.assertEqual(self.opened(share_milli=250), ["gpu0", "shared"])

    def test_steps_are_held_to_the_same(self):
        script = f"srun python3 -c '{TRIES}' {self.files}"
        job = self.cluster.submit({"name": "step", "script": "#!/bin/bash\n" + script, "gpus": 1})
        self.assertEqual(self.cluster.wait(job)["state"], "completed", self.cluster.logs(job))
        self.assertEqual(self.cluster.logs(job).split().count(str(NO_DRIVER)), 2, self.cluster.logs(job))

    @unittest.skipIf(cannot_run(), cannot_run())
    def test_a_container_has_the_files_of_its_devices_alone(self):
        job = self.cluster.submit({"name": "contained", "command": ["/bin/sh", "-c", f"ls {self.files}"], "gpus": 1,
                                   "container": {"image": "small"}})
        self.assertEqual(self.cluster.wait(job)["state"], "completed", self.cluster.logs(job))
        self.assertEqual(self.cluster.logs(job).split(), ["gpu0", "shared"])


    def contained(self, script, **job):
        job = self.cluster.submit({"name": "contained", "command": ["/bin/sh", "-c", script],
                                   "container": {"image": "small"}, **job})
        return self.cluster.wait(job), self.cluster.logs(job)

    def describe(self, text):
        """Writes the CDI file of the emulated devices."""
        os.makedirs(self.cluster.folder + "/cdi", exist_ok=True)
        with open(self.cluster.folder + "/cdi/emulated.yaml", "w") as file:
            file.write(text)
        self.addCleanup(os.unlink, file.name)

    @unittest.skipIf(cannot_run(), cannot_run())
    def test_what_cdi_says_of_a_device_is_done_to_its_container(self):
        library = self.cluster.folder + "/vendor.so"
        with open(library, "w") as file:
            file.write("of the vendor\n")
        hook = self.cluster.folder + "/hook"
        with open(hook, "w") as file:
            file.write(f"#!/bin/sh\necho $1 $WHICH >> {self.cluster.folder}/hooked\n")
        os.chmod(hook, 0o755)
        os.chmod(self.cluster.folder, 0o777)  # hooks run as the container's root, who is nobody here
        self.describe(f"""cdiVersion: "0.6.0"
kind: nvidia.com/gpu
containerEdits:
  env: ["VENDOR=yes"]
  mounts: [{{hostPath: {library}, containerPath: /lib/vendor.so, options: [ro, nosuid, nodev, bind]}}]
devices:
  - name: GPU-emulated-0
    containerEdits:
      deviceNodes: [{{path: {self.files}/gpu0}}, {{path: /dev/fuse}}]
      hooks: [{{hookName: createRuntime, path: {hook}, args: [hook, begun], env: [WHICH=first]}}]
  - name: "1"
    containerEdits: {{env: ["SECOND=yes"], deviceNodes: [{{path: {self.files}/gpu1}}]}}
""")
        script = f"echo $VENDOR $SECOND; cat /lib/vendor.so; ls {self.files} /dev/fuse; (echo x > /lib/vendor.so) 2>&1"
        found, log = self.contained(script + "; true", gpus=2)
        self.assertEqual(found["state"], "completed", log)
        self.assertIn("yes yes\nof the vendor\n", log)
        self.assertIn("/dev/fuse", log)
        self.assertIn("Read-only", log)
        self.assertEqual([name for name in log.split() if name.startswith("gpu")], ["gpu0", "gpu1"])
        with open(self.cluster.folder + "/hooked") as file:
            self.assertEqual(file.read(), "begun first\n")
        found, log = self.contained("echo $VENDOR; ls /lib/vendor.so 2>&1; true")
        self.assertNotIn("yes", log, "a task without the device")

    @unittest.skipIf(cannot_run(), cannot_run())
    def test_a_malformed_cdi_file_fails_the_launch_and_is_named(self):
        self.describe("cdiVersion: 0.6.0\nkind: nvidia.com/gpu\ndevices: [{name: x, containerEdits: {env: [1]}}]\n")
        found, _ = self.contained("true", gpus=1)
        self.assertEqual(found["state"], "failed")
        why = json.dumps(self.cluster.api.call("GET", f"/v1/events?job={found['id']}"))
        self.assertIn("emulated.yaml:3:", why)
        self.assertIn("not of the form NAME=VALUE", why)


if __name__ == "__main__":
    unittest.main()
