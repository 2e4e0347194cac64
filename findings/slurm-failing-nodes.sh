#!/usr/bin/env bash
# A node that an operator says is failing stays so when it goes down and returns, and UNDRAIN does not change that.
#
# Versions: Slurm 22.05.8 (Debian 12).
# Guess: State=FAIL ends the jobs of a node, as DOWN does; a node that is set down and returns to service is as before the
# failure; UNDRAIN gives a failing node back, as RESUME does.
# Seen: the job of a failing node goes on. After FAIL, DOWN and the return of the node, UNDRAIN leaves it failing: no job starts
# there until RESUME.
# Here: the policy `slurm` keeps down, drained and failing nodes apart.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_slurm 1 SelectType=select/linear
state() { sinfo -h -N -n n0 -o %T; }
up() { ! state | grep -q 'down\|\*'; }
one=$(job -N1 --wrap 'sleep 300')
wait_for 30 is "$one" RUNNING
scontrol update NodeName=n0 State=FAIL Reason=x
sleep 2
ran=$(squeue -h -j "$one" -o %T)
scancel "$one"
wait_for 30 gone "$one"
scontrol update NodeName=n0 State=DOWN Reason=x
scontrol update NodeName=n0 State=UNDRAIN
wait_for 90 up
two=$(job -N1 --wrap 'sleep 300')
sleep 8
waits=$(squeue -h -j "$two" -o %T)
undrained=$(state)
scontrol update NodeName=n0 State=RESUME
wait_for 30 is "$two" RUNNING

{
    version
    echo "its job after FAIL: $ran"
    echo "after DOWN and UNDRAIN: $undrained, and a job is $waits"
    echo "after RESUME: $(state)"
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
its job after FAIL: RUNNING
after DOWN and UNDRAIN: fail, and a job is PENDING
after RESUME: allocated
EXPECTED
echo "as it was seen"
