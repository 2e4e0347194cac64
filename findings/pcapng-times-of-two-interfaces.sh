#!/usr/bin/env bash
# One capture of two interfaces, read by three packages: dpkt is off by 53,000 years, scapy and python-pcapng by an offset.
#
# Versions: dpkt 1.9.8, scapy 2.8.0, python-pcapng 2.1.1.
# Guess: a packet's time counts in the units of its own interface (`if_tsresol`), plus that interface's offset (`if_tsoffset`): the
# format says so for each interface, and capturing on several at once is usual.
# Seen: dpkt takes the units of the first interface for all, so nanoseconds of the second are read as microseconds. scapy and
# python-pcapng have the right units, and leave the offset out. Each is wrong without a word, and no two agree on both.
# Here: captured traffic is read by the library itself, with the units and the offset of each interface.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv venv
venv/bin/pip install -q dpkt==1.9.8 scapy==2.8.0 python-pcapng==2.1.1

cat >look.py <<'PYTHON'
import importlib.metadata
import io
import struct

import dpkt
import pcapng
from scapy.utils import rdpcap

PACKET = bytes(12) + b"\x08\x00" + bytes(28)
NOW = 1_700_000_000


def block(kind, body):
    size = len(body) + 12
    return struct.pack("<II", kind, size) + body + struct.pack("<I", size)


def interface(units, offset):
    options = struct.pack("<HHB3x", 9, 1, units) + struct.pack("<HHq", 14, 8, offset) + struct.pack("<HH", 0, 0)
    return block(1, struct.pack("<HHI", 1, 0, 0) + options)


def packet(number, ticks):
    size = len(PACKET)
    padded = PACKET + bytes(-size % 4)
    return block(6, struct.pack("<IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, size, size) + padded)


def capture(*interfaces):  # of pairs of units and offset: a packet at NOW on each
    blocks = [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    blocks += [interface(*each) for each in interfaces]
    blocks += [packet(i, (NOW - offset) * 10**units) for i, (units, offset) in enumerate(interfaces)]
    return b"".join(blocks)


print(*[f"{name} {importlib.metadata.version(name)}" for name in ("dpkt", "scapy", "python-pcapng")])
for title, data in {"micro- and nanoseconds": capture((6, 0), (9, 0)), "an offset of 1000 s": capture((6, 1000), (6, 1000))}.items():
    print(title)
    print("  dpkt:", *[round(time) - NOW for time, _ in dpkt.pcapng.Reader(io.BytesIO(data))])
    print("  scapy:", *[round(each.time) - NOW for each in rdpcap(io.BytesIO(data))])
    print("  python-pcapng:", *[round(each.timestamp) - NOW for each in pcapng.FileScanner(io.BytesIO(data)) if hasattr(each, "timestamp")])
PYTHON

venv/bin/python look.py | tee seen.txt

diff seen.txt - <<'EXPECTED'
dpkt 1.9.8 scapy 2.8.0 python-pcapng 2.1.1
micro- and nanoseconds
  dpkt: 0 1698300000000
  scapy: 0 0
  python-pcapng: 0 0
an offset of 1000 s
  dpkt: 0 0
  scapy: -1000 -1000
  python-pcapng: -1000 -1000
EXPECTED
echo "as it was seen"
