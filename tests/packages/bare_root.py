"""A bare Debian 12 in a folder, with namespaces of its own: what mmdebstrap's minimal variant has, or systemd, too, as the first
process.

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
# $1: the folder. Devices that harm nobody, and kernel settings that can only be read.
MOUNTS = """set -e
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,ro,bind proc/sys
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
  touch "dev/$device"
  mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s /proc/self/fd/0 dev/stdin
ln -s /proc/self/fd/1 dev/stdout
ln -s /proc/self/fd/2 dev/stderr
[ "$2" = outside ] || ip link set lo up
"""
# The first process: says when everything is mounted, then takes in those whose parents have ended.
FIRST = MOUNTS + """exec chroot . sh -c 'echo ready; while :; do sleep 3600 & wait; done'
"""
# systemd needs a tree of cgroups that is its own, whose root is a group that was made for it, and a root that is a mount, since
# its services get mounts of their own.
SYSTEMD = MOUNTS + """mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mkdir run/outside
pivot_root . run/outside
umount -l /run/outside
rmdir /run/outside
echo ready
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=journal --show-status=no
"""


def missing():
    """Why there can be none here; None: there can."""
    if os.geteuid() != 0:
        return "it needs root (mmdebstrap, namespaces)"
    for program, package in (("mmdebstrap", "mmdebstrap"), ("unshare", "util-linux"), ("ip", "iproute2")):
        if not shutil.which(program):
            return f"there is no {program}: apt-get install --no-install-recommends {package}"
    return None


def cgroups():
    """Where cgroup v2 is mounted; None: nowhere."""
    with open("/proc/self/mounts") as file:
        return next((words[1] for words in map(str.split, file) if words[2] == "cgroup2"), None)


def make_archive(folder, systemd=False):
    """The tar file of a bare Debian 12, made once a day."""
    path = os.path.join(folder, time.strftime(f"{'systemd' if systemd else 'bare'}-%Y%m%d.tar", time.gmtime()))
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="making.", dir=folder) as work:
            subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "mmdebstrap",
                            "--quiet", "--variant=minbase", *(["--include=systemd-sysv,dbus"] if systemd else []), "bookworm",
                            work + "/bare.tar", *[source for source in SOURCES if os.path.exists(source)]], check=True, timeout=MAKE_LIMIT_S,
                           stdin=subprocess.DEVNULL, env={**os.environ, "TMPDIR": work})
            os.rename(work + "/bare.tar", path)
    return path


class BareRoot:
    """REQUIRES with systemd: cgroups() and an archive with systemd. It has no network."""

    def __init__(self, archive, network=False, systemd=False):
        self.archive, self.network, self.systemd, self.started = archive, network, systemd, []
        self.group = os.path.join(cgroups(), f"dove-packages.{os.getpid()}") if systemd else None

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="dove-bare.")
        os.chmod(self.folder, 0o755)
        subprocess.run(["tar", "--extract", "--numeric-owner", "--file", self.archive, "--directory", self.folder], check=True,
                       timeout=LIMIT_S)
        shutil.copyfile("/etc/resolv.conf", self.path("etc/resolv.conf"))
        self.write("etc/hosts", "127.0.0.1 localhost\n")
        argv = ["unshare", "--mount", "--pid", "--ipc", "--uts", *([] if self.network else ["--net"]), "--fork", "--kill-child",
                "--propagation", "private", *(["--cgroup"] if self.systemd else []), "sh", "-c",
                SYSTEMD if self.systemd else FIRST, "first", self.folder, "outside" if self.network else "inside"]
        if self.systemd:
            # Nobody logs in, and apt waits for who is asked.
            os.symlink("/dev/null", self.path("etc/systemd/system/systemd-logind.service"))
            os.mkdir(self.group)
            argv = ["sh", "-c", f"echo $$ > {self.group}/cgroup.procs && exec \"$@\"", "sh", *argv]
        self.outer = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True)
        if self.outer.stdout.readline() != "ready\n":
            self.__exit__(None, None, None)
            raise RuntimeError("a bare Debian did not come up")
        with open(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children") as file:
            self.first = file.read().split()[0]
        if not os.path.samestat(os.stat(f"/proc/{self.first}/root/"), os.stat(self.folder)):  # else commands would run outside
            self.__exit__(None, None, None)
            raise RuntimeError("the first process of a bare Debian is not in it")
        if self.systemd:
            self.until(lambda: self.run("systemctl", "is-system-running", check=False)[1].strip() in ("running", "degraded"), 60,
                       "systemd")
        return self

    def __exit__(self, *_):
        self.outer.kill()  # and with it, by --kill-child, everything inside
        self.outer.wait(20)
        self.outer.stdout.close()
        for process in self.started:
            process.wait(20)
        if self.group:
            self.until(self.remove_group, 20, f"the processes of {self.group} to end")
        subprocess.run(["rm", "-rf", "--one-file-system", self.folder], check=True, timeout=LIMIT_S)
        return False

    def remove_group(self):
        """Whether the cgroup of systemd and those below it are gone, which needs that their processes are."""
        subprocess.run(["find", self.group, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"], timeout=60, capture_output=True)
        return not os.path.exists(self.group)

    @staticmethod
    def until(condition, limit_s, what):
        deadline = time.monotonic() + limit_s
        while not (value := condition()):
            if time.monotonic() > deadline:
                raise AssertionError(f"after {limit_s} s still waiting for {what}")
            time.sleep(0.1)
        return value

    def path(self, path):
        return os.path.join(self.folder, path.lstrip("/"))

    def inside(self, argv):
        cgroup = ["--cgroup"] if self.systemd else []
        return ["nsenter", "--target", self.first, "--mount", "--pid", "--net", "--ipc", "--uts", *cgroup, "--root", "--wd",
                *ENVIRONMENT, *argv]

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
