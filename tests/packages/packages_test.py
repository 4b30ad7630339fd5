#!/usr/bin/env python3
"""The packages on a bare Debian 12: they install, with a mirror and without a network; an upgrade leaves running tasks alone; a
removal keeps data and a purge leaves nothing. Two builds have the same bytes, and changes after signing are found.

Environment: BUILD, the folder of the programs (build/release). Skips without root or mmdebstrap. The life of a cluster, from its
installation to its purge, is tried twice: by systemd, and in a bare root without it, where the test does what the units say.
"""
import concurrent.futures
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

from bare_root import BareRoot, cgroups, make_archive, missing

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD") or os.path.join(ROOT, "build/release")
CACHE = os.path.join(ROOT, "build/packages-cache")
SKIP = 77
LIMIT_S = 600
OURS = ["dovetail-agent", "dovetail-cli", "dovetail-server", "python3-dovetail"]
UNITS = ["dove-agent", "dove-backup", "dove-proxy", "dove-server", "dove-slurm", "dove-ssh-gateway"]
WANTS = "/etc/systemd/system/multi-user.target.wants"
# What dpkg, apt and other packages write by themselves, whichever package comes and goes.
ASIDE = ("var/lib/dpkg", "var/lib/apt", "var/cache", "var/log", "tmp", "root")
ASIDE_FILES = {"/etc/ld.so.cache", "/etc/passwd-", "/etc/group-", "/etc/shadow-", "/etc/gshadow-", "/etc/subuid-", "/etc/subgid-", "/run/adduser"}


until = BareRoot.until


def read(path):
    with open(path) as file:
        return file.read()


class Releases:
    """1.0 is built twice, unsigned; 1.1 is signed by `key`. The programs are the same."""

    def __init__(self, folder):
        self.folder, self.home = folder, folder + "/gnupg"
        os.mkdir(self.home, 0o700)
        self.key, self.keyring = "packages@test", folder + "/keyring.asc"
        self.gpg("--quick-gen-key", "--passphrase", "", self.key, "ed25519", "sign", "0")
        self.gpg("--armor", "--output", self.keyring, "--export", self.key)
        self.build("first", "0.1.0~test1")
        self.build("again", "0.1.0~test1")
        self.build("higher", "0.1.0~test2", DOVE_SIGN_KEY=self.key)

    def gpg(self, *words):
        subprocess.run(["gpg", "--batch", "--homedir", self.home, *words], check=True, capture_output=True, timeout=60)

    def close(self):
        subprocess.run(["gpgconf", "--homedir", self.home, "--kill", "all"], timeout=60)

    def packages(self, *words, **environment):
        return subprocess.run([ROOT + "/tools/packages", *words], capture_output=True, text=True, timeout=LIMIT_S,
                              env={**os.environ, "BUILD": BUILD, "CACHE": CACHE, "GNUPGHOME": self.home, **environment})

    def build(self, name, version, **environment):
        began = time.monotonic()
        environment.setdefault("DOVE_SIGN_KEY", "")
        done = self.packages("bundle", OUT=self.path(name), DOVE_VERSION=version, **environment)
        if done.returncode != 0:
            raise AssertionError(f"tools/packages bundle exited {done.returncode}:\n{done.stdout}{done.stderr}")
        print(f"{name}: built in {time.monotonic() - began:.0f} s", flush=True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def debs(self, name):
        return sorted(glob.glob(self.path(name, "*.deb")))

    def bundle(self, name):
        (found,) = glob.glob(self.path(name, "*.tar"))
        return found

    def put_bundle(self, name, root):
        """Unpacks the bundle into /root/NAME of a root."""
        with tarfile.open(self.bundle(name)) as tar:
            tar.extractall(root.path("root"), filter="data")
        (inside,) = glob.glob(root.path("root/dovetail-offline_*"))
        os.rename(inside, root.path(f"root/{name}"))


class Written(unittest.TestCase):
    """What is in the folder of a release."""

    def test_two_builds_have_the_same_bytes(self):
        sums = [read(releases.path(name, "SHA256SUMS")) for name in ("first", "again")]
        if sums[0] != sums[1] and shutil.which("diffoscope"):
            subprocess.run(["diffoscope", "--exclude-directory-metadata=yes", releases.path("first"), releases.path("again")], timeout=LIMIT_S)
        self.assertEqual(sums[0], sums[1])
        self.assertEqual(len(sums[0].splitlines()), len(OURS) + 2, sums[0])

    def test_one_command_verifies(self):
        done = releases.packages("verify", releases.path("higher"), releases.keyring)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("signed by " + releases.key, done.stdout)
        unsigned = releases.packages("verify", releases.path("first"))
        self.assertEqual(unsigned.returncode, 0, unsigned.stderr)
        self.assertIn("was not checked", unsigned.stdout)
        self.assertEqual(releases.packages("verify", releases.path("first"), releases.keyring).returncode, 1)

    def refused(self, change, words):
        with tempfile.TemporaryDirectory() as folder:
            copy = folder + "/copy"
            shutil.copytree(releases.path("higher"), copy)
            change(copy)
            done = releases.packages("verify", copy, releases.keyring)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(words, done.stderr)

    def test_what_was_changed_after_signing_is_refused(self):
        def flip(folder):
            with open(glob.glob(folder + "/dovetail-agent_*.deb")[0], "r+b") as file:
                file.seek(4000)
                byte = file.read(1)
                file.seek(4000)
                file.write(bytes([byte[0] ^ 1]))

        def change_sums(folder):
            flip(folder)
            lines = [f"{self.sha256(path)}  {os.path.basename(path)}\n" for path in sorted(glob.glob(folder + "/*.*")) if "SHA" not in path]
            with open(folder + "/SHA256SUMS", "w") as file:
                file.write("".join(lines))

        self.refused(flip, "has other bytes")
        self.refused(lambda folder: open(folder + "/more.deb", "w").close(), "is not in SHA256SUMS")
        self.refused(lambda folder: os.remove(glob.glob(folder + "/*.json")[0]), "is missing")
        self.refused(change_sums, "is signed by nobody")
        self.refused(lambda folder: os.remove(folder + "/SHA256SUMS.asc"), "is not signed")

    def sha256(self, path):
        return subprocess.run(["sha256sum", path], check=True, capture_output=True, text=True, timeout=60).stdout.split()[0]

    def test_the_document_names_each_package_and_what_it_needs(self):
        with open(glob.glob(releases.path("first", "*.spdx.json"))[0]) as file:
            document = json.load(file)
        self.assertEqual(document["spdxVersion"], "SPDX-2.3")
        packages = {package["SPDXID"]: package for package in document["packages"]}
        self.assertEqual(len(packages), len(document["packages"]))
        for package in packages.values():
            for field in ("name", "versionInfo", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText"):
                self.assertTrue(package[field], package)
        related = set()
        for relation in document["relationships"]:
            related |= {relation["spdxElementId"], relation["relatedSpdxElement"]}
        self.assertEqual(related - {"SPDXRef-DOCUMENT"}, set(packages))
        for path in releases.debs("first"):
            package = packages["SPDXRef-Package-" + os.path.basename(path).split("_")[0]]
            self.assertEqual(package["checksums"], [{"algorithm": "SHA256", "checksumValue": self.sha256(path)}])
        self.assertIn("SPDXRef-Debian-libssl3", packages)
        self.assertIn("SPDXRef-npm-react", packages)


class OnABareDebian(unittest.TestCase):
    def root(self, network=False):
        root = BareRoot(archive, network).__enter__()
        self.addCleanup(root.__exit__, None, None, None)
        return root

    def test_a_mirror_and_four_packages_install_and_a_purge_leaves_nothing(self):
        root = self.root(network=True)
        root.run("apt-get", "-qq", "-o", "APT::Update::Error-Mode=any", "-o", "Acquire::Retries=3", "update")
        before, names = root.files(ASIDE), {what: root.names(what) for what in ("users", "groups")}
        for path in releases.debs("first"):
            shutil.copy(path, root.path("root"))
        root.run("sh", "-c", "apt-get -q -y --no-install-recommends install /root/*.deb", limit_s=LIMIT_S)

        self.assertRegex(root.run("dove", "--version"), r"^dove \d")
        self.assertIn("dove", root.names("users"))
        self.assertEqual(root.run("stat", "-c", "%U %a", "/var/lib/dove/server").strip(), "dove 750")
        with gzip.open(root.path("usr/share/man/man1/dove-submit.1.gz"), "rt") as file:
            self.assertTrue(file.read().startswith(".TH dove"))
        self.assertTrue(os.path.exists(root.path("usr/share/doc/dovetail-cli/docs/operate/recovery.md")))
        self.assertEqual(root.run("python3", "-c", "import dove; print(dove.__file__)").strip(),
                         "/usr/lib/python3/dist-packages/dove/__init__.py")
        links = sorted(name for name in os.listdir(root.path(WANTS)) if name.startswith("dove"))
        self.assertEqual(links, ["dove-agent.service", "dove-server.service"])

        root.write("/etc/dove/server.yaml", "host: 127.0.0.1\n")
        root.run("apt-get", "-q", "-y", "remove", *OURS)
        self.assertTrue(os.path.exists(root.path("/etc/dove/server.yaml")), "a removal keeps settings")
        self.assertTrue(os.path.isdir(root.path("/var/lib/dove/server")), "a removal keeps data")
        self.assertFalse(os.path.exists(root.path("/usr/bin/dove")))
        root.run("apt-get", "-q", "-y", "--purge", "autoremove")
        root.run("apt-get", "-q", "-y", "purge", *OURS)
        after = root.files(ASIDE)
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)} - ASIDE_FILES
        self.assertEqual({path: (before.get(path), after.get(path)) for path in sorted(changed)}, {})
        self.assertEqual({what: root.names(what) for what in names}, names)
        self.assertEqual(glob.glob(root.path("var/lib/dpkg/info/*dove*")), [])

    def test_a_bundle_that_was_changed_is_not_installed(self):
        root = self.root()
        releases.put_bundle("higher", root)
        done = releases.packages("verify", root.path("root/higher"), releases.keyring)
        self.assertEqual(done.returncode, 0, done.stderr)
        releases.put_bundle("first", root)
        shutil.copy(releases.keyring, root.path("root/keyring.asc"))
        code, said = root.run("/root/first/install", "--keyring", "/root/keyring.asc", check=False)
        self.assertNotEqual(code, 0, "nobody signed it")
        with open(glob.glob(root.path("root/higher/dovetail-cli_*.deb"))[0], "ab") as file:
            file.write(b"more")
        code, said = root.run("/root/higher/install", check=False)
        self.assertNotEqual(code, 0)
        self.assertIn("this is not what was released", said)
        self.assertFalse(os.path.exists(root.path("usr/bin/dove")))


class ByHand:
    """A root without systemd: what the units and the maintainer scripts ask of it is done here."""

    def __init__(self):
        self.root = BareRoot(archive)
        self.server = self.agent = None

    def start_server(self):
        self.server = self.root.start("setpriv", "--reuid=dove", "--regid=dove", "--clear-groups", "dove", "server", "--data",
                                      "/var/lib/dove/server")

    def start_agent(self):
        self.agent = self.root.start("dove", "agent", "--data", "/var/lib/dove/agent")

    def end(self, process):
        """Ends what nsenter leads to, by its own pid."""
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            for pid in file.read().split():
                os.kill(int(pid), 15)
        process.wait(30)

    def was_upgraded(self):
        self.end(self.agent)
        self.end(self.server)
        self.start_server()
        self.start_agent()

    def is_removed(self, *parts):
        for part in parts:
            self.end({"server": self.server, "agent": self.agent}[part])

    def log(self):
        return "".join(read(process.log)[-2000:] for process in self.root.started)


class BySystemd:
    """A root that systemd runs: the maintainer scripts do everything."""

    def __init__(self):
        self.root = BareRoot(systemd_archive, systemd=True)
        self.pids = {}

    def start(self, unit):
        self.root.run("systemctl", "start", unit)
        self.pids[unit] = self.pid(unit)

    def start_server(self):
        self.check_units()
        self.start("dove-server")

    def start_agent(self):
        self.start("dove-agent")

    def pid(self, unit):
        return int(self.root.run("systemctl", "show", "-P", "MainPID", unit))

    def check_units(self):
        """Before anything is configured."""
        for unit in ("dove-server", "dove-agent"):
            self.expect("enabled", "is-enabled", unit)
        code, said = self.root.run("systemd-analyze", "verify", "--man=no", *[f"{unit}.service" for unit in UNITS], check=False)
        wrong = [line for line in said.splitlines() if "dove" in line]
        if code or wrong:
            raise AssertionError(f"systemd-analyze verify: {code}: {said}")

    def expect(self, word, *question):
        said = self.root.run("systemctl", *question, check=False)[1].strip()
        if said != word:
            raise AssertionError(f"systemctl {question} said {said}, not {word}\n{self.log()}")

    def was_upgraded(self):
        for unit, pid in self.pids.items():
            self.expect("active", "is-active", unit)
            if self.pid(unit) == pid:
                raise AssertionError(f"{unit} was not started anew")

    def is_removed(self, *parts):
        """Their prerm stops them."""

    def log(self):
        return self.root.run("journalctl", "-b", "-n", "60", "--no-pager", "-u", "dove-*", check=False)[1]


class UnderTasks(unittest.TestCase):
    """Without a network: the bundle installs, an upgrade leaves a task alone, a removal ends what runs and keeps data."""

    def test_by_hand(self):
        self.life(ByHand())

    def test_by_systemd(self):
        if not systemd_archive:
            self.skipTest("cgroup v2 is mounted nowhere")
        self.life(BySystemd())

    def life(self, machine):
        with machine.root as root:
            try:
                self.install(machine, root)
                self.upgrade(machine, root)
                self.remove(machine, root)
            except AssertionError:
                print(machine.log(), file=sys.stderr)
                raise

    def install(self, machine, root):
        self.assertEqual(root.run("cat", "/proc/net/route").strip().count("\n"), 0, "nothing leads out")
        releases.put_bundle("first", root)
        root.run("/root/first/install", "server", "agent", limit_s=LIMIT_S)
        self.assertEqual(self.versions(root), {"0.1.0~test1"})
        root.write("/etc/dove/server.yaml", "host: 127.0.0.1\n")
        machine.start_server()
        self.answered(root)
        root.write("/etc/dove/join-token", root.run("dove", "join-token", "create", "bare"), 0o600)
        root.write("/etc/dove/agent.yaml", "name: bare\njoin-token-file: /etc/dove/join-token\nrun-as-self: true\ncgroups: off\n")
        machine.start_agent()
        self.connected(root)

    def upgrade(self, machine, root):
        job, pid = self.submit(root, "echo began $$; while [ ! -e /var/go ]; do sleep 0.2; done; echo ended $$")
        releases.put_bundle("higher", root)
        shutil.copy(releases.keyring, root.path("root/keyring.asc"))
        root.run("/root/higher/install", "--keyring", "/root/keyring.asc", "server", "agent", limit_s=LIMIT_S)
        self.assertEqual(self.versions(root), {"0.1.0~test2"})
        machine.was_upgraded()
        self.answered(root)
        self.connected(root)
        root.run("test", "-d", "/proc/" + pid)
        self.assertEqual(self.job(root, job)["state"], "running")
        root.write("/var/go", "")
        root.run("dove", "wait", "-t", "60", job)
        ended = self.job(root, job)
        self.assertEqual((ended["state"], len(ended["attempts"])), ("completed", 1), ended)
        self.assertIn(f"ended {pid}", root.run("dove", "logs", job))

    def remove(self, machine, root):
        _, pid = self.submit(root, "echo began $$; exec sleep 3000")
        machine.is_removed("agent")
        said = root.run("apt-get", "-q", "-y", "remove", "dovetail-agent", limit_s=120)
        self.assertIn("waits up to", said)
        self.assertNotEqual(root.run("test", "-d", "/proc/" + pid, check=False)[0], 0, "its fence has ended the task")
        self.assertTrue(os.path.isdir(root.path("/var/lib/dove/agent")), "a removal keeps data")
        self.answered(root)
        machine.is_removed("server")
        root.run("apt-get", "-q", "-y", "purge", *OURS)
        aside = ("root", "run", "sys", "var/log", "var/lib/dpkg", "tmp", "var/tmp", "var/cache")
        self.assertEqual([path for path in root.files(aside) if re.search(r"dove(?!r)", path)], ["/etc/dove", "/etc/dove/join-token"],
                         "what was put there by hand stays")
        self.assertEqual({"dove", "dove-proxy"} & (root.names("users") | root.names("groups")), set())

    def versions(self, root):
        return set(root.run("dpkg-query", "-W", "-f", "${Version}\\n", "dovetail-cli", "dovetail-server", "dovetail-agent").split())

    def answered(self, root):
        until(lambda: root.run("dove", "nodes", check=False)[0] == 0, 60, "the server")

    def connected(self, root):
        until(lambda: '"connected"' in root.run("dove", "nodes", "-o", "json", check=False)[1], 60, "the agent")

    def submit(self, root, script):
        """A job that prints `began PID`, and that number."""
        job = root.run("dove", "submit", "-o", "name", "--wrap", script).strip()
        return job, until(lambda: re.search(r"began (\d+)", root.run("dove", "logs", job, check=False)[1]), 60, "the task's number")[1]

    def job(self, root, job):
        found = json.loads(root.run("dove", "show", "-o", "json", job))
        return found[0] if isinstance(found, list) else found


def main():
    global archive, releases, systemd_archive
    if why := missing():
        print(f"skipped: {why}")
        return SKIP
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dove-packages.") as folder:
        with concurrent.futures.ThreadPoolExecutor() as pool:  # they wait for a mirror, and this for the processors
            bare, with_systemd = pool.submit(make_archive, CACHE), pool.submit(make_archive, CACHE, True) if cgroups() else None
            releases = Releases(folder)
            archive, systemd_archive = bare.result(), with_systemd and with_systemd.result()
        try:
            result = unittest.main(verbosity=2, exit=False, argv=sys.argv).result
        finally:
            releases.close()
    failed = len(result.failures) + len(result.errors)
    print(f"took {time.monotonic() - began:.0f} s")
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed, {len(result.skipped)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
