#!/usr/bin/env bash
# SimGrid sorts hosts by the bytes of their names, not as the platform lists them: n10 comes before n2.
#
# Versions: SimGrid 3.32 (Debian 12's python3-simgrid).
# Guess: the list of all hosts is in the order of the file, so that host number i is the i-th element.
# Seen: hosts are sorted as byte strings, capitals first. A cluster with the radical 8-11 gives n10, n11, n8, n9.
# Here: hosts have Batsim's numbers: by name, runs of digits as numbers (n2 before n10), another order again.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python=/usr/bin/python3 # Debian's own, which has the package
"$python" -c 'import simgrid; assert simgrid.simgrid_version[:4] == "3.32"' 2>/dev/null ||
    { echo "this needs SimGrid 3.32 for $python; install Debian 12's python3-simgrid"; exit 1; }

cat >platform.xml <<'XML'
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="all" routing="Full">
    <cluster id="cluster" prefix="n" suffix="" radical="8-11" speed="1Gf" bw="1MBps" lat="1ms"/>
    <zone id="others" routing="Full">
      <host id="storage" speed="1Gf"/>
      <host id="Master" speed="1Gf"/>
    </zone>
  </zone>
</platform>
XML
cat >look.py <<'PYTHON'
from simgrid import Engine, simgrid_version

engine = Engine(["look", "--log=root.thres:error"])
engine.load_platform("platform.xml")
print("SimGrid", simgrid_version)
print(*[each.name for each in engine.all_hosts])
PYTHON

"$python" look.py 2>/dev/null | tee seen.txt

diff seen.txt - <<'EXPECTED'
SimGrid 3.32.0
Master n10 n11 n8 n9 storage
EXPECTED
echo "as it was seen"
