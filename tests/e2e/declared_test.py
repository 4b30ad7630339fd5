#!/usr/bin/env python3
"""Declared state: applied once or twice it is the same, limits hold, and users have their own tokens."""
import json
import os
import stat
import sys
import unittest

from cluster import Cluster, until

OBJECTS = """\
kind: Pool
name: small
nodes: [node1]
time_limit_max_s: 3600
---
kind: Queue
name: night
priority: 5
limits: {cores: 2, jobs_waiting: 3}
---
kind: Node
name: node2
features: [fast]
countables: {rdma: 2}
cores_reserved: 1
---
kind: Limit
name: bob
limits: {jobs_running: 1}
---
kind: User
name: bob
linux_user: nobody
---
kind: User
name: eve
linux_user: nobody
"""


class Declared(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(nodes=2, cores=4).__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.cluster.folder)
        self.file = os.path.join(self.cluster.folder, "objects.yaml")
        with open(self.file, "w") as file:
            file.write(OBJECTS)

    def dove(self, *arguments, token=None, check=True, input=None):
        more = {"DOVE_TOKEN": token, "DOVE_URL": self.cluster.url, "DOVE_DATA": ""} if token else {}
        return self.cluster.run(*arguments, check=check, input=input, cwd=self.cluster.folder, **more)

    def submit(self, *options, token=None):
        return int(self.dove("submit", "-o", "name", *options, token=token).stdout)

    def token(self, user):
        return json.loads(self.dove("token", "create", "--create", user, "-o", "json").stdout)["token"]

    def lines(self, *arguments, **more):
        return self.dove(*arguments, **more).stdout.splitlines()

    def test_a_file_may_declare_things_in_any_order(self):
        file = ("kind: Queue\nname: child\nparent: mother\n---\n"
                "kind: Executor\nname: slurm\nservice_account: slurm-1\nnodes: [node1]\nqueues: {lab: child}\n---\n"
                "kind: Queue\nname: mother\n")
        self.token("slurm-1")
        said = self.dove("apply", "-f", "-", input=file).stdout
        self.assertEqual(said.split("\n")[:3], ["queue/mother created", "queue/child created", "executor/slurm created"])
        # What is named nowhere is refused, the first of the file with its place, and nothing is applied.
        file = file.replace("child", "other").replace("parent: mother", "parent: nowhere").replace("name: mother", "name: late")
        refused = self.dove("apply", "-f", "-", check=False, input=file)
        self.assertIn("Queue/other: ", refused.stderr)
        self.assertIn("nothing was applied", refused.stderr)
        self.assertNotIn("late", self.dove("get", "queue").stdout)

    def test_applying_is_idempotent_and_says_what_it_does(self):
        difference = self.dove("diff", "-f", self.file, check=False)
        self.assertEqual(difference.returncode, 1)
        self.assertIn("+ queue/night", difference.stdout)
        self.lines("apply", "--dry-run", "-f", self.file)
        self.assertEqual(self.dove("get", "queue", "night", check=False).returncode, 3)
        names = ["pool/small", "queue/night", "node/node2", "limit/bob", "user/bob", "user/eve"]
        self.assertEqual(self.lines("apply", "-f", self.file), [name + " created" for name in names])
        self.assertEqual(self.lines("apply", "-f", self.file), [name + " unchanged" for name in names])
        self.assertEqual(self.lines("diff", "-f", self.file), [])
        # What get prints can be applied again, and means the same.
        everything = self.dove("get", "all", "-o", "yaml").stdout
        said = self.lines("apply", "-f", "-", input=everything)
        self.assertTrue(said and all(line.endswith(" unchanged") for line in said), said)
        changed = OBJECTS.replace("priority: 5", "priority: 6")
        self.assertIn("queue/night changed", self.lines("apply", "-f", "-", input=changed))
        self.assertIn('"priority": 6', self.dove("get", "queue", "night", "-o", "json").stdout)
        self.dove("delete", "queue", "night")
        self.assertEqual(self.dove("get", "queue", "night", check=False).returncode, 3)
        self.assertEqual(self.dove("delete", "queue", "night", check=False).returncode, 3)
        self.assertEqual(self.dove("delete", "pool", "default", check=False).returncode, 4)

    def test_what_a_file_leaves_out_stays(self):
        """One field of the cluster's settings is changed by one line; null takes it back; stale files are refused."""
        self.dove("apply", "-f", "-", input="kind: Cluster\nfence: 9s\narray_max: 12\n")
        one = "kind: Cluster\npreemption: false\n"
        difference = self.dove("diff", "-f", "-", input=one, check=False).stdout
        self.assertEqual(difference.splitlines()[1:], ["  - preemption: true", "  + preemption: false"])
        self.lines("apply", "-f", "-", input=one)
        cluster = json.loads(self.dove("get", "cluster", "-o", "json").stdout)["objects"][0]
        self.assertEqual([cluster[name] for name in ("fence_s", "array_max", "preemption")], [9, 12, False])
        difference = self.dove("diff", "-f", "-", input="kind: Cluster\nfence: null\n", check=False).stdout
        self.assertEqual(difference.splitlines()[1:], ["  - fence_s: 9", "  + fence_s: 5"])
        self.dove("apply", "-f", self.file)
        seen = self.dove("get", "queue", "night", "-o", "yaml").stdout
        self.lines("apply", "-f", "-", input="kind: Queue\nname: night\nlimits: {cores: 3}\n")
        night = json.loads(self.dove("get", "queue", "night", "-o", "json").stdout)
        self.assertEqual(night["limits"], {"cores": 3, "jobs_waiting": 3})
        stale = self.dove("apply", "-f", "-", input=seen.replace("priority: 5", "priority: 6"), check=False)
        self.assertEqual(stale.returncode, 4, stale.stderr)
        self.assertIn("queue night was changed since version", stale.stderr)
        self.assertEqual(json.loads(self.dove("get", "queue", "night", "-o", "json").stdout)["priority"], 5)

    def test_one_word_goes_back_to_plain_scheduling(self):
        """A new cluster learns; `scheduling` sets order and placement, in a file or by a flag; a restart keeps them."""
        def chosen():
            cluster = json.loads(self.dove("get", "cluster", "-o", "json").stdout)["objects"][0]
            return cluster["order"], cluster["placement"]
        self.assertEqual(chosen(), ("learned", "expected_fit"))
        self.dove("apply", "-f", "-", input="kind: Cluster\nscheduling: plain\n")
        self.assertEqual(chosen(), ("priority_fifo", "best_fit"))
        self.cluster.server.kill()
        self.cluster.server.wait()
        self.cluster.start_server()
        self.assertEqual(chosen(), ("priority_fifo", "best_fit"))
        self.dove("apply", "-f", "-", input="kind: Cluster\norder: null\n")
        self.assertEqual(chosen(), ("learned", "best_fit"))
        done = self.dove("apply", "-f", "-", input="kind: Cluster\nscheduling: fast\n", check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("known are learned, plain", done.stderr)

    def test_a_bad_file_changes_nothing(self):
        for bad, words in [("kind: Queue\nname: q\n---\nkind: Pol\nname: q\n", "did you mean pool"),
                           ("kind: Queue\nname: q\n---\nkind: Pool\nname: p\nnods: [a]\n", 'did you mean "nodes"'),
                           ("kind: Queue\nname: q\nlimits: {cores: -7}\n", "cores"),
                           ("kind: Queue\nname: [q\n", "-:2:7: the [ is never closed")]:
            with self.subTest(bad):
                done = self.dove("apply", "-f", "-", input=bad, check=False)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(words, done.stderr)
                self.assertEqual(self.dove("get", "queue", "q", check=False).returncode, 3)

    def test_a_tree_is_declared_in_one_file_or_not_at_all(self):
        tree = "kind: Queue\nname: lab\n---\nkind: Queue\nname: lab/a\nparent: lab\n"
        wrong = tree + "---\nkind: Cluster\norder: fastest\n"
        done = self.dove("apply", "-f", "-", input=wrong, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("known are priority_fifo", done.stderr)
        self.assertEqual(self.dove("get", "queue", "lab", check=False).returncode, 3)
        self.assertEqual(self.lines("apply", "-f", "-", input=tree), ["queue/lab created", "queue/lab/a created"])
        self.assertEqual(self.dove("delete", "queue", "lab", check=False).returncode, 4)
        self.dove("delete", "queue", "lab/a")
        self.dove("delete", "queue", "lab")

    def test_quotas_of_kubernetes_hold(self):
        quotas = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota, namespace: vision}
spec: {hard: {requests.cpu: "3", requests.storage: 1000Gi}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: research}
spec: {resources: [{name: cpu, nominalQuota: 2}, {name: memory, nominalQuota: 1280Gi}]}
"""
        said = self.dove("apply", "-f", "-", input=quotas)
        self.assertIn("spec.hard.requests.storage has no effect", said.stderr)
        self.assertEqual(said.stdout, "project/vision created\nqueue/research created\n")
        first = self.submit("--queue", "research", "-A", "vision", "-c2", "--wrap", "sleep 60")
        second = self.submit("--queue", "research", "-A", "vision", "-c1", "--wrap", "true")
        self.cluster.wait_state(first, "running")
        self.assertIn("queue research may use 2 cores at once", self.dove("why", str(second)).stdout)
        refused = self.dove("submit", "-A", "vision", "-c1", "--wrap", "true", check=False)
        self.assertIn("cores: 3 used, 1 asked, limit 3, over by 1", refused.stderr)

    def test_limits_hold_and_why_names_them(self):
        self.dove("apply", "-f", self.file)
        first = self.submit("--queue", "night", "-c2", "--wrap", "sleep 60")
        second = self.submit("--queue", "night", "-c2", "--wrap", "true")
        self.cluster.wait_state(first, "running")
        said = self.dove("why", str(second)).stdout
        self.assertIn("queue night may use 2 cores at once; 2 in use, this job needs 2", said)
        kinds = [reason["kind"] for reason in
                 json.loads(self.dove("why", str(second), "-o", "json").stdout)["reasons"]]
        self.assertIn("queue_limit", kinds)
        face = self.cluster.run("-h", "-j", str(second), "-o", "%T %r", name="squeue").stdout
        self.assertEqual(face.split(), ["PENDING", "QOSGrpLimit"])
        # No more than three may wait there.
        self.submit("--queue", "night", "--hold", "--wrap", "true")
        self.submit("--queue", "night", "--hold", "--wrap", "true")
        refused = self.dove("submit", "--queue", "night", "--wrap", "true", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("night", refused.stderr)
        # Lifting the limit starts the job.
        self.dove("apply", "-f", "-", input="kind: Queue\nname: night\nlimits: null\n")
        self.assertEqual(self.cluster.wait(second)["state"], "completed")
        self.dove("cancel", str(first))

    def test_pools_features_and_countables_have_effect(self):
        self.dove("apply", "-f", self.file)
        job = self.submit("-C", "fast", "--gres=rdma:1", "--wrap", "echo $DOVE_NODE")
        self.cluster.wait(job)
        self.assertEqual(self.cluster.logs(job), "node2\n")
        job = self.submit("--pool", "small", "--wrap", "echo $DOVE_NODE")
        self.cluster.wait(job)
        self.assertEqual(self.cluster.logs(job), "node1\n")
        never = self.submit("--pool", "small", "-C", "fast", "--wrap", "true")
        self.assertEqual(self.cluster.job(never)["state"], "waiting")
        self.assertEqual(self.dove("submit", "--pool", "nowhere", "--wrap", "true", check=False).returncode, 2)
        # One core of node2 is kept for the system.
        wide = self.submit("-w", "node2", "-c4", "--wrap", "true")
        self.assertIn("--nodelist and --exclude leave 1 node", self.dove("why", str(wide)).stdout)
        self.assertEqual(self.cluster.job(wide)["state"], "waiting")

    def test_users_act_for_themselves_only(self):
        self.dove("apply", "-f", self.file)
        bob, eve = self.token("bob"), self.token("eve")
        job = self.submit("--wrap", "sleep 60", token=bob)
        self.assertEqual(self.cluster.job(job)["user"], "bob")
        second = self.submit("--wrap", "true", token=bob)
        self.assertIn("user bob may run 1 job at a time", self.dove("why", str(second)).stdout)
        for arguments in (["cancel", str(job)], ["hold", str(second)], ["requeue", str(job)],
                          ["logs", str(job)], ["drain", "node1"], ["apply", "-f", self.file],
                          ["token", "create", "bob"], ["delete", "queue", "default"],
                          ["priority", str(second), "--value", "9"]):
            with self.subTest(arguments):
                self.assertEqual(self.dove(*arguments, token=eve, check=False).returncode, 5)
        status, _, body = self.cluster.api.raw("POST", f"/v1/jobs/{job}/cancel", b"",
                                               {"Authorization": "Bearer " + eve})
        self.assertEqual((status, json.loads(body)["status"]), (403, 403))
        # A user speaks for nobody else, and a user's script is not shown to another.
        own = self.cluster.api.call("POST", "/v1/jobs", {"command": ["true"]},
                                    {"Authorization": "Bearer " + eve, "X-Dove-User": "bob"})["id"]
        self.assertEqual(self.cluster.job(own)["user"], "eve")
        seen = json.loads(self.dove("show", str(job), "-o", "json", token=eve).stdout)
        self.assertIsNone(seen.get("exec"))
        self.assertEqual(self.cluster.job(job)["state"], "running")
        self.dove("cancel", str(job), token=bob)
        self.assertEqual(self.cluster.wait(second)["state"], "completed")
        # A new token voids the former one, and a deleted user has none.
        self.assertEqual(self.dove("ps", token=bob, check=False).returncode, 0)
        self.token("bob")
        self.assertEqual(self.dove("ps", token=bob, check=False).returncode, 5)
        self.dove("delete", "user", "eve")
        self.assertEqual(self.dove("ps", token=eve, check=False).returncode, 5)

    def test_secrets_are_for_their_owner(self):
        job = self.submit("--wrap", "sleep 60")
        self.cluster.wait_state(job, "running")
        # The listing of the log never holds a token, nor what one is hashed to.
        self.dove("apply", "-f", self.file)
        secret = self.token("bob")
        self.assertNotIn(secret, self.dove("events", "--limit", "10000", "-o", "json").stdout)
        self.assertNotIn("token_sha256\":\"", self.dove("get", "all", "-o", "json").stdout.replace(" ", ""))
        found = 0
        for folder, _, files in os.walk(self.cluster.folder):
            for name in files:
                if name not in ("token", "secret", "agent_token", "join_token", "record", "identity.pem") \
                        and not name.startswith(("log.sqlite", "task.")) or name == "task.py":
                    continue
                found += 1
                path = os.path.join(folder, name)
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600, path)
        self.assertGreater(found, 6)
        self.assertEqual(stat.S_IMODE(os.stat(self.cluster.data).st_mode), 0o700)
        self.dove("cancel", str(job))

    def test_declarations_survive_a_restart(self):
        self.dove("apply", "-f", self.file)
        token = self.token("bob")
        self.cluster.server.kill()
        self.cluster.server.wait()
        self.cluster.start_server()
        self.assertEqual(self.lines("diff", "-f", self.file), [])
        until(lambda: self.dove("ps", token=token, check=False).returncode == 0, 20, "bob's token to be known")


if __name__ == "__main__":
    sys.exit(unittest.main())
