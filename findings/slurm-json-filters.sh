#!/usr/bin/env bash
# squeue and sinfo with --json print everything: options that select jobs or nodes have no effect, without a word.
#
# Versions: Slurm 22.05.8 (Debian 12).
# Guess: `--json` changes the form of the output, and `-j`, `-t` and `-n` select as before.
# Seen: `squeue --json -j 2` and `squeue --json -t PENDING` print all jobs, also those that ended, and `sinfo --json -n n1`
# all nodes. The same options select in text, and sacct's JSON does select.
# Here: the client of Slurm asks `squeue` for text.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_slurm 2 SelectType=select/linear
first=$(job -N2 --wrap 'sleep 60')
second=$(job -N1 --wrap true)
wait_for 30 is "$first" RUNNING

names() { python3 -c "import json, sys; print(*[e['$2'] for e in json.load(sys.stdin)['$1']])"; }
{
    version
    echo "text, -j $second: $(squeue -h -o %i -j "$second")"
    echo "JSON, -j $second: $(squeue --json -j "$second" | names jobs job_id)"
    echo "text, -t PENDING: $(squeue -h -o %i -t PENDING)"
    echo "JSON, -t PENDING: $(squeue --json -t PENDING | names jobs job_id)"
    echo "text, -n n1: $(sinfo -h -N -n n1 -o %N)"
    echo "JSON, -n n1: $(sinfo --json -n n1 | names nodes name)"
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
text, -j 2: 2
JSON, -j 2: 1 2
text, -t PENDING: 2
JSON, -t PENDING: 1 2
text, -n n1: n1
JSON, -n n1: n0 n1
EXPECTED
echo "as it was seen"
