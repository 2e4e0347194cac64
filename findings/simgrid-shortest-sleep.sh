#!/usr/bin/env bash
# SimGrid knows no sleep between nothing and a nanosecond: each shorter one takes a whole nanosecond.
#
# Versions: SimGrid 3.32 (Debian 12's python3-simgrid).
# Guess: ten sleeps of 1e-10 s take 1e-9 s, as the clock is a double and 1e-9 is a matter of comparisons only.
# Seen: they take 1e-8 s: `sleep_for` of less than the precision (`precision/timing`) sleeps for the precision. A sleep of
# 1.1e-9 s takes what it says.
# Here: times in messages are microseconds and more apart (docs/explanation/time.md).
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
<platform version="4.1"><zone id="zone" routing="Full"><host id="n1" speed="1Gf"/></zone></platform>
XML
cat >look.py <<'PYTHON'
from simgrid import Actor, Engine, simgrid_version, this_actor

engine = Engine(["look", "--log=root.thres:error"])
engine.load_platform("platform.xml")


def sleeper():
    for seconds in (1e-10, 5e-10, 1.1e-9):
        start = Engine.clock
        for _ in range(10):
            this_actor.sleep_for(seconds)
        print(f"ten sleeps of {seconds:.1e} s take {Engine.clock - start:.1e} s", flush=True)


print("SimGrid", simgrid_version)
Actor.create("sleeper", engine.host_by_name("n1"), sleeper)
engine.run()
PYTHON

"$python" look.py 2>/dev/null | tee seen.txt

diff seen.txt - <<'EXPECTED'
SimGrid 3.32.0
ten sleeps of 1.0e-10 s take 1.0e-08 s
ten sleeps of 5.0e-10 s take 1.0e-08 s
ten sleeps of 1.1e-09 s take 1.1e-08 s
EXPECTED
echo "as it was seen"
