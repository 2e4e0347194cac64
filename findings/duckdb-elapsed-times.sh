#!/usr/bin/env bash
# duckdb reads Slurm's elapsed times as times of the day, until one job runs for a day: then all are text.
#
# Versions: duckdb 2.0.1, polars 2.1.0.
# Guess: a column such as 00:10:00 of `sacct -P` is text, as polars has it; or an interval, as a length of time is meant.
# Seen: it is TIME, a moment of the day. Sums of it are refused. With one job of a day (1-00:00:00) in the file, the same column is
# VARCHAR, so a query over two files of one cluster has two types.
# Here: tables that the library writes have seconds.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv venv
venv/bin/pip install -q duckdb==2.0.1 polars==2.1.0

cat >look.py <<'PYTHON'
import duckdb
import polars

print("duckdb", duckdb.__version__, "polars", polars.__version__)
for title, lines in {"jobs of minutes": ["1|00:10:00", "2|01:30:00"], "and one of a day": ["1|00:10:00", "2|01:30:00", "3|1-00:00:00"]}.items():
    with open("sacct.txt", "w") as file:
        file.write("\n".join(["JobID|Elapsed", *lines, ""]))
    column = duckdb.sql("select Elapsed from read_csv('sacct.txt')")
    print(f"{title}: duckdb {column.types[0]}, {column.fetchall()[0][0]!r}; polars", polars.read_csv("sacct.txt", separator="|")["Elapsed"].dtype)
PYTHON

venv/bin/python look.py | tee seen.txt

diff seen.txt - <<'EXPECTED'
duckdb 2.0.1 polars 2.1.0
jobs of minutes: duckdb TIME, datetime.time(0, 10); polars String
and one of a day: duckdb VARCHAR, '00:10:00'; polars String
EXPECTED
echo "as it was seen"
