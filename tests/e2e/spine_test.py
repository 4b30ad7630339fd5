#!/usr/bin/env python3
"""A job's way through real processes: submit, run over nodes, lose each kind of process, and finish."""
import os
import signal
import subprocess
import time
import unittest

from cluster import Cluster, DOVE, until

ENVIRONMENT = ["MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK", "NODE_RANK", "TF_CONFIG",
               "PET_RDZV_ENDPOINT", "SLURM_JOB_ID", "DOVE_CHECKPOINT_DIR"]


class Spine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=2, gpus=2, cores=4,
                              server_options=["--fence-s", "1", "--heartbeat-ms", "200"]).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def shell(self, script, **more):
        return self.cluster.submit({"name": "shell", "command": ["bash", "-c", script], **more})

    def test_output_and_exit_code(self):
        job = self.shell("echo out; echo err >&2; exit 7")
        done = self.cluster.wait(job)
        self.assertEqual((done["state"], done["exit_code"]), ("failed", 7))
        self.assertEqual(self.cluster.logs(job), "out\n")
        found = self.cluster.api.raw("GET", f"/v1/jobs/{job}/logs?rank=0&stream=stderr")[2]
        self.assertEqual(found, b"err\n")

    def test_a_gang_knows_its_ranks(self):
        job = self.shell("for v in " + " ".join(ENVIRONMENT) + "; do echo $v=${!v}; done",
                         tasks=4, nodes=2, tasks_per_node=2, gpus=1)
        self.assertEqual(self.cluster.wait(job)["state"], "completed")
        ranks = set()
        for rank in range(4):
            found = dict(line.split("=", 1) for line in self.cluster.logs(job, rank).splitlines())
            self.assertEqual(found["WORLD_SIZE"], "4")
            self.assertEqual(found["RANK"], str(rank))
            self.assertTrue(all(found[name] for name in ENVIRONMENT), found)
            ranks.add((found["NODE_RANK"], found["LOCAL_RANK"]))
        self.assertEqual(ranks, {("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")})

    def test_devices_are_named_and_apart(self):
        jobs = [self.shell("echo $DOVE_NODE $CUDA_VISIBLE_DEVICES; sleep 0.3", gpus=1) for _ in range(4)]
        for job in jobs:
            self.cluster.wait(job)
        self.assertEqual(len({self.cluster.logs(job) for job in jobs}), 4)

    def test_a_waiting_job_says_why(self):
        job = self.shell("true", gpus=3)
        reasons = self.cluster.api.call("GET", f"/v1/jobs/{job}/why")["reasons"]
        self.assertTrue(any("gpus" in str(reason) for reason in reasons), reasons)
        self.cluster.api.call("POST", f"/v1/jobs/{job}/cancel")
        self.assertEqual(self.cluster.wait(job)["state"], "cancelled")

    def test_cancel_stops_and_time_limit_stops(self):
        job = self.shell("sleep 60")
        self.cluster.wait_state(job, "running")
        self.cluster.api.call("POST", f"/v1/jobs/{job}/cancel")
        self.assertEqual(self.cluster.wait(job)["state"], "cancelled")
        job = self.shell("trap '' TERM; sleep 60 & wait; wait", time_limit_s=1, kill_grace_s=1)
        self.assertEqual(self.cluster.wait(job)["state"], "timed_out")

    def test_array_and_dependency(self):
        first = self.shell("exit $((SLURM_ARRAY_TASK_ID == 2))", array="0-3")
        after_any = self.shell("true", dependencies=[{"kind": "afterany", "job": first}])
        after_ok = self.shell("true", dependencies=[{"kind": "afterok", "job": first}])
        self.assertEqual(self.cluster.wait(after_any)["state"], "completed")
        self.assertEqual(self.cluster.wait(after_ok)["state"], "dependency_never_met")

    def test_restarting_the_controller_keeps_tasks(self):
        job = self.shell("sleep 2; echo done")
        self.cluster.wait_state(job, "running")
        self.cluster.server.kill()
        self.cluster.server.wait()
        self.cluster.start_server()
        done = self.cluster.wait(job)
        self.assertEqual((done["state"], len(done["attempts"])), ("completed", 1))
        self.cluster.wait_connected()

    def test_restarting_an_agent_keeps_tasks(self):
        job = self.shell("sleep 2; echo done")
        self.cluster.wait_state(job, "running")
        node = self.cluster.job(job)["attempts"][0]["placements"][0]["node_name"]
        self.cluster.agents[node].kill()
        self.cluster.agents[node].wait()
        self.cluster.start_agent(node)
        done = self.cluster.wait(job)
        self.assertEqual((done["state"], len(done["attempts"])), ("completed", 1))
        self.assertEqual(self.cluster.logs(job), "done\n")
        self.cluster.wait_connected()

    def test_what_ended_while_its_agent_was_away_has_a_start(self):
        agent = self.cluster.agents["node1"]
        # Its task ends the agent at once, mostly before that could say that it runs.
        job = self.shell(f"kill -9 {agent.pid}; sleep 0.3", nodes_wanted=["node1"])
        agent.wait(20)
        time.sleep(0.5)  # the task ends while nobody listens
        self.cluster.start_agent("node1")
        ended = self.cluster.wait(job, 60)
        self.cluster.wait_connected()
        last = ended["attempts"][-1]
        self.assertEqual(ended["state"], "completed", ended)
        self.assertLessEqual(last["allocated_at_us"], last["started_at_us"])
        self.assertLess(last["started_at_us"], last["ended_at_us"])

    def test_goodput_is_counted_on_after_a_restart(self):
        def useful():
            page = self.cluster.api.raw("GET", "/metrics")[2].decode()
            return sum(float(line.split()[-1]) for line in page.splitlines()
                       if line.startswith('dove_goodput_gpu_seconds_total{cause="useful"'))
        before = useful()
        job = self.cluster.submit({"command": ["sleep", "0.5"], "gpus": 1})
        self.cluster.wait(job)
        counted = until(lambda: useful() > before and useful(), 10, "the job's GPU time")
        self.cluster.server.kill()  # nothing of it is written down
        self.cluster.server.wait()
        self.cluster.start_server()
        self.assertAlmostEqual(useful(), counted, 3)

    def test_a_lost_node_and_its_job(self):
        job = self.shell("[ $DOVE_RESTART_COUNT -gt 0 ] || sleep 60")
        self.cluster.wait_state(job, "running")
        node = self.cluster.job(job)["attempts"][0]["placements"][0]["node_name"]
        self.cluster.agents[node].kill()
        self.cluster.agents[node].wait()
        done = self.cluster.wait(job)
        self.assertEqual((done["state"], len(done["attempts"])), ("completed", 2))
        self.cluster.start_agent(node)
        self.cluster.wait_connected()

    def test_steps_of_a_batch_script(self):
        script = "#!/bin/bash\nsrun -l hostname >/dev/null && srun -n2 bash -c 'echo step $SLURM_PROCID'\n"
        job = self.cluster.submit({"name": "steps", "script": script, "tasks": 2, "nodes": 2})
        done = self.cluster.wait(job)
        self.assertEqual(done["state"], "completed", self.cluster.logs(job))
        self.assertEqual(sorted(self.cluster.logs(job).splitlines()), ["step 0", "step 1"])

    def test_srun_passes_its_input_on(self):
        script = """#!/bin/bash
seq 20000 | srun -n2 bash -c 'wc -l; echo rank $SLURM_PROCID'
head -c 3000000 /dev/zero | srun -n1 wc -c
seq 3 | srun -n2 --input=1 bash -c '[ $SLURM_PROCID = 0 ] && cat || sum=$(wc -l); echo $SLURM_PROCID: $sum' | sort
for n in 1 2 3; do echo $n; done | while read n; do srun --input=none -n1 echo loop $n; done
file=$(mktemp); echo from a file > $file
srun -n1 --input=$file cat; rm $file
srun -n1 cat </dev/null
srun -n1 true < <(yes)
"""
        job = self.cluster.submit({"name": "input", "script": script, "tasks": 2, "nodes": 2})
        self.assertEqual(self.cluster.wait(job)["state"], "completed", self.cluster.logs(job))
        said = self.cluster.logs(job).splitlines()
        self.assertEqual(sorted(said[:4]), ["20000", "20000", "rank 0", "rank 1"])
        self.assertEqual(said[4:], ["3000000", "0:", "1: 3", "loop 1", "loop 2", "loop 3", "from a file"])

    def test_a_followed_log_outlives_a_restart_of_the_server(self):
        job = self.shell("for n in 1 2 3 4 5 6 7 8; do echo $n; sleep 0.4; done; printf end")
        self.cluster.wait_state(job, "running")
        follower = subprocess.Popen([DOVE, "logs", "-f", str(job)], stdout=subprocess.PIPE,
                                    env={**self.cluster.environment, "DOVE_DATA": self.cluster.data})
        until(lambda: "2" in self.cluster.logs(job), 20, "the first lines")
        self.cluster.server.kill()
        self.cluster.server.wait()
        self.cluster.start_server()
        said, _ = follower.communicate(timeout=60)
        self.assertEqual((said, follower.returncode), (b"1\n2\n3\n4\n5\n6\n7\n8\nend", 0))

    def test_a_step_outlives_a_restart_of_the_server(self):
        script = """#!/bin/bash
(for n in 1 2 3 4 5 6; do echo $n; sleep 0.5; done) | srun -n2 bash -c 'while read n; do echo $SLURM_PROCID.$n; done; exit 3'
echo srun ended with $?
srun -n1 echo another
"""
        job = self.cluster.submit({"name": "restart", "script": script, "tasks": 2, "nodes": 2})
        until(lambda: "1.2" in self.cluster.logs(job), 20, "the first lines")
        self.cluster.server.kill()
        self.cluster.server.wait()
        self.cluster.start_server()
        self.cluster.wait(job, 60)
        said = [line for line in self.cluster.logs(job).splitlines() if "error" not in line]
        self.assertEqual(sorted(said[:12]), [f"{rank}.{n}" for rank in (0, 1) for n in range(1, 7)])
        self.assertEqual(said[12:], ["srun ended with 3", "another"])

    def test_a_task_that_fails_while_the_server_is_away_ends_the_others(self):
        mark = os.path.join(self.cluster.folder, "fails")
        script = f"""#!/bin/bash
exec 2>&1
srun -n2 -N1 -O -K bash -c 'echo rank $SLURM_PROCID; [ $SLURM_PROCID = 1 ] || exec sleep 1000
while [ ! -e {mark} ]; do sleep 0.1; done; exit 3'
echo srun ended with $?
"""
        job = self.cluster.submit({"name": "fails", "script": script})
        until(lambda: self.cluster.logs(job).count("rank") == 2, 20, "both tasks")
        self.cluster.server.kill()
        self.cluster.server.wait()
        open(mark, "w").close()
        self.cluster.start_server()
        self.cluster.wait(job, 60)
        said = self.cluster.logs(job)
        self.assertEqual(said.count("task 1: Exited with exit code 3\n"), 1, said)
        self.assertEqual(said.count("task 0: Terminated\n"), 1, said)
        self.assertIn("srun ended with 143\n", said)

    def test_orphans_are_swept(self):
        mark = f"/tmp/dove-orphan-{os.getpid()}"
        job = self.shell(f"setsid sleep 300 & echo $! > {mark}")
        self.cluster.wait(job)
        with open(mark) as file:
            pid = int(file.read())
        os.unlink(mark)
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)

    def test_idempotency_key(self):
        body = {"name": "once", "command": ["true"]}
        first = self.cluster.api.call("POST", "/v1/jobs", body, {"Idempotency-Key": "spine-1"})
        again = self.cluster.api.call("POST", "/v1/jobs", body, {"Idempotency-Key": "spine-1"})
        self.assertEqual(first["id"], again["id"])
        status, _, _ = self.cluster.api.raw("POST", "/v1/jobs", {**body, "name": "two"},
                                            {"Idempotency-Key": "spine-1"})
        self.assertEqual(status, 409)

    def test_drain_lets_work_end_and_starts_none(self):
        self.cluster.api.call("POST", "/v1/nodes/node1/drain", {"reason": "test"})
        jobs = [self.shell("echo $DOVE_NODE", gpus=1) for _ in range(2)]
        for job in jobs:
            self.cluster.wait(job)
            self.assertEqual(self.cluster.logs(job), "node2\n")
        self.cluster.api.call("POST", "/v1/nodes/node1/undrain", {})


if __name__ == "__main__":
    unittest.main()
