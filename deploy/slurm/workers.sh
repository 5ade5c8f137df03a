#!/bin/bash
# Workers of a sweep cluster as a Slurm job: one a node, with as many slots as it
# has cores here. NATS, Postgres and the coordinator run outside the job, on a
# host that the nodes reach.
#
#   sbatch --export=ALL,SWEEP_NATS=nats://head:4222,SWEEP_DATA=/scratch/data deploy/slurm/workers.sh
#
#SBATCH --job-name=sweep-worker
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=08:00:00
# Before the time is over the workers drain: they stop taking jobs, and after
# --grace keep checkpoints and give their trials back.
#SBATCH --signal=TERM@120
set -eu
export SWEEP_SLOTS=${SWEEP_SLOTS:-$SLURM_CPUS_PER_TASK}
# Checkpoints on a file system that all nodes share: a trial goes on anywhere.
export SWEEP_HOME=${SWEEP_HOME:-$PWD/sweep-home}
exec srun --kill-on-bad-exit=0 bash -c 'SWEEP_NAME=$(hostname -s)-$SLURM_JOB_ID exec sweep worker --grace 90s'
