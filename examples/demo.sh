#!/bin/bash
# The demo: a cluster of four nodes on this machine, a real distributed training, one node lost in the middle.
# Needs $DOVE or build/release/dove, and /usr/bin/python3 with numpy. Leaves nothing running, nothing on disk.
# Exits 0 only when the accuracy is above 0.95, the job took two attempts, and no process is left.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
dove=${DOVE:-$root/build/release/dove}
python=/usr/bin/python3
kill_after_epoch=12
limit_s=150 # of the whole demo

bold='' dim='' red='' green='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' green=$'\e[32m' plain=$'\e[0m'
fi
say() { echo "${bold}==> $*${plain}"; }
die() { echo "${red}demo: $*${plain}" >&2; exit 1; }

[ -x "$dove" ] || die "$dove is missing: run 'make build', or set DOVE to the program"
"$python" -c 'import numpy' 2>/dev/null || die "$python has no numpy: apt-get install python3-numpy"

work=$(mktemp -d "${TMPDIR:-/tmp}/dove-demo.XXXXXX")
data=$work/data
up_pid='' job='' shown=0
run() { DOVE_DATA=$data timeout 60 "$dove" "$@"; }

# Processes whose arguments or environment name a folder; the shell expands the list before grep is born.
processes_of() {
  { grep -lzsF -- "$1" /proc/[0-9]*/cmdline /proc/[0-9]*/environ || true; } | cut -d/ -f3 | sort -un
}

stop_cluster() {
  [ -n "$up_pid" ] || return 0
  kill -TERM "$up_pid" 2>/dev/null || true
  for _ in $(seq 100); do kill -0 "$up_pid" 2>/dev/null || break; sleep 0.1; done
  kill -KILL "$up_pid" 2>/dev/null || true
  wait "$up_pid" 2>/dev/null || true
  up_pid=''
}

# Waits a moment for the last processes, ends what is still there by its id, and fails if that was needed.
sweep() {
  local left='' pid
  for _ in $(seq 30); do left=$(processes_of "$work/"); [ -n "$left" ] || return 0; sleep 0.1; done
  for pid in $left; do
    echo "left behind: $pid $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | cut -c1-150)" >&2
    kill -KILL "$pid" 2>/dev/null || true
  done
  return 1
}

cleanup() {
  local code=$?
  trap '' INT TERM
  trap - EXIT
  set +e
  if [ "$code" -ne 0 ]; then
    [ -n "$job" ] && run cancel "$job" >/dev/null 2>&1
    [ -s "$work/up.log" ] && { echo "${dim}--- the end of dove up's output" >&2; tail -n 15 "$work/up.log" >&2; echo "$plain" >&2; }
  fi
  stop_cluster
  sweep || code=$((code ? code : 1))
  rm -rf "$work"
  exit "$code"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Prints what is new in the log of rank 0; a shorter log is that of a new attempt.
show_log() {
  local lines
  mapfile -t lines < <(run logs "$job" --rank 0 2>/dev/null || true)
  [ "${#lines[@]}" -ge "$shown" ] || shown=0
  local i
  for ((i = shown; i < ${#lines[@]}; ++i)); do echo "    ${dim}${lines[i]}${plain}"; done
  shown=${#lines[@]}
  last=${lines[*]: -1}
}

# "name agent_pid" of each node that runs a rank, the last one first.
nodes_of_job() {
  run nodes -o json | "$python" -c '
import json, sys
found = json.load(sys.stdin)
for node in found if isinstance(found, list) else found.get("nodes") or found["items"]:
    print(node["name"], node.get("agent_pid") or 0)' | sort -r | while read -r name pid; do
    for task in $(processes_of "$data/nodes/$name/"); do
      if grep -qzs 'train\.py' "/proc/$task/cmdline"; then echo "$name $pid"; break; fi
    done
  done
}

lose_a_node() {
  local name agent pid count=0
  read -r name agent < <(nodes_of_job) || die "no node runs a rank of job $job"
  [ "$agent" -gt 1 ] && [ "$agent" != "$up_pid" ] || die "node $name has no agent process of its own"
  say "${red}$name is lost: SIGKILL for its agent ($agent) and everything it runs${plain}"
  kill -KILL "$agent" 2>/dev/null || true
  for pid in $(processes_of "$data/nodes/$name/"); do
    if [ "$pid" != "$up_pid" ] && kill -KILL "$pid" 2>/dev/null; then count=$((count + 1)); fi
  done
  echo "    $count processes of $name killed"
}

began=$SECONDS
on_time() { [ $((SECONDS - began)) -lt "$limit_s" ] || die "not done after $limit_s s"; }

say "dove up: four nodes with two emulated GPUs each"
"$dove" up --nodes 4 --gpus 2 --data "$data" --port 0 >"$work/up.log" 2>&1 &
up_pid=$!
until grep -q ready "$work/up.log"; do
  kill -0 "$up_pid" 2>/dev/null || die "dove up ended early"
  on_time
  sleep 0.1
done
echo "    $(grep -m1 ready "$work/up.log")"
run nodes

say "dove submit examples/digits: 4 ranks on 2 nodes, 2 GPUs each"
job=$(run submit "$root/examples/digits" -o name | grep -oE '[0-9]+' | tail -n 1) || die "submit failed"
echo "    job $job"
last='' killed=no
until run show "$job" -o json | grep -qiE '"state": *"(completed|succeeded|failed|cancelled|timeout)'; do
  show_log
  epoch=$(sed -nE 's,^epoch ([0-9]+)/.*,\1,p' <<<"$last")
  if [ "$killed" = no ] && [ "${epoch:-0}" -ge "$kill_after_epoch" ]; then lose_a_node; killed=yes; fi
  on_time
  sleep 0.4
done
show_log
code=0
run wait "$job" || code=$?

say "where the time went: dove show $job"
run show "$job"
say "verdict"
[ "$code" -eq 0 ] || die "job $job ended with $code"
[ "$killed" = yes ] || die "the job ended before a node could be killed"
final=$(run logs "$job" --rank 0 | grep '^final accuracy: ' | tail -n 1) || die "the log has no final accuracy"
accuracy=$(sed -E 's/^final accuracy: ([0-9.]+).*/\1/' <<<"$final")
attempts=$(sed -E 's/.*attempt ([0-9]+).*/\1/' <<<"$final")
awk -v a="$accuracy" 'BEGIN { exit !(a > 0.95) }' || die "accuracy $accuracy is not above 0.95"
[ "$attempts" = 2 ] || die "the job took $attempts attempts, expected 2"
stop_cluster
sweep || die "processes were left behind"
echo "    ${green}$final${plain}"
echo "    ${green}one node lost, two attempts, nothing left running; $((SECONDS - began)) s${plain}"
