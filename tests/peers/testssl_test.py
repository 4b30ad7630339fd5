#!/usr/bin/env python3
"""testssl.sh looks at both ports of a server with TLS, as an auditor would: it finds nothing of severity HIGH or worse."""
# limit_s: 600
import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests/e2e")]
from cluster import SKIP, Cluster  # noqa: E402

BAD = {"HIGH", "CRITICAL", "FATAL"}
# Its authority is the cluster's own, which no browser's list has; nobody asks a private server for revocation lists; a
# certificate lasts 30 days, since the server renews it by itself.
NOT_FOR_US = ("cert_chain_of_trust", "cert_revocation", "cert_trust", "cert_expirationStatus", "cert_notAfter")


def main():
    program = shutil.which("testssl") or shutil.which("testssl.sh")
    if not program:
        print("skipped: there is no testssl (tools/setup peers)")
        return SKIP
    wrong = []
    with Cluster(nodes=1, tls=True) as cluster:
        for port in (cluster.port, cluster.agents_port()):
            found = os.path.join(cluster.folder, f"{port}.json")
            done = subprocess.run(
                [program, "--quiet", "--warnings", "off", "--color", "0", "--protocols", "--server-defaults", "--server-preference",
                 "--each-cipher", "--vulnerable", "--ip", "one", "--jsonfile", found, f"127.0.0.1:{port}"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=280)
            with open(found) as file:
                findings = json.load(file)
            looked = {one["id"]: one for one in findings}
            offered = {name: looked.get(name, {}).get("finding", "not looked at") for name in ("SSLv3", "TLS1", "TLS1_1", "TLS1_3")}
            if not offered.pop("TLS1_3").startswith("offered") or set(offered.values()) != {"not offered"}:
                wrong.append(f"port {port}: {offered}\n{done.stdout[-3000:]}")
            bad = [one for one in findings if one["severity"] in BAD and not one["id"].startswith(NOT_FOR_US)]
            wrong += [f"port {port}: {one['id']} {one['severity']}: {one['finding']}" for one in bad]
            print(f"port {port}: {len(findings)} findings, {len(bad)} of them bad")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
