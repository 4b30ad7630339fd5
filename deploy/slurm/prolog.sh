#!/bin/sh
# The second line of Dovetail's gate in Slurm (PrologSlurmctld of slurm.conf, which runs as SlurmUser before a job's
# first process): a job that bears the mark of the gate starts only if the ledger has given this very start a place, and
# Slurm has given it the GPUs of that place. The mark is the administrator's comment, which users cannot set; squeue
# prints nothing else that is theirs. Any other job goes back into the queue, held; one that cannot go back ends.
set -uf
PATH=/usr/bin:/bin:/usr/sbin:/sbin

# The number of an array's last task is that of the whole array.
id=$SLURM_JOB_ID
[ -n "${SLURM_ARRAY_JOB_ID:-}" ] && id=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID

put_back() { # WHY
    logger -t dovetail "Slurm job $id is put back: $1" 2>/dev/null
    # With any other exit code Slurm would put it back itself, and not held. One that was cancelled meanwhile is not to
    # wait again: `Incomplete`.
    scontrol requeuehold Incomplete "$id" && exit 0
    scancel "$id"
    exit 1
}

# From "n[1-2] 0,2-3" a line for each GPU: "n1 0". Names and comments of jobs are printed, too, and their users may write
# there what looks like GPUs: beyond the bound the list is that of no place.
each_gpu() {
    while read -r nodes indices; do
        for node in $(scontrol show hostnames "$nodes"); do echo "$node $indices"; done
    done | awk '{
        parts = split($2, part, ",")
        for (i = 1; i <= parts; i++) {
            ends = split(part[i], end, "-")
            for (at = end[1] + 0; at <= end[ends] + 0; at++) {
                if (++lines > 65536) { print "too many"; exit }
                print $1, at
            }
        }
    }' | sort -u
}

# From "Nodes=n[1-2] CPU_IDs=0-1 Mem=100 GRES=gpu:a:1(IDX:0),gpu:b:0(IDX:),gpu:c:1(IDX:2)" the line "n[1-2] 0,2". A user
# who writes such a line into a comment adds GPUs to those that Slurm gave, and takes none away.
given() {
    awk '$1 ~ /^Nodes=/ && $2 ~ /^CPU_IDs=/ {
        nodes = substr($1, 7)
        gres = $0
        sub(/.* GRES=/, ",", gres)
        indices = ""
        while (match(gres, /,gpu(:[^(,]*)?\(IDX:[0-9][0-9,-]*\)/)) {
            one = substr(gres, RSTART, RLENGTH - 1)
            gres = substr(gres, RSTART + RLENGTH)
            sub(/.*IDX:/, "", one)
            indices = indices "," one
        }
        if (indices != "") print nodes, substr(indices, 2)
    }'
}

said=$(squeue --noheader --states=all --jobs="$id" --Format=restartcnt:12,admin_comment:1024) || exit 1
said=$(printf '%s\n' "$said" | head -n 1)
set -- $said
restarts=${1:-}
case ${2:-} in
    dovetail-gate) ;;
    *) exit 0 ;; # not of a gated partition
esac
case " $* " in
    *" run="*" restarts=$restarts "*) ;;
    *) put_back "it has no place in the ledger" ;;
esac
gpus=
for word in "$@"; do
    case $word in gpus=*) gpus=${word#gpus=} ;; esac
done
[ -z "$gpus" ] && exit 0 # none, or too many for a mark: `dove slurm` compares them
shown=$(scontrol --details show job "$id") || exit 1
place=$(printf '%s\n' "$gpus" | tr '/:' '\n ' | each_gpu)
[ -n "$place" ] || exit 1 # a command failed: Slurm puts the job back
[ "$(printf '%s\n' "$shown" | given | each_gpu)" = "$place" ] || put_back "Slurm gave it other GPUs than the ledger, $gpus"
exit 0
