"""A node whose root agent is attacked by ann, one of its users: what is root's and bob's, to which nothing may happen, and what
ann can do. The users are in a passwd file of the test's own mount namespace. Hard links to files of others are made as a
kernel without fs.protected_hardlinks lets anybody.
"""
import os
import subprocess
import tempfile

from cluster import Api, ApiError, Cluster, until

ANN, BOB = 41_031, 41_032
WORDS = ("the-roots-secret", "the-thesis-of-bob")
LARGE = 1 << 20
# Makes argument 1 a link to the one and to the other, again and again.
SWAPS = """import os, sys
there, one, other = sys.argv[1:]
while True:
    for target in (one, other):
        try:
            os.symlink(target, there + ".new")
            os.replace(there + ".new", there)
        except OSError:
            pass
"""


def facts_of(path):
    info = os.lstat(path)
    text = None
    if os.path.isfile(path) and not os.path.islink(path):
        with open(path, "rb") as file:
            text = file.read()
    return info.st_mode, info.st_uid, info.st_gid, text


class World:
    """Root's and bob's folders, that nothing may happen to; ann's, where she does as she likes; and a node."""

    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="dove-attacks.")
        os.chmod(self.root, 0o755)
        self.roots, self.bobs, self.anns = (f"{self.root}/{name}" for name in ("roots", "bob", "ann"))
        for folder, owner, mode in ((self.roots, 0, 0o755), (self.roots + "/dir", 0, 0o755), (self.roots + "/private", 0, 0o700),
                                    (self.bobs, BOB, 0o700), (self.anns, ANN, 0o755)):
            os.mkdir(folder, mode)
            os.chown(folder, owner, owner)
        for path, text, owner in (("roots/secret", WORDS[0], 0), ("roots/private/secret", WORDS[0], 0), ("roots/dir/kept", "kept", 0),
                                  ("roots/ledger", "x" * LARGE, 0), ("bob/thesis", WORDS[1], BOB)):
            self.write(f"{self.root}/{path}", text, owner, 0o644 if "dir" in path else 0o600)
        self.before = self.look()
        self.users()
        self.stage, self.shared = self.root + "/stage", self.root + "/shared"
        for folder in (self.stage, self.shared, self.shared + "/checkpoints"):
            os.mkdir(folder)
            os.chmod(folder, 0o777)  # an administrator's mistake, which gives nobody more than that folder
        os.chmod(self.shared + "/checkpoints", 0o1777)  # with 777 no job would start
        self.cluster = Cluster(nodes=1, run_as_self=False, agent_options=["--stage", self.stage, "--shared", self.shared])
        os.chmod(self.cluster.folder, 0o755)
        self.swapping = []
        self.number = 0

    def users(self):
        with open("/etc/passwd") as file:
            text = file.read().rstrip("\n")
        lines = [f"{name}:x:{uid}:{uid}::{self.root}/{name}:/bin/sh" for name, uid in (("ann", ANN), ("bob", BOB))]
        self.write(self.root + "/passwd", "\n".join([text, *lines]) + "\n", 0, 0o644)
        subprocess.run(["mount", "--bind", self.root + "/passwd", "/etc/passwd"], check=True)

    def begin(self):
        self.cluster.__enter__()
        self.apis = {}
        for name in ("ann", "bob"):
            self.cluster.api.call("PUT", f"/v1/objects/user/{name}", {"linux_user": name})
            token = self.cluster.api.call("POST", f"/v1/users/{name}/token?create=1")["token"]
            self.apis[name] = Api(self.cluster.url, token, timeout=20)
        self.cluster.run("secret", "set", "hub", input="a-value")
        said = self.run("id -u; cat secret")
        assert said == f"{ANN}\n", f"ann's own output is shown: {said!r}"

    def write(self, path, text, owner=ANN, mode=0o644):
        with open(path, "w") as file:
            file.write(text)
        os.chown(path, owner, owner)
        os.chmod(path, mode)

    def look(self):
        found = {}
        for above in (self.roots, self.bobs):
            for folder, folders, files in os.walk(above):
                for path in [folder, *(os.path.join(folder, name) for name in folders + files)]:
                    found[path] = facts_of(path)
        return found

    def name(self, kind="f"):
        """A path of ann's that is not there."""
        self.number += 1
        return f"{self.anns}/{kind}{self.number}"

    def link(self, target):
        """A symbolic link of ann's."""
        path = self.name("link")
        os.symlink(target, path)
        os.lchown(path, ANN, ANN)
        return path

    def hard_link(self, target, path=None):
        path = path or self.name("hard")
        if os.path.lexists(path):
            os.unlink(path)
        os.link(target, path)
        return path

    def fifo(self, path=None):
        path = path or self.name("fifo")
        os.mkfifo(path, 0o666)
        os.chown(path, ANN, ANN)
        return path

    def swap(self, there, one, other):
        """A program of ann's that makes `there` a link to one and to the other, again and again."""
        process = subprocess.Popen(["/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "python3", "-c", SWAPS, there, one, other], user=ANN, group=ANN, extra_groups=[],
                                   stdin=subprocess.DEVNULL)
        self.swapping.append(process)
        until(lambda: os.path.lexists(there), 20, "the swapping")

    def submit(self, script="echo gained", user="ann", **more):
        """The number of a job of that user; None: it was refused."""
        job = {"command": ["sh", "-c", script], "cores": 1, "workdir": self.anns, "retries_max": 0, **more}
        try:
            return self.apis[user].call("POST", "/v1/jobs", job)["id"]
        except ApiError as error:
            if not 400 <= error.status < 500:
                raise
            return None

    def run(self, script="echo gained", **more):
        """A job of ann's to its end, and what its logs show; nobody waits long for one that cannot end."""
        job = self.submit(script, **more)
        if job is None:
            return ""
        try:
            self.cluster.wait(job, 10)
        except TimeoutError:
            self.cluster.api.call("POST", f"/v1/jobs/{job}/cancel")
            self.cluster.wait(job, 30)
        return self.logs(job)

    def running(self, script, **more):
        """A job of ann's that said `ready` in the file that it gets as $READY, and goes on until $GO is there."""
        ready, go = self.name("ready"), self.name("go")
        body = f"{script}\n: > {ready}\nwhile ! [ -e {go} ]; do sleep 0.05; done"
        job = self.submit(body, **more)
        until(lambda: os.path.exists(ready), 30, "the job to be ready")
        return job, lambda: self.write(go, "")

    def held(self, user="ann", **more):
        """A job that waits, and the directory that it will get for checkpoints."""
        text = self.run("echo $DOVE_CHECKPOINT_DIR").strip()
        job = self.submit("echo $DOVE_CHECKPOINT_DIR > /dev/null; touch $DOVE_CHECKPOINT_DIR/gained", user=user, hold=True, **more)
        above, _, name = text.rpartition("/")
        assert above == self.shared + "/checkpoints", text
        return job, f"{above}/{name.rpartition('-')[0]}-{job}" if "-" in name else f"{above}/{job}"

    def release(self, job):
        self.cluster.api.call("POST", f"/v1/jobs/{job}/release")
        self.cluster.wait(job, 60)

    def logs(self, job):
        try:
            return self.apis["ann"].raw("GET", f"/v1/jobs/{job}/logs?rank=0")[2].decode(errors="replace")
        except TimeoutError:
            self.apis["ann"].close()
            return ""

    def check(self, shown):
        """What the attacker may have gained; the agent works."""
        for process in self.swapping:
            process.kill()
            process.wait()
        self.swapping.clear()
        after = self.look()
        changed = sorted(path for path in {*self.before, *after} if self.before.get(path) != after.get(path))
        assert not changed, f"changed: {changed}"
        for word in WORDS:
            assert word not in (shown or ""), "it was read"
        job = self.cluster.submit({"command": ["true"], "pool": "service", "cores": 1})
        assert self.cluster.wait(job, 60)["state"] == "completed", self.cluster.job(job)

    def close(self, failed):
        self.cluster.__exit__(RuntimeError if failed else None, None, None)
        subprocess.run(["umount", "/etc/passwd"], check=False, capture_output=True)
        subprocess.run(["rm", "-rf", self.root], check=True)  # deeper than shutil goes
