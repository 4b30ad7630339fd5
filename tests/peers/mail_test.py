#!/usr/bin/env python3
"""Mail through a relay that nobody here wrote (aiosmtpd): STARTTLS and a password, or TLS from the first byte. A relay whose
certificate is not good gets neither mail nor password. Skips where python3-aiosmtpd (`tools/setup peers`) is missing."""
# limit_s: 120
import email
import email.policy
import os
import ssl
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from cluster import SKIP, Api, Cluster  # noqa: E402
from ports import free_port  # noqa: E402

try:
    from aiosmtpd.controller import Controller
    from aiosmtpd.smtp import SMTP, AuthResult
except ImportError:
    print("there is no python3-aiosmtpd (tools/setup peers)", file=sys.stderr)
    sys.exit(SKIP)


class Relay:
    def __init__(self):
        self.messages, self.passwords = [], []

    def authenticate(self, server, session, envelope, mechanism, login):
        self.passwords.append((login.login, login.password))
        return AuthResult(success=login.password == b"open sesame", handled=False)

    async def handle_DATA(self, server, session, envelope):
        self.messages.append((session.authenticated, envelope))
        return "250 taken"


class Mail(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, cores=4)
        cls.folder = cls.cluster.folder
        cls.certificate = os.path.join(cls.folder, "relay.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                        cls.certificate + ".key", "-out", cls.certificate, "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)
        cls.write_secret("open sesame")

    @classmethod
    def write_secret(cls, text):
        with open(os.path.join(cls.folder, "secret"), "w") as file:
            file.write(text + "\n")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def relay(self, **more):
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(self.certificate, self.certificate + ".key")
        handler = Relay()
        if more.pop("at_once", False):
            more["ssl_context"] = tls

            class Own(Controller):
                def factory(self):
                    return SMTP(self.handler, authenticator=handler.authenticate, auth_require_tls=False, auth_required=True)
        else:
            class Own(Controller):
                def factory(self):
                    return SMTP(self.handler, tls_context=tls, require_starttls=True, authenticator=handler.authenticate,
                                auth_required=True)
        controller = Own(handler, hostname="localhost", port=0, **more)
        # Port 0 is a free one, which the controller itself does not ask for.
        controller.port = free_port()
        controller.start()
        self.addCleanup(controller.stop)
        return handler, controller.port

    def send(self, url, ca=True):
        """What a test notice through that relay comes to."""
        settings = os.path.join(self.folder, "notices.yaml")
        with open(settings, "w") as file:
            file.write(f"smtp:\n  url: {url}\n  from: dove@example.org\n  user: dove\n  password_file: {self.folder}/secret\n"
                       + (f"  ca_file: {self.certificate}\n" if ca else ""))
        self.cluster.server_options = ["--notices", settings]
        self.cluster.start_server()
        self.addCleanup(self.cluster.stop)
        token = self.cluster.api.call("POST", "/v1/users/ada/token?create=1")["token"]
        api = Api(self.cluster.url, token)
        self.addCleanup(api.close)
        api.call("PUT", "/v1/users/ada/notices",
                 {"targets": [{"by": "mail", "to": "ada@example.org", "about": ["job_ended"]}]})
        return api.call("POST", "/v1/users/ada/notices/1/test")

    def check(self, relay):
        (authenticated, envelope), = relay.messages
        self.assertTrue(authenticated)
        self.assertEqual((envelope.mail_from, envelope.rcpt_tos), ("dove@example.org", ["ada@example.org"]))
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        self.assertEqual(message["Subject"], "[dove] this is a test of your notices")
        self.assertEqual(message.defects, [])

    def test_starttls_and_a_password(self):
        relay, port = self.relay()
        self.assertEqual(self.send(f"smtp://localhost:{port}"), {"delivered": True})
        self.check(relay)

    def test_tls_at_once(self):
        relay, port = self.relay(at_once=True)
        self.assertEqual(self.send(f"smtps://localhost:{port}"), {"delivered": True})
        self.check(relay)

    def test_a_relay_of_another_authority_gets_nothing(self):
        relay, port = self.relay()
        answer = self.send(f"smtp://localhost:{port}", ca=False)
        self.assertEqual((answer["delivered"], answer["code"]), (False, "untrusted"), answer)
        self.assertEqual((relay.messages, relay.passwords), ([], []))

    def test_a_wrong_password_is_told(self):
        relay, port = self.relay()
        self.write_secret("open")
        self.addCleanup(self.write_secret, "open sesame")
        answer = self.send(f"smtp://localhost:{port}")
        self.assertEqual((answer["delivered"], answer["code"]), (False, "login_refused"), answer)
        self.assertEqual(relay.messages, [])


if __name__ == "__main__":
    unittest.main()
