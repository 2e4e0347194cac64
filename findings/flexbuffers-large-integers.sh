#!/usr/bin/env bash
# FlexBuffers have unsigned integers of 64 bits, but Python's writer cannot write the upper half of them.
#
# Versions: flatbuffers 25.12.19.
# Guess: `flexbuffers.Dumps` takes each integer from -2^63 to 2^64-1, as the format has both INT and UINT of 64 bits.
# Seen: from 2^63 on it raises a ValueError, whose text names the double of the number. The same number passes through the
# builder's `UInt`, which `Dumps` never uses.
# Here: no format of the library goes through FlexBuffers.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv venv
venv/bin/pip install -q flatbuffers==25.12.19

cat >look.py <<'PYTHON'
import importlib.metadata

from flatbuffers import flexbuffers


def way(write):
    try:
        return f"read back: {flexbuffers.Loads(bytes(write()))}"
    except ValueError as error:
        return str(error)


def by_builder():
    builder = flexbuffers.Builder()
    builder.UInt(2**63)
    return builder.Finish()


print("flatbuffers", importlib.metadata.version("flatbuffers"))
print("-2^63:", way(lambda: flexbuffers.Dumps(-(2**63))))
print("2^63 - 1:", way(lambda: flexbuffers.Dumps(2**63 - 1)))
print("2^63 =", 2**63, ":", way(lambda: flexbuffers.Dumps(2**63)))
print("2^63, by UInt:", way(by_builder))
PYTHON

venv/bin/python look.py | tee seen.txt

diff seen.txt - <<'EXPECTED'
flatbuffers 25.12.19
-2^63: read back: -9223372036854775808
2^63 - 1: read back: 9223372036854775807
2^63 = 9223372036854775808 : value is too big to encode: 18446744073709551616
2^63, by UInt: read back: 9223372036854775808
EXPECTED
echo "as it was seen"
