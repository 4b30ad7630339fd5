#!/usr/bin/env python3
"""`dove ssh-gateway` with OpenSSH's own clients: shells, commands, files, ports, and who must not get in."""
# limit_s: 400
import fcntl
import hashlib
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

from cluster import SKIP, Api, ApiError, cannot_run_containers, until
from ssh_bed import MEGABYTE, SshBed

ECHO = """
import socket
server = socket.create_server(("127.0.0.1", 0))
print("port", server.getsockname()[1], flush=True)
while True:
    peer = server.accept()[0]
    while piece := peer.recv(65536):
        peer.sendall(piece)
    peer.sendall(b"over")
    peer.close()
"""


class SshTest(SshBed):
    # -- commands

    def test_output_errors_and_exit_code_stay_apart(self):
        done = self.ssh("echo out; echo err >&2; exit 7")
        self.assertEqual((done.stdout, done.stderr, done.returncode), (b"out\n", b"err\n", 7))

    def test_the_command_is_in_the_task(self):
        done = self.ssh("echo $DOVE_JOB_ID; cat /proc/$$/cgroup")
        self.assertEqual(done.stdout.decode().split("\n")[0], str(self.job))

    def test_quotes_pass_as_they_are(self):
        self.assertEqual(self.ssh("printf '%s|' 'a b' \"$HOME x\" '$(id)'").stdout.count(b"|"), 3)
        self.assertIn(b"$(id)", self.ssh("echo '$(id)'").stdout)

    def test_a_signal_ends_it(self):
        done = self.ssh("kill -TERM $$")
        self.assertEqual(done.returncode, 255)

    def test_bytes_pass_unchanged(self):
        data = os.urandom(3 * MEGABYTE) + bytes(range(256)) * 100
        done = self.ssh("cat", input=data)
        self.assertEqual(hashlib.sha256(done.stdout).digest(), hashlib.sha256(data).digest())

    def test_a_task_that_is_not_there(self):
        done = self.ssh("true", user=f"{self.job}.9")
        self.assertEqual(done.returncode, 255)
        self.assertIn(b"dove: ", done.stderr)

    def test_locale_is_passed_and_other_variables_are_not(self):
        done = subprocess.run(
            ["ssh", *self.options("ada"), "-o", "SendEnv=LC_TIME LD_PRELOAD_X", f"{self.job}@127.0.0.1",
             "echo [$LC_TIME] [$LD_PRELOAD_X]"],
            capture_output=True, timeout=60, env={**os.environ, "LC_TIME": "de_DE.UTF-8", "LD_PRELOAD_X": "evil"})
        self.assertEqual(done.stdout, b"[de_DE.UTF-8] []\n")

    def test_a_shell_on_a_terminal(self):
        master, slave = pty.openpty()
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
        process = subprocess.Popen(["ssh", *self.options("ada"), f"{self.job}@127.0.0.1"], stdin=slave, stdout=slave,
                                   stderr=slave, start_new_session=True,
                                   preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                                   env={**os.environ, "TERM": "xterm-256color"})
        text = b""

        def expect(pattern):
            nonlocal text
            deadline = time.monotonic() + 20
            while not (found := re.search(pattern, text)):
                self.assertTrue(select.select([master], [], [], max(0, deadline - time.monotonic()))[0],
                                f"no {pattern!r} in {text[-500:]!r}")
                text += os.read(master, 65536)
            text = text[found.end():]

        os.write(master, b"stty size; echo term=$TERM\n")
        expect(rb"33 101\r\n")
        expect(rb"term=xterm-256color")
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 120, 0, 0))
        process.send_signal(signal.SIGWINCH)
        os.write(master, b"sleep 1; stty size\n")
        expect(rb"44 120\r\n")
        # It speaks once the terminal is its own: before that the interrupt would be the shell's.
        os.write(master, b"sh -c 'echo in=$((1+1)); exec sleep 100'\n")
        expect(rb"in=2\r\n")
        os.write(master, b"\x03")
        os.write(master, b"exit 5\n")
        self.assertEqual(process.wait(20), 5)
        os.close(master)
        os.close(slave)

    def test_a_terminal_without_a_size_is_80_by_24(self):
        done = subprocess.run(["ssh", *self.options("ada"), "-tt", f"{self.job}@127.0.0.1", "stty size"],
                              capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
        self.assertIn(b"24 80", done.stdout)

    def test_whoever_leaves_ends_the_command(self):
        process = subprocess.Popen(["ssh", *self.options("ada"), f"{self.job}@127.0.0.1",
                                    "trap '' HUP TERM; echo $$; while :; do sleep 0.1; done"], stdout=subprocess.PIPE)
        pid = int(process.stdout.readline())
        os.kill(pid, 0)
        process.kill()
        process.wait()
        process.stdout.close()
        until(lambda: not os.path.exists(f"/proc/{pid}"), 20, "the command to end")

    def test_whoever_does_not_read_holds_up_the_other(self):
        def sent(pid):
            with open(f"/proc/{pid}/io") as file:
                return int(re.search(r"wchar: (\d+)", file.read()).group(1))

        def stands(count):
            before = -1
            while (now := count()) != before:
                before = now
                time.sleep(0.5)  # long against what a byte takes
            return now

        reader = subprocess.Popen(["ssh", *self.options("ada"), f"{self.job}@127.0.0.1", "echo $$; exec cat /dev/zero"],
                                  stdout=subprocess.PIPE)
        pid = int(reader.stdout.readline())
        self.assertLess(stands(lambda: sent(pid)), 32 * MEGABYTE)
        writer = subprocess.Popen(["ssh", *self.options("ada"), f"{self.job}@127.0.0.1", "sleep 600"],
                                  stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        os.set_blocking(writer.stdin.fileno(), False)
        taken = 0

        def push():
            nonlocal taken
            try:
                while True:
                    taken += os.write(writer.stdin.fileno(), bytes(65536))
            except BlockingIOError:
                return taken

        self.assertLess(stands(push), 32 * MEGABYTE)
        self.assertEqual(self.ssh("echo meanwhile").stdout, b"meanwhile\n")
        for process in (reader, writer):
            process.kill()
            process.wait()
        reader.stdout.close()
        writer.stdin.close()

    # -- files and ports

    def test_files_both_ways(self):
        source = f"{self.cluster.folder}/source"
        with open(source, "wb") as file:
            file.write(os.urandom(5 * MEGABYTE))
        os.chmod(source, 0o640)
        there = f"{self.cluster.folder}/there"
        scp = ["scp", "-p", *self.options("ada", "-P")]
        subprocess.run([*scp, source, f"{self.job}@127.0.0.1:{there}"], check=True, timeout=60)
        subprocess.run([*scp, f"{self.job}@127.0.0.1:{there}", source + ".back"], check=True, timeout=60)
        for path in (there, source + ".back"):
            with open(path, "rb") as file, open(source, "rb") as first:
                self.assertEqual(file.read(), first.read())
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o640)
        batch = f"mkdir {there}.d\nput {source} {there}.d/a\nrename {there}.d/a {there}.d/b\nls -l {there}.d\n" \
                f"symlink b {there}.d/link\nrm {there}.d/link\nrm {there}.d/b\nrmdir {there}.d\n-ls {there}.d\npwd\n"
        done = subprocess.run(["sftp", *self.options("ada", "-P"), "-b", "-", f"{self.job}@127.0.0.1"], timeout=60,
                              input=batch.encode(), capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.decode(), r"-rw.* 5242880 .* b\n")
        self.assertIn(b"not found", done.stderr)

    def test_rsync(self):
        if not shutil.which("rsync"):
            self.skipTest("there is no rsync (tools/setup test)")
        folder = f"{self.cluster.folder}/tree"
        os.makedirs(folder + "/deep")
        for name in ("a", "deep/b"):
            with open(f"{folder}/{name}", "wb") as file:
                file.write(os.urandom(100_000))
        shell = " ".join(["ssh", *self.options("ada")])
        subprocess.run(["rsync", "-a", "-e", shell, folder + "/", f"{self.job}@127.0.0.1:{folder}.copy/"], check=True,
                       timeout=60)
        subprocess.run(["diff", "-r", folder, folder + ".copy"], check=True)

    def test_a_port_of_the_task_and_no_other(self):
        job = self.submit("ada", ["/usr/bin/python3", "-c", ECHO])
        self.cluster.wait_state(job, "running")
        port = int(until(lambda: re.search(r"port (\d+)", self.cluster.logs(job)), 20, "the port").group(1))
        process = subprocess.Popen(["ssh", *self.options("ada"), "-W", f"localhost:{port}", f"{job}@127.0.0.1"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        data = os.urandom(2 * MEGABYTE)
        out, _ = process.communicate(data, timeout=60)
        self.assertEqual(out, data + b"over")
        for to in ("10.0.0.1:80", f"localhost:{self.where['port']}"):  # another machine; the gateway itself
            done = subprocess.run(["ssh", *self.options("ada"), "-W", to, f"{job}@127.0.0.1"], timeout=60,
                                  stdin=subprocess.DEVNULL, capture_output=True)
            self.assertEqual(done.stdout, b"")
        self.cluster.api.call("POST", f"/v1/jobs/{job}/cancel", {})

    # -- who gets in

    def refused(self, *words, **more):
        done = self.ssh(*(words or ("true",)), **more)
        self.assertEqual(done.returncode, 255, done)
        return done.stderr.decode()

    def test_an_unknown_key(self):
        self.assertIn("no user here has this key", self.refused(who="eve"))
        self.assertIn("no user here has this key", self.refused(who="eve", user="4711"))  # no word of which jobs there are

    def test_somebody_elses_job(self):
        self.assertIn("not yours", self.refused(who="bob"))

    def test_a_name_that_is_no_job(self):
        self.assertIn("a job's number", self.refused(user="root"))
        self.assertIn("no job", self.refused(user="4711"))

    def test_a_password_is_not_asked_for(self):
        done = subprocess.run(["ssh", *self.options("eve"), "-v", f"{self.job}@127.0.0.1"], capture_output=True,
                              timeout=60, stdin=subprocess.DEVNULL)
        self.assertIn(b"Permission denied (publickey)", done.stderr)

    def test_weak_keys_and_options_are_refused_with_a_remedy(self):
        path = f"{self.folder}/weak"
        subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-b", "1024", "-N", "", "-f", path], check=True)
        done = self.dove("ada", "ssh-key", "add", path + ".pub", check=False)
        self.assertIn("1024 bits is too weak", done.stderr)
        with open(f"{self.folder}/ada.pub") as file:
            line = file.read()
        api = Api(self.cluster.url, self.tokens["ada"], ca_file=self.cluster.ca_file())
        for key, code in (("ssh-dss AAAAB3NzaC1kc3M= x", "weak_ssh_key"), ("hello", "bad_ssh_key"),
                          (f'command="id" {line}', "ssh_key_options")):
            with self.assertRaises(ApiError) as raised:
                api.call("POST", "/v1/users/ada/ssh-keys", {"key": key})
            self.assertEqual(raised.exception.body["code"], code)
        api.close()

    def test_a_removed_key_ends_what_it_opened(self):
        self.dove("ada", "ssh-key", "add", f"{self.folder}/eve.pub")
        process = subprocess.Popen(["ssh", *self.options("eve"), f"{self.job}@127.0.0.1", "echo on; sleep 600"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"on\n")
        keys = self.dove("ada", "ssh-key", "list", "-o", "name").stdout.split()
        self.dove("ada", "ssh-key", "remove", keys[-1])
        _, errors = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 255)
        self.assertIn(b"may not call any more", errors)
        self.assertIn("no user here has this key", self.refused(who="eve"))

    def test_a_disabled_user(self):
        self.cluster.api.call("PUT", "/v1/objects/user/bob", {"disabled": True})
        try:
            self.assertIn("disabled", self.refused(who="bob"))
        finally:
            self.cluster.api.call("PUT", "/v1/objects/user/bob", {"disabled": False})

    def test_a_job_that_waits_says_why(self):
        job = self.submit("ada", ["/bin/true"], hold=True)
        self.assertRegex(self.refused(user=str(job)), "is not running, it is .*: ")
        self.cluster.api.call("POST", f"/v1/jobs/{job}/cancel", {})

    def test_the_gateways_token_is_good_for_nothing_else(self):
        with open(self.cluster.data + "/ssh_gateway_token") as file:
            token = file.read().strip()
        self.assertEqual(os.stat(self.cluster.data + "/ssh_gateway_token").st_mode & 0o777, 0o600)
        api = Api(self.cluster.url, token, ca_file=self.cluster.ca_file())
        for method, path in (("GET", "/v1/jobs"), ("GET", "/v1/me"), ("POST", "/v1/keys"), ("GET", f"/v1/jobs/{self.job}"),
                             ("GET", f"/v1/jobs/{self.job}/exec")):
            self.assertEqual(api.raw(method, path)[0], 401, path)
        with open(f"{self.folder}/ada.pub") as file:
            key = file.read()
        entry = api.call("POST", "/v1/ssh-sign-ins", {"key": key, "job": str(self.job), "address": "10.0.0.7"})
        api.close()
        # And what it gets is good for that job.
        own = Api(self.cluster.url, entry["token"], ca_file=self.cluster.ca_file())
        self.assertEqual(own.call("GET", f"/v1/jobs/{self.job}")["id"], self.job)
        other = self.submit("ada", ["/bin/sleep", "600"])
        self.assertEqual(own.raw("GET", f"/v1/jobs/{other}")[0], 403)
        self.assertEqual(own.raw("GET", f"/v1/jobs/{other}/exec")[0], 403)
        self.assertEqual(own.raw("GET", f"/v1/jobs/{other}/forward?port=80")[0], 403)
        for method, path in (("GET", "/v1/jobs"), ("GET", "/v1/me"), ("POST", f"/v1/jobs/{self.job}/cancel"),
                             ("POST", "/v1/sign-in/code"), ("GET", "/v1/users/ada/ssh-keys")):
            self.assertIn(own.raw(method, path)[0], (401, 403, 404, 405), path)
        own.close()
        self.cluster.api.call("POST", f"/v1/jobs/{other}/cancel", {})

    def test_sign_ins_and_refusals_are_audited(self):
        self.ssh("true")
        self.refused(who="eve")
        def audited():
            text = self.cluster.run("audit").stdout
            return text if f"ssh into job {self.job}" in text and "ssh_key_unknown" in text else None
        until(audited, 20, "the audit")

    # -- dove ssh, and what goes on

    def test_dove_ssh_makes_its_own_key(self):
        runtime = tempfile.mkdtemp(dir=self.cluster.folder)
        done = self.dove("bob", "ssh", str(self.job), "true", check=False, XDG_RUNTIME_DIR=runtime)
        self.assertIn("only the user of job", done.stderr)
        done = self.dove("ada", "ssh", str(self.job), "echo", "hello;", "exit", "3", check=False, XDG_RUNTIME_DIR=runtime)
        self.assertEqual((done.stdout, done.returncode), ("hello\n", 3), done.stderr)
        done = self.cluster.run("ssh", str(self.own_job()), "echo", "whoever", DOVE_USER="undeclared",
                                XDG_RUNTIME_DIR=runtime)
        self.assertEqual(done.stdout, "whoever\n", done.stderr)
        self.assertEqual(os.listdir(runtime), [])

    def own_job(self):
        job = self.cluster.submit({"name": "r", "command": ["/bin/sleep", "600"]}, **{"X-Dove-User": "undeclared"})
        self.cluster.wait_state(job, "running")
        return job

    def test_a_gateway_that_was_restarted_goes_on(self):
        port = self.where["port"]
        keys = self.where["host_keys"]
        self.gateway.terminate()
        self.assertEqual(self.gateway.wait(10), 0)
        type(self).start_gateway(port)
        until(self.listens, 20, "the gateway to listen")
        self.assertEqual(self.where["host_keys"], keys)
        self.assertEqual(self.ssh("echo again").stdout, b"again\n")

    def test_many_at_once(self):
        processes = [subprocess.Popen(["ssh", *self.options("ada"), f"{self.job}@127.0.0.1", f"echo {i}"],
                                      stdout=subprocess.PIPE) for i in range(8)]
        for i, process in enumerate(processes):
            self.assertEqual(process.communicate(timeout=60)[0], f"{i}\n".encode())

    def test_a_stranger_who_says_nothing_keeps_nobody_out(self):
        quiet = [socket.create_connection(("127.0.0.1", self.where["port"])) for _ in range(10)]
        extra = socket.create_connection(("127.0.0.1", self.where["port"]))  # more than an address may have
        extra.settimeout(20)
        self.assertEqual(extra.recv(100), b"")
        for each in (*quiet, extra):
            each.close()
        until(lambda: self.ssh("true").returncode == 0, 20, "the gateway to count them out")

    def test_in_an_image_without_anything(self):
        if why := cannot_run_containers():
            self.skipTest(why)
        job = self.submit("ada", ["/bin/sleep", "600"], container={"image": "bare", "volumes": [{"source": "/usr"}]})
        state = until(lambda: self.cluster.job(job)["state"] in ("running", "failed") and self.cluster.job(job), 60, "it")
        if state["state"] == "failed":
            self.skipTest(f"containers do not run here: {state}")
        self.assertEqual(self.ssh("echo in; exit 4", user=str(job)).returncode, 4)
        done = subprocess.run(["sftp", *self.options("ada", "-P"), "-b", "-", f"{job}@127.0.0.1"], timeout=60,
                              input=f"put {self.folder}/ada.pub /tmp/x\nls /tmp\n".encode(), capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"/tmp/x", done.stdout)
        self.cluster.api.call("POST", f"/v1/jobs/{job}/cancel", {})


if __name__ == "__main__":
    if not all(shutil.which(name) for name in ("ssh", "scp", "sftp", "ssh-keygen")):
        print("there is no openssh-client (tools/setup test)")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
