#!/usr/bin/env bash
# High-water marks of one message let through a hundred thousand: over TCP, ZeroMQ counts messages in two of four places.
#
# Versions: pyzmq 27.3.0 (libzmq 4.3.5).
# Guess: with SNDHWM=1 at the sender and RCVHWM=1 at a receiver that does not read, a PUSH socket takes a handful of messages and
# then blocks, over each transport.
# Seen: over inproc:// it takes two, as the marks say. Over tcp:// it takes far more than a thousand small messages: the buffers of
# the operating system, and the batches that libzmq copies into them, are counted in bytes.
# Here: no part of the library relies on a mark to bound what is under way.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv venv
venv/bin/pip install -q pyzmq==27.3.0

cat >look.py <<'PYTHON'
import time

import zmq


def taken(address):
    context = zmq.Context()
    context.linger = 0
    push, pull = context.socket(zmq.PUSH), context.socket(zmq.PULL)
    push.sndhwm = pull.rcvhwm = 1
    pull.bind(address)
    push.connect(pull.last_endpoint)
    push.send(b"x")
    pull.recv()
    count, last = 0, time.monotonic()
    while time.monotonic() < last + 1 and count < 10_000:
        try:
            push.send(b"x", zmq.NOBLOCK)
        except zmq.Again:
            time.sleep(0.001)
        else:
            count, last = count + 1, time.monotonic()
    context.destroy()
    return count


print("pyzmq", zmq.__version__, "libzmq", zmq.zmq_version())
print("inproc:", taken("inproc://here"), "messages")
print("tcp: more than 1000 messages:", taken("tcp://127.0.0.1:*") > 1000)
PYTHON

venv/bin/python look.py | tee seen.txt

diff seen.txt - <<'EXPECTED'
pyzmq 27.3.0 libzmq 4.3.5
inproc: 2 messages
tcp: more than 1000 messages: True
EXPECTED
echo "as it was seen"
