#!/usr/bin/env python3
"""`dove proxy` where sessions have ports instead of names: a port is that of the job that was entered there last."""
# limit_s: 120
import unittest
from urllib.parse import parse_qs, urlsplit

from cluster import until
from ports import free_ports
from proxy_test import Browser, Proxied


class Ports(Proxied):
    @classmethod
    def place(cls):
        cls.first = port = free_ports(2)
        return f"http://127.0.0.1:{port}-{port + 1}", ["--ports", f"{port}-{port + 1}"]

    def at(self, job):
        return self.first + job % 2

    def open(self, browser, job):
        port = self.at(job)
        host = f"127.0.0.1:{port}"
        url = self.cluster.api.call("GET", f"/v1/jobs/{job}")["session_url"]
        self.assertEqual(url, f"http://{host}/.dove/open/{job}")
        sent = browser.ask(host, f"/.dove/open/{job}", port=port)
        state = parse_qs(urlsplit(sent.headers["Location"]).query)["state"][0]
        code = self.code("ada", job, state)
        return browser.ask(host, f"/.dove/enter?job={job}&code={code}&path=", port=port), host

    def test_a_port_is_that_of_the_job_that_was_entered_last(self):
        browser = Browser(0)
        let_in, host = self.open(browser, self.job)
        self.assertEqual((let_in.status, let_in.headers["Location"]), (303, "/lab"))
        self.assertIn("storage", let_in.headers["Clear-Site-Data"])
        port = self.at(self.job)
        until(lambda: browser.ask(host, "/x", port=port).status == 200, 30, "the app to answer")
        self.assertEqual(browser.ask(host, f"/.dove/open/{self.job + 1}", port=port).status, 404)
        self.assertEqual(browser.ask(f"127.0.0.1:{self.at(self.job + 1)}", "/", port=port).status, 421)
        self.assertEqual(Browser(0).ask(f"127.0.0.1:{self.at(self.job + 1)}", "/", port=self.at(self.job + 1)).status, 404)
        again, _ = self.open(browser, self.job)
        self.assertNotIn("Clear-Site-Data", again.headers)
        self.start_app(runs=False, hold=True)
        taker = self.start_app()
        self.assertEqual(self.at(taker), port)
        self.assertIn("storage", self.open(browser, taker)[0].headers["Clear-Site-Data"])
        before = dict(browser.cookies[host])
        browser.cookies[host] = {name: value for name, value in before.items() if name.endswith(f"-{self.job}")}
        self.assertEqual(browser.ask(host, "/x", port=port, Accept="*/*").status, 401)


if __name__ == "__main__":
    del Proxied  # it is the others' beginning, and no test
    unittest.main()
