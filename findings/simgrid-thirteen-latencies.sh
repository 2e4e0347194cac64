#!/usr/bin/env bash
# In SimGrid a message of one byte takes thirteen times the latency of its link; and a host without a loopback has one.
#
# Versions: SimGrid 3.32 (Debian 12's python3-simgrid).
# Guess: a byte over a link with a latency of 1 ms takes 1 ms; a megabyte from a host to itself takes no time, as the platform
# has no link for it.
# Seen: the usual network model multiplies latencies by 13.01 (a factor fitted to TCP), so the byte takes 13.010 ms. A host
# sends to itself over a loopback of 10 GB/s that no platform file mentions: 0.103 ms. With `network/model:CM02`, the byte
# takes what was guessed.
# Here: Batsim's model has no such factor; the loopback is there, and platforms that the library reads have it.
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
    <host id="n1" speed="1Gf"/><host id="n2" speed="1Gf"/>
    <link id="link" bandwidth="1GBps" latency="1ms"/>
    <route src="n1" dst="n2"><link_ctn id="link"/></route>
  </zone>
</platform>
XML
cat >look.py <<'PYTHON'
import sys

from simgrid import Actor, Comm, Engine, simgrid_version

engine = Engine(["look", "--log=root.thres:error", *sys.argv[1:]])
engine.load_platform("platform.xml")
n1, n2 = (engine.host_by_name(name) for name in ("n1", "n2"))


def sender():
    for title, to, size in (("a byte to n2", n2, 1), ("a megabyte to itself", n1, 1_000_000)):
        start = Engine.clock
        Comm.sendto(n1, to, size)
        print(f"{title}: {(Engine.clock - start) * 1000:.3f} ms", flush=True)


print("SimGrid", simgrid_version, *sys.argv[1:])
Actor.create("sender", n1, sender)
engine.run()
PYTHON

{
    "$python" look.py 2>/dev/null
    "$python" look.py --cfg=network/model:CM02 2>/dev/null
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
SimGrid 3.32.0
a byte to n2: 13.010 ms
a megabyte to itself: 0.103 ms
SimGrid 3.32.0 --cfg=network/model:CM02
a byte to n2: 1.000 ms
a megabyte to itself: 0.100 ms
EXPECTED
echo "as it was seen"
