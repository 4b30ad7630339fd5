#!/usr/bin/env python3
"""`dove slurm --metrics`: the adapter's page for Prometheus, by the rules of an agent's, while no Slurm and no controller
answers."""
import os
import signal
import ssl
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

from cluster import DOVE, until
from hooks import own_certificate
from ports import free_port


class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dove-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.key = os.path.join(self.folder, "key")
        with open(self.key, "w") as file:
            file.write("a key\n")
        self.port = free_port()

    def command(self, *options, url="http://127.0.0.1:1"):
        return [DOVE, "slurm", "--url", url, "--key-file", self.key, "--state-dir", self.folder + "/steps", *options]

    def start(self, *options, **more):
        adapter = subprocess.Popen(self.command(*options, **more), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)

        def end():
            adapter.send_signal(signal.SIGTERM)
            self.assertEqual(adapter.wait(20), 0)
        self.addCleanup(end)

    def page(self, scheme="http", context=None):
        def read():
            try:
                with urllib.request.urlopen(f"{scheme}://127.0.0.1:{self.port}/metrics", timeout=10, context=context) as answer:
                    return answer.read().decode()
            except ConnectionError:
                return None
            except urllib.error.URLError as error:
                if isinstance(error.reason, ConnectionError):
                    return None
                raise
        return until(read, 20, "the page")

    def test_on_loopback(self):
        self.start("--metrics", f"127.0.0.1:{self.port}")
        page = self.page()
        self.assertIn('dove_slurm_mode{mode="watch"} 1', page)
        self.assertIn("dove_slurm_exposure_seconds_count 0", page)
        self.assertIn("dove_slurm_unseen_jobs_total 0", page)

    def test_beyond_loopback_over_tls(self):
        _, certificate = own_certificate(self.folder)
        self.start("--metrics", f"0.0.0.0:{self.port}", "--tls-certificate", certificate, "--tls-key",
                   self.folder + "/hook.key", url="https://127.0.0.1:1")
        context = ssl.create_default_context(cafile=certificate)
        self.assertIn("dove_slurm_exposure_seconds", self.page("https", context))

    def test_what_is_refused(self):
        def refusal(*options, url="https://127.0.0.1:1"):
            done = subprocess.run(self.command(*options, url=url), capture_output=True, text=True, timeout=60)
            self.assertNotEqual(done.returncode, 0)
            return done.stderr
        self.assertIn("needs a certificate", refusal("--metrics", f"0.0.0.0:{self.port}"))
        self.assertIn("belong together", refusal("--metrics", f"0.0.0.0:{self.port}", "--tls-key", self.key))
        self.assertIn("HOST:PORT", refusal("--metrics", "127.0.0.1"))


if __name__ == "__main__":
    unittest.main()
