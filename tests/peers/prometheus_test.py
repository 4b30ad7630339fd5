#!/usr/bin/env python3
"""A real Prometheus reads what controller and agent say: the text is well formed, rules and dashboards work on it, and
a GPU's series name the jobs that hold it. GPUs are those of a fake NVML (src/devices/nvml).

Skips where Prometheus (tools/setup peers, as root) is missing.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import urllib.error
import urllib.parse
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests/e2e")]
from cluster import SKIP, Cluster, until  # noqa: E402
from ports import free_port  # noqa: E402

DEPLOY = os.path.join(ROOT, "deploy")
FAKE = os.path.join(os.environ.get("DOVE_BUILD_DIR", "build/release"), "src/libdevices.nvml_fake.so")
GPUS = "driver 550.54.15\ngpus 2 NVIDIA H100 80GB HBM3\ngpu 0 util 93\ngpu 1 xid 79\n"
# What there is only after something happened, or on other hardware or settings.
SELDOM = {"dove_cgroup_memory_bytes", "dove_cgroup_cpu_seconds_total", "dove_project_gpus_milli"}

EXECUTOR = """\
kind: User
name: slurm-1
---
kind: Executor
name: slurm
service_account: slurm-1
nodes: ["n[0-1]"]
"""
STEPS = """
for step in $(seq 1 600); do
  echo "step=$step seconds=0.5" > $DOVE_PROGRESS
  sleep 0.5
done
"""


def fetch(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def expressions():
    """(where, PromQL) of all dashboards, with their variables set to all."""
    for path in sorted(glob.glob(os.path.join(DEPLOY, "grafana/*.json"))):
        with open(path) as file:
            board = json.load(file)
        for panel in board["panels"]:
            for target in panel["targets"]:
                yield (f"{os.path.basename(path)}: {panel['title']}",
                       target["expr"].replace("$node", ".*").replace("$user", ".*"))


class Asking(unittest.TestCase):
    """A Prometheus with our configuration."""

    @classmethod
    def start_prometheus(cls):
        folder = os.path.join(cls.cluster.folder, "prometheus")
        shutil.copytree(os.path.join(DEPLOY, "prometheus"), folder)
        path = os.path.join(folder, "prometheus.yml")
        with open(path) as file:
            text = file.read()
        text = text.replace("127.0.0.1:7717", cls.cluster.url.split("//")[1]).replace(":9400", f":{cls.agent_port}")
        text = re.sub(r"_interval: 30s", "_interval: 1s", text)
        if cls.cluster.ca_file():
            text = re.sub(r"# (scheme|tls_config):", r"\1:", text)
            shutil.copy(cls.cluster.ca_file(), os.path.join(folder, "dove-ca.pem"))
        with open(path, "w") as file:
            file.write(text)
        shutil.copy(os.path.join(cls.cluster.data, "token"), os.path.join(folder, "dove-token"))
        process = subprocess.Popen(
            ["prometheus", "--config.file", path, "--storage.tsdb.path", os.path.join(folder, "data"),
             "--web.listen-address", f"127.0.0.1:{cls.port}", "--log.level", "error"],
            stdin=subprocess.DEVNULL, stdout=cls.cluster.log, stderr=cls.cluster.log)
        cls.addClassCleanup(lambda: (process.kill(), process.wait(10)))

    def query(self, expression):
        url = f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        try:
            return json.loads(fetch(url))["data"]["result"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return []  # not ready yet
            raise AssertionError(f"{expression}: {error.read().decode()}") from error
        except OSError:
            return []  # not up yet

    def wait_for(self, expression, what):
        return until(lambda: self.query(expression), 60, what)


class Prometheus(Asking):
    @classmethod
    def setUpClass(cls):
        cls.agent_port, cls.port = free_port(), free_port()
        cls.cluster = Cluster(nodes=1, gpus=None, agent_options=[
            "--nvml", os.path.abspath(FAKE), "--look-s", "1", "--metrics", f"127.0.0.1:{cls.agent_port}"])
        state = os.path.join(cls.cluster.folder, "gpus")
        with open(state, "w") as file:
            file.write(GPUS)
        cls.cluster.environment["DOVE_FAKE_NVML"] = state
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)
        done = cls.cluster.submit({"name": "done", "command": ["sleep", "0.5"], "gpus": 1})
        cls.cluster.wait(done)
        cls.jobs = [cls.cluster.submit({"name": "half", "command": ["sh", "-c", STEPS], "share_milli": share}) for share in (500, 250)]
        for job in cls.jobs:
            cls.cluster.wait_state(job, "running")
        # No adapter speaks for it, so its series say that nothing is heard of it.
        cls.cluster.run("apply", "-f", "-", input=EXECUTOR)
        cls.start_prometheus()

    def test_text_is_well_formed(self):
        for where, text in (("agent", fetch(f"http://127.0.0.1:{self.agent_port}/metrics")),
                            ("server", self.cluster.api.raw("GET", "/metrics")[2].decode())):
            done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
            # promtool also dislikes names that are DCGM's, not ours to choose.
            said = [line for line in (done.stdout + done.stderr).splitlines() if "DCGM_" not in line]
            self.assertEqual(said, [], where)

    def test_rules_hold(self):
        rules = os.path.join(self.cluster.folder, "prometheus")
        for command in (["check", "rules", "dove.rules.yml"], ["test", "rules", "dove.rules_test.yml"],
                        ["check", "config", "prometheus.yml"]):
            done = subprocess.run(["promtool", *command], cwd=rules, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_shared_gpu_names_each_job(self):
        self.wait_for('DCGM_FI_DEV_GPU_UTIL{job!=""}', "series of devices with a job")
        found = {row["metric"]["job"]: row["metric"] for row in self.query('DCGM_FI_DEV_GPU_UTIL{job!=""}')}
        self.assertEqual(sorted(found), sorted(map(str, self.jobs)))
        first = found[str(self.jobs[0])]
        self.assertEqual((first["share"], first["queue"], first["task"]), ("500", "default", "0"))
        self.assertEqual(len({row["UUID"] for row in found.values()}), 1, "both on one GPU")
        self.assertEqual(len(self.query("max by (UUID) (DCGM_FI_DEV_GPU_UTIL)")), 2)
        self.assertEqual(len(self.query('DCGM_FI_DEV_GPU_UTIL{job=""}')), 1, "the other is nobody's")

    def test_an_xid_raises_its_alert_once(self):
        with open(os.path.join(self.cluster.folder, "gpus"), "a") as file:
            file.write("gpu 1 xid 48\n")
        rows = self.wait_for('ALERTS{alertname="DoveXid",alertstate="firing"}', "the alert")
        self.assertEqual([row["metric"]["UUID"] for row in rows], ["GPU-fake-1"])

    def test_dashboards_ask_for_what_there_is(self):
        self.wait_for("dove_host_load1", "the agent's series")
        self.wait_for('dove_goodput_gpu_seconds_total{cause="useful"}', "the controller's series")
        self.wait_for("dove_task_busy_seconds", "the series of what tasks tell")
        self.wait_for("dove_executor_answers == 0", "the executor that nothing is heard of")
        names = set(json.loads(fetch(f"http://127.0.0.1:{self.port}/api/v1/label/__name__/values"))["data"])
        names |= SELDOM
        asked = list(expressions())
        with open(os.path.join(DEPLOY, "prometheus/dove.rules.yml")) as file:
            text = file.read()
        names |= set(re.findall(r"record: (\S+)", text))
        asked += [("rules", text)]
        for where, expression in asked:
            if where != "rules":
                self.query(expression)  # it is PromQL
            for name in re.findall(r"\b(?:dove[_:]|DCGM_|process_)\w+", expression):
                self.assertIn(name, names, where)


class OverTls(Asking):
    """The configuration with the lines for TLS: nobody else's answers are taken for those of server and agents."""

    @classmethod
    def setUpClass(cls):
        cls.agent_port, cls.port = free_port(), free_port()
        cls.cluster = Cluster(nodes=1, tls=True, agent_options=["--metrics", f"0.0.0.0:{cls.agent_port}"])
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)
        cls.start_prometheus()

    def test_both_are_believed(self):
        for job in ("dove-server", "dove-agent"):
            self.wait_for(f'up{{job="{job}"}} == 1', f"{job} to be read")


if __name__ == "__main__":
    if not (shutil.which("prometheus") and shutil.which("promtool")):
        print("Prometheus is not installed: tools/setup peers")
        sys.exit(SKIP)
    unittest.main()
