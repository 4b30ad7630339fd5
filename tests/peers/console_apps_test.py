#!/usr/bin/env python3
"""A real JupyterLab (PyPI) in a real browser: opened from the console, reached through the proxy, used by its user and by
somebody with whom it is shared. Skips where JupyterLab (`tools/peer_tools`), the console or chromium is missing."""
# limit_s: 420
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))

from cluster import DOVE, SKIP, Api, Cluster
from console_test import CHROMIUM, run_browser

APPS = os.path.join(ROOT, "build/peer-apps/bin")


def start_notebook(url, ann):
    """A session of ann's, as `dove notebook` submits it."""
    environment = {**os.environ, "DOVE_URL": url, "DOVE_TOKEN": ann, "HOME": tempfile.mkdtemp(prefix="dove-lab.")}
    said = subprocess.run([DOVE, "notebook", "--detach", f"--program={APPS}/jupyter", "-c", "1",
                           f"--export=ALL,PATH={APPS}:/usr/bin:/bin"],
                          cwd=environment["HOME"], env=environment, text=True, capture_output=True, timeout=60)
    assert said.returncode == 0, said.stdout + said.stderr
    api = Api(url, ann)
    jobs = api.call("GET", "/v1/jobs?app=1")["jobs"]
    api.close()
    return {"DOVE_SESSION_JOB": str(jobs[0]["id"])}, environment["HOME"]


def main():
    for needed in (APPS + "/jupyter-lab", os.path.join(ROOT, "build/console/stamp"), CHROMIUM):
        if not os.path.exists(needed):
            print(f"skipped: there is no {os.path.basename(needed)} (tools/peer_tools, tools/console, tools/setup test)")
            return SKIP
    homes = []

    def prepare(url, ann):
        environment, home = start_notebook(url, ann)
        homes.append(home)
        return environment

    cluster = Cluster(folder=tempfile.mkdtemp(prefix="dove-e2e."))
    try:
        text = run_browser(cluster, "jupyter.mjs", nodes=1, gpus=0, prepare=prepare, limit_s=360)
    finally:
        cluster.stop()
        cluster.log.close()
        for folder in (cluster.folder, *homes):
            shutil.rmtree(folder, ignore_errors=True)
    print(text)
    return 0 if re.search(r"^2 passed, 0 failed, 0 skipped$", text, re.M) else 1


if __name__ == "__main__":
    sys.exit(main())
