#!/usr/bin/env python3
"""dove doctor beside a running cluster and on damaged data: what is well is called good, what is not is named with its
remedy, and nothing is written."""
import fcntl
import json
import os
import re
import resource
import shutil
import sqlite3
import struct
import subprocess
import time
import unittest

from cluster import DOVE, ROOT, Cluster, until


class Doctor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=2).__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)
        cls.cluster.wait(cls.cluster.submit({"command": ["true"]}))

    def doctor(self, *arguments, code=0):
        done = self.cluster.run("doctor", "-o", "json", *arguments, check=False, recorded=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        checks = json.loads(done.stdout)["checks"]
        return {check["subject"] + "/" + check["part"]: check for check in checks}

    def copy(self):
        data = os.path.join(self.cluster.folder, "copy")
        shutil.rmtree(data, ignore_errors=True)
        shutil.copytree(self.cluster.data, data, ignore=lambda _, names: {"socket", "nodes", "shared", "channel"} & set(names))
        return data

    def test_the_mode_of_an_executor_is_said(self):
        declared = "kind: Executor\nname: slurm\nservice_account: slurm-1\nnodes: [nowhere]\n"
        self.cluster.api.call("POST", "/v1/users/slurm-1/token?create=1")
        for more, mode in (("", "watch"), ("gate: true\n", "gate")):
            self.cluster.run("apply", "-f", "-", input=declared + more)
            said = self.doctor("cluster")["mode of executor slurm/cluster"]
            self.assertEqual((said["verdict"], said["evidence"].split(":")[0]), ("good", mode))
        self.cluster.run("delete", "executor", "slurm")

    def test_a_running_cluster_is_well(self):
        before = {name: os.stat(f"{self.cluster.data}/{name}").st_mtime_ns for name in ("secret", "head", "clock")}
        checks = self.doctor("server", "cluster")
        self.assertEqual({check["verdict"] for check in checks.values()}, {"good"}, checks)
        self.assertIn("the chain holds from record 1 to ", checks["log/server"]["evidence"])
        self.assertEqual(checks["nodes/cluster"]["evidence"], "all 2 are connected")
        self.assertRegex(checks[f"fsync {self.cluster.data}/server"]["evidence"], r"^\d+ ms$")
        self.assertEqual(checks["lag/cluster"]["evidence"], "answers are 0 records behind the log")
        after = {name: os.stat(f"{self.cluster.data}/{name}").st_mtime_ns for name in ("secret", "head", "clock")}
        self.assertEqual(before, after)

    def test_people_read_a_table(self):
        said = self.cluster.run("doctor", "server").stdout
        self.assertIn("good     server   log: the chain holds", said)
        self.assertRegex(said, r"\d+ good, 0 warnings, 0 faults, 0 unknown\n$")

    def test_a_changed_record_is_named_with_its_page(self):
        data = self.copy()
        with sqlite3.connect(f"{data}/log.sqlite") as log:
            log.execute("UPDATE records SET body = zeroblob(length(body)) WHERE seq = (SELECT max(seq) - 1 FROM records)")
        log.close()
        check = self.doctor("server", "--data", data, code=1)["log/server"]
        self.assertEqual((check["verdict"], check["remedy"]), ("fault", "docs/operate/recovery.md"))
        self.assertIn("changed", check["evidence"])

    def test_a_secret_that_others_may_read(self):
        data = self.copy()
        os.chmod(f"{data}/secret", 0o644)
        checks = self.doctor("server", "--data", data, code=1)
        faults = [check for check in checks.values() if check["verdict"] == "fault"]
        self.assertEqual([check["remedy"] for check in faults], [f"chmod 600 {data}/secret"])

    def test_keys_that_are_damaged(self):
        data = self.copy()
        for name, change in (("secret", lambda text: chr(ord(text[0]) ^ 1) + text[1:]), ("identity.pem", lambda text: "")):
            with open(f"{data}/{name}") as file:
                text = file.read()
            with open(f"{data}/{name}", "w") as file:
                file.write(change(text))
        checks = self.doctor("server", "--data", data, code=1)
        for name in ("secret", "identity.pem"):
            check = checks[f"key {name}/server"]
            self.assertEqual((check["verdict"], check["remedy"]), ("fault", "docs/operate/recovery.md"))
            self.assertIn(f"{data}/{name}", check["evidence"])
        started = self.cluster.run("server", "--data", data, "--port", "0", check=False)
        self.assertNotEqual(started.returncode, 0)
        self.assertIn(f"{data}/secret", started.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root mounts")
    def test_the_services_data_are_found(self):
        """Where packages have them, in a root of its own."""
        data, home = self.copy(), f"{self.cluster.folder}/no-data-of-its-own"
        if not os.path.exists(f"{data}/ca.pem"):
            self.cluster.run("ca", "init", "--data", data)
        node = f"{self.cluster.folder}/nodes/{next(iter(self.cluster.agents))}"

        def said(*words, user=0, more=""):
            script = ("mount -t tmpfs none /var/lib && mkdir -p /var/lib/dove/server /var/lib/dove/agent && "
                      f"mount --bind {data} /var/lib/dove/server && mount --bind {node} /var/lib/dove/agent && {more}"
                      f'exec setpriv --reuid {user} --clear-groups "$@"')
            return subprocess.run(["unshare", "--mount", "sh", "-ec", script, "sh", DOVE, *words], capture_output=True,
                                  text=True, timeout=60, env={"PATH": os.environ["PATH"], "HOME": home})
        shown = said("ca", "show")
        self.assertEqual((shown.returncode, shown.stdout.count("BEGIN CERTIFICATE")), (0, 1), shown.stderr)
        checks = json.loads(said("doctor", "-o", "json", "server", "agent").stdout)["checks"]
        self.assertIn(("server", "data /var/lib/dove/server", "good"),
                      {(check["part"], check["subject"], check["verdict"]) for check in checks})
        self.assertNotIn("fault", {check["verdict"] for check in checks if check["subject"].startswith("data ")}, checks)
        backup = said("backup", f"{self.cluster.folder}/of-the-service", "--plain")
        self.assertEqual(backup.returncode, 0, backup.stderr)
        # Somebody who cannot see them is told so.
        table = said("doctor", user=12345, more="chmod 0750 /var/lib/dove/server && ")
        self.assertRegex(table.stdout, r"unknown +server +", table.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root gives files to others")
    def test_what_root_makes_is_the_servers(self):
        """As after `dove ca rotate` by root, where the unit runs the server as another user."""
        data = self.copy()
        if not os.path.exists(f"{data}/ca.pem"):
            self.cluster.run("ca", "init", "--data", data)
        for path in (data, *(f"{data}/{name}" for name in os.listdir(data))):
            os.lchown(path, 1000, 1000)
        self.cluster.run("ca", "rotate", "--data", data)
        self.assertEqual({os.stat(f"{data}/ca.next.{kind}").st_uid for kind in ("key", "pem")}, {1000})
        key = f"{data}/ca.next.key"
        self.assertEqual(self.doctor("server", "--data", data)[f"file {key}/server"]["verdict"], "good")
        os.chown(key, 0, 0)
        check = self.doctor("server", "--data", data, code=1)[f"file {key}/server"]
        self.assertEqual((check["verdict"], check["remedy"]), ("fault", f"chown --reference={data} {key}"))

    @unittest.skipUnless(os.geteuid() == 0, "only root gives files to others")
    def test_what_root_restores_is_the_servers(self):
        backup, data = f"{self.cluster.folder}/backup-for-another", f"{self.cluster.folder}/restored-for-another"
        self.cluster.run("backup", backup, "--plain", "--data", self.cluster.data)
        os.mkdir(data)
        os.chown(data, 1000, 1000)
        self.cluster.run("restore", backup, "--data", data)
        owners = {name: os.lstat(os.path.join(folder, name)).st_uid
                  for folder, folders, names in os.walk(data) for name in (".", *folders, *names)}
        self.assertEqual(set(owners.values()), {1000}, owners)
        os.chown(f"{data}/log.sqlite", 0, 0)
        self.cluster.run("restore", "--in-place", "--data", data)
        self.assertEqual(os.stat(f"{data}/log.sqlite").st_uid, 1000)

    def test_a_token_that_somebody_put_there(self):
        data = self.copy()
        with open(f"{data}/token", "w") as file:
            file.write("the token of another controller\n")
        check = self.doctor("server", "--data", data)["key token/server"]
        self.assertEqual(check["verdict"], "warning")
        self.assertIn("dove token rotate", check["evidence"])
        self.assertNotIn("backup", check["evidence"] + check["remedy"])

    def test_a_node_that_is_gone(self):
        name, agent = next(iter(self.cluster.agents.items()))
        nowhere = f"{self.cluster.folder}/nowhere"
        self.assertEqual(self.doctor("agent", "--agent-data", nowhere, code=1)[f"data {nowhere}/agent"]["verdict"], "fault")
        agent.kill()
        agent.wait()
        until(lambda: any(node["contact"] != "connected" for node in self.cluster.nodes()), 20, "the loss to be noticed")
        try:
            nodes = self.doctor("cluster", code=1)["nodes/cluster"]
            self.assertIn(f"1 of 2 are not connected: {name}", nodes["evidence"])
        finally:
            self.cluster.start_agent(name)
            self.cluster.wait_connected()

    @unittest.skipUnless(os.geteuid() == 0, "only root gives files to others")
    def test_secrets_that_logind_would_remove(self):
        data, programs = f"{self.cluster.folder}/agent-of-ann", f"{self.cluster.folder}/programs"
        for folder in (data, programs):
            os.mkdir(folder)

        def secrets(owner, says):
            os.chown(data, owner, owner)
            with open(f"{programs}/busctl", "w") as file:
                file.write(f"#!/bin/sh\n[ $5 = RemoveIPC ] && echo {says}\n")
            os.chmod(f"{programs}/busctl", 0o755)
            done = self.cluster.run("doctor", "-o", "json", "agent", "--agent-data", data, check=False,
                                    PATH=f"{programs}:{os.environ['PATH']}")
            return next(check for check in json.loads(done.stdout)["checks"] if check["subject"] == "secrets")
        told = secrets(1000, "b true")
        self.assertEqual(told["verdict"], "warning")
        self.assertIn("RemoveIPC=no", told["remedy"])
        for owner, says in ((1000, "b false"), (0, "b true"), (999, "b true")):
            self.assertEqual(secrets(owner, says)["verdict"], "good", (owner, says))

    def test_the_lease_of_a_node_and_its_disk(self):
        name, agent = next(iter(self.cluster.agents.items()))
        data = f"{self.cluster.folder}/nodes/{name}"
        checks = self.checks_of("agent", "--agent-data", data)
        self.assertEqual(checks["lease"]["verdict"], "good", checks)
        self.assertRegex(checks["lease"]["evidence"], r"^tasks may run for another .* unless it is renewed$")
        self.assertRegex(checks[f"fsync {data}"]["evidence"], r"^\d+ ms$")
        copy = f"{self.cluster.folder}/copy-of-node"
        os.mkdir(copy)

        boot_s = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)

        def lease(deadline_us, damage=0, written_s=None):
            """What doctor says about such a deadline, with its check as src/shim/lease_file.h has it."""
            mask = (1 << 64) - 1
            mixed = (deadline_us + 0x9E3779B97F4A7C15) & mask
            mixed = ((mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9) & mask
            mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & mask
            check = (mixed ^ mixed >> 31) ^ damage
            with open(f"{copy}/lease", "wb") as file:
                file.write(struct.pack("<qQQ", deadline_us, check, check))
            if written_s:
                os.utime(file.name, (written_s, written_s))
            return self.checks_of("agent", "--agent-data", copy)["lease"]

        now_us = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
        old = "it is from before a reboot and has no effect"
        for deadline_us, written_s, says in (
                (now_us + 600_000_000, None, "tasks may run for another 9 min unless it is renewed"),
                (now_us - 1_000_000, None, "this node's tasks were ended"), (now_us + 90_000_000_000, None, old),
                (now_us + 600_000_000, boot_s - 60, old), (now_us - 1_000_000, boot_s - 60, old)):
            told = lease(deadline_us, written_s=written_s)
            self.assertEqual((told["verdict"], told["remedy"]), ("warning", "systemctl start dove-agent"), told)
            self.assertIn("no agent is seen to run here", told["evidence"])
            self.assertIn(says, told["evidence"])
        self.assertEqual(lease(0)["evidence"], "there is none yet: no task has run here")
        told = lease(now_us, damage=1)
        self.assertEqual(told["verdict"], "fault")
        self.assertIn("is damaged", told["evidence"])
        # As an agent that runs and could not renew its lease: it is known by its name, and holds this file locked.
        with open("/proc/self/comm") as file:
            name = file.read()
        with open(f"{copy}/contact", "w") as contact:
            fcntl.flock(contact, fcntl.LOCK_EX)
            self.rename("dove-test")
            try:
                told = lease(now_us - 1_000_000)
            finally:
                self.rename(name)
        self.assertEqual((told["verdict"], told["remedy"]), ("fault", "dove doctor cluster; journalctl -u dove-agent"), told)

    def rename(self, name):
        with open("/proc/self/comm", "w") as file:
            file.write(name)

    def checks_of(self, *arguments):
        done = self.cluster.run("doctor", "-o", "json", *arguments, check=False, recorded=False)
        return {check["subject"]: check for check in json.loads(done.stdout)["checks"]}

    def test_what_is_left_of_limits(self):
        name, agent = next(iter(self.cluster.agents.items()))
        of_agent = self.checks_of("agent", "--agent-data", f"{self.cluster.folder}/nodes/{name}")
        for checks in (of_agent, self.checks_of("server")):
            self.assertRegex(checks["open files"]["evidence"], r"^\d+ of \d+$")
            self.assertRegex(checks["tasks"]["evidence"], r"^\d+ of \d+ (of the machine|in /.*)$")
        before = resource.prlimit(agent.pid, resource.RLIMIT_NOFILE)
        used = len(os.listdir(f"/proc/{agent.pid}/fd"))
        resource.prlimit(agent.pid, resource.RLIMIT_NOFILE, (used * 100 // 80, before[1]))
        try:
            check = self.checks_of("agent", "--agent-data", f"{self.cluster.folder}/nodes/{name}")["open files"]
        finally:
            resource.prlimit(agent.pid, resource.RLIMIT_NOFILE, before)
        self.assertIn(check["verdict"], ("warning", "fault"), check)
        self.assertIn("LimitNOFILE", check["remedy"])

    def test_the_directory_that_nodes_share(self):
        data = f"{self.cluster.folder}/nodes/{next(iter(self.cluster.agents))}"
        nowhere = f"{self.cluster.folder}/nowhere"
        self.assertEqual(self.checks_of("agent", "--agent-data", data, "--shared", nowhere)["disk " + nowhere]["verdict"], "fault")
        checks = self.checks_of("agent", "--agent-data", data, "--shared", "/")
        self.assertNotEqual(checks["shared /"]["verdict"], "good")
        if os.path.ismount("/dev/shm"):
            self.assertEqual(self.checks_of("agent", "--agent-data", data, "--shared", "/dev/shm")["shared /dev/shm"],
                             {"part": "agent", "subject": "shared /dev/shm", "verdict": "good", "evidence": "mounted at /dev/shm",
                              "remedy": ""})

    def test_the_certificate_that_people_are_shown(self):
        def pair(name, days):
            key, certificate = (f"{self.cluster.folder}/{name}.{kind}" for kind in ("key", "pem"))
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                            "/CN=" + name, "-days", str(days), "-keyout", key, "-out", certificate],
                           check=True, capture_output=True, timeout=30)
            return certificate, key

        def verdicts(certificate, key):
            checks = self.checks_of("server", "--tls-certificate", certificate, "--tls-key", key)
            return checks["certificate " + certificate]["verdict"], checks["key " + key]["verdict"]
        long, short = pair("long", 90), pair("short", 3)
        self.assertEqual(verdicts(*long), ("good", "good"))
        self.assertEqual(verdicts(*short), ("warning", "good"))
        self.assertEqual(verdicts(long[0], short[1]), ("good", "fault"))
        self.assertEqual(verdicts(self.cluster.folder + "/none.pem", long[1])[0], "fault")
        self.assertEqual(verdicts(long[0], self.cluster.folder + "/none.key"), ("good", "fault"))
        # As the server's configuration names them.
        with open(self.cluster.folder + "/server.yaml", "w") as file:
            file.write(f"data: {self.cluster.data}\ntls-certificate: {short[0]}\ntls-key: {short[1]}\n")
        done = self.cluster.run("doctor", "-o", "json", "server", DOVE_CONFIG=self.cluster.folder + "/server.yaml")
        self.assertIn("certificate " + short[0], [check["subject"] for check in json.loads(done.stdout)["checks"]])

    def test_what_it_says_to_do_can_be_done(self):
        folder = os.path.join(ROOT, "src/programs/doctor")
        said = set()
        for name in os.listdir(folder):
            with open(os.path.join(folder, name)) as file:
                said |= set(re.findall(r'"(dove [a-z][^",:;{]*)', file.read()))
        self.assertTrue({line.strip() for line in said} >= {"dove ca rotate", "dove upgrade"}, said)
        for line in said:
            words = line.split()[1:]
            command = [word for word in words[:2] if word[0].isalpha()]
            shown = self.cluster.run(*command, "--help").stdout
            for word in words:
                if word.startswith("--"):
                    self.assertIn(word, shown, line)

    def test_what_is_asked_wrongly(self):
        done = self.cluster.run("doctor", "servr", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("'servr' is none of server, agent, store, cluster", done.stderr)


if __name__ == "__main__":
    unittest.main()
