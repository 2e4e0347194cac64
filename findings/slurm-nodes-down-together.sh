#!/usr/bin/env bash
# A job whose two nodes go down by one command runs again at once, and one whose single node goes down waits for two minutes.
#
# Versions: Slurm 22.05.8 (Debian 12).
# Guess: a job that lost its nodes is requeued, and like all requeued jobs not eligible before 121 s have passed. How many nodes it
# lost makes no difference.
# Seen: so it is for a job of one node. A job of two nodes that go down by one command is not requeued in the log, and starts again
# as soon as the nodes are back. Both have one restart.
# So the pause, in which an old run ends and its nodes become clean, is missing where more was lost.
# Here: the policy `slurm` lets such jobs run at once, too.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_slurm 3 SelectType=select/linear 'SchedulerParameters=bf_interval=1,batch_sched_delay=0,sched_interval=2' ReturnToService=0
two=$(job -N2 -w 'n[0-1]' -t 30 --wrap 'sleep 900')
one=$(job -N1 -w n2 -t 30 --wrap 'sleep 900')
wait_for 60 is "$two" RUNNING
wait_for 60 is "$one" RUNNING
sleep 5
scontrol update NodeName='n[0-1]' State=DOWN Reason=x
scontrol update NodeName=n2 State=DOWN Reason=x
sleep 15
scontrol update NodeName='n[0-2]' State=RESUME
sleep 30
{
    version
    for each in "$two" "$one"; do
        echo "job $each, 30 s after its nodes are back: $(squeue -h -j "$each" -o '%T, %r'),$(scontrol -o show job "$each" | grep -o ' Restarts=[0-9]*')"
        echo "    the log says that it is requeued: $(grep -q "Requeuing JobId=$each\$" ctld.log && echo yes || echo no)"
    done
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
job 1, 30 s after its nodes are back: RUNNING, None, Restarts=1
    the log says that it is requeued: no
job 2, 30 s after its nodes are back: PENDING, BeginTime, Restarts=1
    the log says that it is requeued: yes
EXPECTED
echo "as it was seen"
