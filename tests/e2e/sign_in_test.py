#!/usr/bin/env python3
"""Signing in at a sign-in service (OpenID Connect), as a browser does it, and what becomes of a service that lies, hangs
or is away; and `dove login`, which a person who is signed in lets in."""
# limit_s: 240
# waits
import http.client
import json
import os
import re
import subprocess
import threading
import time
import unittest
from urllib.parse import urlsplit

from cluster import DOVE, Cluster, until
from issuer import Issuer


class Browser:
    """Cookies and redirects as a browser has them, on one host."""

    def __init__(self):
        self.cookies = {}

    def get(self, url, accept="text/html"):
        where = urlsplit(url)
        connection = http.client.HTTPConnection(where.hostname, where.port, timeout=60)
        headers = {"Accept": accept}
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection.request("GET", where.path + ("?" + where.query if where.query else ""), headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie":
                self.keep(value)
        connection.close()
        self.headers = answer.headers
        return answer.status, text

    def keep(self, line):
        name, value = line.split(";")[0].split("=", 1)
        assert "HttpOnly" in line and "Secure" in line and name.startswith("__Host-"), line
        if "Max-Age=0" in line:
            self.cookies.pop(name, None)
        else:
            self.cookies[name] = value

    def location(self, url):
        status, text = self.get(url)
        assert status == 302, (status, text)
        return self.headers["Location"]


class SignIn(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=0)
        cls.issuer, cls.slow, cls.turning = (Issuer(cls.cluster.folder) for _ in range(3))
        cls.slow.hangs.set()
        secret, settings = (os.path.join(cls.cluster.folder, name) for name in ("secret", "sign-in.yaml"))
        with open(secret, "w") as file:
            file.write(cls.issuer.secret + "\n")
        with open(settings, "w") as file:
            file.write(f"providers:\n- name: corp\n  title: Example Corp\n  issuer: {cls.issuer.url}\n  client_id: dove\n"
                       f"  client_secret_file: {secret}\n  groups: groups\n"
                       f"- name: away\n  issuer: http://127.0.0.1:9\n  client_id: dove\n"
                       f"- name: slow\n  issuer: {cls.slow.url}\n  client_id: dove\n"
                       f"- name: turning\n  issuer: {cls.turning.url}\n  client_id: dove\n  client_secret_file: {secret}\n")
        cls.cluster.server_options += ["--sign-in", settings, "--pam", cls.pam_service(), "--local-passwords"]
        cls.cluster.__enter__()

    @classmethod
    def pam_service(cls):
        """A service of PAM's own modules: the password of everybody is "open sesame", that of `sync` hangs."""
        check, service = (os.path.join(cls.cluster.folder, name) for name in ("check", "dove"))
        with open(check, "w") as file:
            file.write('#!/bin/sh\n[ "$PAM_USER" = sync ] && exec sleep 60\nexec grep -qx "open sesame"\n')
        os.chmod(check, 0o755)
        with open(service, "w") as file:
            file.write(f"auth [success=1 default=ignore] pam_exec.so expose_authtok quiet {check}\nauth requisite pam_deny.so\n"
                       "auth required pam_permit.so\naccount required pam_permit.so\n")
        return service

    @classmethod
    def tearDownClass(cls):
        cls.slow.close()
        cls.turning.close()
        cls.issuer.close()
        cls.cluster.__exit__(None, None, None)

    def setUp(self):
        self.issuer.change, self.issuer.algorithm = {}, "RS256"
        self.issuer.login = {"sub": "1", "preferred_username": "ada", "groups": []}
        self.browser = Browser()

    def path(self, path):
        return self.cluster.url + path

    def back(self, then="/jobs", way="corp"):
        """Where the service sends the browser, which has signed in there."""
        return self.browser.location(self.browser.location(self.path(f"/v1/sign-in/{way}?then={then}")))

    def sign_in(self, then="/jobs", way="corp"):
        return self.browser.get(self.back(then, way))

    def refused(self, code, status=401, way="corp"):
        got, page = self.sign_in(way=way)
        self.assertEqual((got, code in page), (status, True), page)
        self.assertNotIn("__Host-dove", self.browser.cookies)
        return page

    def me(self):
        return json.loads(self.browser.get(self.path("/v1/me"), "application/json")[1])

    def test_somebody_new_is_let_in_with_their_groups(self):
        self.issuer.login = {"sub": "700", "preferred_username": "grace", "groups": ["ml", "/physics/hep"]}
        status, page = self.sign_in("/jobs?user=grace%26x")
        self.assertEqual(status, 200, page)
        self.assertIn('content="0;url=/jobs?user=grace&amp;x"', page)
        self.assertIn("default-src 'none'", self.browser.headers["Content-Security-Policy"])
        self.assertEqual(list(self.browser.cookies), ["__Host-dove"])
        self.assertEqual(self.me()["user"], "grace")
        user = self.cluster.api.call("GET", "/v1/objects/user/grace")
        self.assertEqual(user["identity"], self.issuer.url + " 700")
        self.assertEqual(self.cluster.api.call("GET", "/v1/objects/group/corp.physics.hep")["users"], ["grace"])
        # The binding on a group is what lets its people in to a project.
        for name in ("vision", "hearing"):
            self.cluster.api.call("PUT", f"/v1/objects/project/{name}", {})
        self.cluster.api.call("PUT", "/v1/objects/binding/ml", {"role": "member", "project": "vision", "groups": ["corp.ml"]})
        self.assertEqual([role["name"] for role in self.me()["roles"]], ["vision"])
        self.issuer.login["groups"] = []
        self.assertEqual(self.sign_in()[0], 200)
        self.assertEqual(self.me()["roles"], [])

    def test_who_is_disabled_here_stays_out(self):
        self.issuer.login = {"sub": "701", "preferred_username": "mallory"}
        self.assertEqual(self.sign_in()[0], 200)
        self.cluster.api.call("PUT", "/v1/objects/user/mallory", {"disabled": True})
        self.browser = Browser()
        self.assertIn("mallory is disabled", self.refused("user_disabled"))
        self.issuer.login["sub"] = "702"  # another account of that name
        self.refused("name_taken", 403)

    def test_a_token_that_lies_is_refused(self):
        now = int(time.time())
        for change, code in (({"iss": "https://evil.example.org"}, "token_issuer"), ({"aud": "other"}, "token_audience"),
                             ({"nonce": "another"}, "token_nonce"), ({"nonce": None}, "token_nonce"),
                             ({"exp": now - 3600}, "token_expired"), ({"sub": None}, "token_subject"),
                             ({"sub": "9", "preferred_username": "admin"}, "bad_user_claim"),
                             ({"sub": "9", "preferred_username": None}, "no_user_claim")):
            self.issuer.change = change
            self.refused(code)
        self.issuer.change = {}
        for algorithm in ("none", "HS256"):
            self.issuer.algorithm = algorithm
            self.refused("token_algorithm")

    def test_an_answer_is_good_once_for_the_browser_that_asked(self):
        back = self.back()
        stranger = Browser()
        status, page = stranger.get(back)
        self.assertEqual((status, "sign_in_unknown" in page), (401, True))
        kept = dict(self.browser.cookies)
        self.assertEqual(self.browser.get(back)[0], 200)
        self.browser.cookies = kept
        status, page = self.browser.get(back)
        self.assertEqual((status, "code_refused" in page), (401, True), page)
        # A forged cookie, an answer to another sign-in, and another service's answer.
        name, value = next(iter(kept.items()))
        self.browser.cookies = {name: value[:-1] + ("0" if value[-1] != "0" else "1")}
        self.assertIn("sign_in_unknown", self.browser.get(back)[1])
        self.browser.cookies = {}
        other = self.back()
        self.assertIn("sign_in_other", self.browser.get(other.replace("state=", "state=x"))[1])
        elsewhere = re.sub(r"iss=[^&]*", "iss=https%3A%2F%2Fevil.example.org", other)
        self.assertIn("sign_in_other", self.browser.get(elsewhere)[1])
        status, text = self.browser.get(re.sub(r"code=[^&]*", "error=access_denied", other), "application/json")
        self.assertEqual((status, json.loads(text)["code"]), (401, "issuer_refused"))

    def test_nobody_is_sent_elsewhere(self):
        for then in ("https://evil.example.org", "//evil.example.org", "/%5Cevil.example.org"):
            status, page = self.browser.get(self.path(f"/v1/sign-in/corp?then={then}"))
            self.assertEqual((status, "open_redirect" in page), (400, True), page)

    def test_keys_are_asked_for_once_a_minute_at_most(self):
        self.turning.login = {"sub": "1", "preferred_username": "tina"}
        self.assertEqual(self.sign_in(way="turning")[0], 200)
        self.turning.new_key()
        # Once a minute: a token can name any key, and must not make us ask for each.
        asked = self.turning.asked.count("/jwks")
        self.browser = Browser()
        self.refused("token_key", way="turning")
        self.assertEqual(self.turning.asked.count("/jwks"), asked)

    def test_a_service_that_is_away_or_hangs_holds_nobody_else_up(self):
        status, page = self.browser.get(self.path("/v1/sign-in/away"))
        self.assertEqual((status, "issuer_unavailable" in page), (503, True), page)
        answers = []
        asking = [threading.Thread(target=lambda: answers.append(Browser().get(self.path("/v1/sign-in/slow")))) for _ in range(12)]
        began = time.monotonic()
        for thread in asking:
            thread.start()
        until(lambda: self.slow.asked, 10, "the slow service to be asked")
        self.assertLess(self.seconds_of(self.path("/healthz")), 1)
        self.assertEqual(self.sign_in()[0], 200)
        self.assertEqual(answers, [])
        for thread in asking:
            thread.join(60)
        self.assertEqual([status for status, page in answers if "issuer_unavailable" in page], [503] * 12)
        self.assertLess(time.monotonic() - began, 45)  # four at a time, ten seconds each

    def seconds_of(self, url):
        began = time.monotonic()
        Browser().get(url)
        return time.monotonic() - began

    def test_dove_login_is_let_in_by_a_browser(self):
        home = os.path.join(self.cluster.folder, "home")
        environment = {**self.cluster.environment, "HOME": home, "XDG_CONFIG_HOME": home}
        login = subprocess.Popen([DOVE, "login", self.cluster.url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env=environment)
        link = login.stdout.readline().strip()
        code = re.search(r"\?code=([A-Z]{4}-[A-Z]{4})$", link).group(1)
        self.assertEqual(self.sign_in()[0], 200)
        asked = json.loads(self.browser.get(self.path("/v1/device-sign-ins/" + code), "application/json")[1])
        self.assertTrue(asked["name"].startswith("dove on "), asked)
        self.say_yes(code)
        err = login.communicate(timeout=30)[1]
        self.assertEqual(login.returncode, 0, err)
        self.assertIn("signed in as ada", err)
        self.assertEqual(os.stat(os.path.join(home, "dove/token")).st_mode & 0o777, 0o600)

        def dove(*words):
            return subprocess.run([DOVE, *words], env=environment, capture_output=True, text=True, timeout=30)

        self.assertIn("ada", dove("whoami").stdout)
        self.assertIn("the server or token in use is not that of", dove("logout", "--url", "http://127.0.0.1:9").stderr)
        with open(os.path.join(home, "dove/token")) as file:
            key = file.read().strip()
        self.assertIn("revoked", dove("logout").stderr)
        self.assertFalse(os.path.exists(os.path.join(home, "dove/token")))
        connection = http.client.HTTPConnection(*self.cluster.url.split("//")[1].split(":"), timeout=20)
        connection.request("GET", "/v1/me", headers={"Authorization": "Bearer " + key})
        self.assertEqual(connection.getresponse().status, 401)
        self.assertIn("nobody is signed in", dove("logout").stderr)

    def say_yes(self, code):
        where = urlsplit(self.cluster.url)
        connection = http.client.HTTPConnection(where.hostname, where.port, timeout=20)
        cookies = "; ".join(f"{name}={value}" for name, value in self.browser.cookies.items())
        connection.request("POST", "/v1/device-sign-ins/" + code, json.dumps({"approve": True}),
                           {"Cookie": cookies, "Origin": self.cluster.url, "Content-Type": "application/json"})
        self.assertEqual(connection.getresponse().status, 204)

    def password(self, user, password, more=None, **headers):
        where = urlsplit(self.cluster.url)
        connection = http.client.HTTPConnection(where.hostname, where.port, timeout=30)
        connection.request("POST", "/v1/sign-in", json.dumps({"user": user, "password": password, **(more or {})}),
                           {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read()), answer.getheader("Set-Cookie")

    def test_a_linux_account_signs_in_with_its_password(self):
        status, me, cookie = self.password("games", "open sesame")
        self.assertEqual((status, me["user"], me["linux_user"]), (201, "games", "games"), me)
        self.assertTrue(cookie.startswith("__Host-dove="))
        self.assertEqual(self.password("games", "open sesame")[1]["user"], "games")
        for user, password, code in (("games", "open", "wrong_password"), ("nobody-here", "open sesame", "wrong_password"),
                                     ("root", "open sesame", "bad_account")):
            status, answer, cookie = self.password(user, password)
            self.assertEqual((status, answer["code"], cookie), (401, code, None), answer)
        with open(os.path.join(self.cluster.folder, "processes.log")) as file:
            self.assertNotIn("open sesame", file.read())

    def test_who_has_a_password_here_is_asked_for_that_one(self):
        self.cluster.api.call("PUT", "/v1/objects/user/news", {"linux_user": "news"})
        self.assertEqual(self.password("news", "open sesame")[0], 201)
        self.cluster.api.call("PUT", "/v1/users/news/password", {"password": "only known here"})
        for word, status, code in (("open sesame", 401, "wrong_password"), ("only known here", 403, "new_password_needed")):
            got, answer, cookie = self.password("news", word)
            self.assertEqual((got, answer["code"], cookie), (status, code, None), answer)
        self.assertEqual(self.password("man", "open sesame", more={"new_password": "another one here"})[1]["code"], "not_a_local_password")

    def test_a_page_from_elsewhere_signs_nobody_in(self):
        status, answer, cookie = self.password("games", "open sesame", Origin="https://evil.example.org")
        self.assertEqual((status, answer["code"], cookie), (403, "cross_origin", None))
        self.assertEqual(self.password("games", "open sesame", Origin=self.cluster.url)[0], 201)

    def test_a_module_that_hangs_holds_nobody_else_up(self):
        answers = []
        asking = [threading.Thread(target=lambda: answers.append(self.password("sync", "open sesame")[:2])) for _ in range(2)]
        for thread in asking:
            thread.start()
        self.assertEqual(self.password("man", "open sesame")[0], 201)
        self.assertLess(self.seconds_of(self.path("/healthz")), 1)
        for thread in asking:
            thread.join(30)
        self.assertEqual([(status, answer["code"]) for status, answer in answers], [(503, "pam_failed")] * 2)

    def test_a_service_that_pam_lacks_stops_the_start(self):
        done = subprocess.run([DOVE, "server", "--data", self.cluster.folder + "/y", "--port", "0", "--pam", "no-such-service"],
                              capture_output=True, text=True, timeout=30, env=self.cluster.environment)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("/etc/pam.d/no-such-service cannot be read", done.stderr)

    def test_a_bad_file_is_named_with_its_line(self):
        path = os.path.join(self.cluster.folder, "bad.yaml")
        with open(path, "w") as file:
            file.write("providers:\n- name: corp\n  isuer: https://id.example.org\n")
        done = subprocess.run([DOVE, "server", "--data", self.cluster.folder + "/x", "--port", "0", "--sign-in", path],
                              capture_output=True, text=True, timeout=30, env=self.cluster.environment)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"{path}:3:3: a provider has no field `isuer`; did you mean `issuer`?", done.stderr)


if __name__ == "__main__":
    unittest.main()
