#!/bin/bash
#SBATCH --job-name=knn-best
#SBATCH --ntasks=1
#SBATCH --time=5
#SBATCH --output=knn-best-%j.out
# Starts when every task of the sweep has succeeded; the dependency is given on the command line, see README.md.
set -euo pipefail
cd "${SLURM_SUBMIT_DIR:-$(dirname "$0")}"
[ -f best.py ] || cd examples/sweep # submitted from the project's root
/usr/bin/python3 best.py results
