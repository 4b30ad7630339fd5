#!/usr/bin/env python3
"""The site's sign-in hook, a program and an HTTP server: whom it lets in and refuses, what becomes of each way to fail, and
what it never does: hold others up, leave something behind, or bring a password into a log. And the one for Keystone."""
# limit_s: 240
# waits
import fcntl
import glob
import itertools
import json
import os
import re
import shutil
import subprocess
import threading
import time
import unittest

from cluster import DOVE, ROOT, Cluster, until
from hooks import PASSWORD, HttpHook, Keystone, make_program, own_certificate

ADDRESSES = itertools.count(2)  # an address has few tries; each of ours has one of its own


def ask(cluster, method, path, body=None, cookie=None):
    connection = cluster.connection(source_address=(f"127.0.9.{next(ADDRESSES)}", 0))
    headers = {"Content-Type": "application/json", "Origin": cluster.url, **({"Cookie": cookie} if cookie else {})}
    connection.request(method, path, json.dumps(body) if body is not None else None, headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, json.loads(text) if text else None, (answer.getheader("Set-Cookie") or "").split(";")[0]


def sign_in(cluster, user, password=PASSWORD):
    """(status, code or the user's name here)"""
    status, answer, cookie = ask(cluster, "POST", "/v1/sign-in", {"user": user, "password": password})
    assert (status == 201) == bool(cookie), answer
    return status, answer["user"] if status == 201 else answer["code"]


def together(calls):
    """Their results, each called in a thread of its own that has begun."""
    results = [None] * len(calls)

    def keep(at):
        results[at] = calls[at]()
    threads = [threading.Thread(target=keep, args=(at,)) for at in range(len(calls))]
    for thread in threads:
        thread.start()

    def joined():
        for thread in threads:
            thread.join(60)
        return results
    return joined


class Hooks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = Cluster(nodes=0)
        cls.folder = os.path.join(cls.program.folder, "hook")
        os.mkdir(cls.folder, 0o700)
        cls.program.server_options += ["--sign-in-hook", make_program(cls.folder), "--local-passwords"]
        cls.program.__enter__()
        cls.hook = HttpHook()
        cls.http = Cluster(nodes=0, server_options=["--sign-in-hook", cls.hook.url + "/check?key=canary-of-the-url"]).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.hook.close()
        cls.http.__exit__(None, None, None)
        cls.program.__exit__(None, None, None)

    def log(self, cluster=None):
        with open(os.path.join((cluster or self.program).folder, "processes.log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def noted(self, name):
        try:
            with open(os.path.join(self.folder, name)) as file:
                return file.read().split("\n")[:-1]
        except FileNotFoundError:
            return []

    def test_a_program_lets_in_and_refuses(self):
        ways = self.program.api.call("GET", "/v1/sign-in")
        self.assertEqual(ways, {"ways": [], "passwords": True, "local_passwords": True, "site_passwords": True})
        self.assertEqual(sign_in(self.program, "ada"), (201, "ada"))
        self.assertEqual(self.program.api.call("GET", "/v1/objects/user/ada")["identity"], "hook ada")
        for user, password in (("ada", "guessed"), ("locked", PASSWORD)):
            self.assertEqual(sign_in(self.program, user, password), (401, "wrong_password"))
        self.assertIn("locked since Monday", self.log())
        self.assertEqual(sign_in(self.program, "admin"), (401, "bad_account"))
        self.program.api.call("PUT", "/v1/objects/user/mallory", {"disabled": True})
        self.assertEqual(sign_in(self.program, "mallory"), (401, "user_disabled"))

    def test_a_program_has_nothing_of_the_server(self):
        self.assertEqual(sign_in(self.program, "shows"), (201, "shows"))
        shown = json.loads(self.noted("shown")[0])
        self.assertEqual(sorted(shown["environment"]), ["LANG", "PATH"])
        self.assertEqual(sorted(shown["descriptors"]), ["0", "1", "2"])
        self.assertEqual(shown["arguments"], [os.path.join(self.folder, "hook")])
        self.assertTrue(shown["leads"], "a session of its own")
        self.assertRegex(shown["address"], r"^127\.0\.9\.\d+$")
        self.assertEqual((shown["fields"], shown["version"]), (["address", "password", "user", "version"], 1))

    def test_what_is_no_answer_lets_nobody_in(self):
        for user in ("floods", "noise", "breaks", "explains", "strange"):
            self.assertEqual(sign_in(self.program, user), (503, "hook_failed"), user)
        for words in ("more than 64 KiB", "no JSON object", 'exit status 3"', "exit status 7; it says: the directory is down",
                      "has a name that no user here can have"):
            self.assertIn(words, self.log())
        self.assertFalse({"floods", "noise", "breaks", "strange"} & {user["name"] for user in self.users(self.program)})

    def users(self, cluster):
        return cluster.api.call("GET", "/v1/objects?kind=user")["objects"]

    def test_a_child_that_is_left_behind_is_ended(self):
        began = time.monotonic()
        self.assertEqual(sign_in(self.program, "leaves"), (201, "leaves"))
        self.assertLess(time.monotonic() - began, 5, "it holds the pipe open, and is not waited for")
        child = self.noted("left")[0]

        def is_gone():
            try:
                with open(f"/proc/{child}/stat") as file:
                    return file.read().rsplit(") ", 1)[1][0] == "Z"
            except FileNotFoundError:
                return True
        until(is_gone, 10, "the child to end")

    def test_groups_are_let_in_by_bindings(self):
        self.program.api.call("PUT", "/v1/objects/project/vision", {})
        self.assertEqual(sign_in(self.program, "grace"), (201, "grace"))
        self.program.api.call("PUT", "/v1/objects/binding/ml", {"role": "member", "project": "vision", "groups": ["hook.ml"]})
        roles = []
        for _ in range(2):
            status, me, _ = ask(self.program, "POST", "/v1/sign-in", {"user": "grace", "password": PASSWORD})
            self.assertEqual(status, 201, me)
            roles.append([role["name"] for role in me["roles"]])
            open(os.path.join(self.folder, "no-groups"), "w").close()
        self.assertEqual(roles, [["vision"], []])
        self.assertEqual(self.program.api.call("GET", "/v1/objects/group/hook.physics.hep")["users"], [])

    def test_four_are_asked_at_once_and_others_wait(self):
        with open(os.path.join(self.folder, "lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            joined = together([lambda: sign_in(self.program, "waits")] * 6)
            until(lambda: len(self.noted("begun-waits")) == 4, 10, "four to be asked")
            self.assertEqual(ask(self.program, "GET", "/healthz")[0], 200)
            self.assertEqual(len(self.noted("begun-waits")), 4)
        self.assertEqual(joined(), [(201, "waits")] * 6)

    def test_one_that_hangs_is_given_ten_seconds_and_holds_nobody_up(self):
        began = time.monotonic()
        joined = together([lambda: sign_in(self.program, "slow"), lambda: sign_in(self.http, "slow")])
        until(lambda: self.noted("begun-slow") and self.hook.asked, 10, "both to be asked")
        for cluster in (self.program, self.http):
            self.assertEqual(sign_in(cluster, "bob"), (201, "bob"))
            self.assertEqual(ask(cluster, "GET", "/healthz")[0], 200)
        self.assertLess(time.monotonic() - began, 8)
        self.assertEqual(joined(), [(503, "hook_failed")] * 2)
        self.assertLess(time.monotonic() - began, 20)

    def test_a_wrong_password_takes_the_same_time_wherever_it_is_judged(self):
        self.program.api.call("PUT", "/v1/objects/user/local", {})
        self.program.api.call("PUT", "/v1/users/local/password", {"password": "known to dove alone"})

        def took(user, password, code):
            began = time.monotonic()
            self.assertEqual(sign_in(self.program, user, password)[1], code)
            return time.monotonic() - began
        slow = together([lambda: took("local", "guessed at once", "wrong_password"), lambda: took("bob", "guessed", "wrong_password"),
                         lambda: took("breaks", PASSWORD, "hook_failed")])()
        quick = took("bob", PASSWORD, "bob")
        for wrong in slow:
            self.assertGreaterEqual(wrong, 4)
        self.assertLess(quick, 4)
        status, answer, _ = ask(self.program, "POST", "/v1/sign-in",
                                {"user": "bob", "password": "guessed", "new_password": "short"})
        self.assertEqual((status, answer["code"]), (400, "password_too_short"), "as of somebody with a password here")

    def test_an_http_server_lets_in_and_refuses(self):
        self.assertEqual(sign_in(self.http, "ada"), (201, "ada"))
        self.assertEqual(self.http.api.call("GET", "/v1/objects/group/hook.ml")["users"].count("ada"), 1)
        for user, password in (("ada", "guessed"), ("locked", PASSWORD)):
            self.assertEqual(sign_in(self.http, user, password), (401, "wrong_password"))
        for user in ("moved", "breaks", "created", "noise", "floods"):
            self.assertEqual(sign_in(self.http, user), (503, "hook_failed"), user)
        self.assertNotIn("/elsewhere", [path for _, path in self.hook.asked])
        for words in ("status 302", "status 500", "status 201", "no JSON object", "response_too_large"):
            self.assertIn(words, self.log(self.http))
        self.assertNotIn("canary", self.log(self.http))

    def test_tls_is_verified(self):
        tls, certificate = own_certificate(self.folder)
        hook = HttpHook(tls)
        try:
            for options, expected in (([], (503, "hook_failed")), (["--sign-in-hook-ca", certificate], (201, "ada"))):
                with Cluster(nodes=0, server_options=["--sign-in-hook", hook.url, *options]) as cluster:
                    self.assertEqual(sign_in(cluster, "ada"), expected)
                    self.assertEqual("certificate_untrusted" in self.log(cluster), not options)
        finally:
            hook.close()

    def test_dove_login_is_let_in_by_who_signed_in_so(self):
        home = os.path.join(self.folder, "home")
        environment = {**self.program.environment, "HOME": home, "XDG_CONFIG_HOME": home}
        cookie = ask(self.program, "POST", "/v1/sign-in", {"user": "linus", "password": PASSWORD})[2]
        trusts = ["--ca-file", self.program.ca_file()] if self.program.ca_file() else []
        login = subprocess.Popen([DOVE, "login", self.program.url, *trusts], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env=environment)
        code = re.search(r"\?code=([A-Z-]+)$", login.stdout.readline().strip()).group(1)
        self.assertEqual(ask(self.program, "POST", "/v1/device-sign-ins/" + code, {"approve": True}, cookie)[0], 204)
        err = login.communicate(timeout=30)[1]
        self.assertIn("signed in as linus", err)
        done = subprocess.run([DOVE, "whoami"], env=environment, capture_output=True, text=True, timeout=30)
        self.assertIn("linus", done.stdout)

    def test_dove_login_believes_the_authority_that_the_environment_names(self):
        home = os.path.join(self.folder, "home-tls")
        os.mkdir(home)
        with Cluster(nodes=0, tls=True, server_options=["--sign-in-hook", os.path.join(self.folder, "hook")]) as cluster:
            environment = {**cluster.environment, "HOME": home, "XDG_CONFIG_HOME": home}

            def login(**more):
                return subprocess.Popen([DOVE, "login", cluster.url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**environment, **more}, cwd=cluster.data)
            self.assertIn("DOVE_CA_FILE", login().communicate(timeout=30)[1])
            self.assertIn("named by DOVE_CA_FILE", login(DOVE_CA_FILE="nowhere.pem").communicate(timeout=30)[1])
            let_in = login(DOVE_CA_FILE="ca.pem")
            code = re.search(r"\?code=([A-Z-]+)$", let_in.stdout.readline().strip()).group(1)
            cookie = ask(cluster, "POST", "/v1/sign-in", {"user": "linus", "password": PASSWORD})[2]
            self.assertEqual(ask(cluster, "POST", "/v1/device-sign-ins/" + code, {"approve": True}, cookie)[0], 204)
            self.assertIn("signed in as linus", let_in.communicate(timeout=30)[1])
            # The file is kept with the URL: the next command needs neither a variable nor the directory.
            done = subprocess.run([DOVE, "whoami"], env=environment, capture_output=True, text=True, timeout=30)
            self.assertIn("linus", done.stdout, done.stderr)

    def test_passwords_are_found_nowhere(self):
        for user in ("ada", "breaks", "floods", "locked"):
            sign_in(self.program, user)
        sign_in(self.program, "ada", "canary: a wrong one")
        self.program.server.terminate()
        self.program.server.wait(20)
        self.program.start_server()
        audit = self.program.run("audit", "-o", "json").stdout
        for words in ("wrong_password", "hook_failed", "sign-in:hook"):
            self.assertIn(words, audit)
        self.assertIn("hook_failed", self.log())
        texts = [audit, self.program.run("events", "-o", "json").stdout, self.log()]
        for path in glob.glob(self.program.data + "/**", recursive=True):
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    texts.append(file.read().decode("latin-1"))
        for text in texts:
            self.assertNotIn("canary", text)

    def test_a_hook_that_others_could_change_stops_the_start(self):
        loose, folder = os.path.join(self.folder, "loose"), os.path.join(self.folder, "open")
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        for path, mode in ((loose, 0o720), (os.path.join(folder, "hook"), 0o755)):
            shutil.copyfile(os.path.join(self.folder, "hook"), path)
            os.chmod(path, mode)
        service = os.path.join(self.folder, "service")
        open(service, "w").close()
        for options, words in (([loose], f"others may write in {loose}"), ([folder + "/hook"], f"others may write in {folder}"),
                               (["hook"], "absolute path"), (["/no/such/hook"], "No such file"),
                               (["http://id.example.org/check"], "begins with https://"),
                               ([os.path.join(self.folder, "hook"), "--pam", service], "exclude each other")):
            done = subprocess.run([DOVE, "server", "--data", self.folder + "/x", "--port", "0", "--sign-in-hook", *options],
                                  capture_output=True, text=True, timeout=30, env=self.program.environment)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)


class KeystoneHook(unittest.TestCase):
    def test_a_keystone_says_who_that_is(self):
        keystone = Keystone()
        cluster = Cluster(nodes=0)
        folder = os.path.join(cluster.folder, "hook")
        os.mkdir(folder, 0o700)
        hook = shutil.copy(os.path.join(ROOT, "deploy/sign_in/keystone.py"), folder)
        with open(os.path.join(folder, "keystone.conf"), "w") as file:
            file.write(f"[keystone]\nurl = {keystone.url}/identity/v3\ndomain = Site\nproject = gpu\n")
        cluster.server_options += ["--sign-in-hook", hook]
        with cluster:
            self.assertEqual(sign_in(cluster, "ada"), (201, "ada"))
            self.assertEqual(cluster.api.call("GET", "/v1/objects/user/ada")["identity"], "hook id-of-ada")
            groups = {group["name"]: group["users"] for group in cluster.api.call("GET", "/v1/objects?kind=group")["objects"]}
            self.assertEqual(groups, {"hook.gpu.member": ["ada"], "hook.gpu.reader": ["ada"]})
            self.assertEqual(sign_in(cluster, "ada", "guessed"), (401, "wrong_password"))
            for user in ("eve", "mallory"):  # without a role in the project, and of another domain
                self.assertEqual(sign_in(cluster, user), (401, "wrong_password"))
            self.assertEqual(keystone.tokens, set(), "each was revoked")
            self.assertEqual([method for method, _ in keystone.asked].count("DELETE"), 2)
            keystone.status = 503
            self.assertEqual(sign_in(cluster, "ada"), (503, "hook_failed"))
            keystone.close()
            self.assertEqual(sign_in(cluster, "ada"), (503, "hook_failed"))
            with open(os.path.join(cluster.folder, "processes.log"), encoding="utf-8", errors="replace") as file:
                log = file.read()
        self.assertIn("Keystone answers 503 to a request for a token", log)
        self.assertIn("Connection refused", log)
        self.assertNotIn("canary", log)


if __name__ == "__main__":
    unittest.main()
