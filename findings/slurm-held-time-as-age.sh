#!/usr/bin/env bash
# Whether the time in which a job is held counts as its age depends on whether it was held at its submission or a moment later.
#
# Versions: Slurm 22.05.8 (Debian 12), PriorityType=priority/multifactor, with slurmdbd.
# Guess: the age of a waiting job counts since its submission, whatever keeps it waiting.
# Seen: so it is for a job that `scontrol hold` stops after 5 s: all 20 s in which it is held count, although it is eligible after them
# only, and the manual has ACCRUE_ALWAYS for that. A job that is submitted with `sbatch -H` ages since its release, and one for a
# reservation that has not begun since the begin, which is its EligibleTime.
# So who submits a job and then holds it passes those who submit it as held, with the same words and the same times.
# Here: the policy `slurm` has the same ages.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_accounting
printf '%s\n' ClusterName=c SlurmctldHost=localhost AuthType=auth/none "${accounting[@]}" >slurm.conf
sacctmgr -i add cluster c >added.txt # before slurmctld begins, which else computes no ages
start_slurm 2 SelectType=select/linear PriorityType=priority/multifactor PriorityWeightAge=100000 PriorityMaxAge=0-1 \
    PriorityCalcPeriod=1 'SchedulerParameters=bf_interval=2,batch_sched_delay=0,sched_interval=2'
running=$(job -N2 -t 60 --wrap 'sleep 900')
wait_for 60 is "$running" RUNNING
scontrol create reservation ReservationName=r StartTime=now+30 Duration=60 Users="$(id -un)" Nodes=n1 Flags=IGNORE_JOBS >made.txt
reserved=$(job --reservation=r -N1 -t 5 --wrap true)
held=$(job -H -N1 -t 5 --wrap true)
later=$(job -N1 -t 5 --wrap true)
never=$(job -N1 -t 5 --wrap true)
sleep 5
scontrol hold "$later"
sleep 20
scontrol release "$held" "$later"
sleep 80 # longer than the time between two calculations of priorities
sprio -h -j "$reserved,$held,$later,$never" -o '%i %A' >ages.txt
since() { # NUMBER FIELD
    local shown
    shown=$(scontrol -o show job "$1")
    at() { date -d "$(grep -o " $1=[^ ]*" <<<"$shown" | cut -d= -f2)" +%s; }
    [ $(($(at "$2") - $(at SubmitTime))) -ge 15 ] && echo later || echo 'since the submission'
}
age() { awk -v "job=$1" '$1 == job { print $2 }' ages.txt; }
line() { # NUMBER WORDS
    echo "$2: eligible $(since "$1" EligibleTime), ages $(since "$1" AccrueTime), is $([ "$(age "$1")" = "$(age "$never")" ] && echo 'as old as' || echo 'younger than') the one that was never held"
}
{
    version
    line "$never" 'never held'
    line "$later" 'held after 5 s'
    line "$held" 'submitted as held'
    line "$reserved" 'for a later reservation'
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
never held: eligible since the submission, ages since the submission, is as old as the one that was never held
held after 5 s: eligible later, ages since the submission, is as old as the one that was never held
submitted as held: eligible later, ages later, is younger than the one that was never held
for a later reservation: eligible later, ages later, is younger than the one that was never held
EXPECTED
echo "as it was seen"
