#!/usr/bin/env bash
# One CSV column of numbers with `inf` or `nan` in it: pandas, polars and duckdb take it for numbers or for text, each otherwise.
#
# Versions: pandas 3.1.1, polars 2.1.0, duckdb 2.0.1.
# Guess: all three read `inf`, `nan` and Batsim's `-nan` (a mean of no jobs) as floats, as C, Python and JavaScript write them so.
# Seen: pandas takes all for floats. polars takes a column with `nan` or `-nan` for text, wherever it stands. duckdb takes one for
# text if `inf` is its first value, and for floats if `inf` comes later. None says that numbers have become text.
# Here: tables that the library writes leave absent values empty.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv venv
venv/bin/pip install -q pandas==3.1.1 polars==2.1.0 duckdb==2.0.1

cat >look.py <<'PYTHON'
import duckdb
import pandas
import polars

print("pandas", pandas.__version__, "polars", polars.__version__, "duckdb", duckdb.__version__)
for word in ("inf", "nan", "-nan", ""):
    for title, values in {"first": (word, "1.5", "2.5"), "second": ("1.5", word, "2.5")}.items():
        with open("jobs.csv", "w") as file:
            file.write("job,slowdown\n" + "".join(f"{job},{value}\n" for job, value in enumerate(values)))
        types = (
            pandas.read_csv("jobs.csv").slowdown.dtype,
            polars.read_csv("jobs.csv")["slowdown"].dtype,
            duckdb.sql("select slowdown from 'jobs.csv'").types[0],
        )
        print(f"{word or 'nothing'} as the {title} value:", *types)
PYTHON

venv/bin/python look.py | tee seen.txt

diff seen.txt - <<'EXPECTED'
pandas 3.1.1 polars 2.1.0 duckdb 2.0.1
inf as the first value: float64 Float64 VARCHAR
inf as the second value: float64 Float64 DOUBLE
nan as the first value: float64 String DOUBLE
nan as the second value: float64 String DOUBLE
-nan as the first value: float64 String DOUBLE
-nan as the second value: float64 String DOUBLE
nothing as the first value: float64 Float64 DOUBLE
nothing as the second value: float64 Float64 DOUBLE
EXPECTED
echo "as it was seen"
