#!/usr/bin/env python3
"""The client of the Python package and a server's certificate: each way in which it cannot be trusted has a code and a remedy of
its own, and no token is sent."""
import os
import shutil
import sys
import tempfile
import unittest

from certificates import FUTURE, NOW, PAST, Authority, Server

PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "python")
sys.path.insert(0, PACKAGE)

import dove  # noqa: E402

class Trust(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="dove-python-tls.")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.authority = Authority(cls.folder + "/authority")
        cls.other = Authority(cls.folder + "/other")

    def call(self, server, host="127.0.0.1"):
        self.addCleanup(server.end)
        client = dove.Client(url=f"https://{host}:{server.port}", token="secret", ca_file=self.authority.certificate,
                             patience_s=30)
        return client.api.get("/v1/jobs")

    def fails(self, code, remedy, server, **where):
        with self.assertRaises(dove.Unreachable) as caught:
            self.call(server, **where)
        self.assertEqual(caught.exception.code, code, caught.exception)
        self.assertIn(remedy, str(caught.exception))
        self.assertNotIn("secret", str(caught.exception))
        self.assertNotIn(b"secret", server.said)

    def test_a_good_one_is_taken(self):
        server = Server(self.authority.pair("IP:127.0.0.1", NOW))
        self.assertEqual(self.call(server), {})
        self.assertIn(b"Bearer secret", server.said)

    def test_each_that_is_not_has_its_code(self):
        for code, remedy, pair in (
                ("certificate_wrong_name", "--tls-name", self.authority.pair("DNS:head,IP:127.0.0.2")),
                ("certificate_expired", "this machine's clock", self.authority.pair("IP:127.0.0.1", PAST)),
                ("certificate_not_yet_valid", "clocks of both", self.authority.pair("IP:127.0.0.1", FUTURE)),
                ("certificate_untrusted", "DOVE_CA_FILE", self.other.pair("IP:127.0.0.1"))):
            with self.subTest(code):
                self.fails(code, remedy, Server(pair))

    def test_a_name_is_wrong_as_an_address_is(self):
        self.fails("certificate_wrong_name", "--tls-name", Server(self.authority.pair("DNS:head")), host="localhost")

    def test_a_plain_server_is_named(self):
        self.fails("not_tls", "http://", Server(None))

    def test_the_port_of_agents_is_named(self):
        pair = self.authority.pair("IP:127.0.0.1")
        with self.assertRaises(dove.Unreachable) as caught:
            self.call(Server(pair, client_authority=self.authority.certificate))
        self.assertEqual(caught.exception.code, "certificate_refused", caught.exception)


if __name__ == "__main__":
    unittest.main()
