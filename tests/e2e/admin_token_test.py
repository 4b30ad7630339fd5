#!/usr/bin/env python3
"""`dove token rotate`: another administrator's token on a running server, kept over its restarts, and taken at once by all
controllers that share a log."""
# limit_s: 120
import hashlib
import json
import os
import unittest

import postgres
from cluster import Api, ApiError, Cluster, until
from controllers import Controllers
from ports import free_ports


def me(url, token, ca_file=None):
    """Who the token is at that controller, or the code of its refusal."""
    try:
        return Api(url, token, ca_file=ca_file).call("GET", "/v1/me")["user"]
    except ApiError as error:
        return error.body["code"]


def in_file(data):
    with open(os.path.join(data, "token")) as file:
        return file.read().strip()


class AdminToken(unittest.TestCase):
    def test_a_running_server_takes_another_and_keeps_it(self):
        with Cluster(nodes=0) as cluster:
            former = in_file(cluster.data)
            done = cluster.run("token", "rotate")
            token = done.stdout.strip()
            self.assertIn("lets nobody in any more", done.stderr)
            self.assertEqual(in_file(cluster.data), token)
            self.assertEqual(os.stat(os.path.join(cluster.data, "token")).st_mode & 0o777, 0o600)

            def both():
                return me(cluster.url, former, cluster.ca_file()), me(cluster.url, token, cluster.ca_file())
            self.assertEqual(both(), ("token_invalid", "admin"))
            cluster.run("whoami")  # by the file
            self.assertIn("admin-token", cluster.run("audit").stdout)
            cluster.server.terminate()
            self.assertEqual(cluster.server.wait(20), 0)
            cluster.start_server()
            self.assertEqual(both(), ("token_invalid", "admin"))
            with open(cluster.log.name) as log:
                self.assertNotIn(token, log.read())

            made = json.loads(cluster.run("token", "rotate", "--overlap", "3s", "-o", "json").stdout)
            self.assertEqual(me(cluster.url, made["token"], cluster.ca_file()), "admin")
            until(lambda: me(cluster.url, token, cluster.ca_file()) == "token_invalid", 20, "the overlap to end")

            # A former one that somebody put back is named, and root needs none.
            with open(os.path.join(cluster.data, "token"), "w") as file:
                file.write(former + "\n")
            refused = cluster.run("whoami", check=False)
            self.assertNotEqual(refused.returncode, 0)
            os.remove(os.path.join(cluster.data, "token"))
            self.assertIn("admin", cluster.run("whoami").stdout)

    def test_what_is_no_time_is_refused(self):
        with Cluster(nodes=0) as cluster:
            done = cluster.run("token", "rotate", "--overlap", "soon", check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--overlap", done.stderr)

    @unittest.skipIf(postgres.missing(), postgres.missing())
    def test_a_token_that_was_put_there_hides_no_foreign_keys(self):
        with Controllers(count=1, nodes=0) as cluster:
            data = os.path.join(cluster.folder, "foreign")
            os.makedirs(data, mode=0o700)
            for name, text in (("secret", "a secret of another cluster\n"), ("identity.pem", "another's\n"),
                               ("token", "a token that was put there\n")):
                with open(os.path.join(data, name), "w") as file:
                    file.write(text)
            with open(os.path.join(data, "keys.sha256"), "w") as file:
                for name, text in (("secret", "a secret of another cluster\n"), ("token", "the one before\n")):
                    file.write(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n")
            refused = cluster.run("server", "--data", data, "--store", cluster.postgres.url(),
                                  "--port", str(free_ports(1)), check=False)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn("does not hold the keys of the controllers", refused.stderr)
            self.assertIn("keys.sha256", refused.stderr)

    @unittest.skipIf(postgres.missing(), postgres.missing())
    def test_every_controller_of_a_log_takes_it(self):
        with Controllers(count=2, nodes=0) as cluster:
            first, second = cluster.controllers
            former = cluster.token
            token = cluster.run("token", "rotate", DOVE_URL=first.url, DOVE_DATA=first.data).stdout.strip()
            until(lambda: me(second.url, token) == "admin", 20, "the standby to take the new token")
            # It knows of no other, and says that the leader may.
            self.assertEqual(me(second.url, former), "not_leader")

            def outdated():
                with open(cluster.log.name) as log:
                    return [line for line in log if "token_outdated" in line]
            until(outdated, 20, "the standby to say that its file has a former token")
            self.assertIn(os.path.join(second.data, "token"), outdated()[0])
            self.assertFalse([line for line in outdated() if os.path.join(first.data, "token") in line])
            for one, verdict in ((first, "good"), (second, "warning")):
                found = cluster.run("doctor", "cluster", "-o", "json", DOVE_URL=first.url, DOVE_DATA=one.data,
                                    DOVE_TOKEN=token, check=False)
                check = {each["subject"]: each for each in json.loads(found.stdout)["checks"]}[f"token {one.data}/token"]
                self.assertEqual(check["verdict"], verdict)
                self.assertEqual(check["remedy"] != "", verdict == "warning")
            another = cluster.run("token", "rotate", "--overlap", "1h", DOVE_URL=first.url, DOVE_DATA=first.data).stdout.strip()
            until(lambda: me(second.url, another) == "admin", 20, "the standby to take the third token")
            self.assertEqual(me(second.url, token), "admin", "they overlap")
            first.kill()
            cluster.wait_leader(but=0)
            self.assertEqual([me(second.url, each) for each in (another, token, former)], ["admin", "admin", "token_invalid"])
            self.assertEqual(in_file(second.data), former, "only the server that was asked writes its file")
            cluster.token = another
            cluster.api = cluster.any_api()


if __name__ == "__main__":
    unittest.main()
