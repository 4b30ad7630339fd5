"""Tables of published figures, made from the files in which their authors keep them (SETS of bench/traces.py says which).

Each function takes the text of such a file and gives the table that a benchmark reads. Programs are read, not run.
"""
import ast
import csv
import io

OPENB_LISTS = ("cpu100", "default", "gpushare40", "gpuspec10", "multigpu20")
OPENB_SEEDS = ("42", "43", "44")
OPENB_LOADS = range(60, 131, 5)
MURI_MODELS = ("vgg16", "vgg19", "resnet18", "shufflenet_v2_x1_0", "bert", "gpt2", "a2c", "dqn")
# As published.csv names the policies, and as the program does.
MURI_POLICIES = {"SRTF": "SRTF", "SRSF": "SRSF", "Tiresias-L": "Tiresias_L", "Muri-S": "Muri_S", "AntMan": "antman",
                 "Themis": "themis", "Muri-L": "Muri_L"}
MURI_TRACES = {"trace3": 4, "trace3_pr": 5, "trace4": 6}  # where each stands in the program's lists


def table(rows):
    return "".join(",".join(str(cell) for cell in row) + "\n" for row in rows)


def openb_per_seed(text):
    """What each policy leaves unallocated at each load: the rest of what analysis_allo_discrete.csv says is allocated."""
    rows = [("trace", "policy", "seed", *(f"unallocated_pct_at_{load}" for load in OPENB_LOADS))]
    for row in csv.DictReader(io.StringIO(text)):
        trace = row["workload"].removeprefix("openb_pod_list_")
        if trace in OPENB_LISTS and row["seed"] in OPENB_SEEDS:
            policy = row["sc_policy"].split("-", 1)[1]
            rows.append((trace, policy, row["seed"], *(f"{100 - float(row[str(load)]):.2f}" for load in OPENB_LOADS)))
    return table(rows)


def assigned(text):
    """(target, value) of each assignment of a literal at the top of a program."""
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign):
            try:
                yield ast.unparse(statement.targets[0]), ast.literal_eval(statement.value)
            except ValueError:
                continue  # is computed


def muri_overheads(text):
    """The `overhead_dict` of run_sim.py."""
    rows = [("num_gpu", *MURI_MODELS)]
    for target, value in assigned(text):
        if target.startswith("overhead_dict["):
            rows.append((target.split("[")[1].rstrip("]"), *(value[model] for model in MURI_MODELS)))
    head = "# seconds that every running job loses at every event (arrival or first completion), by GPU count and model\n"
    return head + table(rows)


def muri_published(text):
    """The lists of raw data of draw_fig9-10.py: completion times and makespans."""
    raw = dict(assigned(text))
    rows = [("trace", "policy", "avg_jct_s", "makespan_s", "p99_jct_s")]
    for policy, theirs in MURI_POLICIES.items():
        for trace, at in MURI_TRACES.items():
            rows.append((trace, policy, *(raw[f"{theirs}_{figure}_raw"][at] for figure in ("JCT", "Makespan", "99JCT"))))
    return table(rows)
