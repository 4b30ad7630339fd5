#!/bin/bash
source /mnt/home/ann/.Miniconda3/etc/profile.d/conda.sh
conda activate 71cbcbc360c9a9cf1169814eeb759343

python ${TACC_WORKDIR}/fit.py \
--rank_file=${TACC_WORKDIR}/ranks \
--steps=20 \
