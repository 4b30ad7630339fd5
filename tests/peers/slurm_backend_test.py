#!/usr/bin/env python3
# waits
"""Jobs of ours that a real Slurm runs: on the devices that the ledger chose, as their submitters, with their exit
codes, through kills of the adapter and of the controller.

Skips where Slurm (tools/setup peers, as root) is missing.
"""
import json
import os
import pwd
import re
import signal
import socket
import subprocess
import time

from people import add_people, person
from shared_nodes import DOVE, SharedNodes, main, until
from slurm_lab import accounting_available

PEOPLE = [person(i) for i in (1, 2, 3)]
OBJECTS = """\
kind: Executor
name: slurm
service_account: slurm-1
nodes: ["n[0-1]"]
runs_jobs: true
---
kind: User
name: robot
service_of: infrastructure
"""

# Rank 0 takes the others in, where all of them were told, and says who came: rank, its number on the node, the node's.
MEETS = """
import os, socket, time
own = "/".join(os.environ[name] for name in ("RANK", "LOCAL_RANK", "NODE_RANK"))
at = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
size = int(os.environ["WORLD_SIZE"])
if os.environ["RANK"] == "0":
    server, came = socket.create_server(at), [own]
    while len(came) < size:
        came.append(server.accept()[0].recv(64).decode())
    print(size, "ranks:", *sorted(came))
else:
    print(os.environ["DOVE_GIVEN"])
    for _ in range(300):
        try:
            socket.create_connection(at).sendall(own.encode())
            break
        except OSError:
            time.sleep(0.1)
"""


# How steps on two nodes end, and what their tasks say of themselves.
STEPS = """#!/bin/bash
echo job $SLURM_NNODES $SLURM_NTASKS $SLURM_TASKS_PER_NODE $SLURM_JOB_CPUS_PER_NODE
srun -l bash -c 'echo $SLURM_PROCID of $SLURM_NTASKS, $SLURM_LOCALID on $SLURM_NODEID, $SLURMD_NODENAME' | sort
srun bash -c 'exit $((SLURM_PROCID + 2))' 2>errors
echo code $?
grep -o 'task.*' errors | sort
srun -n1 bash -c 'echo alone $SLURM_NTASKS $SLURM_NNODES; exit 7' 2>/dev/null
echo code $?
srun -K bash -c '[ $SLURM_PROCID != 2 ] || kill -9 $$; sleep 100' 2>/dev/null
echo ends $?
srun -o task-%t bash -c 'echo $SLURM_PROCID; echo err >&2'
cat task-0 task-1 task-2
echo in | srun cat
srun --ntasks-per-node=1 bash -c 'echo gpus $CUDA_VISIBLE_DEVICES'
exit 5
"""
# What Slurm's srun itself reads or sets up, of which there is one on each node.
PROGRAMS = r"""#!/bin/bash
cat >programs <<'END'
0    echo first %t/%o
1-2  sh -c 'echo "$0 $SLURM_PROCID $SLURM_JOB_ID"' %t/%o
END
srun --multi-prog programs more | sort
srun -N1 -n1 --multi-prog programs 2>&1 | grep -o 'names task 2'
printf '#!/bin/sh\necho copied $SLURM_PROCID $1 $(basename $0)\n' >program; chmod +x program
srun --bcast=$PWD/ ./program word | sed 's/bcast_.*_/bcast_/' | sort
srun --output=2 bash -c 'echo only $SLURM_PROCID'
script -qec 'srun --pty bash -c "test -t 0 && test -t 1 && echo terminal \$SLURM_PROCID; exit 3"' /dev/null </dev/null >typescript
echo code $?
grep -ao 'terminal .' typescript
srun --wait=1 bash -c '[ $SLURM_PROCID = 2 ] && exit; exec sleep 100' 2>/dev/null
echo waited $?
for i in 1 2 3 4 5; do srun --exact --quiet bash -c 'sleep 0.2; echo whole' & done | sort | uniq -c
"""


class Backend(SharedNodes):
    lab_options = {"accounting": bool(accounting_available())}

    @classmethod
    def setUpClass(cls):
        add_people(cls, PEOPLE)
        super().setUpClass()
        if cls.lab.accounting:
            for name in PEOPLE:
                cls.lab.run(["sacctmgr", "-i", "add", "user", name, "Account=default", "Cluster=bench"])
        cls.cluster.run("apply", "-f", "-", input=OBJECTS)
        cls.cluster.run("--version", name="srun")  # makes the face
        os.chmod(cls.cluster.folder, 0o711)
        cls.homes = {}
        for name in PEOPLE:
            home = cls.homes[name] = f"{cls.lab.folder}/home-{name}"
            os.makedirs(home)
            os.chown(home, pwd.getpwnam(name).pw_uid, -1)

    @classmethod
    def adapter_options(cls):
        return ["--state-dir", cls.lab.folder + "/steps"]

    def clear(self):
        super().clear()
        for name in PEOPLE:
            self.lab.run(["scancel", "-u", name])
        self.lab.until("squeue -h", lambda out: not out.strip())

    def run_there(self, *command, user=PEOPLE[0], **more):
        body = {"name": "there", "executor": "slurm", "command": list(command), "cores": 1, "memory": "100Mi",
                "workdir": self.homes[user], "stdout_path": "%j.out", "time_limit": "10m", **more}
        return self.cluster.submit(body, **{"X-Dove-User": user})

    def sh(self, script, **more):
        return self.run_there("/bin/sh", "-c", script, **more)

    def output(self, job, user=PEOPLE[0], name=None):
        path = f"{self.homes[user]}/{name or f'{job}.out'}"
        with open(path) as file:
            return path, file.read()

    def written(self, job, text, user=PEOPLE[0]):
        until(lambda: os.path.exists(f"{self.homes[user]}/{job}.out") and text in self.output(job, user)[1], 30,
              f"job {job} to write {text}")

    def ended(self, job, state="completed"):
        found = self.cluster.wait(job, 60)
        self.assertEqual(found["state"], state, found)
        until(lambda: self.placeholder(job) is None, 20, "its allocation to go")
        return found

    def test_two_tasks_on_two_nodes_on_the_devices_that_were_chosen(self):
        theirs = self.sbatch("--gres=gpu:1", "-w", "n0")  # Slurm gives it index 0
        self.running(theirs)
        self.known(theirs, "n0")
        script = "echo $DOVE_RANK of $SLURM_NTASKS on $SLURMD_NODENAME gpus $CUDA_VISIBLE_DEVICES; sleep 1"
        job = self.sh(script, tasks=2, nodes=2, gpus=1, stdout_path="rank-%t.out")
        devices = self.started(job)
        self.assertEqual(len(devices), 2)
        self.assertNotIn(("n0", 0), devices)
        held = {(node, i) for name, all_of_it in self.held_in_slurm().items() if name.startswith(f"dove-{job}.")
                for node, i in all_of_it}
        self.assertEqual(held, devices)
        self.ended(job)
        placements = self.cluster.job(job)["attempts"][-1]["placements"]
        for rank, node in enumerate(one["node_name"] for one in placements):
            index = next(i for name, i in devices if name == node)
            self.assertEqual(self.output(job, name=f"rank-{rank}.out")[1],
                             f"{rank} of 2 on {node} gpus {index}\n")

    def test_ranks_of_a_command_find_each_other_as_under_our_agents(self):
        job = self.run_there("/usr/bin/python3", "-c", MEETS, tasks=4, nodes=2, stdout_path="meet-%t.out")
        self.ended(job)
        self.assertEqual(self.output(job, name="meet-0.out")[1], "4 ranks: 0/0/0 1/1/0 2/0/1 3/1/1\n")
        given = dict(word.split("=", 1) for word in self.output(job, name="meet-3.out")[1].split())
        self.assertEqual((given["RANK"], given["PET_NNODES"], given["PET_NODE_RANK"]), ("3", "2", "1"))
        self.assertEqual(json.loads(given["TF_CONFIG"])["task"], {"type": "worker", "index": 3})

    def test_exit_codes_and_output_that_is_its_users(self):
        job = self.sh("id -un; pwd; echo wrong >&2; echo \"$A\"; exit 3", environment={"A": "x  y; $(false)"})
        found = self.ended(job, "failed")
        self.assertEqual(found["exit_code"], 3)
        path, text = self.output(job)
        self.assertEqual(text, f"{PEOPLE[0]}\n{self.homes[PEOPLE[0]]}\nwrong\nx  y; $(false)\n")
        self.assertEqual(os.stat(path).st_uid, pwd.getpwnam(PEOPLE[0]).pw_uid)
        killed = self.ended(self.sh("kill -9 $$"), "failed")
        self.assertEqual(killed["attempts"][-1]["exits"][0]["signal"], 9)

    def logs(self, *words, check=True):
        return self.cluster.run("logs", *words, check=check)

    def test_logs_show_what_it_wrote(self):
        go = self.homes[PEOPLE[0]] + "/go"
        job = self.sh(f"echo one; echo wrong >&2; while [ ! -e {go} ]; do sleep 0.1; done; echo two; exit 3", stderr_path="%j.err")
        self.written(job, "one")
        self.assertEqual(self.logs(str(job)).stdout, "one\n")
        environment = {**self.cluster.environment, "DOVE_DATA": self.cluster.data, **self.cluster.trusts()}
        follower = subprocess.Popen([DOVE, "logs", "-f", str(job)], env=environment, stdout=subprocess.PIPE, text=True)
        self.addCleanup(follower.stdout.close)
        self.addCleanup(follower.kill)
        self.assertEqual(follower.stdout.readline(), "one\n")
        open(go, "w").close()
        self.assertEqual(follower.communicate(timeout=60)[0], "two\n")
        self.assertEqual(follower.returncode, 0)
        self.ended(job, "failed")
        self.assertEqual(self.logs(str(job), "--stderr").stdout, "wrong\n")
        path, _ = self.output(job)
        os.remove(path)
        os.symlink("/etc/shadow", path)
        refused = self.logs(str(job), check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("cannot read", refused.stderr)
        os.remove(path)
        self.assertRegex(self.logs(str(job), check=False).stderr, f"there is no file {path} on .* on node n[01]")

    def test_a_script_and_its_arguments(self):
        body = {"name": "batch", "executor": "slurm", "script": "#!/bin/bash\necho \"$1\" $0 | grep -c two; exit 4\n",
                "script_arguments": ["one two"], "cores": 2, "memory": "100Mi", "workdir": self.homes[PEOPLE[1]],
                "stdout_path": "batch.out"}
        job = self.cluster.submit(body, **{"X-Dove-User": PEOPLE[1]})
        self.assertEqual(self.ended(job, "failed")["exit_code"], 4)
        self.assertEqual(self.output(job, PEOPLE[1], "batch.out")[1], "1\n")

    def faces(self):
        """A PATH in which our srun stands before Slurm's."""
        return f"{self.cluster.folder}/faces:{self.lab.commands}:/usr/bin:/bin"

    def script(self, text, **more):
        body = {"name": "gang", "executor": "slurm", "script": text, "tasks": 3, "nodes": 2, "cores": 1, "memory": "100Mi",
                "workdir": self.homes[PEOPLE[0]], "stdout_path": "%j.out", "time_limit": "10m",
                "environment": {"PATH": self.faces()}, **more}
        return self.cluster.submit(body, **{"X-Dove-User": PEOPLE[0]})

    def test_a_script_starts_steps_on_all_its_nodes(self):
        job = self.script(STEPS, per_node={"gpus": 1})
        found = self.ended(job, "failed")
        self.assertEqual(found["exit_code"], 5)
        self.assertEqual([exit["exit_code"] for exit in found["attempts"][-1]["exits"] if exit["rank"] == 0], [5])
        first, second = (one["node_name"] for one in found["attempts"][-1]["placements"])
        lines = self.output(job)[1].splitlines()
        gpus = [line for line in lines if line.startswith("gpus ")]
        self.assertEqual(lines[:-len(gpus)], [
            "job 2 3 2,1 2,1", f"0: 0 of 3, 0 on 0, {first}", f"1: 1 of 3, 1 on 0, {first}", f"2: 2 of 3, 0 on 1, {second}",
            "code 4", "task 0: Exited with exit code 2", "task 1: Exited with exit code 3", "task 2: Exited with exit code 4",
            "alone 1 1", "code 7", "ends 137", "0", "err", "1", "err", "2", "err", "in", "in", "in"])
        self.assertEqual(len(gpus), 2)
        self.assertTrue(all(len(line.split()) == 2 for line in gpus), gpus)

    def test_steps_are_numbered_in_their_job(self):
        # Another Slurm gave the same numbers of allocations: its steps were counted beside these.
        uid = pwd.getpwnam(PEOPLE[0]).pw_uid
        ledger = f"{self.homes[PEOPLE[0]]}/dove-steps-{uid}"
        with open(ledger, "w") as file:
            file.writelines(f"0 7 {allocation} 0\n" for allocation in range(1, 900))
        os.chown(ledger, uid, -1)
        job = self.script("""#!/bin/bash
export TMPDIR=$PWD
srun --output=all-%J-%s-%t bash -c 'echo $SLURM_STEP_ID'
srun -N1 -n1 --output=one-%J bash -c 'echo $SLURM_STEP_ID'
srun --ntasks-per-node=1 --output=node-%s-%N bash -c 'echo $SLURM_STEPID' || exit
srun -N1 -n1 -r1 srun -o there-%J true
""")
        found = self.ended(job, "failed")
        self.assertIn("only the srun on the job's first node knows which step this is", self.output(job)[1])
        nodes = [one["node_name"] for one in found["attempts"][-1]["placements"]]
        for name, text in [(f"all-{job}.0-0-{rank}", "0\n") for rank in range(3)] + [(f"one-{job}.1", "1\n")] + [
                (f"node-2-{node}", "2\n") for node in nodes]:
            self.assertEqual(self.output(job, name=name)[1], text, name)

    def test_programs_terminals_and_turns_of_a_step_on_two_nodes(self):
        job = self.script(PROGRAMS)
        self.ended(job)
        first, second = (one["node_name"] for one in self.cluster.job(job)["attempts"][-1]["placements"])
        copies = [f"copied {rank} word slurm_bcast_{node}" for rank, node in enumerate((first, first, second))]
        self.assertEqual(self.output(job)[1].splitlines(), [
            f"1/0 1 {job}", f"2/1 2 {job}", "first 0/0 more", "names task 2", *copies, "only 2", "code 3", "terminal 0",
            "waited 137", "     15 whole"])

    def test_functions_that_bash_exports_reach_commands_scripts_and_steps(self):
        functions = {"BASH_FUNC_greet%%": "() { echo \"hello  $1\"\n}", "BASH_FUNC_other%%": "() { greet other; }"}
        job = self.run_there("/bin/bash", "-c", "greet 'a  b'; other", environment=functions)
        self.ended(job)
        self.assertEqual(self.output(job)[1], "hello  a  b\nhello  other\n")
        job = self.script("#!/bin/bash\ngreet script\nsrun bash -c 'greet $SLURM_PROCID; env | grep -c ^DOVE_FUNCTION; true' | sort\n",
                          environment={"PATH": self.faces(), **functions})
        self.ended(job)
        self.assertEqual(self.output(job)[1].split(), "hello script 0 0 0 hello 0 hello 1 hello 2".split())

    def test_small_steps_go_to_nodes_that_have_none(self):
        job = self.script("#!/bin/bash\nprintf '#!/bin/sh\\necho on $SLURMD_NODENAME; sleep 5\\n' >small\nchmod +x small\n"
                          "for i in 1 2; do srun -N1 -n1 --exact small & done; wait\n")
        self.ended(job)
        nodes = [one["node_name"] for one in self.cluster.job(job)["attempts"][-1]["placements"]]
        self.assertEqual(sorted(self.output(job)[1].splitlines()), sorted(f"on {node}" for node in nodes))

    def test_tasks_run_on_when_one_fails_behind_half_a_line(self):
        job = self.script("#!/bin/bash\nsrun bash -c 'printf \"50%%|###\" >&2; [ $SLURM_PROCID != 0 ] || exit 2; sleep 3; exit 6'\n"
                          "echo code $?\n")
        self.ended(job)
        self.assertIn("code 6\n", self.output(job)[1])

    def test_a_lone_sigterm_leaves_the_other_nodes_of_a_script_held(self):
        job = self.script("#!/bin/bash\ntrap '' TERM\necho begun\nsleep 25\n")
        self.written(job, "begun")
        self.started(job)
        second = self.cluster.job(job)["attempts"][-1]["placements"][1]["node_name"]
        for name, wait_s in (("CONT", 10), ("TERM", 5)):
            self.lab.run(["scancel", f"--signal={name}", "-n", f"dove-{job}.1@dove", "-w", second])
            time.sleep(wait_s)
        self.assertEqual(self.cluster.job(job)["state"], "running")
        self.ended(job)

    def test_ranks_of_a_step_on_two_nodes_find_each_other(self):
        with open(f"{self.homes[PEOPLE[0]]}/meets.py", "w") as file:
            file.write(MEETS)
        job = self.script("#!/bin/sh\nexec srun python3 meets.py\n")
        self.ended(job)
        self.assertIn("3 ranks: 0/0/0 1/1/0 2/0/1\n", self.output(job)[1])

    def test_a_cancelled_script_ends_its_steps_on_all_nodes(self):
        job = self.script("#!/bin/sh\nsrun sh -c 'echo begun $SLURM_PROCID; exec sleep 1000'\n")
        self.written(job, "begun 2")
        self.started(job)
        self.cluster.run("cancel", str(job))
        self.ended(job, "cancelled")

    def test_a_script_that_loses_a_node_fails_as_a_command_does(self):
        job = self.script("#!/bin/sh\nsrun sh -c 'echo begun $SLURM_PROCID; exec sleep 1000'\n", requeue=False)
        self.written(job, "begun 2")
        self.started(job)
        second = self.cluster.job(job)["attempts"][-1]["placements"][1]["node_name"]
        self.lab.run(["scancel", "-n", f"dove-{job}.1@dove", "-w", second])
        found = self.cluster.wait(job, 60)
        self.assertIn(found["state"], ("failed", "node_lost"))

    def test_a_cancelled_job_gets_its_signal_and_its_grace(self):
        job = self.sh("trap 'echo stops; exit 0' TERM; echo begun; while :; do sleep 0.1; done")
        self.written(job, "begun")
        self.started(job)
        self.cluster.run("cancel", str(job))
        self.ended(job, "cancelled")
        self.assertIn("stops", self.output(job)[1])
        deaf = self.sh("trap '' TERM; echo begun; while :; do sleep 0.1; done", kill_grace="2s")
        self.written(deaf, "begun")
        self.cluster.run("cancel", str(deaf))
        self.ended(deaf, "cancelled")

    def test_the_time_limit_ends_it(self):
        self.ended(self.sh("sleep 300", time_limit="3s"), "timed_out")

    def test_it_is_warned_before_its_time_is_over(self):
        job = self.sh("trap 'echo warned; exit 6' USR1; echo begun; while :; do sleep 0.1; done", time_limit="30s",
                      warn_signal=10, warn_before_s=27)
        found = self.ended(job, "failed")
        self.assertEqual(found["exit_code"], 6)
        self.assertIn("warned", self.output(job)[1])

    def test_the_adapter_is_killed_and_its_jobs_go_on(self):
        gate = f"{self.homes[PEOPLE[0]]}/gate"
        job = self.sh(f"echo begun; while [ ! -e {gate} ]; do sleep 0.1; done; exit 7")
        devices = self.started(job)
        self.written(job, "begun")
        self.end_adapter(signal.SIGKILL)
        self.assertEqual(self.placeholder(job), devices)
        self.start_adapter()
        until(lambda: self.cluster.api.call("GET", "/v1/nodes/n0")["executors"][0]["contact"] == "answering", 20,
              "the next adapter")
        self.assertEqual(self.cluster.job(job)["state"], "running")
        # The one that ends while nobody watches is heard of all the same.
        self.end_adapter(signal.SIGKILL)
        with open(gate, "w"):
            pass
        self.lab.until("squeue -s -h", lambda out: ".0" not in out)
        self.start_adapter()
        found = self.ended(job, "failed")
        self.assertEqual((found["exit_code"], len(found["attempts"])), (7, 1))
        os.unlink(gate)

    def test_the_controller_is_killed_and_nothing_is_lost(self):
        job = self.sh("echo begun; sleep 4; exit 5")
        self.written(job, "begun")
        self.cluster.server.kill()
        self.cluster.server.wait()
        self.cluster.api.close()
        self.cluster.start_server()
        found = self.ended(job, "failed")
        self.assertEqual((found["exit_code"], len(found["attempts"])), (5, 1))

    def test_an_allocation_that_slurm_takes_away_is_a_lost_node(self):
        job = self.sh("echo begun; sleep 300", requeue=False)
        self.written(job, "begun")
        self.started(job)
        self.lab.run(["scancel", "-n", f"dove-{job}.1@dove"])
        found = self.cluster.wait(job, 60)
        self.assertIn(found["state"], ("failed", "node_lost"))

    def test_what_slurm_ended_and_forgot_while_the_adapter_was_away(self):
        ours = self.submit(1, node="n0")
        devices = self.started(ours)
        theirs = self.sh("echo begun; sleep 300", requeue=False, nodes_wanted=["n1"])
        self.written(theirs, "begun")
        self.started(theirs)
        self.end_adapter(signal.SIGKILL)
        self.lab.forget_soon()
        self.addCleanup(self.lab.forget_soon, 300)
        self.lab.run(f"scancel -n dove-{ours}.1@dove; scancel -n dove-{theirs}.1@dove")
        self.lab.until("squeue --states=all --json", lambda out: "@dove" not in out)
        self.start_adapter()
        until(lambda: self.placeholder(ours) == devices, 10, "another placeholder for what runs")
        self.assertEqual((self.cluster.job(ours)["state"], len(self.cluster.job(ours)["attempts"])), ("running", 1))
        self.assertIn("ended while nobody looked", json.dumps(self.cluster.api.call("GET", f"/v1/events?job={ours}")))
        found = self.cluster.wait(theirs, 10)
        self.assertIn(found["state"], ("failed", "node_lost"))
        self.assertEqual(len(found["attempts"]), 1)

    def test_three_users_are_accounted_as_themselves(self):
        jobs = {name: self.sh("echo begun; sleep 2", user=name) for name in PEOPLE}
        for name, job in jobs.items():
            self.written(job, "begun", name)
        users = dict(line.split() for line in self.lab.run("squeue -h -o '%j %u'").splitlines())
        steps = self.lab.run("squeue -s -h -o '%u'").split()
        for name, job in jobs.items():
            self.assertEqual(users[f"dove-{job}.1@dove"], name)
            self.assertIn(name, steps)
            self.ended(job)
        if not self.lab.accounting:
            return
        for name, job in jobs.items():
            def rows():
                return self.lab.run(["sacct", "-n", "-P", "-a", "-u", name, "-S", "today", "-o",
                                     "JobName,User,Account,State"]).splitlines()
            until(lambda: any(row.startswith(f"dove-{job}.") and row.split("|")[1] == name for row in rows()), 30,
                  f"the accounting of {name}")
            self.assertTrue(all(row.split("|")[1] in (name, "") for row in rows()), rows())

    def test_users_whom_slurm_cannot_know_are_refused(self):
        body = {"executor": "slurm", "command": ["true"], "cores": 1}
        status, _, text = self.cluster.api.raw("POST", "/v1/jobs", body, {"X-Dove-User": "robot"})
        problem = json.loads(text)
        self.assertEqual((status, problem["code"]), (403, "no_linux_user"), problem)
        self.assertRegex(problem["detail"], "`linux_user` of User robot")
        # One with a name, and no account where Slurm is.
        job = self.cluster.submit({**body, "name": "ghost"}, **{"X-Dove-User": "no-such-person"})
        self.assertEqual(self.cluster.wait(job, 60)["state"], "failed")
        said = self.cluster.run("show", str(job)).stdout
        self.assertIn('no Linux user "no-such-person" on ' + socket.gethostname(), said)
        self.assertIn("create the account", said)
        self.assertIn("no Linux user", self.adapters_log())

    def adapters_log(self):
        with open(f"{self.lab.folder}/log/adapter") as file:
            return file.read()

    def test_what_is_kept_of_steps_goes_with_them(self):
        self.ended(self.sh("true"))
        until(lambda: not os.listdir(self.lab.folder + "/steps/dove"), 20, "the step to be forgotten")
        self.assertTrue(re.fullmatch(r"0o40700", oct(os.stat(self.lab.folder + "/steps/dove").st_mode)))


if __name__ == "__main__":
    main()
