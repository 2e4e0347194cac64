#!/usr/bin/env bash
# libzmq does not greet: it sends ten bytes of its greeting, and the rest only as the other side answers.
#
# Versions: pyzmq 27.3.0 (libzmq 4.3.5).
# Guess: whoever connects to a ZeroMQ socket gets the 64 bytes of the ZMTP 3 greeting at once, as the specification has it in one
# piece, and may answer when it likes.
# Seen: libzmq sends 10 bytes (the signature) and waits. After the other side's signature it sends one byte, the major version,
# and only after the other side's version the other 53. Two programs that both wait for a whole greeting wait for ever.
# Here: the reader of captured traffic takes greetings in any parts.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv venv
venv/bin/pip install -q pyzmq==27.3.0

cat >look.py <<'PYTHON'
import socket

import zmq

context = zmq.Context()
context.linger = 0
listening = context.socket(zmq.REP)
port = listening.bind_to_random_port("tcp://127.0.0.1")
plain = socket.create_connection(("127.0.0.1", port))
plain.settimeout(1)


def arrived():
    found = b""
    try:
        while part := plain.recv(100):
            found += part
    except TimeoutError:
        return found


print("pyzmq", zmq.__version__, "libzmq", zmq.zmq_version())
print("before a word is said:", len(arrived()), "bytes")
plain.sendall(b"\xff" + bytes(8) + b"\x7f")
print("after the signature:", len(arrived()), "byte")
plain.sendall(b"\x03")
print("after the version:", len(arrived()), "bytes")
context.destroy()
PYTHON

venv/bin/python look.py | tee seen.txt

diff seen.txt - <<'EXPECTED'
pyzmq 27.3.0 libzmq 4.3.5
before a word is said: 10 bytes
after the signature: 1 byte
after the version: 53 bytes
EXPECTED
echo "as it was seen"
