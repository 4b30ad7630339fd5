#!/bin/bash
#SBATCH --job-name=pi
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=1
#SBATCH --time=5
#SBATCH --output=pi-%j.out
# Builds pi beside this job when it is missing or older than its source, then runs it on every task of the
# allocation. Host file and launch agent come from the environment, so mpirun needs no options.
set -euo pipefail
cd "${DOVE_SUBMIT_DIR:-${SLURM_SUBMIT_DIR:-$(dirname "$0")}}"
[ -f pi.c ] || cd examples/mpi # submitted from the project's root

if [ ! -x pi ] || [ pi.c -nt pi ]; then
  built=$(mktemp pi.XXXXXX) # renamed when whole: two jobs may build at once
  trap 'rm -f "$built"' EXIT
  mpicc -O2 -std=gnu11 -Wall -Wextra -o "$built" pi.c -lm
  mv "$built" pi
fi
mpirun ./pi
