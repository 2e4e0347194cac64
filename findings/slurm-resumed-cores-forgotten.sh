#!/usr/bin/env bash
# A job that `scontrol resume` lets go on shares its cores with jobs that start later.
#
# Versions: Slurm 22.05.8 (Debian 12), select/cons_tres with CR_Core.
# Guess: a resumed job has its cores again, or waits until they are free; nobody else starts there.
# Seen: job 1 has the four cores of a node and is suspended, and job 2 gets two of them. Once job 1 is resumed, it runs on all four,
# and job 3 gets the other two: Slurm gives out eight cores of a node of four, and users have more processes than cores there.
# Here: the policy `slurm` forgets the cores of such a job, too.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_slurm 1 SelectType=select/cons_tres SelectTypeParameters=CR_Core 'SchedulerParameters=bf_interval=1,batch_sched_delay=0'
one=$(job -n4 -t 10 --wrap 'sleep 300')
wait_for 30 is "$one" RUNNING
scontrol suspend "$one"
wait_for 30 is "$one" SUSPENDED
two=$(job -n2 -t 10 --wrap 'sleep 300')
wait_for 30 is "$two" RUNNING
scontrol resume "$one"
wait_for 30 is "$one" RUNNING
three=$(job -n2 -t 10 --wrap 'sleep 300')
wait_for 30 is "$three" RUNNING
{
    version
    for each in "$one" "$two" "$three"; do
        echo "job $each is $(squeue -h -j "$each" -o %T) on the cores$(scontrol show -d job "$each" | grep -o ' CPU_IDs=[^ ]*' | sed 's/CPU_IDs=//')"
    done
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
job 1 is RUNNING on the cores 0-3
job 2 is RUNNING on the cores 0-1
job 3 is RUNNING on the cores 2-3
EXPECTED
echo "as it was seen"
