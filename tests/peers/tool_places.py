"""Two places of one real Slurm beside a cluster of ours, for tools that drive a Slurm: behind the gate, and through our commands
where Slurm runs the project's jobs."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "tools"))
from gate_lab import LUA, GateLab  # noqa: E402
from people import add_people, person  # noqa: E402
from places import HERE, Place, available, commands_of_dove, commands_of_slurm, in_each  # noqa: E402,F401
from shared_nodes import SharedNodes  # noqa: E402

OBJECTS = SharedNodes.objects + """\
gate: true
runs_jobs: true
---
kind: Settings
name: moved
job: {executor: slurm}
"""


PERSON = person(5)  # Slurm runs no job of ours as root


class ToolPlaces(SharedNodes):
    maxDiff = None
    lab_class, lab_options = GateLab, {"accounting": True}
    objects = OBJECTS

    @classmethod
    def setUpClass(cls):
        add_people(cls, [PERSON])
        super().setUpClass()
        # Slurm's numbers are not ours.
        subprocess.run(["sbatch", "-W", "-o", "/dev/null", "-a", "0-6", "--wrap", "exit 0"], env=cls.lab.environment, check=True,
                       capture_output=True, timeout=120)
        cls.places = (
            Place("Slurm behind the gate", cls.lab.folder + "/work", commands_of_slurm(cls.lab), cls.lab.environment),
            Place("Dovetail, whose jobs Slurm runs", cls.cluster.folder + "/work", commands_of_dove(cls.cluster),
                  cls.environment_of_person(), PERSON))

    @classmethod
    def environment_of_person(cls):
        os.chmod(cls.cluster.folder, 0o711)
        token = cls.cluster.api.call("POST", f"/v1/users/{PERSON}/token?create=1")["token"]
        environment = {name: value for name, value in cls.cluster.environment.items() if name != "DOVE_DATA"}
        # In a job that Slurm runs our srun needs Slurm's own.
        path = f"{cls.lab.folder}/commands:{environment['PATH']}"
        return {**environment, "PATH": path, "DOVE_URL": cls.cluster.url, "DOVE_TOKEN": token, "DOVE_USER": PERSON,
                **({"DOVE_CA_FILE": cls.cluster.ca_file()} if cls.cluster.ca_file() else {})}

    @classmethod
    def adapter_options(cls):
        return ["--gate", cls.lab.gate, "--state-dir", cls.lab.folder + "/steps"]

    def gives(self, result, what):
        for place, given in zip(self.places, in_each(self.places, what)):
            with self.subTest(place.name):
                self.assertEqual(given, result)


def missing():
    """"" or what keeps the places from being made."""
    return available() or ("" if LUA else "no Lua plug-in of Slurm here")
