"""Which public traces the benchmarks read, where each comes from, and where it lies on this machine.

A trace is looked for in the folder that its variable names (OPENB, MURI, PHILLY), in ../shared/traces beside the
checkout, and where tools/traces puts what it fetches. A benchmark without its data says what it needs and ends; data that
is not the version named here is refused, except in a folder that somebody named.
"""
import functools
import hashlib
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# name: repository and commit, the folder in it, licence, {file: SHA-256}, and files that are made from published
# results, which no repository has in this form.
SETS = {
    "openb": {
        "repository": "alibaba/clusterdata", "commit": "7a6c496e4f4b6ce6150be8f881cb051bf2abff42",
        "folder": "cluster-trace-gpu-v2023/csv", "licence": "Apache-2.0",
        "files": {
            "openb_node_list_gpu_node.csv": "2beca64b4d3dfa342036a34b56a495c6cef9225db836c81f541282cb1df320b5",
            "openb_pod_list_cpu100.csv": "bec1c33fbdde61fd463877534ec79b393aec73e1cbb22d55fab9f166ac480982",
            "openb_pod_list_default.csv": "1ee7ed79c27a3b0861cda8ddba86a004c6aba904caafa329a76ae93ca63834a8",
            "openb_pod_list_gpushare40.csv": "d83ce79a4eb6987524bedbb0c65e41aed3a36bf6c1b78b86234c3687a07e1d40",
            "openb_pod_list_gpuspec10.csv": "2dc7e4cb9480484f08539720b433a9ec9ab5d76b396f3f7557c53a2ff78a7611",
            "openb_pod_list_multigpu20.csv": "d9ec6f6c74fb980cc0b81239470c6353fceea077ea9abd610003b604c7cc2b01"},
        "made": {
            "arrivals": "the arrival orders of the seeds 42, 43 and 44 of hkust-adsl/kubernetes-scheduler-simulator",
            "published_per_seed.csv": "experiments/analysis/expected_results of hkust-adsl/kubernetes-scheduler-simulator, "
                                      "by seed"}},
    "muri": {
        "repository": "Rivendile/Muri", "commit": "4e69a78ce75f629a5a00abd48150a1860b341ce6",
        "folder": "simulator/trace-data", "licence": "Apache-2.0",
        "files": {
            "trace3.csv": "fc8d59783486122d9f522b430c1d5a59fbee119b41feb67a3f67e0751340ce93",
            "trace3_pr.csv": "af45628e89017a4faf20e75c586320643c08a5dd4f2f952502c6fcb25aba5e6c",
            "trace4.csv": "69754a0fc95b75de47923eb755d81b4cd7f8df37d82f007f870881e12470f0d1"},
        "made": {
            "switch_overhead_s.csv": "the table of overheads in simulator/ of the same repository",
            "published.csv": "the results of its simulator: average, makespan and 99th percentile of each policy"}},
    "philly": {
        "repository": "siasosp23/artifacts", "commit": "aaf7a0de7b6cb5eab06ea020467ede5d2fd18e70",
        "folder": "sia-simulator/traces", "licence": "CC-BY-4.0",
        "files": {"philly.csv": "ebffb3dd1589bdf4e7bcd74496201c5ded1d557d498ee14f560463f37ec353da"},
        "made": {}},
}


def source(name):
    it = SETS[name]
    return f"https://github.com/{it['repository']}, commit {it['commit'][:12]}, {it['folder']} ({it['licence']})"


def fetched(name):
    """Where tools/traces puts the set."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "dove/traces", name)


def places(name):
    return [os.path.join(ROOT, "../shared/traces", name), fetched(name)]


@functools.lru_cache(maxsize=None)
def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Missing(Exception):
    """Its text says what is needed and from where."""


def folder(name, *needed):
    """The folder of the set, which holds the files needed, in the version named above; raises Missing."""
    own = os.environ.get(name.upper())
    if own:
        at = own if os.path.isdir(own) else os.path.dirname(own)
        lost = [file for file in needed if not os.path.exists(os.path.join(at, file))]
        if lost:
            raise Missing(f"{name.upper()}={own} holds no {', '.join(lost)}")
        return at
    it, found = SETS[name], []
    for at in places(name):
        lost = [file for file in needed if not os.path.exists(os.path.join(at, file))]
        other = [file for file in needed if file in it["files"] and file not in lost
                 and digest(os.path.join(at, file)) != it["files"][file]]
        if not lost and not other:
            return at
        if os.path.isdir(at):
            found += [f"{os.path.join(at, file)} is missing" for file in lost]
            found += [f"{os.path.join(at, file)} is not that version" for file in other]
    made = "".join(f"\n  {file} is not fetched: it is made from {how}" for file, how in it["made"].items()
                   if file in {one.split("/")[0] for one in needed})
    raise Missing(f"needs {', '.join(needed)} of {source(name)}: `tools/traces {name}` fetches it, or "
                  f"{name.upper()}=FOLDER names where it lies" + made + "".join(f"\n  {one}" for one in found))


def folder_or_end(bench, name, *needed):
    """As folder(); without the data the benchmark ends with one clear text and counts as short."""
    try:
        return folder(name, *needed)
    except Missing as missing:
        print(f"{bench}: {missing}", file=sys.stderr)
        print(f"{bench}: no figure, its data is not here: short")
        sys.exit(1)
