#!/usr/bin/env python3
"""Passwords that only the server knows: an administrator gives the first one, its user chooses another one and signs in,
on the command line as in a browser; they outlive a restart, and are found nowhere."""
# limit_s: 120
import glob
import json
import os
import pty
import select
import threading
import time
import unittest

from cluster import DOVE, Cluster

OWN, NEXT = "canary-known-to-ada", "canary-known-to-her-later"


class Passwords(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=0, server_options=["--local-passwords"]).__enter__()
        cls.tokens = {name: cls.cluster.api.call("POST", f"/v1/users/{name}/token?create=1")["token"] for name in ("ada", "bob")}

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def dove(self, *words, who=None, fails=False, **more):
        mine = {"DOVE_URL": self.cluster.url, "DOVE_TOKEN": self.tokens[who]} if who else {}
        done = self.cluster.run(*words, check=False, **more, **mine)
        self.assertEqual(done.returncode != 0, fails, (words, done.stdout, done.stderr))
        return done

    def ask(self, method, path, body=None, cookie=None):
        connection = self.cluster.connection()
        headers = {"Content-Type": "application/json", "Origin": self.cluster.url, **({"Cookie": cookie} if cookie else {})}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text) if text else None, (answer.getheader("Set-Cookie") or "").split(";")[0]

    def sign_in(self, user, password, **more):
        """Ten at once and then one a second; so a test waits for its turn."""
        while True:
            status, answer, cookie = self.ask("POST", "/v1/sign-in", {"user": user, "password": password, **more})
            if answer.get("code") != "rate_limited":
                return status, answer, cookie
            time.sleep(1)

    def give(self, user):
        return self.dove("passwd", user, "--generate").stdout.strip()

    def typed(self, environment, *lines):
        """`dove passwd` on a terminal; what the terminal showed, and its exit status."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(DOVE, [DOVE, "passwd"], {**self.cluster.environment, **environment})
        shown = b""
        waiting = [line.encode() + b"\n" for line in lines]
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                piece = os.read(terminal, 4096)
            except OSError:
                break
            shown += piece
            if piece.endswith(b": ") and waiting:
                os.write(terminal, waiting.pop(0))
        os.close(terminal)
        return shown.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def test_a_day_of_a_password(self):
        given = self.give("ada")
        self.assertEqual(self.sign_in("ada", given)[1]["code"], "new_password_needed")
        status, me, here = self.sign_in("ada", given, new_password=OWN)
        self.assertEqual((status, me["user"]), (201, "ada"), me)
        self.assertEqual(self.ask("GET", "/v1/me", cookie=here)[0], 200)
        self.assertEqual(self.sign_in("ada", given)[1]["code"], "wrong_password")
        # On the command line, and wrong in each way that there is.
        self.assertIn("not your former password", self.dove("passwd", who="ada", input="wrong\n" + NEXT, fails=True).stderr)
        self.assertIn("at least 12", self.dove("passwd", who="ada", input=f"{OWN}\nshort\n", fails=True).stderr)
        self.assertIn("dove passwd bob", self.dove("passwd", who="bob", input=f"x\n{NEXT}\n", fails=True).stderr)
        self.assertIn("administrator", self.dove("passwd", "ada", "--generate", who="bob", fails=True).stderr)
        shown, code = self.typed({"DOVE_URL": self.cluster.url, "DOVE_TOKEN": self.tokens["ada"], **self.cluster.trusts()}, OWN, NEXT, NEXT)
        self.assertEqual(code, 0, shown)
        self.assertIn("the password of ada is set", shown)
        self.assertNotIn("canary", shown)
        self.assertEqual(self.ask("GET", "/v1/me", cookie=here)[1]["code"], "session_over")
        # The log keeps it, over a restart.
        self.cluster.server.terminate()
        self.cluster.server.wait(20)
        self.cluster.start_server()
        self.assertEqual(self.sign_in("ada", NEXT)[0], 201)
        self.assertEqual(self.sign_in("ada", OWN)[0], 401)
        self.found_nowhere(given)

    def found_nowhere(self, given):
        answers = [self.dove(*words).stdout for words in (("get", "users", "-o", "json"), ("audit", "-o", "json"), ("events", "-o", "json"))]
        self.assertTrue(any('"has_password": true' in text for text in answers), answers[0])
        for text in answers:
            self.assertNotIn("argon2", text)
        with open(os.path.join(self.cluster.folder, "processes.log"), encoding="utf-8", errors="replace") as file:
            answers.append(file.read())
        for path in glob.glob(self.cluster.data + "/**", recursive=True):
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    answers.append(file.read().decode("latin-1"))
        self.assertTrue(any("$argon2id$v=19$m=47104,t=2,p=1$" in text for text in answers), "the log has the hash")
        for text in answers:
            for secret in ("canary-known", given):
                self.assertNotIn(secret, text)
        self.assertIn("wrong_password", answers[1])  # what was refused just before the restart is written down

    def test_it_is_taken_away(self):
        given = self.give("bob")
        self.assertIn("has no password here", self.dove("passwd", "bob", "--remove").stdout)
        self.assertEqual(self.sign_in("bob", given, new_password=NEXT)[1]["code"], "wrong_password")
        self.assertIn("bob has no password here", self.dove("passwd", "bob", "--remove", fails=True).stderr)
        self.assertIn("no user eve", self.dove("passwd", "eve", "--generate", fails=True).stderr)

    def test_hashing_holds_nobody_else_up(self):
        answers = []
        asking = [threading.Thread(target=lambda: answers.append(self.sign_in("nobody", "x" * 12)[1]["code"])) for _ in range(6)]
        for thread in asking:
            thread.start()
        slowest = 0
        while any(thread.is_alive() for thread in asking):
            began = time.monotonic()
            self.ask("GET", "/healthz")
            slowest = max(slowest, time.monotonic() - began)
        self.assertLess(slowest, 1)
        self.assertEqual(answers, ["wrong_password"] * 6)


if __name__ == "__main__":
    unittest.main()
