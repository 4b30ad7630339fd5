#!/usr/bin/env python3
"""Secrets: tasks and steps get them as variables and files, and nothing of them is found anywhere else: not in the log,
in files of server and agents, in what the API says, or in the words of processes."""
# limit_s: 180
import glob
import hashlib
import json
import os
import subprocess
import unittest

from cluster import Cluster, cannot_run_containers, make_bare_image, until

CANARY = "canary-5f2e9c71-" + "do-not-print-me"
KEY = "-----BEGIN KEY-----\n" + CANARY + "-file\n-----END KEY-----\n"
# Digests: what a task prints of a secret is in its output, which is a file.
SHOW = ("printf %s \"$HUB_TOKEN\" | sha256sum; sha256sum < $DOVE_SECRETS/id_ed25519; stat -c %a $DOVE_SECRETS;"
        " stat -c %a $DOVE_SECRETS/id_ed25519")
SECRETS = [{"secret": "hub", "variable": "HUB_TOKEN"}, {"secret": "deploy", "file": "id_ed25519"}]


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()
# Where an agent keeps them: systemd's /run, which logind leaves alone, if there is one.
with open("/proc/mounts") as mounts:
    HAS_RUN = any(line.split()[1:3] == ["/run", "tmpfs"] for line in mounts)
MEMORY = "/run" if HAS_RUN and os.geteuid() == 0 else "/dev/shm"


class Secrets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=2).__enter__()
        cls.cluster.run("secret", "set", "hub", input=CANARY)
        path = os.path.join(cls.cluster.folder, "..", os.path.basename(cls.cluster.folder) + ".key")
        with open(path, "w") as file:
            file.write(KEY)
        cls.cluster.run("secret", "set", "deploy", "--from-file", path)
        os.unlink(path)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def api(self, *arguments, **more):
        return self.cluster.api.call(*arguments, **more)

    def submit(self, **job):
        done = self.cluster.run("submit", "-", "-o", "json", input=json.dumps({"secrets": SECRETS, **job}))
        return json.loads(done.stdout)["id"]

    def place(self, node="node1"):
        with open(os.path.join(self.cluster.folder, "nodes", node, "secrets_place")) as file:
            return f"{MEMORY}/dove-secrets-{file.read()}"

    def wait_for_line(self, job, text):
        until(lambda: text in self.cluster.logs(job), 20, f"job {job} to print {text}")

    def assert_nowhere(self, canary):
        needle = canary.encode()
        found = subprocess.run(["grep", "-rlaF", "--devices=skip", canary, self.cluster.folder], capture_output=True, text=True)
        self.assertEqual(found.stdout, "")
        for path in ("/v1/jobs", "/v1/jobs/1", "/v1/events", "/v1/events?audit=1", "/v1/objects", "/v1/objects?kind=secret",
                     "/v1/secrets", "/metrics", "/v1/cluster", "/v1/nodes/node1"):
            self.assertNotIn(needle, self.cluster.api.raw("GET", path)[2], path)
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, "rb") as file:
                    self.assertNotIn(needle, file.read(), path)
            except OSError:
                pass

    def test_tasks_get_them_and_nobody_else(self):
        job = self.submit(name="uses", command=["sh", "-c", SHOW + "; echo shown; while [ ! -e go ]; do sleep 0.05; done"],
                          workdir=self.cluster.folder)
        self.wait_for_line(job, "shown")
        said = self.cluster.logs(job).splitlines()
        self.assertEqual([line.split()[0] for line in said[:4]], [digest(CANARY), digest(KEY), "700", "400"])
        self.assert_nowhere(CANARY)
        self.assertEqual(self.cluster.job(job)["secrets"], SECRETS)
        with open(os.path.join(self.cluster.folder, "go"), "w"):
            pass
        self.assertEqual(self.cluster.wait(job)["state"], "completed")
        until(lambda: not glob.glob(f"{MEMORY}/dove-secrets-*/{job}.*"), 10, "the folder to go")
        self.assert_nowhere(CANARY)

    def test_steps_get_them_from_the_agent_and_pass_them_to_nobody(self):
        script = ("#!/bin/bash\n" + SHOW + "\nsrun -n1 sh show.sh\n"
                  "sbatch --parsable -W -o inner.out --wrap 'env | grep -c HUB_TOKEN'\n")
        with open(os.path.join(self.cluster.folder, "show.sh"), "w") as file:
            file.write(SHOW + "\n")
        path = os.path.join(self.cluster.folder, "steps.sh")
        with open(path, "w") as file:
            file.write(script)
        output = os.path.join(self.cluster.folder, "steps.out")
        done = self.cluster.run("--parsable", "-o", output, "--secret", "hub=HUB_TOKEN", "--secret", "deploy:id_ed25519",
                                "-D", self.cluster.folder, path, name="sbatch")
        ended = self.cluster.wait(int(done.stdout), 60)
        with open(output) as file:
            said = file.read()
        self.assertEqual(said.count(digest(CANARY)), 2, (ended, said))
        self.assertEqual(said.count(digest(KEY)), 2, said)
        with open(os.path.join(self.cluster.folder, "inner.out")) as file:
            self.assertEqual(file.read().strip(), "0", "a job submitted by the job has none")
        self.assert_nowhere(CANARY)

    def test_a_command_in_the_task_finds_them(self):
        job = self.submit(name="entered", command=["sleep", "60"])
        self.cluster.wait_state(job, "running")
        said = self.cluster.run("exec", str(job), "--", "sh", "-c", SHOW).stdout
        self.assertIn(digest(CANARY), said)
        self.cluster.run("cancel", str(job))
        self.cluster.wait(job)

    def test_an_agent_that_was_killed_leaves_nothing_and_starts_again(self):
        job = self.submit(name="outlives", nodes_wanted=["node1"], command=["sh", "-c", "echo on; sleep 60"])
        self.wait_for_line(job, "on")
        held = glob.glob(self.place() + f"/{job}.*")
        self.assertEqual(len(held), 1)
        os.makedirs(self.place() + "/9999.1/files")
        agent = self.cluster.agents["node1"]
        agent.kill()
        agent.wait(10)
        self.cluster.start_agent("node1")
        self.cluster.wait_connected()
        until(lambda: not os.path.exists(self.place() + "/9999.1"), 10, "what is of nobody to go")
        self.assertEqual(glob.glob(self.place() + f"/{job}.*"), held, "the task still needs them")
        said = self.cluster.run("exec", str(job), "--", "sh", "-c", SHOW).stdout
        self.assertIn(digest(CANARY), said)
        self.cluster.run("cancel", str(job))
        self.cluster.wait(job)
        until(lambda: not os.path.exists(held[0]), 10, "the folder to go")

    @unittest.skipIf(cannot_run_containers(), cannot_run_containers())
    def test_a_container_has_them_too(self):
        image = os.path.join(self.cluster.folder, "image")
        make_bare_image(image, "dev", "proc", "sys")
        with Cluster(nodes=1, agent_options=["--images", os.path.dirname(image), "--volume-roots", "/usr"]) as cluster:
            cluster.run("secret", "set", "hub", input=CANARY)
            cluster.run("secret", "set", "deploy", input=KEY)
            job = {"secrets": SECRETS, "command": ["sh", "-c", SHOW],
                   "container": {"image": "image", "volumes": [{"source": "/usr", "target": "/usr"}]}}
            done = cluster.run("submit", "-", "-o", "json", input=json.dumps(job))
            number = json.loads(done.stdout)["id"]
            ended = cluster.wait(number)
            said = cluster.logs(number)
            self.assertEqual([line.split()[0] for line in said.splitlines()[:2]], [digest(CANARY), digest(KEY)],
                             (ended, said, cluster.api.raw("GET", f"/v1/jobs/{number}/logs?rank=0&stream=stderr")[2]))

    def test_what_is_missing_or_odd_is_refused_with_what_to_do(self):
        def refusal(**job):
            done = self.cluster.run("submit", "-", input=json.dumps({"command": ["true"], **job}), check=False)
            self.assertNotEqual(done.returncode, 0, job)
            return done.stderr
        self.assertIn("dove secret set nope", refusal(secrets=[{"secret": "nope", "variable": "X"}]))
        self.assertIn("secrets[0].secret", refusal(secrets=[{"secret": "nope", "variable": "X"}]))
        self.assertIn("project", refusal(secrets=[{"secret": "vision/hub", "variable": "X"}]))
        self.assertIn("by the job's environment as well",
                      refusal(secrets=[{"secret": "hub", "variable": "X"}], environment={"X": "1"}))
        self.assertIn("a name, not a path", refusal(secrets=[{"secret": "hub", "file": "../x"}]))
        self.assertIn("DOVE_", refusal(secrets=[{"secret": "hub", "variable": "DOVE_URL"}]))
        done = self.cluster.run("secret", "set", "big", input="x" * 70_000, check=False)
        self.assertNotEqual(done.returncode, 0)
        done = self.cluster.run("secret", "set", "a/b", input="x", check=False)
        self.assertIn("letters, digits", done.stderr)

    def test_a_secret_that_went_fails_the_launch_with_words(self):
        self.cluster.run("secret", "set", "passing", input="x")
        job = self.submit(name="late", hold=True, command=["true"], secrets=[{"secret": "passing", "variable": "P"}])
        self.cluster.run("secret", "remove", "passing")
        self.cluster.run("release", str(job))
        until(lambda: "passing" in json.dumps(self.cluster.api.call("GET", "/v1/events?limit=1000")) or None, 20,
              "the launch to fail")
        self.cluster.run("cancel", str(job), check=False)
        self.cluster.wait(job)

    def test_a_new_key_seals_all_and_tasks_still_get_them(self):
        with open(os.path.join(self.cluster.data, "secrets.key")) as file:
            before = file.read()
        self.assertEqual(os.stat(os.path.join(self.cluster.data, "secrets.key")).st_mode & 0o777, 0o600)
        self.api("POST", "/v1/secret-keys")
        with open(os.path.join(self.cluster.data, "secrets.key")) as file:
            after = file.read()
        self.assertEqual(len(after.split()), 1)
        self.assertNotIn(before.split()[0], after)
        job = self.submit(command=["sh", "-c", SHOW])
        self.assertEqual(self.cluster.wait(job)["state"], "completed")
        self.assertIn(digest(CANARY), self.cluster.logs(job))


if __name__ == "__main__":
    unittest.main()
