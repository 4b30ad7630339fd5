#!/usr/bin/env python3
"""The container image: two builds have the same bytes, its document names what is in it, and runc runs the controller of it as a
user without rights, in a root that cannot be written, with a volume that a second container goes on with.

Environment: BUILD, the folder of the programs (build/release). Skips without root, mmdebstrap, umoci or runc.
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

from bare_root import BareRoot

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD") or os.path.join(ROOT, "build/release")
CACHE = os.path.join(ROOT, "build/packages-cache")
DOVE = os.path.join(BUILD, "dove")
SKIP = 77
LIMIT_S = 900
USER_ID = 7717  # whose files are in volumes, for ever
PORT = 7717
DATA = "/var/lib/dove/server"

until = BareRoot.until


def missing():
    if os.geteuid() != 0:
        return "it needs root (mmdebstrap, runc)"
    for program in ("mmdebstrap", "umoci", "runc", "unshare", "nsenter"):
        if not shutil.which(program):
            return f"there is no {program} (tools/setup package)"
    return None


def call(*argv, check=True, limit_s=60, **environment):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit_s, env={**os.environ, **environment})
    if check and done.returncode != 0:
        raise AssertionError(f"{argv} exited {done.returncode}:\n{(done.stdout + done.stderr)[-4000:]}")
    return done


class Built:
    """The same image, built twice, and unpacked."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("first", "again"):
            began = time.monotonic()
            call(ROOT + "/tools/packages", "image", limit_s=LIMIT_S, OUT=self.path(name), BUILD=BUILD, CACHE=CACHE, DOVE_SIGN_KEY="",
                 DOVE_VERSION="0.1.0~test1")
            print(f"{name}: built in {time.monotonic() - began:.0f} s", flush=True)
        (self.archive,) = glob.glob(self.path("first", "dovetail-image_*.tar"))
        self.layout = self.path("layout")
        with tarfile.open(self.archive) as tar:
            tar.extractall(self.layout, filter="data")
        self.tag = self.json("index.json")["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"]
        self.manifest = self.blob(self.json("index.json")["manifests"][0]["digest"])
        self.config = self.blob(self.manifest["config"]["digest"])
        self.bundle = self.path("bundle")
        call("umoci", "unpack", "--image", f"{self.layout}:{self.tag}", self.bundle, limit_s=LIMIT_S)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def json(self, path):
        with open(os.path.join(self.layout, path)) as file:
            return json.load(file)

    def blob(self, digest):
        return self.json("blobs/" + digest.replace(":", "/"))

    def rootfs(self, *names):
        return os.path.join(self.bundle, "rootfs", *names)


class Container:
    """One of the image that runc runs, with as few rights as possible and a folder as its volume."""

    def __init__(self, volume, *words):
        self.name, self.state = f"dove-image-{os.getpid()}", built.path("runc")
        with open(built.bundle + "/config.json") as file:
            config = json.load(file)
        self.default = config["process"]["args"]
        config["process"].update(args=[*built.config["config"]["Entrypoint"], *words] if words else self.default, terminal=False,
                                 capabilities={}, noNewPrivileges=True)
        config["root"]["readonly"] = True
        config["mounts"] = [mount for mount in config["mounts"] if mount["destination"] not in (DATA, "/sys/fs/cgroup")]
        config["mounts"].append({"destination": DATA, "type": "bind", "source": volume, "options": ["bind", "rw", "nosuid", "nodev"]})
        self.bundle = built.path("run")
        os.makedirs(self.bundle, exist_ok=True)
        config["root"]["path"] = built.rootfs()
        with open(self.bundle + "/config.json", "w") as file:
            json.dump(config, file)
        self.log = built.path("run.log")

    def runc(self, *words, **more):
        return call("runc", "--root", self.state, *words, **more)

    def run(self):
        """What a command printed that ends by itself."""
        return self.runc("run", "--bundle", self.bundle, self.name)

    def __enter__(self):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(["runc", "--root", self.state, "run", "--bundle", self.bundle, self.name],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.runc("kill", self.name, "KILL", check=False)
        self.process.wait(30)
        self.runc("delete", "--force", self.name, check=False)

    def pid(self):
        done = self.runc("state", self.name, check=False)
        return json.loads(done.stdout)["pid"] if done.returncode == 0 else None

    def said(self):
        with open(self.log, errors="replace") as file:
            return file.read()


class Written(unittest.TestCase):
    def test_two_builds_have_the_same_bytes(self):
        sums = []
        for name in ("first", "again"):
            with open(built.path(name, "SHA256SUMS")) as file:
                sums.append(file.read())
        self.assertEqual(sums[0], sums[1])
        self.assertIn(os.path.basename(built.archive), sums[0])
        self.assertIn("dovetail-image_0.1.0~test1.spdx.json", sums[0])

    def test_it_says_what_it_is(self):
        self.assertEqual(built.tag, "dovetail:0.1.0-test1")
        config = built.config["config"]
        self.assertEqual((config["Entrypoint"], config["User"]), (["/usr/bin/dove"], f"{USER_ID}:{USER_ID}"))
        self.assertEqual((list(config["Volumes"]), sorted(config["ExposedPorts"])), ([DATA], ["7717/tcp", "7718/tcp"]))
        self.assertEqual(config["Labels"]["org.opencontainers.image.version"], "0.1.0~test1")
        self.assertEqual(len(built.manifest["layers"]), 1)

    def test_nothing_of_this_machine_and_no_way_to_more_rights_is_in_it(self):
        layer = built.manifest["layers"][0]["digest"].replace(":", "/")
        latest = call("date", "-u", "-d", built.config["created"], "+%s").stdout
        with tarfile.open(os.path.join(built.layout, "blobs", layer)) as tar:
            members = {member.name: member for member in tar}
        for name, member in members.items():
            self.assertLessEqual(member.mtime, int(latest), name)
            self.assertFalse(member.isdev(), name)
            self.assertFalse(member.isfile() and member.mode & 0o6000, name)
        for name in ("etc/hostname", "etc/resolv.conf", "etc/apt", "etc/dpkg/dpkg.cfg.d/99mmdebstrap", "var/lib/apt/lists", "usr/bin/apt-get"):
            self.assertNotIn(name, members)
        volume = members[DATA.lstrip("/")]
        self.assertEqual((volume.uid, volume.gid, volume.mode), (USER_ID, USER_ID, 0o750))

    def test_the_document_names_each_package_that_is_in_it(self):
        with open(built.path("first", "dovetail-image_0.1.0~test1.spdx.json")) as file:
            document = json.load(file)
        with open(built.rootfs("var/lib/dpkg/status")) as file:
            installed = {line.split(": ")[1].strip() for line in file if line.startswith("Package: ")}
        packages = {package["SPDXID"]: package for package in document["packages"]}
        image = packages.pop("SPDXRef-Image-dovetail")
        self.assertEqual({package["name"] for package in packages.values()}, installed)
        self.assertLessEqual({"SPDXRef-Package-dovetail-cli", "SPDXRef-Package-dovetail-server", "SPDXRef-Debian-libssl3"}, set(packages))
        self.assertIn("Apache-2.0", packages["SPDXRef-Debian-libssl3"]["licenseDeclared"])
        sum_ = call("sha256sum", built.archive).stdout.split()[0]
        self.assertEqual(image["checksums"], [{"algorithm": "SHA256", "checksumValue": sum_}])
        self.assertEqual({relation["relatedSpdxElement"] for relation in document["relationships"]}, {*packages, image["SPDXID"]})


class Running(unittest.TestCase):
    def setUp(self):
        self.volume = tempfile.mkdtemp(dir=built.folder)
        os.chown(self.volume, USER_ID, USER_ID)

    def test_words_are_those_of_dove(self):
        self.assertRegex(Container(self.volume, "--version").run().stdout, r"^dove \d")

    def dove(self, container, *words):
        """From outside the container, by its address and with TLS."""
        with open(self.volume + "/token") as file:
            token = file.read().strip()
        return call("nsenter", "--target", str(container.pid()), "--net", DOVE, *words, DOVE_URL=f"https://localhost:{PORT}",
                    DOVE_TOKEN=token, DOVE_CA_FILE=self.volume + "/ca.pem", DOVE_DATA="", HOME=built.folder).stdout

    def answered(self, container):
        def is_ready():
            self.assertIsNone(container.process.poll(), container.said())
            return "ready" in container.said()
        until(is_ready, 60, "the server")

    def test_the_controller_runs_in_it_and_a_second_one_goes_on_with_its_volume(self):
        server = Container(self.volume)
        self.assertEqual(server.default, ["/usr/bin/dove", "server", "--data", DATA, "--host", "0.0.0.0"])
        with server:
            self.answered(server)
            job = self.dove(server, "submit", "-o", "name", "--wrap", "true").strip()
            with open(f"/proc/{server.pid()}/status") as file:
                status = dict(line.split(":", 1) for line in file.read().splitlines())
            self.assertEqual(set(status["Uid"].split()), {str(USER_ID)})
            self.assertEqual(int(status["CapEff"], 16) | int(status["CapBnd"], 16), 0)
            # In the container nobody needs a token: the kernel says who calls.
            inside = server.runc("exec", server.name, "/usr/bin/dove", "ps").stdout
            self.assertIn(job, inside)
            server.runc("kill", server.name, "TERM")
            self.assertEqual(server.process.wait(30), 0, server.said())
        with Container(self.volume) as second:
            self.answered(second)
            self.assertIn(job, self.dove(second, "ps"))


def main():
    global built
    if why := missing():
        print(f"skipped: {why}")
        return SKIP
    with tempfile.TemporaryDirectory(prefix="dove-image-test.") as folder:
        os.chmod(folder, 0o755)
        built = Built(folder)
        result = unittest.main(verbosity=2, exit=False, argv=sys.argv).result
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed, {len(result.skipped)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
