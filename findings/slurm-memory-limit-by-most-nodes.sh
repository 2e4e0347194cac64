#!/usr/bin/env bash
# MaxMemPerNode neither bounds the memory of a job on a node nor refuses all that is above it.
#
# Versions: Slurm 22.05.8 (Debian 12), select/cons_tres with CR_Core_Memory, EnforcePartLimits=NO (the default).
# Guess: a job that wants more memory of a node than MaxMemPerNode is refused when it is submitted.
# Seen: `--mem` above the limit is taken, and the job waits for ever. With `--mem-per-cpu`, the tasks are divided by the most nodes
# that the job names, before its nodes are known: without `-N`, four tasks run on one node with more than twice the limit.
# So the limit does not keep memory for others, and a job above it gets no error to mend it by.
# Here: the policy `slurm` counts in the same way, and keeps such jobs waiting.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_slurm 1 SelectType=select/cons_tres SelectTypeParameters=CR_Core_Memory 'SchedulerParameters=bf_interval=1,batch_sched_delay=0' \
    'PartitionName=m Nodes=ALL MaxMemPerNode=1500 DefMemPerNode=100'
waits=$(job -p m -N1 -t 1 --mem=1600 --wrap 'sleep 300')
one=$(job -p m -N1 -n4 -t 1 --mem-per-cpu=900 --wrap 'sleep 300' || echo refused)
many=$(job -p m -n4 -t 1 --mem-per-cpu=900 --wrap 'sleep 300')
wait_for 30 is "$many" RUNNING
sleep 3
{
    version
    squeue -h -j "$waits" -o '--mem=1600: %T, %r'
    if [ "$one" = refused ]; then echo "-N1 -n4 --mem-per-cpu=900: refused"; else squeue -h -j "$one" -o '-N1 -n4 --mem-per-cpu=900: %T, %r'; fi
    squeue -h -j "$many" -o '-n4 --mem-per-cpu=900: %T on %D node'
    scontrol show -d job "$many" | grep -o ' Mem=[0-9]*' | sed 's/ Mem=/MiB of the node: /'
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
--mem=1600: PENDING, MaxMemPerLimit
-N1 -n4 --mem-per-cpu=900: PENDING, MaxMemPerLimit
-n4 --mem-per-cpu=900: RUNNING on 1 node
MiB of the node: 3600
EXPECTED
echo "as it was seen"
