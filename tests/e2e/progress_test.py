#!/usr/bin/env python3
"""What tasks write to $DOVE_PROGRESS is shown by the API, the commands and /metrics, of each rank."""
import json
import subprocess
import sys

from cluster import DOVE, Cluster, until

TASK = """
for step in $(seq 1 600); do
  echo "step=$step seconds=0.$((1 + RANK)) wait=0 samples=8 loss=0.5 phase=train" > $DOVE_PROGRESS
  sleep 0.1
done
"""

# Rank 1 stops in the middle of a step, rank 0 waits for it; then it goes on.
HANGS = """
phase=wait; [ $RANK = 1 ] && phase=train
echo "step=5 seconds=0.1 phase=$phase" > $DOVE_PROGRESS
while [ ! -e go ]; do sleep 0.1; done
for step in $(seq 6 600); do echo "step=$step seconds=0.1" > $DOVE_PROGRESS; sleep 0.1; done
"""


def hangs(cluster):
    job = cluster.submit({"name": "hangs", "nodes": 2, "tasks": 2, "command": ["sh", "-c", HANGS],
                          "workdir": cluster.folder})
    text = until(lambda: cluster.api.call("GET", f"/v1/jobs/{job}/why").get("text"), 60, "the hang to be noticed")
    assert "rank 1 is silent at step 5" in text, text
    assert "rank 1 is silent" in cluster.run("why", str(job)).stdout
    assert "Hangs" in cluster.run("show", str(job)).stdout

    def findings():
        return [node["name"] for node in cluster.nodes()
                if any(one["check"] == "rank_hang" for one in node["findings"])]
    placed = {task["rank"]: placement["node_name"] for placement in cluster.job(job)["attempts"][-1]["placements"]
              for task in placement["tasks"]}
    until(lambda: findings() == [placed[1]], 10, "the finding on the node of rank 1")
    with open(cluster.folder + "/go", "w"):
        pass
    until(lambda: not findings() and "hang" not in cluster.job(job)["progress"], 30, "the hang to be over")
    cluster.run("cancel", str(job))


# Hangs in its first attempt only.
HANGS_ONCE = """
echo "step=5 seconds=0.1" > $DOVE_PROGRESS
[ $DOVE_RESTART_COUNT = 0 ] && sleep 600
exit 0
"""


def requeued(cluster):
    """The setting is heeded: the job is stopped and runs again, and the log says why."""
    cluster.api.call("PUT", "/v1/objects/cluster/cluster", {"hang_after_s": 3, "on_hang": "requeue"})
    job = cluster.submit({"name": "hangs-once", "command": ["sh", "-c", HANGS_ONCE]})
    ended = cluster.wait(job, 60)
    assert ended["state"] == "completed", ended
    assert [attempt["stop_reason"] for attempt in ended["attempts"]] == ["hung", "finished"], ended["attempts"]
    assert ended["retries_used"] == 0, ended
    seen = [json.loads(line) for line in cluster.run("events", "-k", "HangObserved", "-o", "json").stdout.splitlines()]
    assert any(one["job"] == job and one["data"]["step"] == 5 for one in seen), seen
    assert not any(node["findings"] for node in cluster.nodes()), cluster.nodes()


def replayed(cluster):
    """Deciding again over the log gives the same decisions."""
    said = subprocess.run([DOVE, "replay", "--verify", cluster.data], capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr


def main():
    with Cluster(nodes=2, cores=4) as cluster:
        cluster.api.call("PUT", "/v1/objects/cluster/cluster", {"hang_after_s": 3})
        job = cluster.submit({"name": "steps", "nodes": 2, "tasks": 2, "command": ["sh", "-c", TASK]})

        def progress():
            said = cluster.api.call("GET", f"/v1/jobs/{job}")["progress"]
            return said if said and said["ranks"] == 2 and said["step"] > 1 else None

        said = until(progress, 30, "both ranks to tell of their steps")
        assert said["busy_min_us"] == 100000 and said["busy_max_us"] == 200000, said
        assert said["slowest_rank"] == 1 and said["phase"] == "train" and said["loss"] == 0.5, said
        assert said["slowest"][0]["rank"] == 1, said
        shown = cluster.run("show", str(job)).stdout
        assert "Progress" in shown and "longest rank 1" in shown, shown
        assert "STEP" in cluster.run("ps").stdout and "STEP" in cluster.run("top", "-1").stdout
        _, _, page = cluster.api.raw("GET", "/metrics")
        series = [line for line in page.decode().splitlines() if line.startswith("dove_task_step{")]
        assert len(series) == 2 and f'job="{job}"' in series[0] and 'task="0"' in series[0], series
        events = cluster.run("events", "-k", "ProgressReported", "-o", "json").stdout.splitlines()
        assert 2 <= len(events) <= 4, events
        cluster.run("cancel", str(job))
        cluster.wait(job)
        assert cluster.api.call("GET", f"/v1/jobs/{job}")["progress"] is None
        hangs(cluster)
        requeued(cluster)
        cluster.stop()
        replayed(cluster)


main()
sys.exit(0)
