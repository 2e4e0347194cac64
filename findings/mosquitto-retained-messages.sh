#!/usr/bin/env bash
# A subscriber of mosquitto that asks for more certainty gets less: 1,020 of 5,000 retained messages with QoS 1, all with QoS 0.
#
# Versions: mosquitto 2.0.11 (Debian 12), paho-mqtt 2.2.0.
# Guess: a new subscriber of `#` gets the retained message of each of 5,000 topics, and with QoS 1 surely.
# Seen: with QoS 0 it gets 5,000. With QoS 1 it gets the first 1,020 (20 under way and 1,000 in its queue), and the rest is dropped:
# neither the subscriber nor the publisher, all of whose messages were acknowledged, hears of it.
# Here: FaST retains no messages; a broker of many topics wants `max_queued_messages`.
set -euo pipefail

place=$(mktemp -d)

cd "$place"
broker=
trap 'kill $broker 2>/dev/null; wait; rm -rf "$place"' EXIT
export PATH=$PATH:/usr/sbin
version=$(mosquitto -h 2>/dev/null | head -1 || true)
[ "$version" = "mosquitto version 2.0.11" ] || { echo "this needs Debian 12's mosquitto 2.0.11, and here is '$version'"; exit 1; }
python3 -m venv venv
venv/bin/pip install -q paho-mqtt==2.2.0

cat >look.py <<'PYTHON'
import importlib.metadata
import sys
import threading
import time

from paho.mqtt.client import CallbackAPIVersion, Client


def client(name):
    one = Client(CallbackAPIVersion.VERSION2, client_id=name)
    one.max_queued_messages_set(0)
    one.connect("127.0.0.1", int(sys.argv[1]))
    one.loop_start()
    return one


print("paho-mqtt", importlib.metadata.version("paho-mqtt"))
publisher = client("publisher")
sent = [publisher.publish(f"topic/{number}", "x", qos=1, retain=True) for number in range(5000)]
for each in sent:
    each.wait_for_publish(60)
print("acknowledged:", sum(each.is_published() for each in sent))
for qos in (0, 1):
    got, first = set(), threading.Event()
    subscriber = client(f"subscriber{qos}")
    subscriber.on_message = lambda _client, _data, message: (got.add(message.topic), first.set())
    subscriber.subscribe("#", qos)
    first.wait(30)
    known = -1
    while known != len(got):
        known = len(got)
        time.sleep(3)
    print(f"QoS {qos}: {len(got)} topics")
    subscriber.disconnect()
PYTHON

port=$(python3 -c "import socket; print(socket.create_server(('127.0.0.1', 0)).getsockname()[1])")
printf '%s\n' "listener $port 127.0.0.1" 'allow_anonymous true' >mosquitto.conf
mosquitto -c mosquitto.conf >log.txt 2>&1 &
broker=$!
sleep 2
{
    echo "$version"
    venv/bin/python look.py "$port"
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
mosquitto version 2.0.11
paho-mqtt 2.2.0
acknowledged: 5000
QoS 0: 5000 topics
QoS 1: 1020 topics
EXPECTED
echo "as it was seen"
