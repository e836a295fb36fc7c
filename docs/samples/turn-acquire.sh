#!/bin/sh
# srun --prolog of an I/O step: wait for the turn of the job, an hour at most.
/opt/ioopt/bin/python /opt/ioopt/io_turn.py acquire --max-wait 3600 \
  /shared/turns "$SLURM_JOB_ID" "$IO_NODES" "$IO_BYTES" > /dev/null
exit 0
