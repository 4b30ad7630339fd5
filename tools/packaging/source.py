"""The tree that is packaged and the programs that were built from it: version, date, texts. Nothing here writes."""
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = ("dove", "dove-shim", "dove-contain", "dove-sftp", "libdove-share.so")
LIMIT_S = 300


class Refused(Exception):
    """Something that is asked for cannot be done; the text names the place and the remedy."""


def call(argv, limit_s=LIMIT_S, **more):
    """The output of a program; Refused with what it said when it fails."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit_s, **more)
    except FileNotFoundError:
        raise Refused(f"there is no {argv[0]}; on Debian 12: tools/setup package") from None
    except subprocess.TimeoutExpired:
        raise Refused(f"{' '.join(argv)} took longer than {limit_s} s") from None
    if done.returncode != 0:
        raise Refused(f"{' '.join(argv)} failed ({done.returncode}):\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def git(*words):
    """git's answer about the tree; "" when it is no repository."""
    try:
        return call(["git", "-C", ROOT, *words]).strip()
    except Refused:
        return ""


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class Source:
    """One build of one commit. REQUIRES: the programs in `build` are of this tree."""

    def __init__(self, build):
        self.build = os.path.abspath(build)
        for name in PROGRAMS:
            if not os.path.exists(self.program(name)):
                raise Refused(f"there is no {self.program(name)}; make build, or name another folder by BUILD=")
        self.architecture = call(["dpkg", "--print-architecture"]).strip()
        self.commit = git("rev-parse", "HEAD")
        self.epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct") or 0)
        if not self.epoch:
            raise Refused("this tree is no git repository; say its date by SOURCE_DATE_EPOCH=")
        self.upstream = re.fullmatch(r"dove (\S+)", call([self.program("dove"), "--version"]).strip())[1]
        self.version = os.environ.get("DOVE_VERSION") or self.version_of_commit()

    def program(self, name):
        return os.path.join(self.build, name)

    def version_of_commit(self):
        """0.1.0 of the commit that is tagged v0.1.0, else older than that: 0.1.0~git20261124213000.8d4a7be."""
        if not self.commit or f"v{self.upstream}" in git("tag", "--points-at", "HEAD").split():
            return self.upstream
        date = call(["date", "-u", "-d", f"@{self.epoch}", "+%Y%m%d%H%M%S"]).strip()
        return f"{self.upstream}~git{date}.{self.commit[:7]}"

    def is_changed(self):
        return bool(git("status", "--porcelain", "--untracked-files=no"))

    def dove(self, *words):
        return call([self.program("dove"), *words])

    def commands(self):
        """Every command of `dove help`: ["up", "node drain", …]."""
        found = re.findall(r"^  ([a-z][a-z-]*(?: [a-z-]+)*)(?:  +| (?=[A-Z]))[A-Z]", self.dove("help"), re.M)
        if len(found) < 50:
            raise Refused(f"`dove help` names only {len(found)} commands: tools/packaging/source.py misreads it")
        return found
