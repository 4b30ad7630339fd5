#!/usr/bin/env python3
"""dove backup to a bucket and back, with a store that nobody here wrote (moto plays Amazon's S3 and checks signatures): the base in
parts, segments that follow while jobs come in, a restore of the last moment and of one before it. A wrong key, a bucket that is
not there, a store that is away and damaged objects are told, and nothing is half done. Skips without moto (tools/peer_tools)."""
# limit_s: 240
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests/e2e")]
from backup_test import sealing_pair  # noqa: E402
from cluster import DOVE, SKIP, Cluster, until  # noqa: E402
from ports import free_port  # noqa: E402

MOTO = os.path.join(ROOT, "build/peer-buckets/bin")
SET_UP = """
import boto3, json, sys
at = dict(region_name="us-east-1", endpoint_url=sys.argv[1])
iam = boto3.client("iam", aws_access_key_id="x", aws_secret_access_key="y", **at)
iam.create_user(UserName="dove")
allow = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
iam.put_user_policy(UserName="dove", PolicyName="all", PolicyDocument=json.dumps(allow))
key = iam.create_access_key(UserName="dove")["AccessKey"]
s3 = boto3.client("s3", aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"], **at)
s3.create_bucket(Bucket="dove-backups")
print(key["AccessKeyId"], key["SecretAccessKey"])
"""
OBJECTS = """
import boto3, os, sys
s3 = boto3.client("s3", region_name="us-east-1", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
if sys.argv[1] == "list":
    for one in s3.list_objects_v2(Bucket="dove-backups").get("Contents", []): print(one["Key"])
elif sys.argv[1] == "delete":
    s3.delete_object(Bucket="dove-backups", Key=sys.argv[2])
else:
    body = bytearray(s3.get_object(Bucket="dove-backups", Key=sys.argv[2])["Body"].read())
    body[-1] ^= 1
    s3.put_object(Bucket="dove-backups", Key=sys.argv[2], Body=bytes(body))
"""


class Store:
    """moto's server, from its third call on with signatures that are checked."""

    def __init__(self, folder):
        self.port = free_port()
        self.log = open(folder + "/moto.log", "wb")
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen([MOTO + "/moto_server", "-H", "127.0.0.1", "-p", str(self.port)],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        env={**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": "3"})
        until(self.answers, 60, "moto to listen")

    def answers(self):
        try:
            urllib.request.urlopen(self.url + "/moto-api/", timeout=5).close()
            return True
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


class Buckets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1).__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)
        cls.folder = cls.cluster.folder
        cls.key, cls.certificate = sealing_pair(cls.folder)
        cls.store = Store(cls.folder)
        cls.addClassCleanup(cls.store.stop)
        made = subprocess.run([MOTO + "/python", "-c", SET_UP, cls.store.url], check=True, capture_output=True, text=True,
                              timeout=60)
        key_id, secret = made.stdout.split()
        cls.keys = {"AWS_ACCESS_KEY_ID": key_id, "AWS_SECRET_ACCESS_KEY": secret, "AWS_ENDPOINT_URL": cls.store.url}
        cls.run_job("before")

    @classmethod
    def run_job(cls, name):
        cls.cluster.wait(cls.cluster.submit({"name": name, "command": ["true"]}))

    def dove(self, *arguments, code=0, **more):
        done = self.cluster.run(*arguments, check=False, **{**self.keys, **more})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotIn(self.keys["AWS_SECRET_ACCESS_KEY"], done.stdout + done.stderr)
        return done.stdout + done.stderr

    def objects(self, *arguments):
        return subprocess.run([MOTO + "/python", "-c", OBJECTS, *arguments], check=True, capture_output=True, text=True,
                              timeout=60, env={**os.environ, **self.keys}).stdout.split()

    def path(self, name):
        path = os.path.join(self.folder, name)
        self.addCleanup(shutil.rmtree, path, True)
        return path

    def follow(self, url):
        with open(self.folder + "/follow.log", "ab") as log:
            process = subprocess.Popen([DOVE, "backup", url, "--seal-to", self.certificate, "--follow", "--every", "1s",
                                        "--data", self.cluster.data], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       env={**self.cluster.environment, **self.keys})
        self.addCleanup(process.kill)
        return process

    def said(self):
        with open(self.folder + "/follow.log") as file:
            return file.read()

    def end(self, process):
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 0, self.said())
        return int(re.findall(r"records to (\d+)$", self.said(), re.M)[-1])

    def test_segments_follow_the_base(self):
        url = "s3://dove-backups/room/daily"
        process = self.follow(url)
        until(lambda: "segments follow" in self.said(), 60, "the base to be kept")
        base = int(re.search(r"records to (\d+),", self.said())[1])
        self.run_job("after the backup")
        kept = self.end(process)
        self.assertGreater(kept, base)
        self.assertFalse([name for name in os.listdir("/var/tmp") if name.startswith("dove-backup-")], "the scratch copy stays")
        names = self.objects("list")
        self.assertIn("room/daily/whole.json", names)
        self.assertIn(f"room/daily/segments/{base:020}", names)
        self.assertFalse([name for name in names if re.search(r"files/(secret|token|identity)", name)], "keys are sealed")

        # It goes on where it was, and while the store is away it waits.
        process = self.follow(url)
        until(lambda: f"follow from record {kept} on" in self.said(), 60, "the second to go on")
        self.run_job("later")
        later = self.end(process)
        self.assertGreater(later, kept)

        last, first = self.path("last"), self.path("first")
        said = self.dove("restore", url, "--data", last, "--key", self.key)
        self.assertGreaterEqual(int(re.search(r"records to (\d+)", said)[1]), later)
        self.assertIn("verified: every decision", self.dove("replay", last))
        said = self.dove("restore", url, "--data", first, "--key", self.key, "--at", str(base))
        self.assertLessEqual(int(re.search(r"records to (\d+)", said)[1]), base)

        self.objects("damage", f"room/daily/segments/{base:020}")
        nowhere = self.path("nowhere")
        said = self.dove("restore", url, "--data", nowhere, "--key", self.key, code=1)
        self.assertIn(f"segments/{base:020}: it is not what was written; --at {base} restores what is before it", said)
        self.assertFalse(os.path.exists(nowhere))
        self.dove("restore", url, "--data", nowhere, "--key", self.key, "--at", str(base))

    def test_what_is_not_whole_is_no_backup(self):
        url = "s3://dove-backups/cut"
        large = os.urandom(1 << 20) * 33
        with open(self.cluster.data + "/large", "wb") as file:
            file.write(large)
        self.addCleanup(os.remove, self.cluster.data + "/large")
        self.dove("backup", url, "--seal-to", self.certificate)
        self.assertIn("cut/files/large.part0000001", self.objects("list"))
        whole = self.path("whole")
        self.dove("restore", url, "--data", whole, "--key", self.key)
        with open(whole + "/large", "rb") as file:
            self.assertEqual(file.read(), large)
        self.assertIn("there is a backup already", self.dove("backup", url, "--seal-to", self.certificate, code=4))
        self.objects("damage", "cut/log.sqlite")
        self.assertIn("log.sqlite: it is not what was written", self.dove(
            "restore", url, "--data", self.path("nowhere2"), "--key", self.key, code=1))
        self.objects("delete", "cut/whole.json")
        self.assertIn("never finished", self.dove("restore", url, "--data", self.path("nowhere2"), "--key", self.key, code=3))

    def test_refusals_name_the_remedy(self):
        sealed = ("--seal-to", self.certificate)
        self.assertIn("AWS_SECRET_ACCESS_KEY", self.dove("backup", "s3://dove-backups/x", *sealed, code=5,
                                                         AWS_SECRET_ACCESS_KEY="wrong"))
        self.assertIn("there is no bucket nobodys", self.dove("backup", "s3://nobodys/x", *sealed, code=3))
        self.assertIn("set AWS_ACCESS_KEY_ID", self.dove("backup", "s3://dove-backups/x", *sealed, code=2,
                                                         AWS_ACCESS_KEY_ID=""))
        self.assertIn("write s3://BUCKET/PREFIX", self.dove("backup", "s3://dove-backups", *sealed, code=2))
        self.assertIn("write s3://BUCKET/PREFIX", self.dove("backup", "s3://dove-backups/../x", *sealed, code=2))
        self.assertIn("others can read", self.dove("backup", "s3://dove-backups/x", "--plain", code=2))
        self.assertIn("write https://HOST", self.dove("backup", "s3://dove-backups/x", *sealed, code=2,
                                                      AWS_ENDPOINT_URL="http://me@host/path"))
        said = self.dove("backup", "s3://dove-backups/x", *sealed, code=6, AWS_ENDPOINT_URL="http://127.0.0.1:1")
        self.assertIn("cannot be reached", said)


if __name__ == "__main__":
    if not os.path.exists(MOTO + "/moto_server"):
        print("skipped: moto is missing (tools/peer_tools)")
        sys.exit(SKIP)
    unittest.main()
