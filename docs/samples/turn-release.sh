#!/bin/sh
# srun --epilog of an I/O step, and Epilog of slurm.conf: give the turn back.
if [ -n "$SLURM_JOB_ID" ]; then
  rm -f /shared/turns/"$SLURM_JOB_ID".*
else
  echo "turn-release.sh: SLURM_JOB_ID is not set: no turn was given back" >&2
fi
exit 0  # any other code of an Epilog drains the node
