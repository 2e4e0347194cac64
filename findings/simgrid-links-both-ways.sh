#!/usr/bin/env bash
# A link of SimGrid carries less than its bandwidth, and half of that in each direction when both are used.
#
# Versions: SimGrid 3.32 (Debian 12's python3-simgrid).
# Guess: a link of 1 MB/s carries a megabyte in a second, and, as a cable does, another one back at the same time.
# Seen: a SHARED link (what a `<link>` is without a policy) is one resource for both directions: two megabytes, one each way,
# take twice the time of one. One alone takes 1.08 s: 3 % are lost to headers, 5 % to its own acknowledgements. SPLITDUPLEX
# gives each direction its own megabyte.
# Here: the simulator follows the model of Batsim (ptask_L07): without losses, a SHARED link is one resource for both ways,
# too.
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
  <zone id="zone" routing="Full">
    <host id="n1" speed="1Gf"/><host id="n2" speed="1Gf"/><host id="n3" speed="1Gf"/>
    <link id="shared" bandwidth="1MBps" latency="0s"/>
    <link id="split" bandwidth="1MBps" latency="0s" sharing_policy="SPLITDUPLEX"/>
    <route src="n1" dst="n2"><link_ctn id="shared"/></route>
    <route src="n1" dst="n3"><link_ctn id="split" direction="UP"/></route>
  </zone>
</platform>
XML
cat >look.py <<'PYTHON'
from simgrid import Actor, Comm, Engine, simgrid_version

engine = Engine(["look", "--log=root.thres:error"])
engine.load_platform("platform.xml")
n1, n2, n3 = (engine.host_by_name(name) for name in ("n1", "n2", "n3"))


def sender():
    for title, pairs in {
        "one way": [(n1, n2)],
        "both ways, SHARED": [(n1, n2), (n2, n1)],
        "both ways, SPLITDUPLEX": [(n1, n3), (n3, n1)],
    }.items():
        start = Engine.clock
        for each in [Comm.sendto_async(a, b, 1_000_000) for a, b in pairs]:
            each.wait()
        print(f"{title}: {Engine.clock - start:.3f} s", flush=True)


print("SimGrid", simgrid_version)
Actor.create("sender", n1, sender)
engine.run()
PYTHON

"$python" look.py 2>/dev/null | tee seen.txt

diff seen.txt - <<'EXPECTED'
SimGrid 3.32.0
one way: 1.082 s
both ways, SHARED: 2.165 s
both ways, SPLITDUPLEX: 1.082 s
EXPECTED
echo "as it was seen"
