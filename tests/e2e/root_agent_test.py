#!/usr/bin/env python3
"""What a user of a node tries with names that the root agent meets: links, races, FIFOs, devices, hard links, sockets and
over-long paths. ATTACKS is the list. After each, nothing of root's or of another user's is read, written, owned, made or
removed, and the agent still runs jobs. Needs root.
"""
# limit_s: 900
import json
import os
import socket
import subprocess
import sys
import traceback

from attacked_node import ANN, World, facts_of
from cluster import SKIP, until

PRELOADED = """#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void run(void) {
  if (geteuid() == 0 || getuid() == 0) close(open("%s/gained", O_CREAT | O_WRONLY, 0644));
}
"""
ATTACKS = []


def attack(name):
    def keep(function):
        ATTACKS.append((name, function))
        return function
    return keep


# -- files of output and input -------------------------------------------------------------------


for stream in ("stdout", "stderr"):
    attack(f"{stream}: a link to root's file")(lambda w, s=stream: w.run(**{s + "_path": w.link(w.roots + "/ledger")}))
    attack(f"{stream}: a hard link to root's file")(lambda w, s=stream: w.run(**{s + "_path": w.hard_link(w.roots + "/ledger")}))
    attack(f"{stream}: a FIFO that nobody reads")(lambda w, s=stream: w.run("echo x; echo x >&2", **{s + "_path": w.fifo()}))
attack("stdout: a link to bob's file")(lambda w: w.run(stdout_path=w.link(w.bobs + "/thesis")))
attack("stdout: through a link to root's directory")(lambda w: w.run(stdout_path=w.link(w.roots + "/dir") + "/gained"))
attack("stdout: directories made through a link")(lambda w: w.run(stdout_path=w.link(w.roots + "/dir") + "/new/deep/gained"))
attack("stdout: a dangling link into root's directory")(lambda w: w.run(stdout_path=w.link(w.roots + "/dir/gained")))
attack("stdout: out of the working directory")(lambda w: w.run(stdout_path="../roots/dir/gained"))
attack("stdout: root's file itself")(lambda w: w.run(stdout_path=w.roots + "/ledger"))
attack("stdout: a link to a device")(lambda w: w.run(stdout_path=w.link("/dev/kmsg")))
attack("stdout: an over-long path")(lambda w: w.run(stdout_path="x/" * 2000 + "x"))
attack("stdout: an over-long name")(lambda w: w.run(stdout_path="n" * 300))
attack("stdout: a job's name that leads out")(lambda w: w.run(name="../roots/dir/gained", stdout_path="%x"))
attack("stdin: a link to root's secret")(lambda w: w.run("cat", stdin_path=w.link(w.roots + "/secret")))
attack("stdin: a hard link to root's secret")(lambda w: w.run("cat", stdin_path=w.hard_link(w.roots + "/secret")))
attack("stdin: a FIFO that nobody writes")(lambda w: w.run("cat", stdin_path=w.fifo()))


@attack("stdout: a socket")
def _(w):
    path = w.name("s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        os.chown(path, ANN, ANN)
        return w.run(stdout_path=path)


@attack("stdout: a directory that is swapped for root's")
def _(w):
    there, own = w.name("swap"), w.name("own")
    os.mkdir(own)
    os.chown(own, ANN, ANN)
    w.swap(there, own, w.roots + "/dir")
    return "".join(w.run(stdout_path=there + "/gained") for _ in range(6))


@attack("stdout: a rotated file's next name is a link to root's file")
def _(w):
    path = w.name("rotated")
    for number in range(4):
        os.symlink(w.roots + "/ledger", f"{path}.{number}")
    return w.run("head -c 300000 /dev/zero", stdout_path=path, output_rotate_bytes=65536)


# -- what is shown of them -----------------------------------------------------------------------


def shown_after(w, swap, path=None):
    """The logs of a job whose file of output is another when they are read, while it runs and afterwards."""
    path = path or w.name("shown")
    job, go = w.running("echo hers", stdout_path=path)
    swap(path)
    text = w.logs(job)
    go()
    w.cluster.wait(job)
    return text + w.logs(job)


def becomes_link(target):
    def swap(path):
        os.unlink(path)
        os.symlink(target, path)
        os.lchown(path, ANN, ANN)
    return swap


attack("logs: the file becomes a link to root's secret")(lambda w: shown_after(w, becomes_link(w.roots + "/secret")))
attack("logs: the file becomes a link to bob's")(lambda w: shown_after(w, becomes_link(w.bobs + "/thesis")))
attack("logs: the file becomes a hard link to root's secret")(
    lambda w: shown_after(w, lambda path: w.hard_link(w.roots + "/secret", path)))
attack("logs: the file becomes a device without an end")(lambda w: shown_after(w, becomes_link("/dev/zero")))


@attack("logs: the file becomes a FIFO")
def _(w):
    def swap(path):
        os.unlink(path)
        w.fifo(path)
    return shown_after(w, swap)


@attack("logs: the directory becomes a link to root's")
def _(w):
    folder = w.name("folder")
    os.mkdir(folder)
    os.chown(folder, ANN, ANN)

    def swap(_):
        os.rename(folder, folder + ".away")
        os.symlink(w.roots, folder)
    return shown_after(w, swap, folder + "/secret")


@attack("logs: the file is swapped for root's secret while it is read")
def _(w):
    path = w.name("swapped")
    w.write(path + ".own", "hers\n")
    job, go = w.running("echo hers", stdout_path=path)
    w.swap(path, path + ".own", w.roots + "/secret")
    text = "".join(w.logs(job) for _ in range(40))
    go()
    w.cluster.wait(job)
    return text


@attack("logs: the agent's own file becomes a link to root's secret")
def _(w):
    job, go = w.running(f"f=$(readlink /proc/self/fd/1); rm $f; ln -s {w.roots}/secret $f")
    text = w.logs(job)
    go()
    w.cluster.wait(job)
    return text + w.logs(job)


# -- the working directory -----------------------------------------------------------------------


REACHES = "cat secret; echo x > gained; echo x > dir/gained"
attack("workdir: a link to what only root may enter")(lambda w: w.run(REACHES, workdir=w.link(w.roots + "/private")))
attack("workdir: bob's directory")(lambda w: w.run("cat thesis; echo x > gained", workdir=w.bobs))
attack("workdir: a link to root's directory")(lambda w: w.run(REACHES, workdir=w.link(w.roots)))
attack("workdir: a file")(lambda w: w.run(workdir=w.hard_link(w.roots + "/ledger")))
attack("workdir: a FIFO")(lambda w: w.run(workdir=w.fifo()))
attack("workdir: an over-long path")(lambda w: w.run(workdir="/" + "x/" * 2000))


@attack("workdir: is swapped for root's")
def _(w):
    there = w.name("swap")
    w.swap(there, w.anns, w.roots + "/private")
    return "".join(w.run("cat secret; echo x > gained", workdir=there) for _ in range(6))


@attack("workdir: the attempt's own becomes a link to root's")
def _(w):
    return w.run(f"d=$PWD; cd /; rm -r $d; mv $d $d.away; ln -s {w.roots}/dir $d; ln -s {w.roots}/dir $d.away/in", workdir="")


# -- checkpoints, and the stage before them ------------------------------------------------------


def made_before(make, user="ann"):
    """A job whose directory for checkpoints somebody has made before."""
    def try_it(w):
        job, path = w.held(user)
        make(w, path)
        facts = facts_of(path)[1:3]
        w.release(job)
        assert facts_of(path)[1:3] == facts, "it was given away"
        return ""
    return try_it


def own_directory(w, path):
    os.mkdir(path, 0o700)
    os.chown(path, ANN, ANN)


attack("checkpoints: a link to root's directory")(made_before(lambda w, path: os.symlink(w.roots + "/dir", path)))
attack("checkpoints: a link to bob's directory")(made_before(lambda w, path: os.symlink(w.bobs, path)))
attack("checkpoints: a dangling link into root's")(made_before(lambda w, path: os.symlink(w.roots + "/dir/gained", path)))
attack("checkpoints: a FIFO")(made_before(lambda w, path: w.fifo(path)))
attack("checkpoints: a hard link to root's file")(made_before(lambda w, path: w.hard_link(w.roots + "/ledger", path)))
attack("checkpoints: ann's directory under the name of bob's job")(made_before(own_directory, "bob"))


@attack("checkpoints: swapped for root's directory while it is made")
def _(w):
    for _ in range(4):
        job, path = w.held()
        w.swap(path, w.roots + "/dir", w.roots + "/private")
        w.release(job)


def taken(make):
    """ann puts a directory of hers in place of the one that all jobs' checkpoints are in."""
    def try_it(w):
        there = w.shared + "/checkpoints"
        w.run(f"mv {there} {there}.away && {make.format(there)}")
        assert os.lstat(there).st_uid == ANN, "ann can do that in a directory where she may write"
        try:
            job = w.submit("touch $DOVE_CHECKPOINT_DIR/of-bob", user="bob", workdir="/")
            until(lambda: "so others may put there" in w.cluster.run("show", str(job)).stdout, 60, "the refusal")
            w.cluster.run("cancel", str(job), check=False)
            assert not any(attempt["started_at"] for attempt in w.cluster.job(job)["attempts"]), w.cluster.job(job)
            assert not os.listdir(there), "bob's directory is in ann's"
        finally:
            subprocess.run(["rm", "-rf", there], check=True)
            os.rename(there + ".away", there)
        return ""
    return try_it


attack("checkpoints: the directory above is ann's")(taken("mkdir {}"))
attack("checkpoints: the directory above is ann's link")(taken("mkdir /tmp/ann-$$ && ln -s /tmp/ann-$$ {}"))


@attack("stage: what is removed at the end holds links to root's directories")
def _(w):
    return w.run(f"cd $DOVE_CHECKPOINT_STAGE && mkdir -p a/b && ln -s {w.roots}/dir a/b/x && ln -s {w.roots} y && ln -s / z")


@attack("stage: becomes a link to root's directory before it is removed")
def _(w):
    return w.run(f"cd /; mv $DOVE_CHECKPOINT_STAGE $DOVE_CHECKPOINT_STAGE.away; ln -s {w.roots}/dir $DOVE_CHECKPOINT_STAGE")


@attack("stage: directories are swapped for root's while they are removed")
def _(w):
    job, go = w.running("cd $DOVE_CHECKPOINT_STAGE; for i in $(seq 300); do mkdir -p d$i/e; done; pwd > " + w.anns + "/stage")
    with open(w.anns + "/stage") as file:
        stage = file.read().strip()
    w.swap(stage + "/d300/swapped", stage + "/d1", w.roots + "/dir")
    w.swap(stage + "/d1/e/swapped", stage + "/d2", w.roots)
    go()
    w.cluster.wait(job)
    until(lambda: not os.path.exists(stage + "/d2"), 30, "the stage to be removed")


# -- progress ------------------------------------------------------------------------------------


def progress(make):
    """What is made where a task tells its progress is looked at, or removed, and leads nowhere."""
    def try_it(w):
        job, go = w.running(f"echo $DOVE_PROGRESS > {w.anns}/progress")
        with open(w.anns + "/progress") as file:
            path = file.read().strip()
        make(w, path)
        stray = os.path.dirname(path) + f"/stray{job}"
        w.write(stray, "")
        until(lambda: not os.path.exists(stray), 60, "the agent to look at it")
        go()
        w.cluster.wait(job)
        return json.dumps(w.cluster.job(job))
    return try_it


attack("progress: a link to root's file")(progress(lambda w, path: os.symlink(w.roots + "/ledger", path)))
attack("progress: a hard link to root's large file, which is too large for it")(
    progress(lambda w, path: w.hard_link(w.roots + "/ledger", path)))
attack("progress: a FIFO")(progress(lambda w, path: w.fifo(path)))
attack("progress: a link to a device")(progress(lambda w, path: os.symlink("/dev/zero", path)))


@attack("progress: a tree with links to root's is removed")
def _(w):
    def make(w, path):
        tree = os.path.dirname(path) + "/tree"
        os.makedirs(tree + "/a/b")
        os.symlink(w.roots, tree + "/a/b/link")
        subprocess.run(["chown", "-R", "-h", str(ANN), tree], check=True)
        w.swap(tree + "/a/swapped", w.roots + "/dir", w.anns)
    return progress(make)(w)


# -- what tasks bring with them ------------------------------------------------------------------


@attack("environment: a library that every program is to load")
def _(w):
    library = w.anns + "/all.so"
    w.write(w.root + "/all.c", PRELOADED % w.roots)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, w.root + "/all.c"], check=True)
    environment = {"LD_PRELOAD": library, "LD_LIBRARY_PATH": w.anns, "LD_AUDIT": library}
    job, go = w.running("echo x", environment=environment)
    w.cluster.run("exec", str(job), "--", "true", check=False)
    go()
    w.cluster.wait(job)
    return w.logs(job)


@attack("environment: programs of ann's before those of the system")
def _(w):
    folder = w.name("bin")
    os.mkdir(folder)
    for name in ("sh", "env", "sleep", "cat", "id", "umount", "mount", "ln", "rm"):
        w.write(f"{folder}/{name}", f"#!/bin/sh\n[ $(/usr/bin/id -u) != 0 ] || : > {w.roots}/gained\n", mode=0o755)
    return w.run(environment={"PATH": folder, "ENV": f"{folder}/sh", "BASH_ENV": f"{folder}/sh"})


@attack("secrets: the files are links to root's when they are removed")
def _(w):
    # The administrator's job, as ann's Linux user: the secret is the administrator's.
    return w.run(f"ls -la $DOVE_SECRETS /dev/shm; for f in /dev/shm/dove-secrets-*; do ln -s {w.roots}/dir $f/x; done")


@attack("commands in a task: read what only root may")
def _(w):
    job, go = w.running("echo x")
    done = w.cluster.run("exec", str(job), "--", "sh", "-c", f"cat {w.roots}/secret; echo x > {w.roots}/gained", check=False)
    go()
    w.cluster.wait(job)
    return done.stdout


attack("a job's name: over-long, with directories and lines")(lambda w: w.run(name="../" * 20 + "x\ny"))
attack("a container's image: a path that leads out")(lambda w: w.run(container={"image": "../../roots/dir"}))


def main():
    wanted = [word for word in sys.argv[1:] if not word.startswith("-")]
    world, failed, tried = World(), [], 0
    try:
        world.begin()
        world.cluster.api.call("PUT", "/v1/objects/pool/service", {"nodes": ["*"], "run_as": "agent"})
        for name, function in ATTACKS:
            if wanted and not any(word in name for word in wanted):
                continue
            tried += 1
            try:
                world.check(function(world))
            except (AssertionError, OSError):
                failed.append(name)
                print(f"FAILED {name}\n{traceback.format_exc()}", flush=True)
                world.before = world.look()
    finally:
        world.close(failed)
    print(f"{tried - len(failed)} passed, {len(failed)} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: needs root, whose agent it is")
        sys.exit(SKIP)
    if os.environ.get("DOVE_MOUNTS_APART") != "1":
        os.environ["DOVE_MOUNTS_APART"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, os.path.abspath(__file__),
                              *sys.argv[1:]])
    sys.exit(main())
