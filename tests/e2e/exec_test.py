#!/usr/bin/env python3
"""`dove exec` at the seam: real programs, a real pseudo-terminal, what a person's fingers and a script's pipes do."""
import fcntl
import hashlib
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

from cluster import DOVE, SKIP, Cluster, cannot_run_containers, until

AT_ONCE = int(os.environ.get("AT_ONCE", "20"))
MEGABYTE = 1 << 20


class Terminal:
    """A dove command under a pseudo-terminal of its own, as a person has it."""

    def __init__(self, cluster, *arguments, rows=33, columns=101):
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.text = b""
        self.process = subprocess.Popen(
            [DOVE, *arguments], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**cluster.environment, "DOVE_DATA": cluster.data, "TERM": "xterm-256color"})

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def expect(self, pattern, limit_s=20):
        """Reads until the pattern is there, and forgets what was before its end."""
        deadline = time.monotonic() + limit_s
        while not (found := re.search(pattern.encode(), self.text)):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                raise AssertionError(f"no {pattern!r} in {self.text[-2000:]!r}")
            self.text += os.read(self.master, 65536)
        self.text = self.text[found.end():]
        return found

    def is_restored(self):
        return termios.tcgetattr(self.slave) == self.before

    def wait(self, limit_s=20):
        return self.process.wait(limit_s)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


def is_there(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class ExecTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=2, cores=8).__enter__()
        cls.job = cls.cluster.submit({"name": "long", "command": ["sleep", "600"], "workdir": "/tmp",
                                      "environment": {"OF_THE_JOB": "yes"}})
        cls.cluster.wait_state(cls.job, "running")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def exec(self, *arguments, **more):
        return self.cluster.run("exec", *arguments, check=False, **more)

    def terminal(self, *arguments, **more):
        found = Terminal(self.cluster, "exec", *arguments, **more)
        self.addCleanup(found.close)
        return found

    def shell(self):
        shell = self.terminal("-it", str(self.job), "--", "bash", "--norc", "--noprofile", "--noediting")
        shell.type("PS1='ready> '\n")
        shell.expect(r"(\n|# )ready> ")
        return shell

    # -- without a terminal

    def test_streams_stay_apart_and_the_exit_code_comes_through(self):
        done = self.exec(str(self.job), "--", "sh", "-c", "echo out; echo err >&2; exit 7")
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("out\n", "err\n", 7))

    def test_the_world_is_the_tasks(self):
        done = self.exec(str(self.job), "--", "sh", "-c", "echo $OF_THE_JOB $DOVE_JOB_ID; pwd; tty; cat")
        self.assertEqual(done.stdout, f"yes {self.job}\n/tmp\nnot a tty\n", done.stderr)

    def test_a_signals_end_is_128_and_its_number(self):
        self.assertEqual(self.exec(str(self.job), "--", "sh", "-c", "kill -USR1 $$").returncode, 128 + signal.SIGUSR1)

    def test_what_cannot_be_started_is_127_and_says_why(self):
        done = self.exec(str(self.job), "--", "no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assertIn("no-such-program", done.stderr)

    def test_input_comes_to_its_end(self):
        done = self.exec("-i", str(self.job), "--", "sh", "-c", "cat; echo over", input="a\nb\n")
        self.assertEqual(done.stdout, "a\nb\nover\n", done.stderr)

    def test_a_hundred_megabytes_each_way_are_the_same_bytes(self):
        block = os.urandom(MEGABYTE)
        size = 100
        wanted = hashlib.sha256(block * size).hexdigest()
        process = subprocess.Popen([DOVE, "exec", "-i", str(self.job), "--", "sh", "-c", "tee /dev/stderr"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**self.cluster.environment, "DOVE_DATA": self.cluster.data})
        hashes = {stream: hashlib.sha256() for stream in (process.stdout, process.stderr)}
        sent = 0
        for stream in (process.stdin, process.stdout, process.stderr):
            os.set_blocking(stream.fileno(), False)
        rest = block
        reading = set(hashes)
        while reading:
            readable, writable, _ = select.select(list(reading), [process.stdin] if sent < size else [], [], 60)
            self.assertTrue(readable or writable, "nothing moves")
            if writable:
                rest = rest[os.write(process.stdin.fileno(), rest):]
                if not rest:
                    sent, rest = sent + 1, block
                    if sent == size:
                        process.stdin.close()
            for stream in readable:
                piece = os.read(stream.fileno(), MEGABYTE)
                hashes[stream].update(piece)
                if not piece:
                    reading.remove(stream)
        self.assertEqual(process.wait(20), 0)
        for stream, found in hashes.items():
            self.assertEqual(found.hexdigest(), wanted)
            stream.close()

    def test_a_slow_reader_holds_up_the_command_and_no_memory_grows(self):
        process = subprocess.Popen([DOVE, "exec", str(self.job), "--", "sh", "-c", "yes & echo $! >&2; wait"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**self.cluster.environment, "DOVE_DATA": self.cluster.data})
        writer = int(process.stderr.readline())

        def written():
            with open(f"/proc/{writer}/io") as file:
                return int(re.search(r"wchar: (\d+)", file.read())[1])

        def stands_still():
            before = written()
            time.sleep(0.3)
            return written() == before and before > 0
        until(stands_still, 20, "the writer to stand still")
        self.assertLess(written(), 4 * MEGABYTE)
        process.stdout.close()
        process.kill()
        process.wait()
        process.stderr.close()
        until(lambda: not is_there(writer), 10, "the writer to end")

    def test_an_interrupt_goes_to_the_command_and_its_answer_comes_back(self):
        process = subprocess.Popen(
            [DOVE, "exec", str(self.job), "--", "sh", "-c", "trap 'echo caught; exit 3' INT; echo ready; "
             "while :; do sleep 0.05; done"], stdout=subprocess.PIPE, text=True,
            env={**self.cluster.environment, "DOVE_DATA": self.cluster.data})
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.readline(), "caught\n")
        self.assertEqual(process.wait(10), 3)
        process.stdout.close()

    def test_many_at_once_do_not_mix(self):
        started = [subprocess.Popen([DOVE, "exec", "-i", str(self.job), "--", "sh", "-c", f"cat; exit {n}"],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    env={**self.cluster.environment, "DOVE_DATA": self.cluster.data})
                   for n in range(AT_ONCE)]
        for n, process in enumerate(started):
            out, _ = process.communicate(f"only {n}\n".encode() * 5000, timeout=60)
            self.assertEqual(out, f"only {n}\n".encode() * 5000)
            self.assertEqual(process.returncode, n)

    # -- with a terminal

    def test_a_shell_with_a_terminal(self):
        shell = self.shell()
        shell.type("tty; stty size; echo $TERM\n")
        shell.expect(r"/dev/pts/\d+\r\n33 101\r\nxterm-256color\r\n")
        shell.resize(40, 120)
        shell.process.send_signal(signal.SIGWINCH)
        shell.expect("ready> ")

        def resized():
            shell.type("stty size\n")
            return shell.expect(r"(\d+ \d+)\r\n")[1] == b"40 120"
        until(resized, 10, "the new size")
        shell.type("exit 9\n")
        self.assertEqual(shell.wait(), 9)
        self.assertTrue(shell.is_restored())

    def test_keys_end_and_stop_the_foreground_program_not_the_session(self):
        shell = self.shell()
        for key, code in (("\x03", 130), ("\x1c", 131)):
            shell.type("sleep 100\n")
            shell.expect("sleep 100\r\n")
            time.sleep(0.2)  # until the shell has put it in the foreground
            shell.type(key)
            shell.expect("ready> ")
            shell.type("echo code $?\n")
            shell.expect(rf"\ncode {code}\r\nready> ")
        shell.type("sleep 101\n")
        shell.expect("sleep 101\r\n")
        time.sleep(0.2)
        shell.type("\x1a")
        shell.expect("Stopped")
        # `wait` may find it stopped still, and a shell with stopped jobs does not end at the first end of input.
        shell.type("kill -9 %1; fg; echo job control $?\n")
        shell.expect(r"\njob control \d+\r\n")
        shell.type("\x04")  # the end of the input ends a shell
        self.assertIsNotNone(shell.wait())
        self.assertTrue(shell.is_restored())

    def test_the_terminal_is_ours_again_however_the_client_ends(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            shell = self.shell()
            self.assertFalse(shell.is_restored())
            shell.process.send_signal(number)
            self.assertEqual(shell.wait(), 128 + number)
            self.assertTrue(shell.is_restored())
        shell = self.terminal("-it", str(self.job), "--", "no-such-program")
        self.assertEqual(shell.wait(), 127)
        self.assertTrue(shell.is_restored())

    def test_keys_reach_a_program_that_reads_them_raw(self):
        shell = self.terminal("-it", str(self.job), "--", "sh", "-c",
                              "stty raw -echo; echo go; head -c 3 | od -An -tx1; stty sane")
        shell.expect("go")
        shell.type("\x03\x1a\x04")
        shell.expect("03 1a 04")
        self.assertEqual(shell.wait(), 0)

    def test_srun_gives_one_task_its_terminal(self):
        shell = self.shell()
        shell.type("srun --pty sh -c 'stty size; test -t 1 && echo terminal; exit 5'; echo code $?\n")
        shell.expect(r"\n33 101\r\nterminal\r\n")
        shell.expect(r"code 5\r")
        shell.type("srun --pty -n 2 true; echo code $?\n")
        shell.expect("--pty is for one task")
        shell.expect(r"code 1\r")

    # -- ends

    def test_a_killed_client_leaves_no_process(self):
        for options in (["-i"], ["-it"]):
            with self.subTest(options=options):
                session = self.terminal(*options, str(self.job), "--", "sh", "-c",
                                        "trap '' HUP TERM; sleep 1000 & echo pids $$ $! end; wait")
                pids = [int(pid) for pid in session.expect(r"pids (\d+) (\d+) end").groups()]
                session.process.kill()
                until(lambda: not any(map(is_there, pids)), 15, "all of it to end")
        self.assertEqual(self.cluster.job(self.job)["state"], "running")

    def test_what_a_command_leaves_in_the_background_is_ended_with_it(self):
        done = self.exec(str(self.job), "--", "sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!")
        pid = int(done.stdout)
        self.assertEqual(done.returncode, 0)
        self.assertFalse(is_there(pid))

    def test_it_ends_with_its_task(self):
        job = self.cluster.submit({"command": ["sleep", "600"]})
        self.cluster.wait_state(job, "running")
        session = self.terminal("-i", str(job), "--", "sh", "-c", "echo pid $$ end; sleep 1000")
        pid = int(session.expect(r"pid (\d+) end")[1])
        self.cluster.api.call("POST", f"/v1/jobs/{job}/cancel")
        self.assertEqual(self.cluster.wait(job)["state"], "cancelled")
        self.assertNotEqual(session.wait(), 0)
        self.assertFalse(is_there(pid))

    def test_a_restarted_agent_ends_it_and_says_so(self):
        session = self.terminal("-i", str(self.job), "--", "sh", "-c", "trap '' HUP TERM PIPE; echo pid $$ end; sleep 1000")
        pid = int(session.expect(r"pid (\d+) end")[1])
        name = self.cluster.job(self.job)["attempts"][-1]["nodes"][0]
        self.cluster.agents[name].kill()
        self.cluster.agents[name].wait()
        session.expect("its agent was restarted")
        self.assertEqual(session.wait(), 6)
        self.cluster.start_agent(name)
        until(lambda: not is_there(pid), 15, "the command to end")
        self.cluster.wait_connected()
        self.assertEqual(self.cluster.job(self.job)["state"], "running")
        self.assertEqual(self.exec(str(self.job), "--", "echo", "again").stdout, "again\n")

    # -- who may, and what is kept of it

    def test_only_the_jobs_user_may(self):
        done = self.exec(str(self.job), "--", "id", DOVE_USER="somebody-else")
        self.assertEqual(done.returncode, 0, "the administrator's token may speak for anybody")
        token = self.cluster.api.call("POST", "/v1/users/mallory/token?create=1")["token"]
        done = self.exec(str(self.job), "--", "id", DOVE_URL=self.cluster.url, DOVE_TOKEN=token)
        self.assertEqual(done.returncode, 5)
        self.assertIn("only the job's user", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_the_ledger_keeps_who_ran_what_where(self):
        self.exec(str(self.job), "--", "echo", "--password=secret", DOVE_USER="alice")
        found = self.cluster.api.call("GET", f"/v1/events?job={self.job}&kind=ExecStarted")
        last = found["events"][-1]
        self.assertEqual(last["principal"], "alice")
        self.assertEqual(last["data"], {"job": self.job, "attempt": 1, "node": 1, "rank": 0, "program": "echo",
                                        "terminal": False})

    def test_a_job_that_does_not_run_and_a_task_that_is_not_there_say_so(self):
        waiting = self.cluster.submit({"command": ["true"], "hold": True})
        self.assertEqual(self.exec(str(waiting), "--", "id").returncode, 4)
        self.assertEqual(self.exec("987654", "--", "id").returncode, 3)
        done = self.exec("--task", "5", str(self.job), "--", "id")
        self.assertEqual(done.returncode, 3)
        self.assertIn("ranks 0 to 0", done.stderr)

    def test_each_task_can_be_named(self):
        job = self.cluster.submit({"command": ["sleep", "600"], "groups": [
            {"name": "leader", "tasks": 1}, {"name": "worker", "tasks": 2}]})
        self.cluster.wait_state(job, "running")
        for task, rank in (("0", "0"), ("2", "2"), ("leader/0", "0"), ("worker/1", "2")):
            done = self.exec("--task", task, str(job), "--", "sh", "-c", "echo $DOVE_RANK")
            self.assertEqual(done.stdout, rank + "\n", done.stderr)
        self.cluster.api.call("POST", f"/v1/jobs/{job}/cancel")


class AttachTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, cores=8).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def job(self, script):
        job = self.cluster.submit({"command": ["sh", "-c", script]})
        self.cluster.wait_state(job, "running")
        return job

    def test_it_shows_what_comes_and_leaving_does_no_harm(self):
        job = self.job("i=0; while :; do i=$((i+1)); echo line $i; echo wrong $i >&2; sleep 0.05; done")
        until(lambda: "line 20\n" in self.cluster.logs(job), 20, "some output")
        attached = Terminal(self.cluster, "attach", str(job))
        self.addCleanup(attached.close)
        self.assertGreaterEqual(int(attached.expect(r"^line (\d+)\r\n|\nline (\d+)\r\n")[0].split()[1]), 20)
        attached.expect(r"wrong \d+\r\n")
        self.assertFalse(attached.is_restored())
        attached.type("x\x10x\x11\x10")  # not these
        attached.expect(r"line \d+")
        attached.type("\x11")  # Ctrl-P was just before
        attached.expect("which goes on")
        self.assertEqual(attached.wait(), 0)
        self.assertTrue(attached.is_restored())
        self.assertEqual(self.cluster.job(job)["state"], "running")
        self.cluster.api.call("POST", f"/v1/jobs/{job}/cancel")

    def test_its_tail_its_end_and_its_exit_code(self):
        job = self.job("for i in 1 2 3 4 5; do echo line $i; done; while ! test -e go; do sleep 0.05; done; echo last; exit 3")
        until(lambda: "line 5\n" in self.cluster.logs(job), 20, "its output")
        attached = Terminal(self.cluster, "attach", "--tail", "2", f"{job}/0")
        self.addCleanup(attached.close)
        attached.expect(r"^line 4\r\nline 5\r\n")
        # The task ends by it, maybe before the command's own end is heard: then it is ended, or told that it was.
        ended = self.cluster.run("exec", str(job), "--", "touch", "go", check=False)
        self.assertTrue(ended.returncode in (0, 143) or "the task ended, and the command with it" in ended.stderr, ended)
        attached.expect("last\r\n")
        self.assertEqual(attached.wait(), 3)
        self.assertTrue(attached.is_restored())


@unittest.skipIf(cannot_run_containers(), cannot_run_containers())
class ContainerExecTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="dove-exec.")
        os.chmod(cls.root, 0o755)
        binaries = cls.root + "/images/small/bin"
        os.makedirs(binaries)
        shutil.copy("/bin/busybox", binaries + "/busybox")
        for applet in ("sh", "sleep", "id", "cat", "echo", "hostname", "stty", "tty", "ps", "kill", "test", "head",
                       "tail", "sha256sum"):
            os.symlink("busybox", f"{binaries}/{applet}")
        cls.cluster = Cluster(agent_options=["--cgroups", "on", "--images", cls.root + "/images"])
        cls.cluster.names = ["execed"]
        cls.cluster.__enter__()
        cls.job = cls.cluster.submit({"command": ["sh", "-c", "echo of the job > /tmp-file; sleep 600"],
                                      "memory": "64Mi", "container": {"image": "small"}})
        cls.cluster.wait_state(cls.job, "running")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.api.call("POST", f"/v1/jobs/{cls.job}/cancel")
        cls.cluster.wait(cls.job)
        cls.cluster.__exit__(None, None, None)
        shutil.rmtree(cls.root, ignore_errors=True)

    def exec(self, *arguments, **more):
        return self.cluster.run("exec", *arguments, check=False, **more)

    def test_it_is_the_same_container(self):
        done = self.exec(str(self.job), "--", "sh", "-c", "cat /tmp-file; id -u; cat /proc/1/cmdline | cat -v; exit 5")
        self.assertEqual(done.returncode, 5, done.stderr)
        lines = done.stdout.split("\n")
        self.assertEqual(lines[:2], ["of the job", "0"])
        self.assertIn("init", lines[2])

    def test_its_memory_counts_as_the_tasks(self):
        done = self.exec(str(self.job), "--", "sh", "-c",
                         "head -c 300000000 /dev/zero | tail -c 300000000 | sha256sum; echo $?", limit_s=60)
        self.assertNotIn(hashlib.sha256(bytes(300000000)).hexdigest(), done.stdout)
        self.assertEqual(self.cluster.job(self.job)["state"], "running")

    def test_a_terminal_with_its_size_and_keys(self):
        shell = Terminal(self.cluster, "exec", "-it", str(self.job), "--", "sh", rows=33, columns=101)
        self.addCleanup(shell.close)
        shell.type("PS1='ready> '; stty size\n")
        shell.expect(r"\n33 101\r\n")
        shell.expect("ready> ")
        shell.type("sleep 100\n")
        shell.expect("sleep 100\r\n")
        time.sleep(0.2)
        shell.type("\x03")
        shell.expect("ready> ")
        shell.type("exit 11\n")
        self.assertEqual(shell.wait(), 11)
        self.assertTrue(shell.is_restored())

    def test_bytes_pass_as_they_are(self):
        block = os.urandom(8 * MEGABYTE)
        process = subprocess.run([DOVE, "exec", "-i", str(self.job), "--", "cat"], input=block, capture_output=True,
                                 env={**self.cluster.environment, "DOVE_DATA": self.cluster.data}, timeout=60)
        self.assertEqual(process.stdout, block)

    def test_a_killed_client_leaves_nothing_in_the_container(self):
        session = Terminal(self.cluster, "exec", "-i", str(self.job), "--", "sh", "-c",
                           "trap '' HUP TERM; sleep 987 & echo up; sleep 986")
        self.addCleanup(session.close)
        session.expect("up")
        self.assertIn("sleep 987", self.exec(str(self.job), "--", "ps").stdout)
        session.process.kill()
        until(lambda: "sleep 98" not in self.exec(str(self.job), "--", "ps").stdout, 15, "all of it to end")


if __name__ == "__main__":
    unittest.main()
