#!/usr/bin/env bash
# The option `reverse=True` of MCAP's reader does nothing for a file that was written without chunks.
#
# Versions: mcap 1.6.0.
# Guess: `iter_messages(reverse=True)` yields the latest message first, or raises ValueError, as it does with log_time_order=False.
# Seen: a file with chunks comes reversed. The same messages without chunks come in ascending order, without an error.
# Here: recordings are written in chunks.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv venv
venv/bin/pip install -q mcap==1.6.0

cat >look.py <<'PYTHON'
import importlib.metadata
import io

from mcap.reader import make_reader
from mcap.writer import Writer


def written(**options):
    file = io.BytesIO()
    writer = Writer(file, **options)
    writer.start()
    channel = writer.register_channel("events", "json", writer.register_schema("event", "jsonschema", b"{}"))
    for time in (1, 2, 3):
        writer.add_message(channel, log_time=time, publish_time=time, data=b"{}")
    writer.finish()
    return io.BytesIO(file.getvalue())


print("mcap", importlib.metadata.version("mcap"))
for chunks in (True, False):
    messages = make_reader(written(use_chunking=chunks)).iter_messages(reverse=True)
    print("with chunks:   " if chunks else "without chunks:", *[message.log_time for _, _, message in messages])
PYTHON

venv/bin/python look.py | tee seen.txt

diff seen.txt - <<'EXPECTED'
mcap 1.6.0
with chunks:    3 2 1
without chunks: 1 2 3
EXPECTED
echo "as it was seen"
