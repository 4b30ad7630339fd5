#!/usr/bin/env python3
# waits
"""The gate alone, in a real Slurm without an adapter: every job of a gated partition waits, no user gets past it, and
what slipped past is put back by the prolog.

Skips where Slurm with its Lua plug-in (tools/setup peers, as root) is missing.
"""
import os
import re
import shutil
import stat
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
from cluster import SKIP, until  # noqa: E402
from gate_lab import LUA, GateLab, available  # noqa: E402


class Gate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = GateLab(nodes=2, cpus=4, gpus=4).__enter__()
        cls.addClassCleanup(cls.lab.__exit__, None, None, None)

    def setUp(self):
        self.addCleanup(self.lab.clear)

    @unittest.skipUnless(shutil.which("systemd-tmpfiles"), "no systemd here")
    def test_the_folder_is_there_after_a_boot(self):
        root = self.lab.folder + "/root"
        os.makedirs(root + "/etc/tmpfiles.d")
        with open(root + "/etc/tmpfiles.d/dovetail-gate.conf", "w") as file:
            file.write(self.lab.shipped("tmpfiles.conf"))
        for name, line in ("passwd", "slurm:x:64030:64030::/:/bin/sh\n"), ("group", "root:x:0:\n"):
            with open(f"{root}/etc/{name}", "w") as file:
                file.write(line)
        subprocess.run(["systemd-tmpfiles", f"--root={root}", "--create", "dovetail-gate.conf"], check=True, timeout=30)
        folder = re.search('local FOLDER = "(.*)"', self.lab.shipped("job_submit.lua")).group(1)
        for path in (os.path.dirname(folder), folder):
            made = os.stat(root + path)
            self.assertEqual((made.st_uid, stat.filemode(made.st_mode)), (64030, "drwx------"), path)

    def scheduled(self):
        """Waits until Slurm's scheduler has looked at all jobs: one of the open partition that it has to start."""
        first = self.lab.sbatch("-p", "open", "-w", "n1", "--exclusive", "-J", "probe")
        second = self.lab.sbatch("-p", "open", "-w", "n1", "-J", "probe")
        self.lab.run(f"scancel {first}")
        self.lab.until(f"squeue -h -j {second} -o %T", lambda out: out.strip() == "RUNNING")
        self.lab.run(f"scancel {second}")

    def waits(self, job):
        self.scheduled()
        fields = self.lab.fields(job)
        self.assertEqual((fields["JobState"], fields["Priority"]), ("PENDING", "0"), fields)

    def test_every_submission_waits_and_the_adapter_is_poked(self):
        job = self.lab.sbatch()
        self.assertTrue(os.path.exists(self.lab.gate + "/poke"))
        self.assertEqual(self.lab.mark(job), "dovetail-gate")
        self.waits(job)

    def test_a_partition_without_a_gate_is_as_before(self):
        job = self.lab.sbatch("-p", "open")
        self.lab.until(f"squeue -h -j {job} -o %T", lambda out: out.strip() == "RUNNING")
        self.assertEqual(self.lab.mark(job), "")
        # A job that could be in either waits at the gate.
        self.assertEqual(self.lab.mark(self.lab.sbatch("-p", "open,main")), "dovetail-gate")

    def test_the_model_goes_from_the_request_to_the_mark(self):
        for wish, asked, model in (("gpu:h200:2", "gres:gpu:2", "h200"), ("gpu:h200_3:1", "gres:gpu:1", "h200"),
                                   ("gpu:h200", "gres:gpu:1", "h200"), ("gpu:2", "gres:gpu:2", ""),
                                   ("gpu:H200:1,gpu:h200:1", "gres:gpu:2", "h200")):
            job = self.lab.sbatch("--gres=" + wish)
            self.assertEqual(self.lab.fields(job)["TresPerNode"], asked, wish)
            self.assertEqual(self.lab.mark(job), "dovetail-gate" + (" model=" + model if model else ""))
        job = self.lab.sbatch("--gpus-per-task=h200:1", "-n2")
        self.assertEqual(self.lab.fields(job)["TresPerTask"], "gres:gpu:1")
        with self.assertRaisesRegex(RuntimeError, "one model"):
            self.lab.sbatch("--gres=gpu:h200:1,gpu:b200:1")
        with self.assertRaises(RuntimeError):  # it would be two words of the mark
            self.lab.sbatch("--gres=gpu:h200 seen:1")

    def test_what_the_ledger_can_never_place_is_refused_with_the_way_out(self):
        for options, said in ((("-N2", "-C", "[a*2&b*1]"), "--constraint=.*submit a job for each feature"),
                              (("-N2", "--gpus=3"), "--gpus=3 .*--nodes=2.*--gpus-per-node"),
                              (("-N2", "-n5", "--gpus-per-task=h200:1"), "--ntasks a multiple of --nodes")):
            with self.assertRaisesRegex(RuntimeError, "dovetail: .*" + said):
                self.lab.sbatch(*options)
        code, out = self.lab.as_user("sbatch", "-D", "/", "--mem=100", "-n1", ":", "-n2", "--mem=100", "--wrap", "true")
        self.assertNotEqual(code, 0)
        self.assertIn("submit each part as a job of its own", out)
        self.assertEqual(self.lab.run("squeue -h"), "")
        for options in (("-N2", "--gpus=4"), ("-N2", "-n4", "--gpus-per-task=1"), ("-N2", "-n5", "--gres=gpu:1")):
            self.assertEqual(self.lab.mark(self.lab.sbatch(*options)), "dovetail-gate")
        self.lab.sbatch("-p", "open", "-N2", "-n5", "--gpus-per-task=1")  # no gate, no refusal

    def test_what_the_adapter_submits_is_marked_at_once_and_what_users_do_is_not(self):
        name = ["-J", "dove-fence-1.1@dove", "--comment=dovetail"]
        ours = self.lab.run(["sbatch", "--parsable", "--hold", "-D", "/", "-o", "/dev/null", "--mem=100", *name, "--wrap", "true"])
        self.assertEqual(self.lab.mark(int(ours)), "dovetail dove-fence-1.1@dove")
        self.assertEqual(self.lab.mark(self.lab.sbatch(*name)), "dovetail-gate")

    def test_no_user_gets_past_it(self):
        job = self.lab.sbatch("--gres=gpu:1")
        for change in ("Priority=100", "Nice=-5", "Nice=5", "Gres=gpu:2", "TresPerNode=gres:gpu:2", "TimeLimit=1",
                       "Partition=open", "NumNodes=2", "NodeList=n1", "ReqNodeList=n1", "ExcNodeList=n1", "NumTasks=3",
                       "NumCPUs=3", "MinMemoryNode=0", "MinMemoryNode=900", "MinCPUsNode=2", "Features=x",
                       "OverSubscribe=yes", "StartTime=now", "AdminComment=x", "AdminComment="):
            code, out = self.lab.as_user("scontrol", "update", f"JobId={job}", change)
            self.assertNotEqual(code, 0, change + out)
        for word in ("top", "requeue", "requeuehold"):
            self.assertNotEqual(self.lab.as_user("scontrol", word, str(job))[0], 0, word)
        self.lab.as_user("scontrol", "release", str(job))
        self.lab.as_user("scontrol", "update", f"JobId={job}", "Name=mine", "Comment=dovetail")
        self.assertEqual(self.lab.fields(job)["JobName"], "mine")
        self.waits(job)

    def test_a_job_cannot_slip_in_from_an_open_partition(self):
        job = self.lab.sbatch("-p", "open", "--begin=now+1hour")
        self.assertNotEqual(self.lab.as_user("scontrol", "update", f"JobId={job}", "Partition=main")[0], 0)
        self.assertEqual(self.lab.fields(job)["Partition"], "open")

    def test_a_user_who_claims_to_be_the_adapter_waits_too(self):
        job = self.lab.sbatch("--comment=dovetail", "-J", "dove-1.1@dove")
        self.assertEqual(self.lab.mark(job), "dovetail-gate")
        self.waits(job)

    def test_what_the_adapter_submits_passes(self):
        self.lab.run("salloc --no-shell --immediate=1 --comment=dovetail -w n0 --mem=1M --gres=gpu:h200_2:1 -D /")
        job = int(self.lab.run("squeue -h -o %i -t R").split()[0])
        self.assertEqual(self.lab.indices(job), {("n0", 2)})

    def test_a_users_own_hold_is_told_to_the_adapter(self):
        job = self.lab.sbatch("--hold")
        self.assertEqual(self.lab.mark(job), "dovetail-gate user_hold")
        self.assertEqual(self.lab.as_user("scontrol", "release", str(job)), (0, ""))
        self.assertIn(f"release.{job}", os.listdir(self.lab.gate))
        self.waits(job)
        self.lab.as_user("scontrol", "hold", str(job))
        self.assertNotIn("RUNNING", self.lab.state(job))

    def test_a_fault_in_the_gate_lets_nothing_change(self):
        """Slurm 22.05 takes a change when its check ends with an error."""
        job = self.lab.sbatch()
        text = self.lab.shipped_gate()
        self.lab.set_gate(text.replace("function gate.modify(", "function gate.modify(...) nothing.there = 1 end\nfunction unused("))
        try:
            self.assertNotEqual(self.lab.as_user("scontrol", "update", f"JobId={job}", "Name=other")[0], 0)
        finally:
            self.lab.set_gate(text)
        self.assertEqual(self.lab.as_user("scontrol", "update", f"JobId={job}", "Name=other"), (0, ""))
        self.waits(job)

    def test_what_slips_past_is_put_back_by_the_prolog(self):
        ran = self.lab.folder + "/ran"
        os.mkdir(ran, 0o777)
        os.chmod(ran, 0o777)
        job = self.lab.sbatch(script=f"touch {ran}/$SLURM_JOB_ID; exec sleep 300")
        self.lab.run(f"scontrol release {job}")  # as an administrator may
        until(lambda: self.lab.fields(job)["Restarts"] == "1", 20, "it to be put back")
        self.lab.until(f"squeue -h -j {job} -o %T", lambda out: out.strip() == "PENDING")
        self.assertEqual(self.lab.fields(job)["Priority"], "0")
        self.assertEqual(os.listdir(ran), [])
        self.assertEqual(self.lab.run("sinfo -h -t drain -o %D").strip(), "", "no node is drained for it")
        # With a place it starts, and the place is good for this start alone.
        self.lab.run(f"scontrol update JobId={job} AdminComment='dovetail-gate run=7.1 restarts=1' StartTime=now")
        self.lab.run(f"scontrol release {job}")
        until(lambda: os.listdir(ran) == [str(job)], 20, "it to run")
        os.unlink(f"{ran}/{job}")
        self.lab.as_user("scontrol", "requeue", str(job))
        until(lambda: self.lab.fields(job)["Restarts"] == "3", 60, "the second start to be put back")
        self.assertEqual(os.listdir(ran), [])

    def test_one_that_slurm_gave_other_gpus_is_put_back_before_it_runs(self):
        ran = self.lab.folder + "/ran-on"
        os.mkdir(ran)
        os.chmod(ran, 0o777)
        # Its user writes into a comment what Slurm is to have said.
        says = "x\n     Nodes=n0 CPU_IDs=0 Mem=100 GRES=gpu:2(IDX:2-3)\n"
        job = self.lab.sbatch("-N2", "--gres=gpu:2", f"--comment={says}", script=f"touch {ran}/it; exec sleep 300")
        for restarts, gpus in enumerate(("n0:2,3/n1:0,1", "n[0-1]:0,1,2", "n0:0,1")):
            self.lab.run(f"scontrol update JobId={job} AdminComment='dovetail-gate run=7.1 restarts={restarts} gpus={gpus}' "
                         "StartTime=now")
            self.lab.run(f"scontrol release {job}")
            until(lambda n=restarts: self.lab.fields(job)["Restarts"] == str(n + 1), 30, f"gpus={gpus} to be put back")
            self.lab.until(f"squeue -h -j {job} -o %T", lambda out: out.strip() == "PENDING")
            self.assertEqual((self.lab.fields(job)["Priority"], os.listdir(ran)), ("0", []))
        self.lab.run(f"scontrol update JobId={job} Comment=''")
        self.lab.run(f"scontrol update JobId={job} AdminComment='dovetail-gate run=7.1 restarts=3 gpus=n[0-1]:0,1' StartTime=now")
        self.lab.run(f"scontrol release {job}")
        until(lambda: os.listdir(ran), 30, "it to run")
        self.assertEqual(self.lab.fields(job)["Restarts"], "3")

    def test_the_last_task_of_an_array_is_put_back_alone(self):
        """Its number is that of the array."""
        array = self.lab.sbatch("--array=1-2")
        self.lab.run(f"scontrol update JobId={array}_1 AdminComment='dovetail-gate run=7.1 restarts=0'")
        self.lab.run(f"scontrol release {array}_1")
        one = f"squeue -h -r -j {array}_1 -o %T"
        self.lab.until(one, lambda out: out.strip() == "RUNNING")
        self.lab.run(f"scontrol release {array}_2")
        self.lab.until(f"squeue -h -r -j {array}_2 -O restartcnt,state", lambda out: out.split() == ["1", "PENDING"])
        self.assertEqual(self.lab.run(one).strip(), "RUNNING")
        self.assertEqual(self.lab.run(f"squeue -h -r -j {array}_1 -O restartcnt").strip(), "0")

    def test_srun_past_the_gate_is_ended_by_the_prolog(self):
        started = time.time()
        job = self.lab.sbatch("--no-requeue")
        self.lab.run(f"scontrol release {job}")
        until(lambda: self.lab.state(job) not in ("PENDING", "RUNNING", "CONFIGURING", "COMPLETING"), 20, "its end")
        self.assertNotEqual(self.lab.state(job), "COMPLETED")
        self.assertLess(time.time() - started, 20)


if __name__ == "__main__":
    if not available() or not LUA:
        print("no Slurm with Lua here: tools/setup peers installs it (as root)")
        sys.exit(SKIP)
    sys.exit(unittest.main())
