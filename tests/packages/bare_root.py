"""A bare Debian 12 in a folder, with namespaces of its own: what mmdebstrap's minimal variant has, without systemd.

    with BareRoot(archive, network=False) as root:
        root.run("apt-get", "update")
        server = root.start("dove", "server")

Everything that was started in it ends with it: it has a process namespace of its own. Without a network it has only a
loopback of its own, so that ports are free and nothing leads out.
"""
import hashlib
import os
import shutil
import subprocess
import tempfile
import time

SOURCES = ("/etc/apt/sources.list", "/etc/apt/sources.list.d/debian.sources")
MAKE_LIMIT_S = 900
LIMIT_S = 300
ENVIRONMENT = ["env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8",
               "DEBIAN_FRONTEND=noninteractive", "DOVE_DATA=/var/lib/dove/server"]
# The first process: says when everything is mounted, then takes in those whose parents have ended.
FIRST = """set -e
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
[ "$2" = outside ] || ip link set lo up
echo ready
exec chroot "$1" sh -c 'while :; do sleep 3600 & wait; done'
"""


def missing():
    """Why there can be none here; None: there can."""
    if os.geteuid() != 0:
        return "it needs root (mmdebstrap, namespaces)"
    for program, package in (("mmdebstrap", "mmdebstrap"), ("unshare", "util-linux"), ("ip", "iproute2")):
        if not shutil.which(program):
            return f"there is no {program}: apt-get install --no-install-recommends {package}"
    return None


def make_archive(folder):
    """The tar file of a bare Debian 12, made once a day."""
    path = os.path.join(folder, time.strftime("bare-%Y%m%d.tar", time.gmtime()))
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="making.", dir=folder) as work:
            subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "mmdebstrap",
                            "--quiet", "--variant=minbase", "bookworm", work + "/bare.tar",
                            *[source for source in SOURCES if os.path.exists(source)]], check=True, timeout=MAKE_LIMIT_S,
                           stdin=subprocess.DEVNULL, env={**os.environ, "TMPDIR": work})
            os.rename(work + "/bare.tar", path)
    return path


class BareRoot:
    def __init__(self, archive, network):
        self.archive, self.network, self.started = archive, network, []

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="dove-bare.")
        os.chmod(self.folder, 0o755)
        subprocess.run(["tar", "--extract", "--numeric-owner", "--file", self.archive, "--directory", self.folder], check=True,
                       timeout=LIMIT_S)
        shutil.copyfile("/etc/resolv.conf", self.path("etc/resolv.conf"))
        self.write("etc/hosts", "127.0.0.1 localhost\n")
        namespaces = ["--mount", "--pid", "--ipc", "--uts", *([] if self.network else ["--net"])]
        self.outer = subprocess.Popen(["unshare", *namespaces, "--fork", "--kill-child", "--propagation", "private", "sh", "-c",
                                       FIRST, "first", self.folder, "outside" if self.network else "inside"],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True)
        if self.outer.stdout.readline() != "ready\n":
            self.__exit__(None, None, None)
            raise RuntimeError("a bare Debian did not come up")
        with open(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children") as file:
            self.first = file.read().split()[0]
        return self

    def __exit__(self, *_):
        self.outer.kill()  # and with it, by --kill-child, everything inside
        self.outer.wait(20)
        self.outer.stdout.close()
        for process in self.started:
            process.wait(20)
        subprocess.run(["rm", "-rf", "--one-file-system", self.folder], check=True, timeout=LIMIT_S)
        return False

    def path(self, path):
        return os.path.join(self.folder, path.lstrip("/"))

    def inside(self, argv):
        return ["nsenter", "--target", self.first, "--mount", "--pid", "--net", "--ipc", "--uts", "--root", "--wd", *ENVIRONMENT,
                *argv]

    def run(self, *argv, check=True, limit_s=LIMIT_S):
        """What a command in it printed; with check=False (its exit code, that and what it said on stderr)."""
        done = subprocess.run(self.inside(argv), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit_s)
        if not check:
            return done.returncode, done.stdout + done.stderr
        if done.returncode != 0:
            raise AssertionError(f"{argv} exited {done.returncode}:\n{(done.stdout + done.stderr)[-6000:]}")
        return done.stdout

    def start(self, *argv):
        """A program that goes on; it ends by its own pid, or with the root. Its output: /var/log/NAME.out"""
        log = open(self.path(f"var/log/{len(self.started)}.out"), "wb")
        with log:
            process = subprocess.Popen(self.inside(argv), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        process.log = log.name
        self.started.append(process)
        return process

    def write(self, path, text, mode=0o644):
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        with open(self.path(path), "w") as file:
            file.write(text)
        os.chmod(self.path(path), mode)

    def read(self, path):
        with open(self.path(path)) as file:
            return file.read()

    def names(self, what):
        """The names of `users` or `groups`."""
        path = {"users": "etc/passwd", "groups": "etc/group"}[what]
        return {line.split(":")[0] for line in self.read(path).splitlines()}

    def files(self, without=()):
        """{path: what it is} of everything but kernel file systems and the folders of `without`."""
        found = {}
        skipped = {self.path(path) for path in ("proc", "sys", "dev", *without)}
        for place, folders, files in os.walk(self.folder):
            folders[:] = [name for name in folders if os.path.join(place, name) not in skipped]
            for name in folders + files:
                path = os.path.join(place, name)
                said = "folder"
                if os.path.islink(path):
                    said = "link to " + os.readlink(path)
                elif os.path.isfile(path):
                    with open(path, "rb") as file:
                        said = hashlib.sha256(file.read()).hexdigest()
                found[path[len(self.folder):]] = said
        return found
