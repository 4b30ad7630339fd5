"""Ten lists derived from those of openb, made anew by whoever needs them, from a seed. No weight of a policy was fitted to
them, but one rule of expected_fit was: that models are left out follows from the bound lists (docs/decisions/0015).

bound_LIST: a third of the tasks that want GPUs and name no model are bound to the model of a node, drawn by the GPUs that
nodes have and such that the task fits there; the order of arrival stays. wide_LIST: as many tasks, drawn with replacement so
that half of those that want GPUs want several; they arrive in a drawn order until 110 % of the cluster's GPUs are
asked for.
"""
import csv
import os
import random

SEED = 20261122


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def write(path, rows):
    with open(path, "w", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]))
        out.writeheader()
        out.writerows(rows)


def bound(tasks, nodes, draw):
    """The tasks, a third of those without a model bound to one."""
    gpus = {}
    largest = {}
    for node in nodes:
        count = int(node["gpu"])
        if count > 0:
            gpus[node["model"]] = gpus.get(node["model"], 0) + count
            largest[node["model"]] = max(largest.get(node["model"], 0), count)
    made = []
    for task in tasks:
        task = {"gpu_spec": "", **task}
        wanted = int(task["num_gpu"])
        if wanted > 0 and not task.get("gpu_spec") and draw.random() < 1 / 3:
            models = sorted(model for model in gpus if largest[model] >= wanted)
            task["gpu_spec"] = draw.choices(models, [gpus[model] for model in models])[0]
        made.append(task)
    return made


def wide(tasks, draw):
    """As many tasks, of which half of those with GPUs want several."""
    none = [task for task in tasks if int(task["num_gpu"]) == 0]
    one = [task for task in tasks if int(task["num_gpu"]) == 1]
    several = [task for task in tasks if int(task["num_gpu"]) > 1]
    made = []
    for number in range(len(tasks)):
        if draw.random() < len(none) / len(tasks):
            task = dict(draw.choice(none))
        else:
            task = dict(draw.choice(several if draw.random() < 1 / 2 else one))
        task["name"] = f"task-{number:05}"
        made.append(task)
    return made


def arrivals(tasks, nodes, ranks, draw):
    milli = [int(task["num_gpu"]) * int(task["gpu_milli"] or 0) for task in tasks]
    enough = sum(int(node["gpu"]) for node in nodes) * 1100
    order = []
    while enough > 0:
        each = draw.randrange(len(tasks))
        order.append(each)
        enough -= milli[each]
    return f"# derived by bench/openb_lists.py\n{ranks}\n{' '.join(map(str, order))}\n"


def make(source, target, lists, seeds):
    """Writes the ten lists with their arrivals below `target`, as they lie below `source`; returns their names."""
    os.makedirs(f"{target}/arrivals", exist_ok=True)
    nodes = read(f"{source}/openb_node_list_gpu_node.csv")
    names = []
    for name in lists:
        tasks = sorted(read(f"{source}/openb_pod_list_{name}.csv"), key=lambda task: task["name"])
        for kind in ("bound", "wide"):
            draw = random.Random(f"{SEED} {kind} {name}")
            made = bound(tasks, nodes, draw) if kind == "bound" else wide(tasks, draw)
            names.append(f"{kind}_{name}")
            write(f"{target}/openb_pod_list_{names[-1]}.csv", made)
            for seed in seeds:
                with open(f"{source}/arrivals/{name}_seed{seed}.txt") as file:
                    text = file.read()
                if kind == "wide":
                    ranks = [line for line in text.splitlines() if not line.startswith("#")][0]
                    text = arrivals(made, nodes, ranks, draw)
                with open(f"{target}/arrivals/{names[-1]}_seed{seed}.txt", "w") as file:
                    file.write(text)
    return names
