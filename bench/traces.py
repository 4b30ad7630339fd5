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

# name: repository and commit, the folder in it, licence, {file: SHA-256}; tables that a function of bench/trace_tables.py
# makes from a published file (its own repository and commit, path, SHA-256; the table's SHA-256); and what no file that
# is published gives.
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
        "tables": {
            "published_per_seed.csv": {
                "repository": "hkust-adsl/kubernetes-scheduler-simulator",
                "commit": "8f3d6417353c5083c6d56617f255fadd8dc306bc",
                "path": "experiments/analysis/expected_results/analysis_allo_discrete.csv",
                "source": "e00aff5923a52d53e47c16ec9d19190de4e788c15334865a77bd46e1bd006ea1",
                "by": "openb_per_seed",
                "sha256": "7ed3d22f6edb6595644de1eab987758cd09f15cf89737c3423ea3a4ff90e581d"}},
        "made": {
            "arrivals": "the order of nodes and tasks that https://github.com/hkust-adsl/kubernetes-scheduler-simulator, "
                        "commit 8f3d6417353c, draws for the seeds 42, 43 and 44 (a run of that program writes it)"}},
    "muri": {
        "repository": "Rivendile/Muri", "commit": "4e69a78ce75f629a5a00abd48150a1860b341ce6",
        "folder": "simulator/trace-data", "licence": "Apache-2.0",
        "files": {
            "trace3.csv": "fc8d59783486122d9f522b430c1d5a59fbee119b41feb67a3f67e0751340ce93",
            "trace3_pr.csv": "af45628e89017a4faf20e75c586320643c08a5dd4f2f952502c6fcb25aba5e6c",
            "trace4.csv": "69754a0fc95b75de47923eb755d81b4cd7f8df37d82f007f870881e12470f0d1"},
        "tables": {
            "switch_overhead_s.csv": {
                "repository": "Rivendile/Muri", "commit": "4e69a78ce75f629a5a00abd48150a1860b341ce6",
                "path": "simulator/run_sim.py",
                "source": "42d63755f5dd00739d39f97e4c20e20ec66e2d14e46ba582471cb47982a1161c",
                "by": "muri_overheads",
                "sha256": "1838a21a645342cd6bf97924d15ac15ce75b06894acef74cc35abbeea31d9733"},
            "published.csv": {
                "repository": "Rivendile/Muri", "commit": "4e69a78ce75f629a5a00abd48150a1860b341ce6",
                "path": "simulator/draw_fig9-10.py",
                "source": "8354f4f93c0b147f4fe11a6d20076a549d608b0e31099d4ac1052cb80ea9f139",
                "by": "muri_published",
                "sha256": "1daa3bf06cd0f07591f376b5c068ee11687cf7712b25bc35d7e6dfa14aaf8c08"}},
        "made": {}},
    "philly": {
        "repository": "siasosp23/artifacts", "commit": "aaf7a0de7b6cb5eab06ea020467ede5d2fd18e70",
        "folder": "sia-simulator/traces", "licence": "CC-BY-4.0",
        "files": {"philly.csv": "ebffb3dd1589bdf4e7bcd74496201c5ded1d557d498ee14f560463f37ec353da"},
        "tables": {}, "made": {}},
}


def source(name):
    it = SETS[name]
    return f"https://github.com/{it['repository']}, commit {it['commit'][:12]}, {it['folder']} ({it['licence']})"


def origin(name, file):
    """Where tools/traces takes the file from, and the SHA-256 of what it finds there."""
    it = SETS[name]
    table = it["tables"].get(file)
    if table is None:
        return f"{it['repository']}/{it['commit']}/{it['folder']}/{file}", it["files"][file]
    return f"{table['repository']}/{table['commit']}/{table['path']}", table["source"]


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
            found += [f"{os.path.join(at, file)} is not that version: its SHA-256 is not {it['files'][file]}"
                      for file in other]
    versions = "".join(f"\n  {origin(name, file)[0]}: SHA-256 {origin(name, file)[1]}" for file in needed
                       if file in it["files"] or file in it["tables"])
    made = "".join(f"\n  {file} is not fetched: it is made from {how}" for file, how in it["made"].items()
                   if file in {one.split("/")[0] for one in needed})
    raise Missing(f"needs {', '.join(needed)} of {source(name)}: `tools/traces {name}` fetches it, or "
                  f"{name.upper()}=FOLDER names where it lies" + versions + made + "".join(f"\n  {one}" for one in found))


def folder_or_end(bench, name, *needed):
    """As folder(); without the data the benchmark ends with one clear text and counts as short."""
    try:
        return folder(name, *needed)
    except Missing as missing:
        print(f"{bench}: {missing}", file=sys.stderr)
        print(f"{bench}: no figure, its data is not here: short")
        sys.exit(1)
