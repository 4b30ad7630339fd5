#!/usr/bin/env python3
"""tools/setup names the packages of each release that it knows by their names there, and refuses a release that it does not know."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SETUP = os.path.join(ROOT, "tools/setup")
GROUPS = ("build", "run", "test", "check", "fuzz", "peers", "vm", "package")


def setup(release, *groups, mode="list", path=None):
    with tempfile.NamedTemporaryFile("w", suffix=".os-release") as file:
        name, version = release.split()
        file.write(f'ID={name}\nVERSION_ID="{version}"\n')
        file.flush()
        environment = {**os.environ, "DOVE_OS_RELEASE": file.name, "DOVE_SETUP": mode, **({"PATH": path} if path else {})}
        return subprocess.run([SETUP, *groups], env=environment, capture_output=True, text=True, timeout=30)


def packages(release, *groups):
    return setup(release, *groups).stdout.split()


class Names(unittest.TestCase):
    def test_a_package_has_the_name_of_the_release(self):
        for release, boost, java in (("debian 12", "1.81", "17"), ("debian 13", "1.83", "21"), ("ubuntu 24.04", "1.83", "17")):
            found = packages(release, *GROUPS)
            self.assertEqual([name for name in found if name.startswith("libboost")], [f"libboost{boost}-dev"], release)
            self.assertEqual([name for name in found if name.startswith("openjdk")], [f"openjdk-{java}-jre-headless"], release)
            self.assertEqual([name for name in found if name[:1] in "-|" or "|" in name], [])
            self.assertGreater(len(found), 90)

    def test_what_a_release_lacks_is_left_out_and_told(self):
        self.assertEqual(packages("debian 12", "check"), ["clang-format-16", "clang-tidy-16"])
        done = setup("debian 13", "check", "run")
        self.assertEqual(done.stdout.split(), packages("debian 12", "run"))
        self.assertIn("debian 13 has no clang-tidy-16", done.stderr)
        self.assertIn("chromium", packages("debian 13", "test"))
        self.assertNotIn("chromium", packages("ubuntu 24.04", "test"))
        self.assertEqual(setup("debian 13", "fuzz", mode="").returncode, 0, "nothing is left to install")

    def test_peers_have_the_database_that_moves(self):
        found = packages("debian 12", "ha")
        self.assertEqual(found, ["etcd-server", "openssl", "patroni", "postgresql"])
        self.assertLessEqual(set(found), set(packages("debian 12", "peers")))
        self.assertLessEqual(set(found), set(packages("debian 12", "all")))

    def test_another_release_is_refused_before_anything_is_installed(self):
        with tempfile.TemporaryDirectory() as folder:  # without dpkg-query: nothing is installed as far as it can tell
            for name in ("bash", "awk", "sed", "id", "env"):
                os.symlink("/usr/bin/" + name, os.path.join(folder, name))
            done = setup("debian 11", "run", mode="", path=folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("this is debian 11; packages are chosen for debian 12, debian 13, ubuntu 24.04", done.stderr)
        self.assertIn("python3-numpy", done.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
