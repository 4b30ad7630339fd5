#!/usr/bin/env python3
"""An agent that is root runs tasks as the Linux users that their submitters are mapped to, with all their groups and their
home directory, and nothing for anybody else, unless the pool says otherwise. The users are made in a passwd and a group file that only this test's mount
namespace sees. Needs root.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from cluster import SKIP, Cluster, until
from forward_test import Forward, read_all

ANN, BOB, DAN, SHARED = 61001, 61002, 61003, 61004
SCRIPT = "id -u; id -g; id -G; echo $HOME; echo $USER; pwd; touch $HOME/mark 2>/dev/null && stat -c %u:%g $HOME/mark; exit 0"

# Says where it listens: a port of loopback, and a socket in the directory of its sockets.
SERVE = """
import os, socket, threading
tcp = socket.create_server(("127.0.0.1", 0))
local = socket.socket(socket.AF_UNIX)
local.bind(os.environ["DOVE_SOCKETS"] + "/app")
local.listen()
def serve(server):
    while True:
        with server.accept()[0] as peer:
            peer.sendall(b"of {user}")
threading.Thread(target=serve, args=(local,), daemon=True).start()
print(tcp.getsockname()[1], os.environ["DOVE_SOCKETS"], flush=True)
serve(tcp)
"""


def make_users(root):
    """Users of whom one is in a second group; bind mounts that end with the namespace."""
    for name, more in (("passwd", [f"ann:x:{ANN}:{ANN}::{root}/ann:/bin/sh", f"lin-bob:x:{BOB}:{BOB}::{root}/bob:/bin/sh",
                                  f"dan:x:{DAN}:{DAN}::{root}/dan:/bin/sh"]),
                       ("group", [f"ann:x:{ANN}:", f"lin-bob:x:{BOB}:", f"dan:x:{DAN}:", f"shared:x:{SHARED}:ann"])):
        with open(f"/etc/{name}") as file:
            text = file.read()
        with open(f"{root}/{name}", "w") as file:
            file.write(text.rstrip("\n") + "\n" + "\n".join(more) + "\n")
        subprocess.run(["mount", "--bind", f"{root}/{name}", f"/etc/{name}"], check=True)
    for name, uid in (("ann", ANN), ("bob", BOB), ("dan", DAN)):
        os.mkdir(f"{root}/{name}", 0o700)
        os.chown(f"{root}/{name}", uid, uid)


CONTAINS = all(map(shutil.which, ("runc", "busybox", "mksquashfs")))


class LinuxUserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="dove-users.")
        os.chmod(cls.root, 0o755)
        make_users(cls.root)
        image = cls.root + "/images/small"
        for folder in ("bin", "etc"):
            os.makedirs(f"{image}/{folder}")
        if CONTAINS:
            shutil.copy("/bin/busybox", image + "/bin/busybox")
        for applet in ("sh", "cat", "id", "stat", "touch"):
            os.symlink("busybox", f"{image}/bin/{applet}")
        cls.cluster = Cluster(nodes=1, cores=8, run_as_self=False,
                              agent_options=["--images", cls.root + "/images", "--volume-roots", cls.root])
        os.chmod(cls.cluster.folder, 0o755)
        cls.cluster.__enter__()
        for name, linux_user in (("ann", "ann"), ("bob", "lin-bob"), ("zoe", "zoe"), ("eve", "root")):
            cls.cluster.api.call("PUT", f"/v1/objects/user/{name}", {"linux_user": linux_user})
        for pool, run_as in (("people", "submitter"), ("service", "agent"), ("boxes", "virtual")):
            cls.cluster.api.call("PUT", f"/v1/objects/pool/{pool}", {"nodes": ["*"], "run_as": run_as})
        cls.apis = {}
        for name in ("ann", "bob", "zoe", "eve", "nia", "dan"):
            token = cls.cluster.api.call("POST", f"/v1/users/{name}/token?create=1")["token"]
            cls.apis[name] = cls.cluster.caller(token)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)
        shutil.rmtree(cls.root, ignore_errors=True)

    def submit(self, user, pool="default"):
        return self.apis[user].call("POST", "/v1/jobs", {"command": ["sh", "-c", SCRIPT], "cores": 1, "pool": pool})["id"]

    def lines(self, user, pool="default"):
        job = self.submit(user, pool)
        found = self.cluster.wait(job)
        lines = self.cluster.logs(job).splitlines()
        self.assertEqual(found["state"], "completed", (found, lines))
        return lines

    def test_a_task_has_its_users_ids_groups_and_home(self):
        lines = self.lines("ann")
        self.assertEqual(lines[:2], [str(ANN), str(ANN)])
        self.assertEqual(sorted(lines[2].split()), [str(ANN), str(SHARED)])
        self.assertEqual(lines[3:5], [self.root + "/ann", "ann"])
        self.assertEqual(lines[6], f"{ANN}:{ANN}", "what it writes is the user's")

    def test_a_user_may_have_another_name_there(self):
        lines = self.lines("bob")
        self.assertEqual(lines[:3], [str(BOB)] * 3, "no group of somebody else's")
        self.assertEqual(lines[3:5], [self.root + "/bob", "lin-bob"])

    def test_a_pool_of_submitters_takes_the_linux_user_of_the_same_name(self):
        self.assertEqual(self.lines("dan", "people")[:3], [str(DAN)] * 3)
        self.assertEqual(self.lines("bob", "people")[:3], [str(BOB)] * 3, "who is mapped is mapped there too")

    def test_a_name_that_comes_from_elsewhere_is_nobodys_linux_user(self):
        token = self.cluster.api.call("POST", "/v1/users/lin-bob/token?create=1")["token"]
        self.apis["lin-bob"] = self.cluster.caller(token)
        self.assertEqual(self.lines("lin-bob", "people")[:1], [str(BOB)])
        self.cluster.api.call("PUT", "/v1/objects/user/lin-bob", {"identity": "https://id.example.org 17"})
        job = self.submit("lin-bob", "people")
        until(lambda: "'lin-bob' is mapped to no Linux user" in self.cluster.run("show", str(job)).stdout, 20, "the reason")
        self.assertFalse(any(attempt["started_at"] for attempt in self.cluster.job(job)["attempts"]))
        self.cluster.run("cancel", str(job), check=False)

    def contained(self, user, command, state="completed", **container):
        job = self.apis[user].call("POST", "/v1/jobs", {"command": ["sh", "-c", command], "cores": 1,
                                                        "container": {"image": "small", **container}})["id"]
        found = self.cluster.wait(job)
        lines = self.cluster.logs(job).splitlines() if state == "completed" else []
        self.assertEqual(found["state"], state, (found, lines))
        return lines if state == "completed" else self.cluster.run("show", str(job)).stdout

    @unittest.skipUnless(CONTAINS, "there is no runc, busybox or mksquashfs (tools/setup test)")
    def test_a_user_is_itself_or_root_in_a_container(self):
        home = f"{self.root}/ann"
        volumes = [{"source": home, "target": "/home", "writable": True}]
        self.assertEqual(self.contained("ann", "id -u; id -g; touch /home/a; stat -c %u /home/a", volumes=volumes),
                         [str(ANN)] * 3)
        lines = self.contained("ann", "id -u; id -g; touch /home/b /made; stat -c %u /home/b /made; touch /home/../etc/x",
                               volumes=volumes, root=True)
        self.assertEqual(lines, ["0", "0", "0", "0"])
        self.assertEqual([os.stat(f"{home}/{name}").st_uid for name in "ab"], [ANN, ANN])
        bob = [{"source": f"{self.root}/bob", "target": "/bob"}]
        self.assertEqual(self.contained("ann", "cat /bob/x 2>&1 || id -u", volumes=bob, root=True)[-1], "0")
        self.assertIn("denied", self.contained("ann", "touch /bob/x 2>&1; true", root=True,
                                               volumes=[{**bob[0], "writable": True}])[0])

    @unittest.skipUnless(CONTAINS, "there is no runc, busybox or mksquashfs (tools/setup test)")
    def test_a_squash_file_is_read_and_written_as_its_user(self):
        saved = f"{self.root}/ann/saved.sqsh"
        self.contained("ann", "touch /made", save=saved, root=True)
        self.assertEqual((os.stat(saved).st_uid, os.stat(saved).st_gid), (ANN, ANN))
        os.chmod(saved, 0o600)
        self.assertEqual(self.contained("ann", "id -u; stat -c %u /made", image=saved), [str(ANN), "0"])
        self.assertIn("Permission denied", self.contained("bob", "true", image=saved, state="failed"))
        self.assertIn("only a Linux user can read", self.contained("nia", "true", image=saved, state="failed"))
        self.assertIn("Permission denied", self.contained("bob", "true", save=f"{self.root}/ann/x", state="failed"))

    def test_a_pool_may_run_all_as_the_agent(self):
        for user in ("nia", "ann"):
            self.assertEqual(self.lines(user, "service")[0], "0")

    def test_who_cannot_be_is_refused_with_the_reason(self):
        # A name alone makes nobody of a domain, or of a project, the Linux user of that name.
        self.cluster.api.call("PUT", "/v1/objects/user/dan", {"domain": "corp"})
        self.addCleanup(self.cluster.api.call, "PUT", "/v1/objects/user/dan", {"domain": ""})
        for user, pool, why in (("zoe", "default", "Linux user 'zoe' does not exist on node node1"),
                                ("eve", "default", "Linux user 'root' is root and runs no tasks on node node1"),
                                ("nia", "default", "user 'nia' is mapped to no Linux user"),
                                ("nia", "people", "Linux user 'nia' does not exist on node node1"),
                                ("dan", "people", "user 'dan' is mapped to no Linux user"),
                                ("eve", "people", "Linux user 'root' is root and runs no tasks on node node1"),
                                ("ann", "boxes", "pool 'boxes' runs nothing but containers")):
            job = self.submit(user, pool)

            def told():
                return why in self.cluster.run("show", str(job)).stdout
            until(told, 20, f"the reason of {user} in {pool}")
            self.assertFalse(any(attempt["started_at"] for attempt in self.cluster.job(job)["attempts"]))
            self.cluster.run("cancel", str(job), check=False)

    def test_ports_and_sockets_are_reached_by_their_own_user_alone(self):
        jobs, ports, directories = {}, {}, {}
        for user in ("ann", "bob"):
            job = self.apis[user].call("POST", "/v1/jobs", {"command": ["/usr/bin/python3", "-c", SERVE.format(user=user)], "cores": 1})["id"]
            self.addCleanup(lambda job=job: self.cluster.run("cancel", str(job), check=False))
            said = until(lambda job=job: self.cluster.job(job)["state"] == "running" and self.cluster.logs(job).split(), 20, "its port")
            jobs[user], ports[user], directories[user] = job, int(said[0]), said[1]

        def reach(target):
            forward = Forward(self.cluster, jobs["ann"], f"0:{target}", DOVE_URL=self.cluster.url,
                              DOVE_TOKEN=self.apis["ann"].headers["Authorization"].split()[1])
            with forward.connect() as connection:
                return read_all(connection), forward.end()
        self.assertEqual(reach(ports["ann"]), (b"of ann", ""))
        self.assertEqual(reach("unix:app"), (b"of ann", ""))
        found, errors = reach(ports["bob"])
        self.assertEqual(found, b"")
        self.assertIn(f"no process of the task listens on port {ports['bob']}: it listens on {ports['ann']}", errors)
        found, errors = reach(f"unix:{directories['bob']}/app")
        self.assertEqual(found, b"")
        self.assertIn("leads out of the task's directory", errors)
        self.assertEqual(os.stat(directories["ann"]).st_uid, ANN)
        job = self.apis["bob"].call("POST", "/v1/jobs", {"command": ["/bin/ls", directories["ann"]], "cores": 1})["id"]
        self.assertEqual(self.cluster.wait(job)["state"], "failed")


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: only root runs tasks as others")
        sys.exit(SKIP)
    if os.environ.get("DOVE_USERS_APART") != "1":
        os.environ["DOVE_USERS_APART"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation",
                              "private", sys.executable, os.path.abspath(__file__), *sys.argv[1:]])
    unittest.main(verbosity=2)
