#!/usr/bin/env bash
# Slurm, ClusterShell and python-hostlist read one list of hosts as three.
#
# Versions: Slurm 22.05.8 (Debian 12), ClusterShell 1.10.1, python-hostlist 2.3.0.
# Guess: a list such as n[1-2] is a set of hosts in all three: doubles count once, and all fold what can be folded.
# Seen: Slurm keeps doubles and order (n1,n1,n2 is n[1,1-2], three hosts, also when sorted), and does not fold n1-ib,n2-ib. The other
# two take sets. ClusterShell folds n1-ib,n2-ib, and refuses n[01-3], which is n01, n02, n03 in the other two.
# Here: lists of hosts in logs of Slurm are read as Slurm reads them.
set -euo pipefail

place=$(mktemp -d)

cd "$place"
export PATH=$PATH:/usr/sbin
version() { "$(command -v slurmctld-wlm || command -v slurmctld)" -V; }
command -v scontrol >/dev/null || { echo "scontrol is missing; install Debian 12's slurm-client and slurmctld"; exit 1; }
[ "$(version)" = "slurm-wlm 22.05.8" ] || { echo "this needs slurm-wlm 22.05.8, and here is $(version)"; exit 1; }
trap 'rm -rf "$place"' EXIT
export SLURM_CONF=$place/slurm.conf # scontrol wants one, and asks no daemon
printf '%s\n' ClusterName=c SlurmctldHost=localhost AuthType=auth/none NodeName=n1 'PartitionName=p Nodes=n1' >slurm.conf
python3 -m venv venv
venv/bin/pip install -q ClusterShell==1.10.1 python-hostlist==2.3.0

cat >look.py <<'PYTHON'
import importlib.metadata
import subprocess
import sys

import hostlist
from ClusterShell.NodeSet import NodeSet


def slurm(text):
    return subprocess.run(["scontrol", "show", "hostlistsorted", text], capture_output=True, text=True).stdout.strip()


def attempt(read, text):
    try:
        return str(read(text))
    except Exception as error:
        return type(error).__name__


print("ClusterShell", importlib.metadata.version("ClusterShell"), "python-hostlist", importlib.metadata.version("python-hostlist"))
for text in ("n1,n1,n2", "n[01-3]", "n1-ib,n2-ib", "n8,n9,n10,n08"):
    print(f"{text}: Slurm {slurm(text)}, ClusterShell {attempt(NodeSet, text)},", "python-hostlist", hostlist.collect_hostlist(hostlist.expand_hostlist(text)))
PYTHON

venv/bin/python look.py | tee seen.txt

diff seen.txt - <<'EXPECTED'
ClusterShell 1.10.1 python-hostlist 2.3.0
n1,n1,n2: Slurm n[1,1-2], ClusterShell n[1-2], python-hostlist n[1-2]
n[01-3]: Slurm n[01-03], ClusterShell NodeSetParseRangeError, python-hostlist n[01-03]
n1-ib,n2-ib: Slurm n1-ib,n2-ib, ClusterShell n[1-2]-ib, python-hostlist n[1-2]-ib
n8,n9,n10,n08: Slurm n[8-10,08], ClusterShell n[8-9,08,10], python-hostlist n[8-10,08]
EXPECTED
echo "as it was seen"
