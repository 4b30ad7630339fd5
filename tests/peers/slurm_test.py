#!/usr/bin/env python3
# waits
"""The same script files under real Slurm and under Dovetail, called by the same names: the same outputs.

Skips where Slurm (tools/setup peers, as root) is missing.
"""
import json
import os
import re
import subprocess
import sys
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests/e2e"), os.path.join(ROOT, "bench")]
from cluster import SKIP, Cluster  # noqa: E402
from slurm_lab import SlurmLab, available  # noqa: E402

HEAD = "#!/bin/bash\n"
ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL"}
STEPS = HEAD + """\
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --job-name=steps
#SBATCH -o steps.out
echo $SLURM_NNODES $SLURM_NTASKS $SLURM_NTASKS_PER_NODE $SLURM_JOB_NAME $SLURM_JOB_NUM_NODES $SLURM_PROCID $SLURM_JOB_UID $SLURM_JOB_GID
[ -n "$SLURM_JOB_PARTITION" ] && echo ${SLURM_JOB_ACCOUNT-none}
srun -l bash -c 'echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURM_NTASKS' | sort
srun -N1 -n1 bash -c 'echo one $SLURM_NTASKS'
srun bash -c 'exit $SLURM_PROCID' 2>/dev/null
echo step said $?
scontrol show hostnames "$SLURM_JOB_NODELIST" | wc -l
"""


# Columns of which both say the same of the same jobs and nodes. squeue's %k, %m, %o, %p, %q, %s, %S and %Q, and sinfo's %m,
# %e, %n, %o and %O say other things: comments, memory and priorities are not Slurm's here.
JOB_COLUMNS = "iFKjtTDCNRPualMLbczhBeVgGUwZnfEyHIJxOrXYvd"
NODE_COLUMNS = "PRalDtTNcCFAsrhgzXYZwpSBLdfbEuHM"
JOB_KEYS = {"account", "admin_comment", "array_job_id", "array_task_id", "array_task_string", "batch_flag", "batch_host",
            "cluster", "command", "comment", "cpus", "cpus_per_task", "current_working_directory", "dependency",
            "derived_exit_code", "eligible_time", "end_time", "excluded_nodes", "exit_code", "features", "group_id", "group_name",
            "job_id", "job_state", "memory_per_cpu", "memory_per_node", "name", "nice", "node_count", "nodes", "partition",
            "priority", "qos", "requeue", "required_nodes", "restart_cnt", "resv_name", "standard_error", "standard_input",
            "standard_output", "start_time", "state_reason", "submit_time", "tasks", "time_limit", "tres_alloc_str",
            "tres_per_node", "tres_req_str", "user_id", "user_name"}
NODE_KEYS = {"active_features", "address", "alloc_cpus", "alloc_memory", "boards", "cores", "cpus", "features", "free_memory",
             "gres", "gres_used", "hostname", "idle_cpus", "name", "partitions", "real_memory", "reason", "sockets", "state",
             "state_flags", "temporary_disk", "threads", "tres", "tres_used", "weight"}


def as_ours(text):
    """What differs between the two in a page of nodes: the partition's name, in columns of one width, memory and the date."""
    text = re.sub(r"   main\b", "default", text)
    text = re.sub(r"\bmain(\*?)   ", r"default\1", text)
    text = re.sub(r"\bmain\b", "default", text)
    text = re.sub(r"^\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$", "DATE", text, flags=re.M)
    return re.sub(r"\b16(000|384)\b", "MEMORY", text)


class Place:
    """One of the two: its commands by their names in a folder of its own."""

    def __init__(self, folder, call):
        self.folder, self.call = folder, call
        os.makedirs(folder)

    def run(self, *command, check=True, **environment):
        done = self.call(command, self.folder, environment)
        if check and done.returncode != 0:
            raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
        return done

    def submit(self, *arguments, **environment):
        return int(self.run("sbatch", "--parsable", *arguments, **environment).stdout.split(";")[0])

    def fields(self, job):
        """What scontrol says of a job, of an array of each element."""
        text = self.run("scontrol", "show", "job", str(job)).stdout
        return [dict(re.findall(r"(\S+?)=(\S*)", part)) for part in text.split("\n\n") if part.strip()]

    def ended(self, job):
        deadline = time.monotonic() + 40
        while True:
            found = self.fields(job)
            if all(part["JobState"] in ENDED for part in found):
                return sorted((part.get("ArrayTaskId", ""), part["JobState"], part["ExitCode"]) for part in found)
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.folder}: job {job}: {found}")
            time.sleep(0.1)

    def read(self, name):
        """A file's text once it is there."""
        path = os.path.join(self.folder, name)
        for _ in range(50):
            if os.path.exists(path):
                break
            time.sleep(0.1)
        with open(path) as file:
            return WAITS.sub("", file.read())


# Slurm's srun says that it waits for what a former step's tasks have not given back yet, on a busy machine only.
WAITS = re.compile(r"^srun: (Job \d+ step creation temporarily disabled, .*|Step created for (job|StepId=).*)\n", re.M)


class SameAsSlurm(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=2, cores=4)
        cls.cluster.names = ["n0", "n1"]  # as the lab's
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)
        cls.lab = SlurmLab(nodes=2, cpus=4).__enter__()
        cls.addClassCleanup(cls.lab.__exit__, None, None, None)

        def slurm(command, folder, more):
            return subprocess.run(command, cwd=folder, env={**cls.lab.environment, **more}, capture_output=True,
                                  text=True, timeout=60)

        def dove(command, folder, more):
            cls.cluster.run("version", name=command[0], check=False)  # makes the face
            face = os.path.join(cls.cluster.folder, "faces", command[0])
            return subprocess.run([face, *command[1:]], cwd=folder, capture_output=True, text=True, timeout=60,
                                  env={**cls.cluster.environment, "DOVE_DATA": cls.cluster.data, **more})

        cls.places = [Place(os.path.join(cls.lab.folder, "work"), slurm),
                      Place(os.path.join(cls.cluster.folder, "work"), dove)]

    def both(self, what):
        """The same done in both places gives the same; returns it."""
        theirs, ours = (what(place) for place in self.places)
        self.assertEqual(ours, theirs)
        return ours

    def write(self, name, text):
        for place in self.places:
            with open(os.path.join(place.folder, name), "w") as file:
                file.write(text)

    def test_exit_codes_and_states(self):
        for code in (0, 1, 7, 255):
            self.write(f"exit{code}.sh", HEAD + f"exit {code}\n")
            with self.subTest(code):
                self.both(lambda place: place.ended(place.submit(f"exit{code}.sh")))
        self.both(lambda place: place.run("srun", "sh", "-c", "exit 3", check=False).returncode)
        self.both(lambda place: place.run("sbatch", "-W", "exit7.sh", check=False).returncode)

    def test_srun_lists_its_plug_ins_for_mpi(self):
        self.both(lambda place: [line for line in place.run("srun", "--mpi=list").stdout.splitlines()
                                 if line in ("MPI plugin types are...", "\tnone")])

    def test_arguments_and_output_files(self):
        self.write("args.sh", HEAD + "#SBATCH -J named\n#SBATCH -o %x.out -e err.txt\necho $# \"$1\" $SLURM_JOB_NAME\n"
                   "echo e >&2\npwd >/dev/null\n")

        def what(place):
            place.ended(place.submit("args.sh", "a b", "c"))
            return place.read("named.out"), place.read("err.txt")
        self.assertEqual(self.both(what), ("2 a b named\n", "e\n"))

    def test_array_and_dependency(self):
        self.write("array.sh", HEAD + "#SBATCH -a 1-5:2%1\n#SBATCH -o array-%a.out\n"
                   "echo $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_COUNT $SLURM_ARRAY_TASK_MIN $SLURM_ARRAY_TASK_MAX "
                   "$SLURM_ARRAY_TASK_STEP\n"
                   "exit $((SLURM_ARRAY_TASK_ID == 3))\n")

        def what(place):
            array = place.submit("array.sh")
            after = place.submit("-d", f"afterany:{array}", "-o", "after.out", "--wrap", "cat array-?.out")
            never = place.submit("-d", f"afterok:{array}", "--kill-on-invalid-dep=yes", "--wrap", "true")
            ends = place.ended(array)
            place.ended(after)
            return ends, place.read("after.out"), place.ended(never)[0][1]
        ends, text, never = self.both(what)
        self.assertEqual([state for _, state, _ in ends], ["COMPLETED", "FAILED", "COMPLETED"])
        self.assertEqual((text.count("\n"), never), (3, "CANCELLED"))

    def test_steps_in_an_allocation_of_two_nodes(self):
        self.write("steps.sh", STEPS)

        def what(place):
            return place.ended(place.submit("steps.sh")), place.read("steps.out")
        _, text = self.both(what)
        self.assertIn("3: 3 1 1 4\n", text)

    def test_a_task_that_ends_ends_the_others(self):
        """All on one node, all on their own; neither does without the options."""
        self.write("others.sh", HEAD + """#SBATCH -N2 -n4 -o others.out
echo $SLURMD_NODENAME
srun -n2 -N1 -W1 bash -c '[ $SLURM_PROCID = 1 ] || exec sleep 1000'; echo rc $?
srun -n2 -N2 --wait=1 -Q bash -c '[ $SLURM_PROCID = 1 ] || exec sleep 1000'; echo rc $?
srun -n2 -N1 -K bash -c '[ $SLURM_PROCID = 0 ] && exit 3; exec sleep 1000'; echo rc $?
srun -n2 -N2 -K bash -c '[ $SLURM_PROCID = 0 ] && exit 3; exec sleep 1000'; echo rc $?
srun -n2 -N1 -K0 --wait=0 bash -c '[ $SLURM_PROCID = 0 ] && exit 3; exec sleep 2'; echo rc $?
srun -n2 -N1 bash -c '[ $SLURM_PROCID = 0 ] && exit 3; exec sleep 2'; echo rc $?
""")

        def what(place):
            place.ended(place.submit("others.sh"))
            first, *lines = place.read("others.out").splitlines()  # either node may be the job's first
            lines = [line.replace(f": {first}:", ": first:") for line in lines]
            return [re.sub(": n[01]:", ": second:", line) for line in lines if re.match("rc|srun: (error: |First)", line)]
        said = self.both(what)
        self.assertEqual([line for line in said if line.startswith("rc")], ["rc 137", "rc 137", "rc 143", "rc 143", "rc 3", "rc 3"])

    def test_export(self):
        self.write("export.sh", HEAD + "#SBATCH -o export.out\necho ${LAB_A-unset} ${LAB_B-unset} ${LAB_C-unset}\n")
        for option in ("ALL", "NONE", "LAB_A", "LAB_A,LAB_B=given", "ALL,LAB_C=x"):
            def what(place, option=option):
                place.ended(place.submit(f"--export={option}", "export.sh", LAB_A="a", LAB_B="b"))
                return place.read("export.out")
            with self.subTest(option):
                self.both(what)

    def test_functions_of_the_shell_are_exported_too(self):
        function = {"BASH_FUNC_greet%%": "() {  echo hello $1\n}"}
        self.write("function.sh", HEAD + "#SBATCH -o function.out\ngreet you\n")

        def what(place):
            place.ended(place.submit("function.sh", **function))
            return place.read("function.out"), place.run("srun", "bash", "-c", "greet all", **function).stdout
        self.assertEqual(self.both(what), ("hello you\n", "hello all\n"))

    def test_waiting_jobs_look_the_same(self):
        def what(place):
            held = place.submit("-H", "-J", "held", "-N2", "-t", "1:00:00", "--wrap", "true")
            said = place.run("squeue", "-h", "-j", str(held), "-o", "%j %t %T %D %l %r").stdout
            long = place.run("squeue", "-h", "-j", str(held), "-O", "Name:8,State:10,TimeLimit").stdout.split()
            fields = place.fields(held)[0]
            shown = {name: fields[name] for name in ("JobName", "JobState", "Reason", "TimeLimit", "NumTasks",
                                                     "Requeue", "Restarts", "BatchFlag", "ExitCode")}
            place.run("scancel", str(held))
            return said, long, shown, place.ended(held)
        self.both(what)

    # -- what squeue and sinfo print

    def idle(self, place):
        """All nodes are."""
        self.waits_for(lambda: place.run("sinfo", "-h", "-t", "idle", "-o", "%D").stdout.strip() == "2")

    def waits_for(self, done):
        deadline = time.monotonic() + 60
        while not done():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)

    def crowded(self, place):
        """{name: id} of a job that runs on both nodes, an array of which one runs, and one that is held."""
        self.idle(place)
        jobs = {}
        self.addCleanup(self.end_all, place, jobs)
        jobs["runs"] = place.submit("-J", "runs", "-N2", "-n2", "-t", "10", "--wrap", "sleep 300")
        self.waits_for(lambda: place.fields(jobs["runs"])[0]["JobState"] == "RUNNING")
        jobs["some"] = place.submit("-J", "some", "-a", "1-5%1", "--wrap", "sleep 300")
        self.waits_for(lambda: place.run("squeue", "-h", "-t", "R", "-o", "%j").stdout.split().count("some") == 1)
        jobs["held"] = place.submit("-H", "-J", "held", "-a", "7,9", "--wrap", "sleep 300")
        return jobs

    def end_all(self, place, jobs):
        for job in jobs.values():
            place.run("scancel", str(job))
        self.waits_for(lambda: not place.run("squeue", "-h").stdout.strip())

    def test_nodes_look_the_same(self):
        every = "|".join("%" + letter for letter in NODE_COLUMNS)
        pages = (["sinfo"], ["sinfo", "-N"], ["sinfo", "-o", every], ["sinfo", "-h", "-N", "-o", "%N %.6D %P %t"], ["sinfo", "-l"],
                 ["sinfo", "-N", "-l"], ["sinfo", "-s"], ["sinfo", "-R"], ["sinfo", "-h", "-t", "mix", "-o", "%D %T"])

        def looks(place):
            return {" ".join(page): as_ours(place.run(*page).stdout) for page in pages}

        def what(place):
            self.idle(place)
            idle = looks(place)
            jobs = self.crowded(place)
            found = idle, looks(place)
            self.end_all(place, jobs)
            return found
        theirs, ours = (what(place) for place in self.places)
        for state, their_pages, our_pages in zip(("idle", "in use"), theirs, ours):
            for page, text in their_pages.items():
                with self.subTest(f"{state}: {page}"):
                    self.assertEqual(our_pages[page], text)

    def test_jobs_that_run_and_arrays_look_the_same(self):
        every = "|".join("%" + letter for letter in JOB_COLUMNS)
        pages = (["squeue"], ["squeue", "-l"], ["squeue", "-r"], ["squeue", "-h", "-t", "PD"], ["squeue", "-o", every],
                 ["squeue", "-h", "-r", "-o", every], ["squeue", "-h", "-O", "JobArrayID:20,Name:10,StateCompact:4,NumNodes:.6"])

        def rows(text, place, jobs):
            """Words of each line; ids, times and which single node it is are not the same."""
            text = as_ours(text).replace(place.folder, "FOLDER")
            for name, job in jobs.items():
                text = re.sub(rf"^( *){job}(?=[_ |])", rf"\1{name}", text, flags=re.M)
                text = re.sub(rf"^({name}[^|]*)\|{job}\|", rf"\1|{name}|", text, flags=re.M)
            text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "INSTANT", text)
            text = re.sub(r"\b\d+:\d\d\b", "SPAN", text)
            return [re.sub(r"\bn[01]\b", "n?", line).split() for line in text.splitlines()]

        def what(place):
            jobs = self.crowded(place)
            found = {" ".join(page): rows(place.run(*page).stdout, place, jobs) for page in pages}
            self.end_all(place, jobs)
            return found
        theirs, ours = (what(place) for place in self.places)
        for page, text in theirs.items():
            with self.subTest(page):
                self.assertEqual(ours[page], text)

    def test_json_has_what_programs_read(self):
        def what(place):
            jobs = self.crowded(place)
            found = [json.loads(place.run(command, "--json").stdout) for command in ("squeue", "sinfo")]
            self.end_all(place, jobs)
            return found
        (their_jobs, their_nodes), (our_jobs, our_nodes) = (what(place) for place in self.places)
        self.assertEqual(set(our_jobs), set(their_jobs))
        self.assertEqual(set(our_nodes), set(their_nodes))
        for answers, name, keys in (((their_jobs, our_jobs), "jobs", JOB_KEYS), ((their_nodes, our_nodes), "nodes", NODE_KEYS)):
            theirs, ours = (answer[name] for answer in answers)
            self.assertEqual(keys - set(theirs[0]), set(), "Slurm's own")
            self.assertEqual(keys - set(ours[0]), set())
            for one, other in ((one, other) for one in theirs for other in ours):
                for key in keys:
                    if one[key] is not None and other[key] is not None:
                        self.assertIs(type(other[key]), type(one[key]), key)
        same = ("job_state", "state_reason", "node_count", "nodes", "cpus", "tasks", "time_limit", "user_name", "user_id",
                "group_name", "batch_flag", "restart_cnt", "dependency", "exit_code", "tres_per_node", "required_nodes")
        # Jobs that another test has ended may be listed, too.
        runs = [next(job for job in answer["jobs"] if (job["name"], job["job_state"]) == ("runs", "RUNNING"))
                for answer in (their_jobs, our_jobs)]
        self.assertEqual(*({key: job[key] for key in same} for job in runs))
        for job in runs:
            self.assertEqual(job["end_time"] - job["start_time"], 600)
        same = ("name", "state", "state_flags", "reason", "cpus", "boards", "sockets", "cores", "threads", "weight", "gres",
                "features")
        self.assertEqual(*([{key: node[key] for key in same} for node in answer["nodes"]] for answer in (their_nodes, our_nodes)))
        self.assertEqual(*(sum(node["alloc_cpus"] for node in answer["nodes"]) for answer in (their_nodes, our_nodes)))

    def test_cancelling_and_time(self):
        def what(place):
            job = place.submit("-o", "trap.out", "--wrap", "sleep 100")
            while place.fields(job)[0]["JobState"] != "RUNNING":
                time.sleep(0.1)
            place.run("scancel", str(job))
            return place.ended(job)[0][1]
        self.assertEqual(self.both(what), "CANCELLED")

    def test_a_signal_goes_to_the_steps_or_to_the_script(self):
        self.write("signal.sh", HEAD + """trap 'echo script' USR1
srun -n1 bash -c 'trap "echo step" USR1; touch $0.ready; until [ -e $0.go ]; do sleep 0.1; done' $1 &
while kill -0 $! 2>/dev/null; do wait $!; done
""")

        def what(place, option, heard):
            name = "signalled" + option
            job = place.submit("-o", name + ".out", "signal.sh", name)
            place.read(name + ".ready")
            place.run("scancel", "--signal=USR1", *([option] if option else []), str(job))
            deadline = time.monotonic() + 20
            while heard not in place.read(name + ".out"):
                self.assertLess(time.monotonic(), deadline, place.read(name + ".out"))
                time.sleep(0.1)
            open(os.path.join(place.folder, name + ".go"), "w").close()
            place.ended(job)
            return [line for line in place.read(name + ".out").splitlines() if line in ("step", "script")]
        for option, heard in (("", "step"), ("--batch", "script")):
            with self.subTest(option):
                self.assertEqual(self.both(lambda place: what(place, option, heard)), [heard])

    def test_refusals(self):
        for arguments in (["--nodes=two", "--wrap", "true"], ["nowhere.sh"], ["-d", "afterok:x", "--wrap", "true"],
                          ["-t", "soon", "--wrap", "true"], ["--no-such-option", "--wrap", "true"]):
            with self.subTest(arguments):
                self.assertTrue(self.both(lambda place: place.run("sbatch", *arguments, check=False).returncode != 0))


if __name__ == "__main__":
    if not available():
        print("no Slurm here: tools/setup peers installs it (as root)")
        sys.exit(SKIP)
    sys.exit(unittest.main())
