#!/usr/bin/env python3
# limit_s: 900
# waits
"""Scripts as people write them give the same end, exit code and files in three places: real Slurm, our
`sbatch` on our own agents, and our `sbatch` where Slurm runs the project's jobs. And a route moves jobs from our agents to Slurm
and back while they run, JOBS of them (variable of the environment).

Skips where Slurm (tools/setup peers, as root) is missing.
"""
import os
import pwd
import re
import subprocess
import time

from people import add_people, person
from shared_nodes import OBJECTS, SharedNodes, main, until

PERSON, STAYS = person(1), person(2)  # the one whose jobs a route names, and one whose jobs stay
JOBS = int(os.environ.get("JOBS", "80"))  # that a route names, over all its shares
SHARES = (0, 50, 100, 50, 0)
MOVED = OBJECTS.replace("nodes: [", "runs_jobs: true\nnodes: [") + f"""\
---
kind: Project
name: own
---
kind: Project
name: moved
---
kind: Binding
name: own-members
project: own
role: member
users: [{PERSON}]
---
kind: Binding
name: moved-members
project: moved
role: member
users: [{PERSON}]
---
kind: Project
name: routed
---
kind: Binding
name: routed-members
project: routed
role: member
users: [{PERSON}, {STAYS}]
---
kind: Pool
name: moving
nodes: ["n[0-1]"]
---
kind: Settings
name: moved
project: moved
job: {{executor: slurm}}
"""
BASH = "#!/bin/bash\n"
ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL"}

# name: (script, options, arguments)
SCRIPTS = {
    "plain": (BASH + "#SBATCH -o plain.out\necho plain\n", [], []),
    "code": (BASH + "#SBATCH -o code.out -e code.err\necho out; echo err >&2; exit 7\n", [], []),
    "arguments": (BASH + "#SBATCH --output=arguments.out\necho $# \"$1\" \"$2\"\n", [], ["a b", "c;d"]),
    "named": (BASH + "#SBATCH -J a_name\n#SBATCH -o %x-of.out\necho $SLURM_JOB_NAME\n", [], []),
    "export": (BASH + "#SBATCH -o export.out\necho $COLOUR\n", ["--export=ALL,COLOUR=green"], []),
    "array": (BASH + "#SBATCH -a 1-3\n#SBATCH -o array-%a.out\n"
              "echo $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT; exit $((SLURM_ARRAY_TASK_ID == 2))\n", [], []),
    "throttle": (BASH + "#SBATCH --array=0-4:2%1\n#SBATCH -o throttle-%a.out\necho $SLURM_ARRAY_TASK_MAX\n", [], []),
    "python": ("#!/usr/bin/env python3\n#SBATCH -o python.out\nimport os\nprint(os.environ['SLURM_NTASKS'])\n",
               ["-n", "1"], []),
    "posix": ("#!/bin/sh\n#SBATCH -o posix.out\nset -- x y\necho \"$2\"\n", [], []),
    "here": (BASH + "#SBATCH -o here.out\npython3 - <<'END'\nprint(sum(range(10)))\nEND\n", [], []),
    "killed": (BASH + "#SBATCH -o killed.out\necho before; kill -9 $$\n", [], []),
    "folder": (BASH + "#SBATCH -D sub\n#SBATCH -o folder.out\nbasename \"$PWD\"\n", [], []),
    "append": (BASH + "#SBATCH -o append.out --open-mode=append\necho once more\n", [], []),
    "pipe": (BASH + "#SBATCH -o pipe.out\nset -euo pipefail\necho first\nfalse | cat\necho never\n", [], []),
    "background": (BASH + "#SBATCH -o background.out\n(exit 3) & wait $! || echo it said $?\n", [], []),
    "device": (BASH + "#SBATCH -o device.out\n#SBATCH --gres=gpu:2\n"
               "echo $CUDA_VISIBLE_DEVICES | tr , '\\n' | wc -l\n", [], []),
    "cores": (BASH + "#SBATCH -o cores.out\n#SBATCH -c 2\necho $SLURM_CPUS_PER_TASK $SLURM_NNODES\n", [], []),
    "input": (BASH + "#SBATCH -o input.out -i input.txt\nread line; echo \"<$line>\"\n", [], []),
    "steps": (BASH + "#SBATCH -o steps.out\n#SBATCH -n 2 -N 1\nsrun -l bash -c 'echo $SLURM_PROCID' | sort\n"
              "srun -n1 bash -c 'exit 4' 2>/dev/null\necho step said $?\n", [], []),
    "two_nodes": (BASH + "#SBATCH -o two_nodes.out\n#SBATCH -N 2 --ntasks-per-node=1\n"
                  "echo $SLURM_NNODES $SLURM_JOB_NUM_NODES; srun bash -c 'echo $SLURM_NODEID' | sort\n", [], []),
    "owner": (BASH + "#SBATCH -o owner.out\numask 027; touch made; stat -c %a made\n", [], []),
    "quiet": (BASH + "#SBATCH --job-name=quiet --comment='for a test' --no-requeue --mail-type=NONE\n"
              "#SBATCH --time=00:10:00 --mem=100M\n#SBATCH -o quiet.out\necho $SLURM_JOB_NUM_NODES\n"
              "for name in JOB_ID JOB_NODELIST JOB_PARTITION JOB_CPUS_PER_NODE SUBMIT_DIR SUBMIT_HOST "
              "JOB_USER JOB_UID CPUS_ON_NODE NODELIST; do\n"
              "  eval \"echo $name \\${SLURM_$name:+is there}\"\ndone\n"
              "echo $SLURM_NODEID $SLURM_LOCALID $SLURM_PROCID $SLURM_TASKS_PER_NODE $SLURM_CPUS_ON_NODE\n", [], []),
}


class Place:
    def __init__(self, folder, environment, options, **identity):
        self.folder, self.environment, self.options, self.identity = folder, environment, options, identity
        os.makedirs(folder + "/sub")
        for path in (folder, folder + "/sub"):
            os.chown(path, pwd.getpwnam(PERSON).pw_uid, -1)
        with open(folder + "/input.txt", "w") as file:
            file.write("what is read\n")

    def run(self, *command, check=True):
        done = subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=60,
                              **self.identity)
        if check and done.returncode != 0:
            raise AssertionError(f"{self.folder}: {command}: {done.stdout}{done.stderr}")
        return done.stdout

    def submit(self, name):
        script, options, arguments = SCRIPTS[name]
        path = f"{self.folder}/{name}.sh"
        with open(path, "w") as file:
            file.write(script)
        out = self.run("sbatch", "--parsable", *self.options, *options, path, *arguments)
        return int(out.split(";")[0])

    def ended(self, job, limit_s=120):
        """[(index in its array, state, exit code)]"""
        deadline = time.monotonic() + limit_s
        while True:
            parts = [dict(re.findall(r"(\S+?)=(\S*)", part))
                     for part in self.run("scontrol", "show", "job", str(job)).split("\n\n") if part.strip()]
            if all(part["JobState"] in ENDED for part in parts):
                return sorted((part.get("ArrayTaskId", ""), part["JobState"], part["ExitCode"]) for part in parts)
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.folder}: {parts}")
            time.sleep(0.2)

    def files(self):
        found = {}
        for folder, _, names in os.walk(self.folder):
            for name in names:
                if name.endswith((".out", ".err")):
                    with open(os.path.join(folder, name)) as file:
                        found[os.path.relpath(os.path.join(folder, name), self.folder)] = file.read()
        return found


class Scripts(SharedNodes):
    maxDiff = None
    objects = MOVED

    @classmethod
    def setUpClass(cls):
        add_people(cls, [PERSON, STAYS], home="/nonexistent")
        super().setUpClass()
        for name in ("sbatch", "scontrol", "srun"):
            cls.cluster.run("--version", name=name, check=False)  # makes the face
        os.chmod(cls.cluster.folder, 0o711)  # in Slurm jobs run as the person
        face = {**cls.cluster.environment, "DOVE_DATA": cls.cluster.data, "DOVE_USER": PERSON}
        face["PATH"] = os.path.join(cls.cluster.folder, "faces") + ":" + face["PATH"]
        cls.slurm = Place(cls.lab.folder + "/slurm", cls.lab.environment, [], user=PERSON, group="nogroup", extra_groups=[])
        cls.own = Place(cls.lab.folder + "/own", face, ["-A", "own"])
        cls.moved = Place(cls.lab.folder + "/moved", face, ["-A", "moved"])

    @classmethod
    def adapter_options(cls):
        return ["--state-dir", cls.lab.folder + "/steps"]

    def test_all_three_places_give_the_same(self):
        places = (self.slurm, self.own, self.moved)
        jobs = {(place, name): place.submit(name) for name in SCRIPTS for place in places}
        ends = {key: key[0].ended(job) for key, job in jobs.items()}
        theirs = {name: ends[self.slurm, name] for name in SCRIPTS}
        self.assertEqual({end[1] for all_of_it in theirs.values() for end in all_of_it}, {"COMPLETED", "FAILED"})
        for place in (self.own, self.moved):
            with self.subTest(place.options[1]):
                mine = {name: end for (where, name), end in ends.items() if where is place}
                self.assertEqual(mine, {name: theirs[name] for name in mine})
                self.assertEqual(place.files(), self.slurm.files())

    def test_steps_hear_before_the_time_of_their_script_is_over(self):
        step = ("import os, signal, time; signal.signal(signal.SIGUSR1, lambda *_: (print('warned', flush=True), os._exit(0))); "
                "time.sleep(50)")
        script = BASH + f"#SBATCH -o warned.out --time=1 --signal=USR1@50\nsrun python3 -c \"{step}\"\necho the script goes on\n"
        SCRIPTS["warned"] = script, [], []
        self.addCleanup(SCRIPTS.pop, "warned")
        # Slurm itself tells steps up to a minute earlier, and none where none has started yet.
        jobs = [(place, place.submit("warned")) for place in (self.own, self.moved)]
        for place, job in jobs:
            with self.subTest(place.options[1]):
                self.assertEqual(place.ended(job), [("", "COMPLETED", "0:0")])
                self.assertEqual(place.files()["warned.out"], "warned\nthe script goes on\n")
                os.unlink(f"{place.folder}/warned.out")

    def share(self, percent):
        self.cluster.run("apply", "-f", "-", input="kind: Settings\nname: routed\nproject: routed\njob: {executor: {slurm: "
                         f"{{percent: {percent}, users: [{PERSON}], pools: [moving]}}}}}}\n")

    def submit_routed(self, command, count, user=PERSON, pool="moving"):
        body = {"project": "routed", "pool": pool, "cores": 1, "memory": "50Mi", "workdir": self.moved.folder, "name": "flows",
                "command": ["/bin/sh", "-c", command], "stdout_path": "/dev/null"}
        return [self.cluster.submit(body, **{"X-Dove-User": user}) for _ in range(count)]

    def test_jobs_move_by_share_user_and_pool_and_back(self):
        """Each starts once, in the place that the route says as it is submitted."""
        folder = self.moved.folder
        with open(folder + "/flowed", "w") as file:  # our agents run jobs as root here, Slurm as the person
            os.fchown(file.fileno(), pwd.getpwnam(PERSON).pw_uid, -1)
        waits = f"until [ -e {folder}/may-end ]; do sleep 0.1; done"
        flows = f"echo $DOVE_JOB_ID ${{DOVE_SLURM_JOB_ID:+slurm}} >>{folder}/flowed"
        self.share(100)
        stays = self.submit_routed(f"echo begun >{folder}/stays; {waits}", 1)
        until(lambda: os.path.exists(folder + "/stays"), 60, "the job that stays")
        began, each = time.monotonic(), JOBS // len(SHARES)
        routed, others = [], []
        for percent in SHARES:
            self.share(percent)
            routed.append(self.submit_routed(flows, each))
            others += self.submit_routed(flows, each // 8, user=STAYS) + self.submit_routed(flows, each // 8, pool="default")
        with open(folder + "/may-end", "w"):
            pass
        flowed = sum(routed, others)
        jobs = {job: self.cluster.wait(job, 120 + JOBS) for job in stays + flowed}
        self.assertEqual([job for job in jobs.values() if job["state"] != "completed"], [])
        starts = [sum(attempt["started_at"] is not None for attempt in job["attempts"]) for job in jobs.values()]
        self.assertEqual(set(starts), {1})
        place = {job: found.get("executor", "") for job, found in jobs.items()}
        with open(folder + "/flowed") as file:
            lines = sorted((int(words[0]), *words[1:]) for words in (line.split() for line in file))
        self.assertEqual(lines, sorted((job, *filter(None, [place[job]])) for job in flowed))
        self.assertEqual([place[job] for job in stays], ["slurm"])
        self.assertEqual({place[job] for job in others}, {""})
        sent = [[place[job] for job in some].count("slurm") for some in routed]
        for percent, count in zip(SHARES, sent):
            self.assertAlmostEqual(count, each * percent / 100, delta=2.5 * each ** 0.5 if percent == 50 else 0)
        print(f"routes: {len(flowed)} jobs in {time.monotonic() - began:.0f} s; of {each} each, by share: "
              f"{list(zip(SHARES, sent))}", flush=True)


if __name__ == "__main__":
    main()
