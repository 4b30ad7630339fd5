#!/usr/bin/env python3
"""Users' tokens that end: good until then, refused after it with a code and the remedy, shown with their user, and named by
`dove doctor` a week before. Without --expires a token is good until there is another."""
import json
import unittest

from cluster import Api, ApiError, Cluster, until


class TokenExpiry(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=0).__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)

    def token(self, user, *options):
        return json.loads(self.cluster.run("token", "create", "--create", user, "-o", "json", *options).stdout)

    def me(self, made):
        api = Api(self.cluster.url, made["token"], ca_file=self.cluster.ca_file())
        try:
            return api.call("GET", "/v1/me")["user"]
        except ApiError as error:
            return error.body["code"]

    def test_a_token_is_good_until_it_ends(self):
        made = self.token("ada", "--expires", "3s")
        self.assertEqual(self.me(made), "ada")
        until(lambda: self.me(made) == "token_expired", 20, "the token to end")
        refused = self.cluster.run("whoami", check=False, DOVE_URL=self.cluster.url, DOVE_TOKEN=made["token"])
        self.assertIn("dove token create ada", refused.stderr)
        again = self.token("ada")
        self.assertNotIn("expires_at_us", again)
        self.assertEqual(self.me(again), "ada")
        self.assertEqual(self.me(made), "token_invalid")

    def test_it_is_shown_and_the_doctor_warns_before(self):
        made = self.token("bob", "--expires", "3d")
        self.token("cy", "--expires", "30d")
        shown = json.loads(self.cluster.run("get", "user", "bob", "-o", "json").stdout)
        self.assertEqual(shown["token_expires_at_us"], made["expires_at_us"])
        checks = json.loads(self.cluster.run("doctor", "cluster", "-o", "json", check=False).stdout)["checks"]
        tokens = next(check for check in checks if check["subject"] == "tokens")
        self.assertEqual(tokens["verdict"], "warning")
        self.assertIn("bob", tokens["evidence"])
        self.assertNotIn("cy", tokens["evidence"])
        self.assertIn("dove token create --expires 30d", tokens["remedy"])

    def test_what_is_no_time_is_refused(self):
        done = self.cluster.run("token", "create", "--create", "dan", "--expires", "soon", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--expires", done.stderr)


if __name__ == "__main__":
    unittest.main()
