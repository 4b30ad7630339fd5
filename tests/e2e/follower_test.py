#!/usr/bin/env python3
"""dove server --follow: a verified copy of a running controller's log elsewhere. It follows from the start and after retention
has cut the log, over restarts of both sides, refuses what is damaged or another log, and a cluster goes on from it."""
# limit_s: 120
import json
import os
import shutil
import signal
import sqlite3
import ssl
import subprocess
import unittest
import urllib.error
import urllib.request

from certificates import Authority
from cluster import DOVE, Cluster, until
from ports import free_port


class Following(unittest.TestCase):
    def begin(self, **options):
        cluster = self.cluster = Cluster(nodes=0, **options).__enter__()
        self.addCleanup(lambda: cluster.__exit__(None, None, None))
        self.copy = cluster.folder + "/copy"
        cluster.run("token", "create", "--create", "copier")
        cluster.run("role", "grant", "admin", "copier")
        made = cluster.run("key", "create", "follower", "--user", "copier", "--scope", "log", "-o", "json").stdout
        self.token = self.write("token", json.loads(made)["key"])
        return cluster

    def write(self, name, text, mode=0o600):
        path = os.path.join(self.cluster.folder, name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as file:
            file.write(text + "\n")
        return path

    def words(self, token=None, url=None, data=None):
        ca = self.cluster.ca_file()
        return ["server", "--follow", url or self.cluster.url, "--follow-token", token or self.token, "--data",
                data or self.copy, "--port", "0", *(["--follow-ca", ca] if ca else [])]

    def follow(self, *more, url=None):
        self.follower = self.cluster.spawn(*self.words(url=url), *more, stdout=subprocess.PIPE)
        line = self.follower.stdout.readline().decode()
        self.follower.stdout.close()
        self.assertIn("follows " + (url or self.cluster.url), line)
        self.page = line.split()[-1]

    def stop(self, how=signal.SIGTERM):
        self.follower.send_signal(how)
        self.assertEqual(self.follower.wait(20), 0 if how == signal.SIGTERM else -how)

    def refused(self, *words, code=None):
        done = subprocess.run([DOVE, *words], capture_output=True, text=True, timeout=30, env=self.cluster.environment)
        self.assertNotIn(done.returncode, (0, -signal.SIGABRT), done.stdout)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def get(self, path):
        context = ssl.create_default_context(cafile=self.cluster.ca_file()) if self.page.startswith("https:") else None
        try:
            with urllib.request.urlopen(self.page + path, timeout=10, context=context) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def head(self):
        return self.cluster.api.call("GET", "/v1/cluster")["log_head"]

    def is_whole(self, limit_s=20):
        def whole():
            status, text = self.get("/readyz")
            return status == 200 and json.loads(text)["records_to"] >= self.head()
        until(whole, limit_s, "the copy to be whole")

    def submit(self, name):
        return self.cluster.submit({"name": name, "command": ["echo", "what " + name + " runs"]})

    def stop_source(self):
        self.cluster.server.terminate()
        self.cluster.server.wait(20)
        self.cluster.api.close()

    def restart_source(self):
        self.stop_source()
        self.cluster.start_server()

    def checks_of_the_copy(self):
        told = self.cluster.run("doctor", "server", "--data", self.copy, "-o", "json", check=False).stdout
        return {check["subject"]: check for check in json.loads(told)["checks"]}

    def goes_on_from_the_copy(self):
        self.cluster.server.kill()
        self.cluster.server.wait(20)
        self.cluster.api.close()
        self.assertIn("dove restore --in-place --data " + self.copy, self.refused("server", "--data", self.copy, "--port", "0"))
        said = self.cluster.run("restore", "--in-place", "--data", self.copy)
        self.assertIn("identity.pem is not there", said.stderr)
        for name in os.listdir(self.cluster.data):
            if name in ("secret", "secrets.key", "token", "identity.pem", "ssh_gateway_token") or name.startswith("ca."):
                shutil.copy2(os.path.join(self.cluster.data, name), self.copy)
        self.cluster.data = self.copy
        self.cluster.start_server()
        self.assertIn("ClusterRestored", str(self.cluster.api.call("GET", "/v1/events?order=newest&limit=100")))

    def test_from_the_first_record_over_restarts_to_a_new_controller(self):
        cluster = self.begin(tls=True)
        jobs = {name: self.submit(name) for name in ("first", "second")}
        self.follow("--heartbeat-ms", "500")
        with open(cluster.folder + "/processes.log") as file:
            self.assertRegex(file.read(), '"settings_without_effect","settings":"heartbeat-ms"')
        self.is_whole()
        jobs["third"] = self.submit("third")
        self.is_whole()
        self.stop(signal.SIGKILL)
        for number in range(20):
            jobs[f"meanwhile{number}"] = self.submit(f"meanwhile{number}")
            if number == 10:
                self.follow()
                self.stop(signal.SIGKILL)
        self.follow()
        self.is_whole()
        self.assertIn('"code":"follower"', self.get("/v1/jobs")[1].replace(" ", ""))
        self.assertEqual(self.get("/healthz")[0], 200)
        self.assertIn(f"dove_follower_records_to {self.head()}\n", self.get("/metrics")[1])
        self.stop_source()
        until(lambda: self.get("/readyz")[0] == 503, 20, "the follower to see that the source is away")
        self.assertIn("dove_follower_interrupted 1\n", self.get("/metrics")[1])
        cluster.start_server()
        jobs["later"] = self.submit("later")
        self.is_whole()
        with open(cluster.folder + "/processes.log") as file:
            lines = file.read()
        self.assertEqual((lines.count("follow_waits"), lines.count("follow_goes_on")), (1, 1))
        self.stop()
        self.assertIn("verified: every decision", cluster.run("replay", self.copy).stdout)
        checks = self.checks_of_the_copy()
        self.assertEqual(checks["keys of the copy"]["verdict"], "warning")
        self.assertIn("identity.pem", checks["keys of the copy"]["evidence"])
        self.assertIn(f"its last record, {self.head()}, is ", checks["copy"]["evidence"])
        self.goes_on_from_the_copy()
        self.assertNotIn("copy", self.checks_of_the_copy(), "it is none any more")
        for name, job in jobs.items():
            shown = cluster.job(job)
            self.assertEqual((shown["name"], shown["state"]), (name, "waiting"))
            self.assertIn(f"what {name} runs", json.dumps(shown))
        self.assertGreater(self.submit("new"), max(jobs.values()))

    def test_another_controller_where_one_does_not_answer(self):
        cluster = self.begin()
        gone = f"{cluster.url.rsplit(':', 1)[0]}:{free_port()}"
        for number, url in enumerate((f"{gone},{cluster.url}", f"{cluster.url},{gone}/")):
            self.follow(url=url)
            self.submit(f"job{number}")
            self.is_whole()
            self.stop()
        with open(cluster.folder + "/processes.log") as file:
            self.assertNotIn("follow_waits", file.read(), "one of them answered at once")
        self.follow(url=f"{gone},{cluster.url}")
        self.is_whole()
        self.restart_source()
        self.submit("later")
        self.is_whole()
        self.stop()
        self.assertIn("ftp:", self.refused(*self.words(url=cluster.url + ",ftp://a"), code=2))

    def test_its_page_with_tls(self):
        self.begin(tls=True)
        self.assertIn("ca.pem is not there: copy ca.* from the source's", self.refused(*self.words(), "--tls"))
        # With a certificate of the site's it signs nothing, and needs no key of the cluster's authority.
        pair = Authority(self.cluster.folder + "/site", self.cluster.ca_file(), self.cluster.data + "/ca.key").pair("IP:127.0.0.1")
        self.follow("--tls", "--tls-certificate", pair[0], "--tls-key", pair[1])
        self.is_whole()
        self.stop()
        self.assertEqual([name for name in os.listdir(self.copy) if name.startswith("ca.")], [])
        for name in ("ca.pem", "ca.key"):
            shutil.copy2(os.path.join(self.cluster.data, name), self.copy)
        self.follow("--tls")
        self.assertTrue(self.page.startswith("https://"), self.page)
        self.is_whole()
        self.stop()

    def test_after_retention_has_cut_the_log(self):
        cluster = self.begin(server_options=["--log-records", "1000"])
        kept = self.submit("kept")
        array = cluster.submit({"command": ["true"], "array": "0-599"})
        cluster.run("cancel", str(array))
        until(lambda: self.head() > 1200, 20, "a log that is long enough")
        for _ in range(2):  # one snapshot, and one after which the log may begin later
            self.restart_source()
        self.follow()
        self.is_whole()
        self.submit("after")
        self.is_whole()
        self.stop()
        self.assertIn("verified", cluster.run("replay", self.copy).stdout)
        self.follow()  # from what is there
        self.is_whole()
        self.stop()
        self.goes_on_from_the_copy()
        self.assertIn("what kept runs", json.dumps(cluster.job(kept)))

    def test_what_is_damaged_or_another_log(self):
        cluster = self.begin()
        self.submit("one")
        self.follow()
        self.is_whole()
        cluster.run("backup", cluster.folder + "/backup", "--plain")
        self.submit("two")
        self.is_whole()
        self.stop()
        # Another cluster, and then this one, put back to an earlier moment.
        with Cluster(nodes=0) as other:
            token = self.write("other", other.api.headers["Authorization"].split()[1])
            self.assertIn("holds a copy of the cluster", self.refused(*self.words(token, other.url), code=4))
            self.assertIn("is no copy", self.refused(*self.words(data=self.stopped(other)), code=4))
        self.stop_source()
        cluster.data = cluster.folder + "/restored"
        cluster.run("restore", cluster.folder + "/backup", "--data", cluster.data)
        cluster.start_server()
        self.submit("else")
        said = self.refused(*self.words(), code=4)
        self.assertRegex(said, r"up to record \d+ \(batch \d+\).*Nothing is changed here.*dove restore --in-place --data")
        # A record of the copy that somebody changed.
        with sqlite3.connect(self.copy + "/log.sqlite") as log:
            log.execute("UPDATE records SET body = body || x'00' WHERE seq = 2")
        log.close()
        self.assertIn("record 2 of the log", self.refused(*self.words()))

    @staticmethod
    def stopped(cluster):
        cluster.server.terminate()
        cluster.server.wait(20)
        return cluster.data

    def test_the_token(self):
        self.begin()
        self.assertIn("--follow-token FILE", self.refused("server", "--follow", self.cluster.url, "--data", self.copy, code=2))
        self.assertIn("chmod 600", self.refused(*self.words(self.write("open", "x", 0o644)), code=2))
        self.assertIn("nowhere", self.refused(*self.words(self.cluster.folder + "/nowhere")))
        user = self.cluster.api.call("POST", "/v1/users/ada/token?create=1")["token"]
        for name, token in (("user", user), ("nobody", "x" * 40)):
            said = self.refused(*self.words(self.write(name, token)))
            self.assertIn("takes a key of an administrator", said)
            self.assertNotIn(token, said)
        with open(self.cluster.folder + "/processes.log") as file:
            self.assertNotIn(user, file.read())


if __name__ == "__main__":
    unittest.main()
