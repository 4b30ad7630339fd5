#!/usr/bin/env python3
"""dove backup of a running server and dove restore: the copy is whole and verified while jobs come in, keys are sealed for a
certificate, a server starts on what was restored, and what is damaged or incomplete is refused and leaves nothing."""
import json
import os
import re
import shutil
import subprocess
import threading
import unittest

from cluster import DOVE, Cluster, until


def sealing_pair(folder):
    """(file of a key, file of the certificate that is sealed for)."""
    key, certificate = folder + "/key.pem", folder + "/certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                    "/CN=backup", "-days", "30", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True, timeout=30)
    return key, certificate


class Backup(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1).__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)
        cls.folder = cls.cluster.folder
        cls.key, cls.certificate = sealing_pair(cls.folder)
        cls.job = cls.cluster.submit({"name": "kept", "command": ["true"]})
        cls.cluster.wait(cls.job)
        cls.made = cls.folder + "/backup"
        cls.cluster.run("backup", cls.made, "--seal-to", cls.certificate)

    def dove(self, *arguments, code=0):
        done = self.cluster.run(*arguments, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def path(self, name):
        path = os.path.join(self.folder, name)
        self.addCleanup(shutil.rmtree, path, True)
        return path

    def damaged(self, change):
        copy = self.path("damaged")
        shutil.copytree(self.made, copy)
        change(copy)
        return copy

    def test_keys_are_sealed_and_openssl_opens_them(self):
        names = set(os.listdir(self.made)) | set(os.listdir(self.made + "/files"))
        self.assertIn("keys.cms", names)
        self.assertFalse(names & {"secret", "token", "identity.pem", "ca.key"}, names)
        opened = subprocess.run(["openssl", "cms", "-decrypt", "-inform", "PEM", "-in", self.made + "/keys.cms", "-inkey",
                                 self.key], check=True, capture_output=True, timeout=30).stdout
        with open(self.cluster.data + "/secret") as file:
            self.assertEqual(json.loads(opened)["secret"], file.read())

    def test_it_is_of_one_instant_while_jobs_come_in(self):
        over = threading.Event()

        def submit():
            while not over.is_set():
                self.cluster.run("submit", "--wrap", "true", cwd=self.folder)

        client = threading.Thread(target=submit)
        client.start()
        try:
            for number in range(3):
                made = self.path(f"busy{number}")
                said = self.dove("backup", made, "--plain")
                self.assertIn("verified; keys and secrets readable", said)
                self.assertIn("verified: every decision", self.dove("replay", made))
        finally:
            over.set()
            client.join(60)
        self.assertEqual(os.stat(made + "/files/secret").st_mode & 0o777, 0o600)
        self.assertFalse([name for name in os.listdir(self.folder) if name.endswith(".partial")])

    def test_a_server_starts_on_what_was_restored(self):
        data = self.path("restored")
        self.dove("restore", self.made, "--data", data, "--key", self.key)
        for name in ("secret", "identity.pem"):
            with open(f"{data}/{name}", "rb") as new, open(f"{self.cluster.data}/{name}", "rb") as old:
                self.assertEqual(new.read(), old.read())
            self.assertEqual(os.stat(f"{data}/{name}").st_mode & 0o777, 0o600)
        with open(self.folder + "/restored.log", "wb") as log:
            server = subprocess.Popen([DOVE, "server", "--data", data, "--port", "0"], stdin=subprocess.DEVNULL, stdout=log,
                                      stderr=log, env=self.cluster.environment)
        try:
            until(lambda: os.path.exists(data + "/url"), 20, "the server to listen")
            with open(data + "/url") as file:
                url = file.read().strip()
            shown = self.cluster.run("show", str(self.job), "-o", "json", "--url", url, DOVE_DATA=data).stdout
            self.assertIn('"kept"', shown)
        finally:
            server.terminate()
            server.wait(20)

    def test_digests_of_keys_are_kept_as_the_keys(self):
        data, made = self.path("open"), self.path("of_open")
        self.dove("restore", self.made, "--data", data, "--key", self.key)
        os.chmod(data + "/keys.sha256", 0o644)
        self.dove("backup", made, "--seal-to", self.certificate, "--data", data)
        self.assertFalse(set(os.listdir(made + "/files")) & {"secret", "keys.sha256"})

    def test_keys_that_change_meanwhile_are_not_taken_with_the_log_before(self):
        data, made = self.path("turning"), self.path("turned")
        self.dove("restore", self.made, "--data", data, "--key", self.key)
        over = threading.Event()

        def turn():
            number = 0
            while not over.is_set():
                number += 1
                with open(data + "/secrets.key.new", "w") as file:
                    file.write(f"{number:064x}\n")
                os.replace(data + "/secrets.key.new", data + "/secrets.key")

        turning = threading.Thread(target=turn)
        turning.start()
        try:
            until(lambda: os.path.exists(data + "/secrets.key"), 20, "a first key")
            said = self.dove("backup", made, "--plain", "--data", data, code=6)
        finally:
            over.set()
            turning.join(20)
        self.assertIn("its keys changed while the log was copied", said)
        self.assertFalse(os.path.exists(made) or os.path.exists(made + ".partial"))
        self.dove("backup", made, "--plain", "--data", data)
        with open(made + "/files/secrets.key") as kept, open(data + "/secrets.key") as now:
            self.assertEqual(kept.read(), now.read())

    def test_a_link_in_the_data_is_refused(self):
        data, made = self.path("linked"), self.path("of_links")
        self.dove("restore", self.made, "--data", data, "--key", self.key)
        os.symlink("/usr", data + "/elsewhere")  # folders are not in a backup, links to them neither
        os.symlink("/etc/hostname", data + "/own.pem")
        said = self.dove("backup", made, "--plain", "--data", data, code=2)
        self.assertIn("own.pem: it is a link", said)
        self.assertFalse(os.path.exists(made))
        os.unlink(data + "/own.pem")
        self.dove("backup", made, "--plain", "--data", data)

    def follow(self, place, every="1s"):
        """The process, and the record after which it goes on."""
        process = subprocess.Popen([DOVE, "backup", place, "--plain", "--follow", "--every", every, "--data",
                                    self.cluster.data], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, env=self.cluster.environment)
        self.addCleanup(process.kill)
        for line in process.stdout:
            if "segments follow" in line:
                return process, int(re.search(r"from record (\d+)", line)[1])
        self.fail("it does not follow")

    @staticmethod
    def ended(process):
        process.terminate()
        said = process.communicate(timeout=30)[0]
        return process.returncode, said

    def end(self, process):
        code, said = self.ended(process)
        self.assertEqual(code, 0, said)
        return int(re.search(r"records to (\d+)$", said.strip())[1])

    def test_segments_follow_and_are_restored(self):
        place = self.path("followed")
        process, base = self.follow(place)
        self.cluster.wait(self.cluster.submit({"name": "later", "command": ["true"]}))
        kept = self.end(process)
        process, again = self.follow(place)
        self.assertEqual(again, kept, "it goes on where it was")
        self.end(process)
        restored = self.path("restored_later")
        self.assertIn("verified", self.dove("restore", place, "--data", restored))
        self.assertIn("verified: every decision", self.dove("replay", restored))

        with open(f"{place}/segments/{base:020}", "r+b") as file:
            file.seek(-1, os.SEEK_END)
            last = file.read(1)
            file.seek(-1, os.SEEK_END)
            file.write(bytes([last[0] ^ 1]))
        nowhere = self.path("nowhere_later")
        self.assertIn(f"--at {base} restores what is before it", self.dove("restore", place, "--data", nowhere, code=1))
        self.assertFalse(os.path.exists(nowhere))
        self.dove("restore", place, "--data", nowhere, "--at", str(base))
        # Another log cannot go on with it: what it holds differs from there on.
        self.assertIn("make another backup", self.dove("backup", place, "--plain", "--follow", "--data", nowhere, code=4))

        os.unlink(f"{place}/segments/{base:020}")
        lost = self.path("lost")
        self.assertIn(f"segments/{base:020}: it is missing", self.dove("restore", place, "--data", lost, code=1))
        self.assertIn("it is missing", self.dove("restore", place, "--data", lost, "--at", str(base + 1), code=1))
        self.assertFalse(os.path.exists(lost))
        self.dove("restore", place, "--data", lost, "--at", str(base))

    def test_one_alone_writes_segments(self):
        place = self.path("followed_twice")
        both = [self.follow(place, every="1d")[0] for _ in range(2)]
        self.cluster.wait(self.cluster.submit({"command": ["true"]}))
        done = [self.ended(process) for process in both]  # each looks once more
        self.assertEqual(sorted(code for code, _ in done), [0, 4], done)
        self.assertIn("let one alone follow this backup", done[0][1] + done[1][1])
        self.assertIn("verified", self.dove("restore", place, "--data", self.path("of_one")))

    def test_what_is_wrong_leaves_nothing(self):
        data = self.path("nowhere")

        def cut(copy):
            with open(copy + "/keys.cms", "r+") as file:
                file.truncate(200)

        def change_log(copy):
            with open(copy + "/log.sqlite", "r+b") as file:
                text = file.read()
                at = text.rindex(b"kept")
                file.seek(at)
                file.write(b"lost")

        self.assertIn("keys.cms: it is not what was written", self.dove(
            "restore", self.damaged(cut), "--data", data, "--key", self.key, code=1))
        shutil.rmtree(self.folder + "/damaged")
        self.assertIn("changed", self.dove("restore", self.damaged(change_log), "--data", data, "--key", self.key, code=1))
        self.assertIn("--key", self.dove("restore", self.made, "--data", data, code=2))
        self.assertIn("another key", self.dove("restore", self.made, "--data", data, "--key", self.other_key(), code=5))
        self.assertFalse(os.path.exists(data) or os.path.exists(data + ".partial"))
        self.assertIn("move what is there away", self.dove("restore", self.made, "--data", self.cluster.data, "--key",
                                                           self.key, code=4))

    def other_key(self):
        path = self.folder + "/other.pem"
        subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path], check=True,
                       capture_output=True, timeout=30)
        return path

    def test_what_is_asked_wrongly(self):
        self.assertIn("--plain", self.dove("backup", self.folder + "/x", code=2))
        self.assertIn("it is there already", self.dove("backup", self.made, "--plain", code=4))
        self.assertIn("does not exist", self.dove("backup", self.folder + "/x", "--plain", "--data", self.folder + "/empty",
                                                  code=3))
        self.assertIn("--follow only", self.dove("backup", self.folder + "/x", "--plain", "--every", "5s", code=2))
        self.assertIn("1s to 1d", self.dove("backup", self.folder + "/x", "--plain", "--follow", "--every", "0s", code=2))
        os.mkdir(self.folder + "/other")
        self.assertIn("holds no backup", self.dove("backup", self.folder + "/other", "--plain", "--follow", code=4))
        self.assertFalse(os.path.exists(self.folder + "/x.partial"))


if __name__ == "__main__":
    unittest.main()
