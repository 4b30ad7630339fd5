#!/usr/bin/env python3
"""dove doctor beside a running cluster and on damaged data: what is well is said to be, what is not is named with its
remedy, and nothing is written."""
import json
import os
import shutil
import sqlite3
import unittest

from cluster import Cluster, until


class Doctor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=2).__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)
        cls.cluster.wait(cls.cluster.submit({"command": ["true"]}))

    def doctor(self, *arguments, code=0):
        done = self.cluster.run("doctor", "-o", "json", *arguments, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        checks = json.loads(done.stdout)["checks"]
        return {check["subject"] + "/" + check["part"]: check for check in checks}

    def copy(self):
        data = os.path.join(self.cluster.folder, "copy")
        shutil.rmtree(data, ignore_errors=True)
        shutil.copytree(self.cluster.data, data, ignore=lambda _, names: {"socket", "nodes", "shared", "channel"} & set(names))
        return data

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

    def test_what_is_asked_wrongly(self):
        done = self.cluster.run("doctor", "servr", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("'servr' is none of server, agent, store, cluster", done.stderr)


if __name__ == "__main__":
    unittest.main()
