"""A real Slurm with Dovetail's gate: deploy/slurm/job_submit.lua and prolog.sh, installed as docs/operate/slurm.md says."""
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "bench")]
from slurm_lab import SlurmLab, available, job_fields, plugin  # noqa: E402,F401

LUA = plugin("job_submit_lua")


def numbers(text):
    """"0-2,5" -> {0, 1, 2, 5}"""
    ends = [part.split("-") for part in text.split(",")]
    return {number for end in ends for number in range(int(end[0]), int(end[-1]) + 1)}


class GateLab(SlurmLab):
    """Its nodes are in the gated partition `main`, and in `open`, which has no gate."""

    ungated = ("-p", "open")
    cred_expire_s = 5  # a requeued job waits for that long, two minutes without it

    def write_config(self):
        super().write_config()
        self.gate = self.folder + "/gate"
        os.mkdir(self.gate, 0o700)
        self.set_gate(self.shipped_gate())
        conf = self.folder + "/slurm.conf"
        self.install("prolog.sh", self.shipped("prolog.sh").replace(
            "\nPATH=", f"\nexport SLURM_CONF={conf}\nPATH={self.commands}:", 1))
        with open(conf, "a") as file:
            file.write(f"JobSubmitPlugins=lua\nPrologSlurmctld={self.folder}/prolog.sh\nEpilog=/bin/true\n"
                       "PartitionName=open Nodes=ALL Default=NO MaxTime=INFINITE State=UP OverSubscribe=NO\n")

    def clear(self):
        """No jobs, and none of Lua's files."""
        self.run("scancel -u root; scancel -u nobody")
        self.until("squeue -h", lambda out: not out.strip())
        for name in os.listdir(self.gate):
            os.unlink(f"{self.gate}/{name}")

    @staticmethod
    def shipped(name):
        with open(f"{ROOT}/deploy/slurm/{name}") as file:
            return file.read()

    def shipped_gate(self, *partitions):
        names = ", ".join(f'"{name}"' for name in partitions or ("main",))
        text = self.shipped("job_submit.lua").replace('local GATED = { "*" }', f"local GATED = {{ {names} }}")
        return text.replace("/run/dovetail/gate", self.gate)

    def set_gate(self, text):
        """slurmctld reads it again when its time, in seconds, is another one."""
        path = self.folder + "/job_submit.lua"
        last = os.path.getmtime(path) if os.path.exists(path) else time.time()
        self.install("job_submit.lua", text)
        os.utime(path, (last + 2, last + 2))

    def install(self, name, text):
        with open(os.open(f"{self.folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o755), "w") as file:
            file.write(text)

    # -- what a user does, who is nobody

    def as_user(self, *command):
        """(exit code, output) of the user's command."""
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command], text=True,
                              env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        return done.returncode, done.stdout

    def sbatch(self, *options, script="sleep 300"):
        code, out = self.as_user("sbatch", "--parsable", "-D", "/", "-o", "/dev/null", "--mem=100", *options, "--wrap",
                                 script)
        if code != 0:
            raise RuntimeError(out)
        return int(out)

    def fields(self, job):
        return job_fields(self.run(f"scontrol show job -d {job}"))

    def mark(self, job):
        said = self.run(f"squeue -h -t all -j {job} -O admin_comment:200").strip()
        return "" if said == "(null)" else said

    def state(self, job):
        return self.run(f"squeue -h -t all -j {job} -o %T", check=False).strip()

    def indices(self, job):
        """{(node, index)} of its GPUs."""
        return {(node, i) for node, (_, devices) in self.given(job).items() for i in devices}

    def given(self, job):
        """{node: (cores, indices of GPUs)} of what Slurm gave it, or all tasks of an array."""
        all_of_it = {}
        for nodes, cores, gres in re.findall(r"Nodes=(\S+) CPU_IDs=(\S+) Mem=\d+ GRES=(\S*)",
                                             self.run(f"scontrol show job -d -o {job}")):
            devices = {int(i) for i in re.findall(r"\(IDX:(\d+)\)", gres)}
            for node in self.run(f"scontrol show hostnames {nodes}").split():
                held = all_of_it.setdefault(node, (set(), set()))  # several lines where it is an array
                held[0].update(numbers(cores))
                held[1].update(devices)
        return all_of_it
