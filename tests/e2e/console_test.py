#!/usr/bin/env python3
"""The web console: its pages in a real browser against a real `dove up`.

Skips where the console was left out, or no chromium is. With DOVE_SCREENSHOTS=1 it also takes the pictures
in docs/images.
"""
# limit_s: 540
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from cluster import DOVE, ROOT, SKIP, Api, Cluster, until
from ports import free_ports
from recording_relay import RecordingRelay

CONSOLE = os.path.join(ROOT, "console")
CHROMIUM = os.environ.get("DOVE_CHROMIUM", "/usr/bin/chromium")
TOOLS = os.path.join(ROOT, ".tools/node_modules/.bin")
ENVIRONMENT = {**os.environ, "PATH": (TOOLS + ":" if os.path.exists(TOOLS + "/node") else "") + os.environ["PATH"]}


def check_headers(url):
    """What a browser is told with the page, and what others get."""
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": "text/html"}), timeout=10) as answer:
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy, policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        tag, page = answer.headers["ETag"], answer.read().decode()
    asset = re.search(r'src="(/assets/[^"]+)"', page).group(1)
    with urllib.request.urlopen(urllib.request.Request(url + asset, headers={"Accept-Encoding": "gzip"}),
                                timeout=10) as answer:
        assert "immutable" in answer.headers["Cache-Control"], dict(answer.headers)
        assert answer.headers["Content-Encoding"] == "gzip"
    try:
        urllib.request.urlopen(urllib.request.Request(url, headers={"If-None-Match": tag}), timeout=10)
        raise AssertionError("the page is sent again")
    except urllib.error.HTTPError as answer:
        assert answer.code == 304, answer.code


def start_issuer(cluster):
    """A real sign-in service, and the file that names it to a server."""
    issuer = subprocess.Popen(["node", "browser/issuer.mjs"], cwd=CONSOLE, stdout=subprocess.PIPE, stderr=cluster.log,
                              env={**ENVIRONMENT, "DOVE_E2E": cluster.folder}, start_new_session=True)
    url = issuer.stdout.readline().decode().strip()
    secret, settings = (os.path.join(cluster.folder, name) for name in ("client-secret", "sign-in.yaml"))
    with open(secret, "w") as file:
        file.write("a secret of tests\n")
    with open(settings, "w") as file:
        file.write(f"providers:\n- name: corp\n  title: Example Corp\n  issuer: {url}\n  client_id: dove\n"
                   f"  client_secret_file: {secret}\n  scopes: [openid, profile, groups]\n  groups: groups\n")
    return issuer, settings


def notice_settings(cluster):
    """Mail that nobody takes, and webhooks to this machine."""
    path = os.path.join(cluster.folder, "notices.yaml")
    with open(path, "w") as file:
        file.write("smtp:\n  url: smtp://127.0.0.1:9\n  from: dove@example.org\n  starttls: false\n"
                   "webhook_networks: [127.0.0.1]\nhttp_webhooks: true\n")
    return path


def run_browser(cluster, script, nodes, gpus, prepare=lambda url, ann: {}, limit_s=390, options=()):
    """Runs a script of console/browser against `dove up` and a sign-in service; its output, and what of its requests and
    their answers is not as api/openapi.yaml says. `prepare` gives what else the script finds in its environment."""
    data = os.path.join(cluster.folder, script)
    issuer, settings = start_issuer(cluster)
    ports = free_ports(10)
    up = subprocess.Popen([DOVE, "up", "--nodes", str(nodes), "--gpus", str(gpus), "--port", "0", "--data", data,
                           "--session-ports", f"{ports}-{ports + 9}", "--sign-in", settings, "--notices", notice_settings(cluster),
                           *options],
                          stdout=subprocess.PIPE, stderr=cluster.log, env=cluster.environment, start_new_session=True)
    try:
        line = up.stdout.readline().decode()
        url = re.search(r"https?://\S+", line).group(0)
        with open(os.path.join(data, "token")) as file:
            admin = file.read().strip()
        api = Api(url, admin)
        until(lambda: len([node for node in api.call("GET", "/v1/nodes")["nodes"] if node["contact"] == "connected"]) == nodes,
              30, "the nodes")
        ann = api.call("POST", "/v1/users/ann/token?create=1")["token"]
        api.close()
        check_headers(url)
        relay = RecordingRelay(lambda: urllib.parse.urlsplit(url).port, Api.recorder)
        more = prepare(url, ann)
        done = subprocess.Popen(
            ["node", "browser/" + script], cwd=CONSOLE, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**ENVIRONMENT, **more, "DOVE_URL": relay.url, "DOVE_ADMIN_TOKEN": admin, "DOVE_ANN_TOKEN": ann,
                 "DOVE_IMAGES": os.path.join(ROOT, "docs/images"), "DOVE_CHROMIUM": CHROMIUM})
        try:
            text = done.communicate(timeout=limit_s)[0]
        except subprocess.TimeoutExpired:
            done.terminate()  # it ends its browser
            text = done.communicate(timeout=20)[0] + f"\n{script} did not end within {limit_s} s"
        relay.close()
        problems = Api.recorder.problems()
        return "\n".join([text, "not as api/openapi.yaml says:", *problems, "1 failed"]) if problems else text
    finally:
        up.send_signal(signal.SIGTERM)
        up.wait(30)
        up.stdout.close()
        issuer.kill()
        issuer.wait(10)
        issuer.stdout.close()


def missing():
    """Why no page can be looked at here; "": one can."""
    if os.path.exists(os.path.join(ROOT, "build/console/stamp")) and os.path.exists(CHROMIUM):
        return ""
    return f"the console was left out of the build, or there is no {CHROMIUM} (tools/setup test)"


def check_pages(script, options_of=lambda cluster: [], **more):
    """The exit status of a test that is a script of console/browser, whose last line are its counts."""
    if why := missing():
        print(f"skipped: {why}")
        return SKIP
    # Only for its way to end processes: it starts nothing itself.
    cluster = Cluster(folder=tempfile.mkdtemp(prefix="dove-e2e."))
    try:
        text = run_browser(cluster, script, options=options_of(cluster), **more)
    finally:
        cluster.stop()
        cluster.log.close()
        shutil.rmtree(cluster.folder, ignore_errors=True)
    print(text)
    return 0 if re.search(r"^\d+ passed, 0 failed, 0 skipped$", text.rstrip().rsplit("\n", 1)[-1]) else 1


def main():
    status = check_pages("suite.mjs", nodes=2, gpus=4)
    if status != SKIP and os.environ.get("DOVE_SCREENSHOTS") == "1":
        check_pages("screenshots.mjs", nodes=12, gpus=8)
    return status


if __name__ == "__main__":
    sys.exit(main())
