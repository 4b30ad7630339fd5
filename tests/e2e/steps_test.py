#!/usr/bin/env python3
"""Steps as a Slurm user knows them: what a batch script and its srun find, hold and print."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from cluster import Cluster, until

RANKS = r"^(RANK|WORLD_SIZE|LOCAL_RANK|LOCAL_WORLD_SIZE|NODE_RANK|GROUP_RANK|MASTER_\w+|PET_\w+|TF_CONFIG|PMIX?_\w+|OMPI_COMM\w+)$"


class Steps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=2, gpus=2, cores=4, agent_options=["--container-runtime", "off"]).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def batch(self, script, *options, state="completed", limit_s=60):
        """What a batch script prints."""
        folder = os.path.join(self.cluster.folder, "home")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, self._testMethodName + ".sh")
        with open(path, "w") as file:
            file.write("#!/bin/bash\n" + script)
        output = path + ".out"
        job = int(self.cluster.run("--parsable", "-o", output, *options, path, name="sbatch").stdout)
        ended = self.cluster.wait(job, limit_s)
        with open(output) as file:
            said = file.read()
        self.assertEqual(ended["state"], state, said)
        return said

    # -- what has no effect

    def test_wait_is_not_passed_over_in_silence(self):
        said = self.cluster.run("--wait=30", "-n1", "true", name="srun").stderr
        self.assertIn("warning: --wait has no effect outside of a job: all tasks are waited for", said)

    # -- what they find in their environment

    def test_a_batch_script_is_no_rank(self):
        said = self.batch("env -0 | tr '\\n' ' ' | tr '\\0' '\\n'\n", "-n4")
        names = {line.split("=")[0] for line in said.splitlines()}
        self.assertEqual([name for name in names if re.match(RANKS, name)], [])
        self.assertIn("SLURM_NTASKS=4", said.splitlines())
        self.assertIn("SLURM_PROCID=0", said.splitlines())

    def test_a_batch_script_finds_what_was_asked_for(self):
        said = self.batch("env | grep ^SLURM_\n", "-N2", "--ntasks-per-node=2", "--gpus-per-node=2", "-c2").splitlines()
        for word in ["GPUS_PER_NODE=2", "GPUS_ON_NODE=2", "CPUS_PER_TASK=2", "NTASKS=4", "NTASKS_PER_NODE=2", "JOB_GPUS=0,1",
                     "TASKS_PER_NODE=2(x2)", "JOB_CPUS_PER_NODE=4(x2)", "JOB_NUM_NODES=2", "JOB_QOS=default"]:
            self.assertIn("SLURM_" + word, said)
        said = self.batch("env | grep ^SLURM_\n", "-N2")
        self.assertNotRegex(said, "(?m)^SLURM_(NTASKS|NPROCS|CPUS_PER_TASK|GPUS)")

    def test_a_step_fills_gaps_only(self):
        said = self.batch("""\
export MASTER_ADDR=my.host MASTER_PORT=12345 WORLD_SIZE=2
RANK=1 srun -n1 -N1 -w node2 bash -c 'echo A $MASTER_ADDR $MASTER_PORT $WORLD_SIZE $RANK $LOCAL_RANK'
srun -n1 --export=ALL,MASTER_ADDR=y,MASTER_PORT=2 bash -c 'echo B $MASTER_ADDR $MASTER_PORT'
unset MASTER_ADDR MASTER_PORT WORLD_SIZE
srun -n2 -N2 bash -c 'echo C $WORLD_SIZE $RANK'
srun -n1 srun -n2 -N2 bash -c 'echo D $WORLD_SIZE $RANK'
""", "-N2", "--ntasks-per-node=2")
        self.assertEqual(sorted(said.splitlines()), ["A my.host 12345 2 1 0", "B y 2", "C 2 0", "C 2 1", "D 2 0", "D 2 1"])

    # -- what they get

    SEES = "bash -c 'echo r$SLURM_PROCID $SLURMD_NODENAME [$CUDA_VISIBLE_DEVICES] [$SLURM_STEP_GPUS]'"

    def seen(self, options, *job):
        """What each rank of a step sees: [(node, devices), ...]"""
        # The job's first node is called node1 here, whichever it is.
        said = self.batch(f"A=$SLURMD_NODENAME; B=$([ $A = node1 ] && echo node2 || echo node1); echo first $A\n"
                          f"srun {options} {self.SEES}\n", *job)
        if "first node2" in said:
            said = said.replace("node1", "node0").replace("node2", "node1").replace("node0", "node2")
        found = sorted(re.findall(r"^r(\d+) (\S+) \[(\S*)\] \[\2?(\S*)\]$", said, re.M), key=lambda one: int(one[0]))
        self.assertEqual([one[2] for one in found], [one[3] for one in found], said)
        return [(node, devices) for _, node, devices, _ in found]

    def test_each_rank_sees_its_gpus(self):
        job = ["-N2", "--ntasks-per-node=2", "--gpus-per-node=2"]
        one_each = [("node1", "0"), ("node1", "1"), ("node2", "0"), ("node2", "1")]
        everything = [(node, "0,1") for node, _ in one_each]
        for options, wanted in [
                ("", everything),
                ("-n4 --gpus-per-task=1", one_each),
                ("-n1 --gpus=1", [("node1", "0")]),
                ("-n1 -G2", [("node1", "0,1")]),
                ("-n2 -N2 -G2", [("node1", "0"), ("node2", "0")]),
                ("-n2 -N2 --gpus-per-node=1", [("node1", "0"), ("node2", "0")]),
                ("-n1 --gres=gpu:1", [("node1", "0")]),
                ("-n1 --gres=gpu:0", [("node1", "")]),
                ("-n1 --gres=none", [("node1", "")]),
                ("--gpus=4 --ntasks-per-gpu=1", one_each),
                ("-N1 -O --gpus=2 --ntasks-per-gpu=2", [("node1", "0"), ("node1", "0"), ("node1", "1"), ("node1", "1")]),
                ("-n4 --gpu-bind=single:1", one_each),
                ("-n4 --gpu-bind=map_gpu:1,0", [("node1", "1"), ("node1", "0"), ("node2", "1"), ("node2", "0")]),
                ("-n4 --gpus-per-task=1 --gpu-bind=none", everything),
                ("-n1 -r1 --gpus-per-task=2", [("node2", "0,1")]),
                ("-n1 -x $A", [("node2", "0,1")]),
                ("-n1 -w $B --gpus=1", [("node2", "0")])]:
            with self.subTest(options):
                self.assertEqual(self.seen(options, *job), wanted)
        # A job's GPUs per task are its steps', too.
        self.assertEqual(self.seen("-n1", "-n2", "-N1", "--gpus-per-task=1"), [("node1", "0")])

    def test_what_cannot_be_had_is_refused(self):
        job = ["-N2", "--ntasks-per-node=2", "--gpus-per-node=2", "-c1"]
        for options, words in [
                ("-n1 --gpus-per-task=3", "1 task, 3 GPUs each"), ("-N3 -n3", "3 nodes, the job holds 2"),
                ("-n1 --gpus=1 --gpus-per-task=2", "cannot be split"), ("-n1 --exclusive --overlap", "exclude each other"),
                ("-n1 --mem=1G --mem-per-cpu=1G", "exclude each other"), ("-n2 -x node1,node2", "leave none"),
                ("-n1 --relative=2", "leave none"), ("-n1 --gres=rdma:1", "the job holds 0"), ("-n5 --exact", "5 tasks"),
                ("-n1 --gres=gpu:a100:1", "a100"), ("-n1 --nosuch", "--nosuch"), ("-n1 --multi-prog", "echo"),
                ("-n3 --gpus=4 --ntasks-per-gpu=1", "means 4 tasks"),
                ("-n1 --container-image=x", "runs no containers")]:
            with self.subTest(options):
                said = self.batch(f"srun {options} echo RAN\n", *job, state="failed")
                self.assertRegex(said, "(?m)^srun: ")
                self.assertIn(words, said)
                self.assertNotIn("RAN", said)
        said = self.batch("srun -n1 echo RAN : -n1 echo B\n", state="failed")
        self.assertIn("heterogeneous", said)
        self.assertNotIn("RAN", said)

    def test_a_file_says_which_task_runs_what(self):
        said = self.batch("""\
cd $(mktemp -d)
cat >programs <<'END'
0    echo first %t/%o
1-2  sh -c 'echo "$0 $SLURM_PROCID"' %t/%o
*    echo rest %t
END
srun -n4 --multi-prog programs more
sed -i '$d' programs
srun -n4 --multi-prog programs; echo code $?
""", "-N2", "--ntasks-per-node=2")
        lines = said.splitlines()
        self.assertEqual(sorted(lines[:4]), ["1/0 1", "2/1 2", "first 0/0 more", "rest 3 more"])
        self.assertIn("no line is for task 3 of 4", lines[4])
        self.assertEqual(lines[-1], "code 1")

    def test_a_program_is_copied_to_the_nodes_first(self):
        said = self.batch("""\
cd $(mktemp -d)
printf '#!/bin/sh\\necho $SLURM_PROCID $1 $(basename $0)\\n' >program; chmod +x program
echo in | srun -N2 -n2 --bcast ./program word | sed 's/bcast_.*_/bcast_/' | sort
ls | grep -c bcast
srun -N2 -n2 --bcast=copy sh -c 'echo $0' | uniq
ls
srun --bcast ./nothing; echo code $?
srun -n2 -N2 --output=1 sh -c 'echo only $SLURM_PROCID'
""", "-N2")
        node = lambda rank: [line for line in said.splitlines() if line.startswith(f"{rank} word slurm_bcast_node")]
        self.assertEqual((len(node(0)), len(node(1))), (1, 1), said)
        rest = said.splitlines()[2:]
        self.assertEqual(rest[0], "2", "a copy of each node")
        self.assertIn("copy", rest)
        self.assertIn("--bcast: cannot read", said)
        self.assertEqual(rest[-1], "only 1")

    def test_a_copy_takes_the_place_of_a_link_and_never_goes_into_a_folder(self):
        said = self.batch("""\
cd $(mktemp -d)
printf '#!/bin/sh\\necho ran\\n' >program; chmod +x program
mkdir folder; ln -s folder link
srun -n1 --bcast=folder ./program; echo folder $? $(ls folder | wc -l)
srun -n1 --bcast=link ./program; echo link $? $(ls folder | wc -l)
ls
""")
        lines = said.splitlines()
        self.assertIn("folder 1 0", lines)
        self.assertEqual(lines[-5:], ["ran", "link 0 0", "folder", "link", "program"], said)

    def test_output_that_no_task_prints_is_refused(self):
        said = self.batch("""\
cd $(mktemp -d)
srun -n2 --output=2 echo lost; echo code $?
srun --error=9 sh -c 'echo lost >&2'; echo code $?
srun -n2 --output=file --error=1 echo lost; echo code $?
ls
srun -n2 --output=0 --error=1 sh -c 'echo out $SLURM_PROCID; echo err $SLURM_PROCID >&2'
""", "-N2")
        lines = said.splitlines()
        self.assertEqual([line for line in lines if line.startswith("code")], ["code 1"] * 3, said)
        self.assertIn("--output=2: the step has 2 tasks, from 0 on", said)
        self.assertIn("--error=9: the step has 2 tasks, from 0 on", said)
        self.assertIn("--error=1 prints errors here only where", said)
        self.assertNotIn("lost", lines)
        self.assertEqual(sorted(lines[-2:]), ["err 1", "out 0"], said)

    def running_at_once(self, said):
        """The most steps that ran at once, by lines "+ N" and "- N" in order of time."""
        most = now = 0
        for sign in re.findall(r"^\d+\.\d+ ([+-])", "\n".join(sorted(said.splitlines())), re.M):
            now += 1 if sign == "+" else -1
            most = max(most, now)
        return most

    def loop(self, steps, options, at_once):
        """A script of that many steps, of which each goes on once `at_once` of them run: they take a number, and wait for the
        last of their group."""
        return f"""\
export MET={self.cluster.folder}/{self._testMethodName}
mkdir $MET
for i in $(seq {steps}); do
  srun -n1 {options} bash -c '
    echo $EPOCHREALTIME + $CUDA_VISIBLE_DEVICES
    n=1; until mkdir $MET/$n 2>/dev/null; do n=$((n + 1)); done
    last=$(((n + {at_once} - 1) / {at_once} * {at_once}))
    for i in $(seq 400); do [ -d $MET/$last ] && break; sleep 0.05; done
    echo $EPOCHREALTIME -' &
done
wait
"""

    def test_exclusive_steps_wait_for_room(self):
        loop = self.loop(8, "--exclusive", 2)
        said = self.batch(loop, "-N2", "--ntasks-per-node=1", "-c1")
        self.assertEqual(self.running_at_once(said), 2, said)
        self.assertEqual(said.count(" +"), 8, said)
        self.assertIn("step creation temporarily disabled, retrying (Requested nodes are busy)", said)
        self.assertIn("Step created for job", said)

    def test_steps_get_gpus_of_their_own(self):
        loop = self.loop(6, "-Q --exact --gpus=1", 2)
        said = self.batch(loop, "-N1", "-n4", "--gpus-per-node=2")
        self.assertEqual(self.running_at_once(said), 2, said)
        self.assertEqual((said.count("+ 0"), said.count("+ 1")), (3, 3), said)

    def test_overlapping_steps_do_not_wait(self):
        loop = self.loop(4, "--overlap --gpus=1", 4)
        said = self.batch(loop, "-N1", "-n1", "--gpus-per-node=1")
        self.assertEqual(self.running_at_once(said), 4, said)
        said = self.batch(f"""\
cd {self.cluster.folder}
srun -n1 --exclusive bash -c 'touch first; until [ -e go ]; do sleep 0.05; done' &
for i in $(seq 400); do [ -e first ] && break; sleep 0.05; done
srun -n1 --exclusive -I true; echo rc=$?; touch go; wait
""", "-n1")
        self.assertIn("rc=1", said)

    def test_many_steps(self):
        script = "for i in $(seq 120); do srun -Q -n1 --exclusive bash -c 'echo done' & done; wait\n"
        self.assertEqual(self.batch(script, "-N1", "-n4", limit_s=120).count("done"), 120)

    def test_a_step_has_its_cores_and_its_time(self):
        said = self.batch("""\
srun -n2 -c2 bash -c 'echo c $SLURM_CPUS_ON_NODE $SLURM_CPUS_PER_TASK'
srun -n1 --exact bash -c 'echo e $SLURM_CPUS_ON_NODE'
srun -n1 -t 0:01 sleep 60; echo rc $?
""", "-N1", "-n4")
        self.assertEqual(re.findall(r"^[ce] .*", said, re.M), ["c 4 2", "c 4 2", "e 1"])
        self.assertIn("DUE TO TIME LIMIT", said)
        self.assertIn("rc 143", said)

    def test_memory_that_nothing_limits_is_said(self):
        for of_job in (["--mem=100M"], []):
            said = self.batch("srun -n1 --mem=10M true\nsrun -n1 true\n", *of_job)  # its agents make no cgroups
            self.assertEqual(said.count("warning: memory is reserved but not limited on node"), 1, said)

    def test_tasks_that_fail_are_told_as_slurm_tells_them(self):
        said = self.batch("""\
srun -n3 -O bash -c 'exit $((SLURM_PROCID+1))'; echo rc $?
srun -n2 -O bash -c 'kill -9 $$'; echo rc $?
srun -n1 bash -c 'kill -11 $$'; echo rc $?
""", "-N1", "-n1")
        lines = said.splitlines()
        for wanted in ["task 0: Exited with exit code 1", "task 2: Exited with exit code 3", "tasks 0-1: Killed",
                       "task 0: Segmentation fault"]:
            self.assertTrue(any(re.fullmatch(f"srun: error: node[12]: {wanted}", line) for line in lines), said)
        self.assertEqual([line for line in lines if line.startswith("rc")], ["rc 3", "rc 137", "rc 139"])

    def test_the_first_end_of_a_task_ends_the_others_where_that_is_asked_for(self):
        """Also of tasks on its own node."""
        said = self.batch("""\
srun -n2 -N1 -O -W1 bash -c '[ $SLURM_PROCID = 1 ] || exec sleep 1000'; echo rc $?
srun -n2 -N2 -O --wait=1 bash -c '[ $SLURM_PROCID = 1 ] || exec sleep 1000'; echo rc $?
srun -n2 -N1 -O -K bash -c '[ $SLURM_PROCID = 0 ] && exit 3; exec sleep 1000'; echo rc $?
srun -n2 -N1 -O -W1000 true; echo rc $?
""", "-N2", "-n2")
        lines = said.splitlines()
        self.assertEqual([line for line in lines if line.startswith("rc")], ["rc 137", "rc 137", "rc 143", "rc 0"], said)
        self.assertEqual(lines.count("srun: First task exited 1s ago"), 2, said)
        self.assertEqual(len([line for line in lines if re.fullmatch("srun: error: node[12]: task 0: Killed", line)]), 2, said)
        self.assertTrue(any(re.fullmatch("srun: error: node[12]: task 1: Terminated", line) for line in lines), said)
        self.assertTrue(any(re.fullmatch("srun: error: node[12]: task 0: Exited with exit code 3", line) for line in lines), said)

    def test_outside_of_a_job_failures_are_told_too(self):
        done = self.cluster.run("-n2", "nosuch-program", name="srun", check=False)
        self.assertEqual(done.returncode, 127, done.stderr)
        self.assertRegex(done.stderr, r"srun: error: node[12]: tasks? 0.*: Exited with exit code 127 \(.*nosuch-program")
        for line in done.stderr.splitlines():  # one for each node, and no other
            self.assertRegex(line, "^srun: error: node[12]: task")
        done = self.cluster.run("-n3", "false", name="srun", check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"srun: error: node[12]: tasks? [-0-9,]+: Exited with exit code 1\n")


def cannot_contain():
    if os.geteuid() != 0:
        return "containers need root"
    if not shutil.which("runc") and not shutil.which("crun"):
        return "there is no OCI runtime (tools/setup test)"
    if not os.path.exists("/bin/busybox"):
        return "there is no /bin/busybox (tools/setup test)"
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True).returncode != 0:
        return "this machine allows no user namespaces"
    return None


@unittest.skipIf(cannot_contain(), cannot_contain())
class ContainedSteps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="dove-steps.")
        os.chmod(cls.folder, 0o755)
        image = cls.folder + "/images/small"
        os.makedirs(image + "/bin")
        os.makedirs(image + "/etc")
        shutil.copy("/bin/busybox", image + "/bin/busybox")
        with open(os.open(image + "/bin/bash", os.O_WRONLY | os.O_CREAT, 0o755), "w") as file:
            file.write('#!/bin/sh\nexec /bin/sh "$@"\n')
        for applet in ("sh", "cat", "dd", "echo", "id", "ls", "pwd", "stat", "touch", "true", "wc"):
            os.symlink("busybox", f"{image}/bin/{applet}")
        with open(image + "/etc/os-release", "w") as file:
            file.write("ID=small\n")
        cls.volume = cls.folder + "/volumes/data"
        os.makedirs(cls.volume)
        os.chmod(cls.volume, 0o777)
        cls.cluster = Cluster(gpus=2, agent_options=["--images", cls.folder + "/images",
                                                     "--volume-roots", cls.folder + "/volumes"]).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)
        shutil.rmtree(cls.folder)

    batch = Steps.batch

    def test_a_step_runs_in_its_image(self):
        with open(self.volume + "/given", "w") as file:
            file.write("from outside\n")
        said = self.batch(f"""\
export MINE=passed
srun -n2 --gpus-per-task=1 --container-image=small --container-mounts={self.volume}:/data --container-workdir=/data \\
  sh -c 'cat /etc/os-release; pwd; cat given; echo r$SLURM_PROCID $MINE $CUDA_VISIBLE_DEVICES; touch /data/made'
srun -n1 cat /etc/os-release | grep ^ID=
srun -n1 --container-image=small --container-readonly sh -c 'touch /x || echo cannot'
""", "-n2", "--gpus-per-node=2")
        for line in ("ID=small", "/data", "from outside"):  # the two tasks' lines may alternate
            self.assertEqual(said.splitlines().count(line), 2, said)
        self.assertIn("r0 passed 0\n", said)
        self.assertIn("r1 passed 1\n", said)
        self.assertTrue(os.path.exists(self.volume + "/made"))
        self.assertRegex(said, "(?m)^ID=(?!small)")
        self.assertIn("cannot", said)

    def test_what_cannot_be_contained_never_runs_bare(self):
        for options, words in [("--container-image=not-there", "not-there"),
                               ("--container-image=small --container-mounts=/etc:/x", "may see on this node"),
                               ("--container-image=/images/x.sqsh", "/images/x.sqsh: No such file"),
                               ("--container-name=kept", "container kept of this job is not on this node"),
                               ("--container-image=small --container-name=a/b", "write NAME"),
                               ("--container-image=small --container-name=a:exec", "not on this node"),
                               ("--container-image=small --container-save=/nowhere/x.sqsh", "cannot write /nowhere/x.sqsh"),
                               ("--container-mounts=/a:/b", "needs --container-image")]:
            with self.subTest(options):
                said = self.batch(f"srun -n1 {options} sh -c 'echo RAN'\n", state="failed")
                self.assertIn(words, said)
                if "save" not in options:
                    self.assertNotIn("RAN", said)

    def roots(self):
        folder = f"{self.cluster.folder}/nodes/node1/roots"
        return [name for name in os.listdir(folder)] if os.path.isdir(folder) else []

    def test_a_named_container_lives_as_long_as_its_job(self):
        said = self.batch("""\
srun -n1 --container-image=small --container-name=kept sh -c 'echo first > /note; echo A'
srun -n2 --container-name=kept sh -c 'cat /note; echo $SLURM_PROCID >> /ranks; cat /etc/os-release'
srun -n1 --container-image=not-there --container-name=kept sh -c 'cat /ranks | wc -l'
srun -n1 --container-image=small --container-name=kept:create sh -c 'echo RAN'
srun -n1 --container-image=small --container-name=other sh -c 'ls /note || echo none'
srun -n1 --container-image=small sh -c 'ls /note || echo none'
""", "-n2")
        self.assertEqual([said.count("first\n"), said.count("ID=small\n")], [2, 2], said)  # of two tasks, in any order
        self.assertIn("\n2\n", said)
        self.assertIn("the container kept of this job is on this node already", said)
        self.assertNotIn("RAN", said)
        self.assertEqual(said.count("none\n"), 2)
        until(lambda: not self.roots(), 10, "the named containers to go with their job")
        self.assertEqual(self.batch("srun -n1 --container-name=kept true\n", state="failed").count("not on this node"), 1)

    def test_a_named_container_outlasts_its_agent(self):
        marks = [self.volume + "/ready", self.volume + "/go"]
        for mark in marks:
            if os.path.exists(mark):
                os.unlink(mark)
        job = int(self.cluster.run("--parsable", "-o", self.volume + "/kept.out", name="sbatch", input=f"""\
#!/bin/bash
srun -n1 --container-image=small --container-name=kept sh -c 'echo first > /note'
touch {marks[0]}
while [ ! -e {marks[1]} ]; do sleep 0.1; done
srun -n1 --container-name=kept cat /note
""").stdout)
        until(lambda: os.path.exists(marks[0]), 30, "the first step")
        agent = self.cluster.agents.pop("node1")
        agent.kill()
        agent.wait()
        self.cluster.start_agent("node1")
        self.cluster.wait_connected()
        open(marks[1], "w").close()
        self.assertEqual(self.cluster.wait(job)["state"], "completed")
        with open(self.volume + "/kept.out") as file:
            self.assertEqual(file.read(), "first\n")
        until(lambda: not self.roots(), 10, "the named container to go with its job")

    @unittest.skipUnless(shutil.which("mksquashfs"), "there is no mksquashfs (tools/setup test)")
    def test_a_container_is_saved_and_a_squash_file_is_an_image(self):
        saved = self.volume + "/saved.sqsh"
        said = self.batch(f"""\
srun -n2 --container-image=small --container-save={saved} sh -c 'echo "by $SLURM_PROCID" > /made; echo "FOO=image" > /etc/environment'
srun -n1 --container-image={saved} sh -c 'cat /made /etc/os-release; echo $FOO'
srun -n1 --container-image={saved} --container-readonly sh -c 'touch /x || echo cannot'
cd {self.volume}; srun -n1 --container-image=./saved.sqsh cat /made
export FOO=script MINE=passed PATH=/marked:$PATH
srun -n1 --container-image={saved} sh -c 'echo of $FOO $MINE; echo plain $PATH'
srun -n1 --container-image={saved} --container-env=FOO,PATH sh -c 'echo kept $FOO $MINE; echo kept $PATH'
""", "-n2")
        self.assertIn("of image passed\n", said)
        self.assertNotIn("plain /marked", said)
        self.assertIn("kept script passed\nkept /marked:", said)
        self.assertIn("by 0\nID=small\nimage\n", said)
        self.assertIn("cannot\n", said)
        self.assertEqual(said.count("by 0\n"), 2, said)
        # Another file of that name is another image.
        subprocess.run(["mksquashfs", self.folder + "/images/small", saved, "-noappend", "-quiet", "-no-progress"], check=True,
                       stdout=subprocess.DEVNULL)
        said = self.batch(f"srun -n1 --container-image={saved} sh -c 'ls /made || echo gone'\n")
        self.assertIn("gone", said)

    def test_a_step_is_held_to_its_memory(self):
        self.cluster = Cluster(agent_options=["--images", self.folder + "/images", "--cgroups", "on"]).__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)
        lacks = self.cluster.nodes()[0]["not_enforced"] or ""
        if "memory" in lacks:
            self.skipTest(lacks)
        said = self.batch("""\
srun -n1 --mem=32M tail -n 1 /dev/zero
echo C $?
srun -n1 --mem=32M --container-image=small dd if=/dev/zero of=/dev/null bs=100M count=1
echo A $?
srun -n1 --mem=200M --container-image=small dd if=/dev/zero of=/dev/null bs=100M count=1
echo B $?
""", "--mem=256M")
        self.assertEqual(len(re.findall(r"out_of_memory: peak 3\d MiB, limit 32 MiB", said)), 2, said)
        self.assertRegex(said, r"(?s)C [1-9].*A [1-9]")
        self.assertIn("B 0\n", said)

    def test_the_options_hold_for_a_whole_script(self):
        said = self.batch(f"""\
#SBATCH --container-image=small --container-name=whole --container-mounts={self.volume}:/data
#SBATCH --container-writable --no-container-mount-home --container-workdir=/bin
pwd
echo script > /note
cat /etc/os-release
""")
        self.assertEqual(said, "/bin\nID=small\n")

    def test_an_entry_point_starts_the_program_if_asked_to(self):
        image = self.folder + "/images/entry"
        if not os.path.isdir(image):
            shutil.copytree(self.folder + "/images/small", image, symlinks=True)
            with open(image + "/etc/rc", "w") as file:
                file.write('echo entered; exec "$@"\n')
        said = self.batch("""\
srun -n1 --container-image=entry --container-entrypoint echo with
srun -n1 --container-image=entry --no-container-entrypoint echo without
""")
        self.assertEqual(said, "entered\nwith\nwithout\n")


if __name__ == "__main__":
    unittest.main()
