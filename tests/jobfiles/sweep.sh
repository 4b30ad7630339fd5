#!/bin/bash
#SBATCH -J sweep  -p gpu   # two options, then a comment
#SBATCH --array=0-9%2 --gres=gpu:a100:1
#SBATCH --comment "two words" --time=0-01:30
## a remark
#SBATCH --mail-type=END

# SBATCH --nodes=9
#PBS -l nodes=4
echo "$SLURM_ARRAY_TASK_ID"
#SBATCH --nodes=2
