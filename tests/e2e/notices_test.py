#!/usr/bin/env python3
"""Notices: people hear of their jobs by mail, by signed webhooks and in a chat, at least once, whoever is away, hangs or is
killed meanwhile; what they choose reaches no network of ours, and what they wrote is nobody else's."""
# limit_s: 240
import base64
import email
import email.policy
import hashlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import unittest

from cluster import DOVE, ApiError, Cluster, until
from receivers import MailServer, SlackServer, WebServer


def unbase64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def number(raw):
    raw = raw.lstrip(b"\0") or b"\0"
    raw = b"\0" + raw if raw[0] & 0x80 else raw
    return b"\x02" + bytes([len(raw)]) + raw


def verified(token, key):
    """The claims of a JWT, once openssl has verified it by the JWK."""
    head, body, signature = token.split(".")
    raw = unbase64(signature)
    inner = number(raw[:32]) + number(raw[32:])
    spki = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d03010703420004") + unbase64(key["x"]) + unbase64(key["y"])
    with tempfile.TemporaryDirectory() as folder:
        for name, data in (("key", spki), ("signature", b"\x30" + bytes([len(inner)]) + inner), ("text", f"{head}.{body}".encode())):
            with open(f"{folder}/{name}", "wb") as file:
                file.write(data)
        subprocess.run(["openssl", "dgst", "-sha256", "-keyform", "DER", "-verify", f"{folder}/key", "-signature",
                        f"{folder}/signature", f"{folder}/text"], check=True, capture_output=True)
    return json.loads(unbase64(head)), json.loads(unbase64(body))


class Notices(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.mail, cls.web = MailServer(), WebServer()
        cls.cluster = Cluster(nodes=1, cores=8)
        settings = os.path.join(cls.cluster.folder, "notices.yaml")
        with open(settings, "w") as file:
            file.write(f"smtp:\n  url: smtp://127.0.0.1:{cls.mail.port}\n  from: dove@example.org\n  starttls: false\n"
                       "webhook_networks: [127.0.0.1]\nhttp_webhooks: true\n")
        cls.cluster.server_options += ["--notices", settings]
        cls.cluster.__enter__()
        cls.tokens = {}

    @classmethod
    def tearDownClass(cls):
        for server in (cls.mail, cls.web):
            server.over.set()
        cls.cluster.__exit__(None, None, None)
        for server in (cls.mail, cls.web):
            server.stop()

    def setUp(self):
        self.web.on_post = self.web.location = None
        self.web.status = 200
        self.web.hangs = set()

    def user(self, name):
        token = self.cluster.api.call("POST", f"/v1/users/{name}/token?create=1")["token"]
        self.tokens[name] = token
        api = self.cluster.caller(token)
        self.addCleanup(api.close)
        return api

    def choose(self, api, name, *targets):
        return api.call("PUT", f"/v1/users/{name}/notices",
                        {"targets": [{"by": by, "to": to, "about": about} for by, to, about in targets]})

    def run_job(self, api, code=0, name="train"):
        job = api.call("POST", "/v1/jobs", {"name": name, "command": ["sh", "-c", f"exit {code}"], "cores": 1})["id"]
        until(lambda: api.call("GET", f"/v1/jobs/{job}")["state"] in ("completed", "failed"), 30, "the job to end")
        return job

    def posts(self, path):
        return [(headers, json.loads(body)) for where, headers, body in list(self.web.posts) if where == path]

    def targets(self, api, name):
        return api.call("GET", f"/v1/users/{name}/notices")["targets"]

    def test_a_mail_tells_how_a_job_ended(self):
        api = self.user("ada")
        self.choose(api, "ada", ("mail", "ada@example.org", ["job_failed"]))
        self.run_job(api)
        job = self.run_job(api, 3, "Größe: <b>")
        until(lambda: self.mail.messages, 20, "a mail")
        sender, to, text = self.mail.messages[0]
        self.assertEqual((sender, to), ("dove@example.org", ["ada@example.org"]))
        message = email.message_from_bytes(text, policy=email.policy.default)
        self.assertEqual(message["Subject"], f"[dove] job {job} (Größe: <b>) ended: failed, exit code 3")
        self.assertEqual((message["Auto-Submitted"], message["From"]), ("auto-generated", "Dovetail <dove@example.org>"))
        body = message.get_content()
        self.assertIn(f"{self.cluster.url}/jobs/{job}", body)
        self.assertIn("Why: a task failed", body)
        until(lambda: self.targets(api, "ada")[0]["waiting"] == 0, 10, "the answer")
        self.assertEqual(len(self.mail.messages), 1)

    def test_what_a_job_asks_for_itself_is_mailed(self):
        api = self.user("fay")
        self.choose(api, "fay", ("mail", "fay@example.org", ["session_idle"]))
        body = {"name": "mailed", "command": ["true"], "cores": 1}
        api.call("POST", "/v1/jobs", {**body, "mail": {"about": ["job_ended"]}})
        api.call("POST", "/v1/jobs", {**body, "mail_about": ["job_ended"], "mail_to": "fay@example.org"})
        api.call("POST", "/v1/jobs", body)
        mine = lambda: [text for _, to, text in self.mail.messages if to == ["fay@example.org"]]  # noqa: E731
        until(lambda: len(mine()) == 2, 30, "two mails")
        status, _, text = api.raw("POST", "/v1/jobs", {**body, "mail_about": ["job_ended"], "mail_to": "eve@example.org"})
        self.assertEqual((status, json.loads(text)["code"]), (403, "mail_not_yours"))
        status, _, text = api.raw("POST", "/v1/jobs", {**body, "mail_about": ["job_ended"], "mail_to": "a@b\nc"})
        self.assertEqual(status, 400, text)
        self.assertEqual(len(mine()), 2)

    def test_a_webhook_is_signed_and_a_chat_is_told(self):
        api = self.user("bea")
        self.choose(api, "bea", ("webhook", self.web.url("/bea/SECRET"), ["job_started", "job_ended"]),
                    ("slack", self.web.url("/bea/chat"), ["job_ended"]))
        job = self.run_job(api)
        until(lambda: len(self.posts("/bea/SECRET")) == 2 and self.posts("/bea/chat"), 20, "the posts")
        self.assertEqual(sorted(body["about"] for _, body in self.posts("/bea/SECRET")), ["job_ended", "job_started"])
        keys = self.cluster.api.call("GET", "/v1/identity-keys")["keys"]
        for path, headers, raw in list(self.web.posts):
            if path != "/bea/SECRET":
                continue
            head, claims = verified(headers["Dove-Notice-Signature"], keys[0])
            self.assertEqual((head["typ"], head["kid"]), ("dove-notice+jwt", keys[0]["kid"]))
            self.assertEqual(claims["body_sha256"], hashlib.sha256(raw).hexdigest())
            self.assertEqual(claims["jti"], headers["Dove-Notice-Id"])
            self.assertEqual(claims["aud"], f"notice:http://127.0.0.1:{self.web.port}")
            self.assertEqual((claims["exp"] - claims["iat"], claims["iss"]), (300, self.cluster.url))
            self.assertEqual(json.loads(raw)["job"]["id"], job)
            # It opens nothing here.
            with self.assertRaises(ApiError) as refused:
                self.cluster.caller(headers["Dove-Notice-Signature"]).call("GET", "/v1/me")
            self.assertEqual(refused.exception.status, 401)
        self.assertIn(f"job {job} (train) ended: completed", self.posts("/bea/chat")[0][1]["text"])
        # Whoever knows the URL may post there: nobody is shown it again.
        for shown in (api.raw("GET", "/v1/users/bea/notices"), api.raw("GET", "/v1/objects/user/bea"),
                      self.cluster.api.raw("GET", "/v1/events?kind=object_applied&limit=1000")):
            self.assertEqual(shown[0], 200)
            self.assertNotIn(b"SECRET", shown[2])
        shown = self.targets(api, "bea")
        kept = self.choose(api, "bea", *[(target["by"], target["to"], ["job_ended"]) for target in shown])["targets"]
        self.assertEqual([target["to"] for target in kept], [target["to"] for target in shown])
        self.run_job(api)
        until(lambda: len(self.posts("/bea/SECRET")) == 3, 20, "the next post")
        metrics = self.cluster.api.raw("GET", "/metrics")[2].decode()
        self.assertRegex(metrics, r'dove_notices_total\{by="webhook",result="delivered"\} [3-9]')

    def test_a_chat_is_told_in_slacks_form(self):
        slack, api = SlackServer(), self.user("kit")
        self.addCleanup(slack.web.stop)
        told = self.cluster.run("notices", "add", "--slack", slack.url(), "--about", "job_failed", DOVE_URL=self.cluster.url,
                                DOVE_TOKEN=self.tokens["kit"])
        self.assertEqual(told.returncode, 0, told.stderr)
        self.run_job(api)
        job = self.run_job(api, 3, "<!channel> & <https://evil.example|click>")
        text = until(lambda: slack.messages, 20, "the message")[0]
        self.assertEqual(slack.commands(text), [f"{self.cluster.url}/jobs/{job}"], "one link, and no mention")
        self.assertIn(f"job {job} (<!channel> & <https://evil.example|click>) ended: failed, exit code 3", slack.shown(text))
        until(lambda: self.targets(api, "kit")[0]["waiting"] == 0, 10, "the answer")
        self.assertEqual((slack.tries, len(slack.messages)), (1, 1), "only of what was chosen, and only once")
        self.assertTrue(api.call("POST", "/v1/users/kit/notices/1/test")["delivered"])
        # A webhook that is gone is not tried again.
        slack.refusal = (404, "no_service")
        self.run_job(api, 3)
        target = until(lambda: self.targets(api, "kit")[0].get("error") and self.targets(api, "kit")[0], 20, "the refusal")
        self.assertEqual((target["waiting"], target["error"].split(":")[0], slack.tries), (0, "http_404", 3))

    def test_who_is_away_hears_of_it_once_they_are_back(self):
        api, away = self.user("cy"), WebServer()
        away.stop()
        self.choose(api, "cy", ("webhook", away.url("/cy"), ["job_ended"]))
        job = self.run_job(api)
        target = until(lambda: self.targets(api, "cy")[0].get("error") and self.targets(api, "cy")[0], 20, "a failed try")
        self.assertEqual((target["waiting"], target["error"].split(":")[0]), (1, "unreachable"))
        away.start()
        until(lambda: away.posts, 60, "the notice, late")
        until(lambda: self.targets(api, "cy")[0]["waiting"] == 0, 10, "the answer")
        self.assertEqual([json.loads(body)["job"]["id"] for _, _, body in away.posts], [job])
        away.stop()

    def test_who_hangs_holds_nobody_else_up(self):
        api, slow = self.user("dan"), WebServer()
        slow.hangs = {"/dan"}
        self.mail.hangs.set()
        self.addCleanup(self.mail.hangs.clear)
        self.choose(api, "dan", ("webhook", slow.url("/dan"), ["job_ended"]),
                    ("mail", "dan@example.org", ["job_ended"]))
        self.run_job(api)
        until(lambda: slow.posts, 20, "the slow one to be asked")
        # The same host, by another name: that is another host to us.
        other = self.user("eve")
        self.choose(other, "eve", ("webhook", self.web.url("/eve", "localhost"), ["job_ended"]))
        self.run_job(other)
        until(lambda: self.posts("/eve"), 8, "the notice of somebody else")
        self.assertEqual(self.cluster.api.call("GET", "/healthz")["status"], "ok")
        slow.over.set()
        slow.stop()

    def test_a_kill_between_sending_and_writing_tells_twice_with_one_id(self):
        api = self.user("fay")
        self.choose(api, "fay", ("webhook", self.web.url("/fay"), ["job_ended"]))
        killed = threading.Event()

        def kill():
            if not killed.is_set():
                killed.set()
                os.kill(self.cluster.server.pid, signal.SIGKILL)

        self.web.on_post = kill
        api.call("POST", "/v1/jobs", {"name": "train", "command": ["true"], "cores": 1})
        self.assertTrue(killed.wait(30))
        self.cluster.server.wait(10)
        self.cluster.start_server()
        until(lambda: len(self.posts("/fay")) >= 2, 30, "the notice again")
        self.assertEqual(len({headers["Dove-Notice-Id"] for headers, _ in self.posts("/fay")}), 1)
        self.cluster.wait_connected()

    def test_networks_of_ours_are_out_of_reach(self):
        api = self.user("gus")
        for to, code in (("https://10.0.0.1/x", "address_refused"), ("https://169.254.169.254/x", "address_refused"),
                         ("https://[::1]/x", "address_refused"), ("ftp://hooks.example.org/x", "bad_url")):
            with self.assertRaises(ApiError) as refused:
                self.choose(api, "gus", ("webhook", to, ["job_ended"]))
            self.assertEqual((refused.exception.status, refused.exception.body["code"]), (400, code), to)
        # A redirect leads nowhere.
        self.choose(api, "gus", ("webhook", self.web.url("/gus"), ["job_ended"]))
        self.web.status, self.web.location = 302, self.web.url("/elsewhere")
        answer = api.call("POST", "/v1/users/gus/notices/1/test")
        self.assertEqual((answer["delivered"], answer["code"]), (False, "http_302"))
        self.assertFalse(self.posts("/elsewhere"))
        self.web.status, self.web.location = 200, None
        self.assertTrue(api.call("POST", "/v1/users/gus/notices/1/test")["delivered"])
        self.assertTrue(self.posts("/gus")[-1][1]["test"])

    def test_a_name_is_judged_by_its_address(self):
        with Cluster(nodes=0) as cluster:
            token = cluster.api.call("POST", "/v1/users/ada/token?create=1")["token"]
            api = cluster.caller(token)
            with self.assertRaises(ApiError) as refused:
                self.choose(api, "ada", ("mail", "ada@example.org", ["job_ended"]))
            self.assertEqual(refused.exception.body["code"], "no_mail")
            self.choose(api, "ada", ("webhook", f"https://localhost:{self.web.port}/x", ["job_ended"]))
            answer = api.call("POST", "/v1/users/ada/notices/1/test")
            self.assertEqual((answer["delivered"], answer["code"]), (False, "address_refused"))

    def test_only_oneself_and_administrators_choose(self):
        hal, ida = self.user("hal"), self.user("ida")
        targets = {"targets": [{"by": "mail", "to": "hal@example.org", "about": ["job_ended"]}]}
        for method, path, body in (("GET", "/v1/users/hal/notices", None), ("PUT", "/v1/users/hal/notices", targets),
                                   ("POST", "/v1/users/hal/notices/1/test", None)):
            with self.assertRaises(ApiError) as refused:
                ida.call(method, path, body)
            self.assertIn(refused.exception.status, (403, 404))
        self.assertEqual(len(self.cluster.api.call("PUT", "/v1/users/hal/notices", targets)["targets"]), 1)
        targets["targets"][0]["about"] = ["node_sick"]
        with self.assertRaises(ApiError) as refused:
            hal.call("PUT", "/v1/users/hal/notices", targets)
        self.assertEqual(refused.exception.body["code"], "not_an_administrator")

    def test_a_mailbox_that_is_refused_is_given_up(self):
        api = self.user("jo")
        self.mail.refused = {"jo@example.org"}
        self.choose(api, "jo", ("mail", "jo@example.org", ["job_ended"]))
        self.run_job(api)
        target = until(lambda: self.targets(api, "jo")[0].get("error") and self.targets(api, "jo")[0], 40, "the refusal")
        self.assertEqual((target["waiting"], target["error"].split(":")[0]), (0, "mail_refused"))

    def test_the_command_line(self):
        self.user("kim")
        mine = {"DOVE_URL": self.cluster.url, "DOVE_TOKEN": self.tokens["kim"]}
        self.assertIn("no notices", self.cluster.run("notices", **mine).stderr)
        self.cluster.run("notices", "add", "--mail", "kim@example.org", "--about", "job_failed", **mine)
        self.cluster.run("notices", "add", "--webhook", self.web.url("/kim"), **mine)
        shown = self.cluster.run("notices", **mine).stdout
        self.assertIn("kim@example.org", shown)
        self.assertIn("job_ended,job_stops_soon,session_idle", shown)
        self.assertEqual(self.cluster.run("notices", "test", "2", **mine).stdout, "delivered\n")
        self.assertIn("kim@example.org", self.cluster.run("notices", "remove", "1", **mine).stdout)
        self.assertNotIn("kim@example.org", self.cluster.run("notices", **mine).stdout)
        wrong = self.cluster.run("notices", "add", "--mail", "kim", check=False, **mine)
        self.assertNotEqual(wrong.returncode, 0)
        self.assertIn("write NAME@HOST alone", wrong.stderr)

    def test_a_bad_file_is_named_with_its_line(self):
        path = os.path.join(self.cluster.folder, "bad.yaml")
        with open(path, "w") as file:
            file.write("smtp:\n  url: smtp://mail.example.org\n  form: dove@example.org\n")
        done = subprocess.run([DOVE, "server", "--data", self.cluster.folder + "/x", "--port", "0", "--notices", path],
                              capture_output=True, text=True, timeout=30, env=self.cluster.environment)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"{path}:3:3: smtp has no field `form`; did you mean `from`?", done.stderr)

    def test_secrets_are_not_logged(self):
        with open(os.path.join(self.cluster.folder, "processes.log")) as file:
            self.assertNotIn("SECRET", file.read())


if __name__ == "__main__":
    unittest.main()
