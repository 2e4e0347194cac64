#!/usr/bin/env bash
# `scontrol requeue` of a job that has completed changes its past: sacct's row gets another end, elapsed time and state.
#
# Versions: Slurm 22.05.8 (Debian 12), with slurmdbd on MariaDB.
# Guess: the run that completed keeps its row (COMPLETED, its end), and the next run gets a second one.
# Seen: the row of the first run becomes REQUEUED, and its End and Elapsed those of the moment of the requeue, though the
# program had ended long before. That it was completed stands nowhere any more, with `-D` neither.
# Here: `import` counts runs with the state REQUEUED apart.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_accounting
start_slurm 1 SelectType=select/linear "${accounting[@]}"
one=$(job -N1 --wrap 'sleep 1')
row() { sacct -D -X -n -P -j "$one" -o JobID,State,ElapsedRaw,End; }
has() { row | grep -q "$1"; }
wait_for 60 has COMPLETED
before=$(row)
sleep 10
scontrol requeue "$one"
wait_for 60 has REQUEUED
after=$(row)

{
    version
    IFS='|' read -r _ state elapsed end <<<"$before"
    echo "before: $state, of less than 8 s: $([ "$elapsed" -lt 8 ] && echo yes || echo no)"
    IFS='|' read -r _ new_state new_elapsed new_end <<<"$after"
    echo "after: $new_state, of more than 8 s: $([ "$new_elapsed" -gt 8 ] && echo yes || echo no)"
    echo "the end has moved: $([ "$end" != "$new_end" ] && echo yes || echo no); rows: $(wc -l <<<"$after")"
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
before: COMPLETED, of less than 8 s: yes
after: REQUEUED, of more than 8 s: yes
the end has moved: yes; rows: 1
EXPECTED
echo "as it was seen"
