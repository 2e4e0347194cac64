#!/usr/bin/env bash
# A second program that binds a living ipc:// address takes it over, without an error for either.
#
# Versions: pyzmq 27.3.0 (libzmq 4.3.5).
# Guess: `bind` fails with "Address already in use", as it does for tcp://, while the first socket listens.
# Seen: the second `bind` succeeds, and from then on new peers reach the second socket. Who was connected stays with the first.
# So of two schedulers started by mistake on one ipc:// address, the later one gets all further simulations.
# Here: docs/reference/batsim.md says it; `batproto run` and tests use a folder of their own for each endpoint.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv venv
venv/bin/pip install -q pyzmq==27.3.0

cat >look.py <<'PYTHON'
import zmq


def served(address):
    context = zmq.Context()
    context.linger = 0
    first, second = context.socket(zmq.REP), context.socket(zmq.REP)
    first.bind(address)
    address = first.last_endpoint
    early, late = context.socket(zmq.REQ), context.socket(zmq.REQ)
    early.connect(address)
    early.send(b"early")
    first.recv()
    try:
        second.bind(address)
    except zmq.ZMQError as error:
        return f"the second bind fails: {zmq.strerror(error.errno)}"
    first.send(b"")
    early.recv()
    early.send(b"early again")
    late.connect(address)
    late.send(b"late")
    got = {name: sock.recv().decode() if sock.poll(2000) else "nothing" for name, sock in (("first", first), ("second", second))}
    context.destroy()
    return f"the second bind works; the first gets {got['first']!r}, the second {got['second']!r}"


print("pyzmq", zmq.__version__, "libzmq", zmq.zmq_version())
print("tcp:", served("tcp://127.0.0.1:*"))
print("ipc:", served("ipc://socket"))
PYTHON

venv/bin/python look.py | tee seen.txt

diff seen.txt - <<'EXPECTED'
pyzmq 27.3.0 libzmq 4.3.5
tcp: the second bind fails: Address already in use
ipc: the second bind works; the first gets 'early again', the second 'late'
EXPECTED
echo "as it was seen"
