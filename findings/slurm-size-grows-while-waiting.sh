#!/usr/bin/env bash
# What a waiting job counts as its size, for its priority, is not what it asks for, and grows while it waits.
#
# Versions: Slurm 22.05.8 (Debian 12), PriorityType=priority/multifactor, select/linear, with slurmdbd.
# Guess: the factor of PriorityWeightJobSize counts the nodes and CPUs that a job asks for, from its submission on.
# Seen: six nodes of four CPUs are busy. `-N2` counts with two nodes and two CPUs at first, and with all eight CPUs of two nodes after
# the next calculation of priorities. `-N2-4` counts with two nodes and one CPU, and then with the 16 CPUs of four nodes.
# So two jobs with the same words have different priorities until then (PriorityCalcPeriod, 5 min), and the two jobs change places.
# Here: the policy `slurm` counts in the same way.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_accounting
printf '%s\n' ClusterName=c SlurmctldHost=localhost AuthType=auth/none "${accounting[@]}" >slurm.conf
sacctmgr -i add cluster c >added.txt # before slurmctld begins, which else computes no priorities again
start_slurm 6 SelectType=select/linear PriorityType=priority/multifactor PriorityWeightJobSize=10000 PriorityCalcPeriod=1 \
    'SchedulerParameters=bf_interval=2,batch_sched_delay=0'
sizes() { sprio -h -j "$1" -o '%i %J' | sort -n | while read -r _ part; do printf '%d ' "$part"; done; }
grown() { ! [ "$(sizes "$1")" = "$2" ]; }
running=$(job -N6 -t 60 --wrap 'sleep 900')
wait_for 60 is "$running" RUNNING
probe=$(job -N2 -t 60 --wrap true)
first=$(sizes "$probe")
wait_for 90 grown "$probe" "$first" # so that the next calculation is a minute away
scancel "$probe"
jobs=$(job -N2 -t 60 --wrap true),$(job -N2-4 -t 60 --wrap true)
young=$(sizes "$jobs")
wait_for 90 grown "$jobs" "$young"
sleep 2
{
    version
    echo "of 10000, -N2 and -N2-4 count at first: $young"
    echo "after the next calculation: $(sizes "$jobs")"
} | sed 's/ $//' | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
of 10000, -N2 and -N2-4 count at first: 2083 1875
after the next calculation: 3333 5000
EXPECTED
echo "as it was seen"
