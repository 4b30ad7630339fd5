#!/bin/sh
# The second line of Dovetail's gate in Slurm (PrologSlurmctld of slurm.conf, which runs as SlurmUser before a job's
# first process): a job that bears the mark of the gate starts only if the ledger has given this very start a place.
# The mark is the administrator's comment, which users cannot set; squeue prints nothing else that is theirs. A job
# without a place goes back into the queue, held; one that cannot go back ends.
set -u
PATH=/usr/bin:/bin:/usr/sbin:/sbin

# The number of an array's last task is that of the whole array.
id=$SLURM_JOB_ID
[ -n "${SLURM_ARRAY_JOB_ID:-}" ] && id=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
said=$(squeue --noheader --states=all --jobs="$id" --Format=restartcnt:12,admin_comment:240) || exit 1
said=$(printf '%s\n' "$said" | head -n 1)
set -f
set -- $said
restarts=${1:-}
case ${2:-} in
    dovetail-gate) ;;
    *) exit 0 ;; # not of a gated partition
esac
case " $* " in
    *" run="*" restarts=$restarts "*) exit 0 ;;
esac
logger -t dovetail "Slurm job $id has no place in the ledger: it is put back" 2>/dev/null
# With any other exit code Slurm would put it back itself, and not held. One that was cancelled meanwhile is not to wait
# again: `Incomplete`.
scontrol requeuehold Incomplete "$id" && exit 0
scancel "$id"
exit 1
