#!/usr/bin/env bash
# Two writers of SQLite that read first: the second fails at once, whatever its timeout, and the first waits for nothing.
#
# Versions: the SQLite of `python3` (seen with 3.40.1); the script prints which.
# Guess: with `timeout=3`, a writer waits for up to three seconds until the other has committed, and both changes are made.
# Seen: both have begun with a SELECT. The second INSERT fails within milliseconds ("database is locked"), since waiting could not
# help; and in the usual journal the first one's COMMIT then waits out its three seconds and fails, too. With WAL the first
# commits. With BEGIN IMMEDIATE, both changes are made.
# Here: each transaction that writes begins with BEGIN IMMEDIATE.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

cat >look.py <<'PYTHON'
import sqlite3
import time


def opened(name, journal):
    connection = sqlite3.connect(name, timeout=3, isolation_level=None)
    connection.execute(f"pragma journal_mode = {journal}")
    return connection


def attempt(connection, statement):
    start = time.monotonic()
    try:
        connection.execute(statement)
    except sqlite3.OperationalError as error:
        return f"{error} {'at once' if time.monotonic() - start < 1 else 'after its timeout'}"
    return "done"


for journal in ("delete", "wal"):
    first, second = (opened(f"{journal}.db", journal) for _ in range(2))
    first.execute("create table jobs (number)")
    for each in (first, second):
        each.execute("begin")
        each.execute("select count(*) from jobs").fetchone()
    first.execute("insert into jobs values (1)")
    print(f"{journal}: the second INSERT: {attempt(second, 'insert into jobs values (2)')}")
    print(f"{journal}: the first COMMIT: {attempt(first, 'commit')}")
PYTHON

python3 -c 'import sqlite3; print("SQLite", sqlite3.sqlite_version)'
python3 look.py | tee seen.txt

diff seen.txt - <<'EXPECTED'
delete: the second INSERT: database is locked at once
delete: the first COMMIT: database is locked after its timeout
wal: the second INSERT: database is locked at once
wal: the first COMMIT: done
EXPECTED
echo "as it was seen"
