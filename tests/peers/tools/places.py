"""The two places where a tool is run: a real Slurm of Debian with its accounting, and Dovetail under Slurm's names.

Each is a folder of commands for PATH, and what the commands need in the environment. Tools come from a virtual
environment that `tools/peer_tools` makes below build/.
"""
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [os.path.join(ROOT, "tests/e2e"), os.path.join(ROOT, "bench")]
from cluster import DOVE, Cluster  # noqa: E402
from slurm_lab import SlurmLab, accounting_available  # noqa: E402

TOOLS = os.path.join(ROOT, "build/peer-tools")
COMMANDS = ("sbatch", "srun", "salloc", "squeue", "scancel", "scontrol", "sinfo", "sacct", "sacctmgr", "sshare", "sprio",
            "sstat")
NODES, CORES = 2, 4


def available():
    """"" or what is missing."""
    if not accounting_available():
        return "no Slurm with slurmdbd and MariaDB here"
    if not os.path.exists(os.path.join(TOOLS, "ready")):
        return "no tools from PyPI here"
    return ""


class Place:
    """`name`: of the place; `folder`: where its tools work; `faces`: the commands; `user`: who runs them, if somebody else."""

    def __init__(self, name, folder, faces, environment, user=None):
        self.name, self.folder = name, folder
        self.identity = {"user": user, "group": "nogroup", "extra_groups": []} if user else {}
        os.makedirs(folder)
        if user:
            shutil.chown(folder, user)
        self.environment = {**environment, "HOME": folder,
                            "PATH": ":".join([faces, TOOLS + "/bin", environment["PATH"]])}
        for variable in list(self.environment):
            if variable.startswith(("SLURM_", "SBATCH_", "VIRTUAL_ENV")):
                del self.environment[variable]

    def run(self, *command, limit_s=240, **more):
        return subprocess.run(command, cwd=self.folder, env={**self.environment, **more}, capture_output=True, text=True,
                              timeout=limit_s, **self.identity)

    def nextflow(self, folder, *arguments):
        """Runs what lies in the folder; its own files go there too."""
        opened = ["java.base/" + name for name in ("java.lang", "java.io", "java.nio", "java.net", "java.util", "java.util.regex",
                                                   "java.util.concurrent.locks", "java.util.concurrent.atomic", "sun.nio.ch",
                                                   "sun.nio.fs", "jdk.internal.misc", "jdk.internal.vm")]
        return subprocess.run(["java", *(f"--add-opens={name}=ALL-UNNAMED" for name in opened), "-cp", TOOLS + "/nextflow/*",
                               "nextflow.cli.Launcher", "run", "main.nf", "-ansi-log", "false", *arguments], cwd=folder,
                              env={**self.environment, "NXF_HOME": folder + "/home", "NXF_OFFLINE": "true"},
                              capture_output=True, text=True, timeout=300)

    def snakemake(self, folder, status_command, parts):
        """Makes what lies in the folder, with jobs that it watches by `status_command`."""
        return self.run(TOOLS + "/bin/snakemake", "--directory", folder, "--snakefile", folder + "/Snakefile",
                        "--executor", "slurm", "--jobs", "8", "--slurm-status-command", status_command,
                        "--seconds-between-status-checks", "1", "--slurm-init-seconds-before-status-checks", "1",
                        "--latency-wait", "20", "--slurm-no-account", "--config", f"parts={parts}", limit_s=200 + 6 * parts)

    def tool(self, script, *arguments, **more):
        """What the Python script of this folder says in its last line, which is JSON."""
        done = self.run(TOOLS + "/bin/python", os.path.join(HERE, script), *arguments, **more)
        if done.returncode != 0:
            raise AssertionError(f"{self.name}: {script} exited {done.returncode}\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout.strip().splitlines()[-1])


def commands_of_slurm(lab):
    """A folder for PATH. Tools drop SLURM_* from the environment, the place of the configuration with it."""
    folder = lab.folder + "/commands"
    os.makedirs(folder)
    for name in COMMANDS:
        with open(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT, 0o755), "w") as file:
            file.write(f'#!/bin/sh\nSLURM_CONF={lab.folder}/slurm.conf exec /usr/bin/{name} "$@"\n')
    return folder


def commands_of_dove(cluster, names=COMMANDS):
    folder = cluster.folder + "/commands"
    os.makedirs(folder)
    for name in names:
        os.symlink(DOVE, f"{folder}/{name}")
    return folder


def in_each(places, what):
    """What `what(place)` gives of each; in all at the same time."""
    with concurrent.futures.ThreadPoolExecutor(len(places)) as pool:
        return list(pool.map(what, places))


class Places:
    """Both places, up; `with Places() as places: places.both(what)`."""

    def __enter__(self):
        self.opened = []
        try:
            self.lab = self.open(SlurmLab(nodes=NODES, cpus=CORES, accounting=True))
            self.cluster = self.open(Cluster(nodes=NODES, cores=CORES))
            self.slurm = Place("Slurm", self.lab.folder + "/work", commands_of_slurm(self.lab), os.environ)
            self.dove = Place("Dovetail", self.cluster.folder + "/work", commands_of_dove(self.cluster),
                              {**self.cluster.environment, "DOVE_DATA": self.cluster.data})
        except BaseException:
            self.close(*sys.exc_info())
            raise
        return self

    def __exit__(self, kind, error, trace):
        self.close(kind, error, trace)

    def open(self, thing):
        thing.__enter__()
        self.opened.append(thing)
        return thing

    def close(self, kind, error, trace):
        while self.opened:  # the last first
            self.opened.pop().__exit__(kind, error, trace)

    def both(self, what):
        """What `what(place)` gives of Slurm, then of Dovetail; both at the same time."""
        return in_each((self.slurm, self.dove), what)
