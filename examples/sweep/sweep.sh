#!/bin/bash
#SBATCH --job-name=knn
#SBATCH --array=0-7%4
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --time=5
#SBATCH --output=knn-%A_%a.out
# Task i of the array tries k = i + 1. At most four run at once.
set -euo pipefail
cd "${SLURM_SUBMIT_DIR:-$(dirname "$0")}"
[ -f knn.py ] || cd examples/sweep # submitted from the project's root
mkdir -p results
OPENBLAS_NUM_THREADS=1 /usr/bin/python3 knn.py $((SLURM_ARRAY_TASK_ID + 1)) "results/k$((SLURM_ARRAY_TASK_ID + 1)).json"
