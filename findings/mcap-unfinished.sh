#!/usr/bin/env bash
# A recorder that is killed leaves an MCAP file without the messages that it has written.
#
# Versions: mcap 1.6.0.
# Guess: MCAP appends, so that each message written stands in the file, and only the index at its end is missing after a kill.
# Seen: until a chunk is full (a megabyte) all messages are in memory: after 1,000 messages of 100 bytes the file has 42 bytes.
# Without chunks they are there, and a reader that is not asked for any order yields them before it raises EndOfFile; one that
# sorts by time, as readers do, yields none.
# Here: a `.mcap` that was not finished is read as far as its last chunk, and named as unfinished.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv venv
venv/bin/pip install -q mcap==1.6.0

cat >look.py <<'PYTHON'
import importlib.metadata
import io

from mcap.exceptions import McapError
from mcap.reader import NonSeekingReader
from mcap.writer import Writer


def unfinished(**options):
    file = io.BytesIO()
    writer = Writer(file, **options)
    writer.start()
    channel = writer.register_channel("events", "json", writer.register_schema("event", "jsonschema", b"{}"))
    for time in range(1000):
        writer.add_message(channel, log_time=time, publish_time=time, data=b"x" * 100)
    return file.getvalue()


def read(reader, data, **options):
    count = 0
    try:
        for _ in reader(io.BytesIO(data)).iter_messages(**options):
            count += 1
    except McapError as error:
        return f"{count} messages, then {type(error).__name__}"
    return f"{count} messages"


print("mcap", importlib.metadata.version("mcap"))
for name, data in (("with chunks", unfinished()), ("without", unfinished(use_chunking=False))):
    print(f"{name}: {len(data)} bytes")
    print("  by time:", read(NonSeekingReader, data))
    print("  in any order:", read(NonSeekingReader, data, log_time_order=False))
PYTHON

venv/bin/python look.py | tee seen.txt

diff seen.txt - <<'EXPECTED'
mcap 1.6.0
with chunks: 42 bytes
  by time: 0 messages, then EndOfFile
  in any order: 0 messages, then EndOfFile
without: 131117 bytes
  by time: 0 messages, then EndOfFile
  in any order: 1000 messages, then EndOfFile
EXPECTED
echo "as it was seen"
