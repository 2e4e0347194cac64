#!/usr/bin/env bash
# sacct's Elapsed is not End minus Start: a job that was suspended occupied its nodes for longer than it says.
#
# Versions: Slurm 22.05.8 (Debian 12), with slurmdbd on MariaDB.
# Guess: Elapsed is the time between Start and End, so either of the three can be computed from the other two.
# Seen: a job that is suspended for some seconds has an Elapsed that is shorter by exactly them (the column Suspended, which is
# not among sacct's usual ones). So Start + Elapsed is a moment at which the job was still on its nodes.
# Here: `import` takes Start and End, and the column Suspended where it is there.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_accounting
start_slurm 1 SelectType=select/linear "${accounting[@]}"
one=$(job -N1 --wrap 'sleep 6')
wait_for 30 is "$one" RUNNING
sleep 2
scontrol suspend "$one"
sleep 6
scontrol resume "$one"
completed() { [ "$(sacct -X -n -P -j "$one" -o State)" = COMPLETED ]; }
wait_for 60 completed

{
    version
    IFS='|' read -r elapsed start end suspended <<<"$(sacct -X -n -P -j "$one" -o ElapsedRaw,Start,End,Suspended)"
    between=$(($(date -d "$end" +%s) - $(date -d "$start" +%s)))
    suspended=$((10#${suspended##*:}))
    echo "suspended for at least 5 s: $([ "$suspended" -ge 5 ] && echo yes || echo no)"
    echo "Elapsed is End - Start: $([ "$elapsed" = $between ] && echo yes || echo no)"
    echo "Elapsed is End - Start - Suspended: $([ "$elapsed" = $((between - suspended)) ] && echo yes || echo no)"
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
suspended for at least 5 s: yes
Elapsed is End - Start: no
Elapsed is End - Start - Suspended: yes
EXPECTED
echo "as it was seen"
