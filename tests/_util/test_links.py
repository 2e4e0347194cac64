"""Links, and the channel above them: whole messages over connections, whose other ends are libzmq's."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import socket
import sys
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import packets
import pytest
import zmq
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from lacks import needs

from batprotocol._util.sockets import BoundChannel
from batprotocol._util.zmtp import AT_ONCE, LARGEST, Link
from batprotocol.errors import DecodeError

WITHOUT_ENGINE = True
pytestmark = needs("socket.AF_UNIX")

Frames = list[bytes]

PATIENCE = 20.0


class Ends:
    """A channel, and peers that are connected to it: sockets of libzmq, which send what they are told to."""

    def __init__(self, endpoint: str, peers: int = 1) -> None:
        self.channel = BoundChannel(endpoint, tick=0.05)
        self.context: zmq.Context[Any] = zmq.Context()
        self.peers = [self.context.socket(zmq.DEALER) for _ in range(peers)]
        for peer in self.peers:
            peer.linger = 0
            peer.rcvtimeo = round(PATIENCE * 1000)
            peer.connect(self.channel.endpoint)

    def __enter__(self) -> Ends:
        return self

    def __exit__(self, *exception: object) -> None:
        self.channel.close()
        self.context.destroy(linger=0)

    def heard(self, flags: int = 0) -> bytes:
        """The next message."""
        until = monotonic() + PATIENCE
        while monotonic() < until:
            found = self.channel.receive(flags)
            if found is not None:
                return found
        raise TimeoutError("nothing was said")

    def talk(self, said: bytes = b"question", number: int = 0) -> None:
        """A peer asks."""
        self.peers[number].send_multipart([b"", said])
        assert self.heard() == said
        self.channel.send(b"answer to " + said)
        assert self.peers[number].recv_multipart() == [b"", b"answer to " + said]


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[Ends]:
    with Ends(f"ipc://{tmp_path}/ends") as found:
        yield found


@contextmanager
def handled(handler: Callable[[int, Any], None]) -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def interrupt_soon() -> None:
    """Send a signal to the main thread, which is the one that waits."""
    threading.Timer(0.1, signal.pthread_kill, (threading.main_thread().ident, signal.SIGUSR1)).start()


# What arrives

parts = st.binary(max_size=3) | st.just(b"") | st.binary(min_size=250, max_size=300)
messages = st.lists(parts, min_size=1, max_size=5)


@settings(max_examples=60, deadline=None, phases=[Phase.generate])
@given(st.lists(messages, min_size=1, max_size=5), st.lists(st.binary(min_size=1, max_size=3), max_size=3))
def test_whatever_is_said_arrives(tmp_path_factory: pytest.TempPathFactory, said: list[Frames], along: Frames) -> None:
    """Also several messages at once, of which none is taken for a part of another one, and with frames before them."""
    with Ends(f"ipc://{tmp_path_factory.mktemp('ends')}/ends") as ends:
        for frames in said:
            ends.peers[0].send_multipart([*along, b"", *frames])
        for frames in said:
            if len(frames) == 1:
                assert ends.heard() == frames[0]
            else:
                with pytest.raises(DecodeError, match=f"the simulator sent one of {len(frames)}$"):
                    ends.heard()
            assert ends.channel.owes_reply
        ends.channel.send(b"all")
        assert not ends.channel.owes_reply
        assert ends.peers[0].recv_multipart() == [*along, b"", b"all"]
        assert ends.channel.receive_now() is None


def test_what_asks_for_no_answer_is_passed_over(ends: Ends) -> None:
    for frames in ([b"alone"], [b"two", b"frames"], [b""], [b"the empty one is the last", b""]):
        ends.peers[0].send_multipart(frames)
    ends.talk()


def test_nothing_arrives(ends: Ends) -> None:
    ends.talk()
    assert ends.channel.receive_now() is None
    assert ends.channel.receive() is None
    assert not ends.channel.owes_reply


class Bytes:
    """A link, and the other end of its socket, which says bytes as they are."""

    def __init__(self) -> None:
        mine, self.other = socket.socketpair()
        self.other.settimeout(PATIENCE)
        self.link = Link(mine, "here")
        self.greeting = self.other.recv(1000)

    def __enter__(self) -> Bytes:
        return self

    def __exit__(self, *exception: object) -> None:
        self.link.close()
        self.other.close()

    def messages(self, *data: bytes) -> list[tuple[bytes, ...]]:
        """What the link hears when these bytes come in turn."""
        found = []
        for each in data:
            self.other.sendall(each)
            self.link.read()
            while (message := self.link.message()) is not None:
                found.append(message)
                self.link.taken = None
        return found


def test_the_link_greets_as_libzmq_does() -> None:
    with Bytes() as ends:
        assert ends.greeting == packets.greeting() + packets.ready("ROUTER")


@given(st.lists(messages, min_size=1, max_size=4), st.lists(st.integers(0, 2000), max_size=6))
def test_bytes_may_come_in_any_pieces(said: list[Frames], places: list[int]) -> None:
    data = packets.greeting() + packets.ready("REQ") + b"".join(whole(frames) for frames in said)
    ends = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    with Bytes() as sides:
        pieces = [data[begin:end] for begin, end in itertools.pairwise(ends) if end > begin]
        assert sides.messages(*pieces) == [tuple(frames) for frames in said]


def whole(frames: Sequence[bytes]) -> bytes:
    """A message as its bytes."""
    return b"".join(packets.frame(body, more=number < len(frames)) for number, body in enumerate(frames, 1))


BEGUN = packets.greeting() + packets.ready("REQ")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GET / HTTP/1.1\r\n", "it does not greet as ZeroMQ does"),
        (b"\xff" + bytes(9), "it does not greet as ZeroMQ does"),
        (packets.greeting()[:10] + b"\x01", "its ZeroMQ is older than version 4"),
        (packets.greeting().replace(b"NULL", b"PLAI"), "it wants security, and there is none here"),
        (packets.greeting() + packets.ready("SUB"), "its socket is not of a kind that asks"),
        (packets.greeting() + whole([b"", b"soon"]), "it says nothing of its socket"),
        (packets.greeting() + packets.frame(b"\5ERROR\3why", command=True), "it reports an error"),
        (BEGUN + b"\x08\x00", "its frames are not those of ZeroMQ"),
        (BEGUN + b"\x05\x00", "its frames are not those of ZeroMQ"),
        (BEGUN + b"\x02" + (LARGEST + 1).to_bytes(8, "big"), f"a message is larger than {LARGEST} bytes"),
        (BEGUN + b"\x01\x00" * 1002, "or has 1000 frames"),
    ],
)
def test_what_is_not_zeromq_is_disconnected(data: bytes, reason: str, caplog: pytest.LogCaptureFixture) -> None:
    with Bytes() as ends:
        assert ends.messages(data) == []
        assert ends.link.is_gone
        assert ends.other.recv(1) == b""
    assert [message for message in caplog.messages if reason in message], caplog.messages
    assert caplog.messages[0].startswith("a program that connected to here is disconnected: ")


def test_heartbeats_are_answered() -> None:
    ping = packets.frame(b"\4PING\0\1beat", command=True)
    with Bytes() as ends:
        assert ends.messages(BEGUN + ping + whole([b"", b"said"])) == [(b"", b"said")]
        assert ends.other.recv(1000) == packets.frame(b"\4PONGbeat", command=True)
        said = whole([b"", b"in two pieces"])
        assert ends.messages(said[:2], ping[:3], ping[3:] + said[2:]) == [(b"", b"in two pieces")]


def test_heartbeats_of_libzmq(tmp_path: Path) -> None:
    """It closes a connection that does not answer them."""
    with Ends(f"ipc://{tmp_path}/ends", peers=0) as ends, ends.context.socket(zmq.REQ) as peer:
        peer.setsockopt(zmq.HEARTBEAT_IVL, 20)
        peer.setsockopt(zmq.HEARTBEAT_TIMEOUT, 2_000)
        peer.connect(ends.channel.endpoint)
        for number in range(20):
            peer.send(b"%d" % number)
            assert ends.heard() == b"%d" % number
            ends.channel.wait(0.02)
            ends.channel.send(b"answer")
            assert peer.recv() == b"answer"
        assert not ends.channel.is_peer_gone()


def test_a_peer_that_closes_its_end_is_gone_after_its_last_message() -> None:
    with Bytes() as ends:
        ends.other.sendall(BEGUN + whole([b"", b"last"]) + b"\0")
        ends.other.shutdown(socket.SHUT_WR)
        for _ in range(3):
            ends.link.read()
        assert ends.link.is_gone
        assert ends.link.message() == ends.link.message() == (b"", b"last")
        ends.link.taken = None
        assert ends.link.message() is None
        assert ends.link.arrived == []


# What is sent


@settings(max_examples=60, deadline=None, phases=[Phase.generate])
@given(route=st.lists(st.binary(min_size=1, max_size=300), max_size=3), data=st.binary(max_size=300))
def test_whatever_is_sent_arrives(tmp_path_factory: pytest.TempPathFactory, route: Frames, data: bytes) -> None:
    with Ends(f"ipc://{tmp_path_factory.mktemp('ends')}/ends", peers=2) as ends:
        for peer in ends.peers:
            peer.send_multipart([*route, b"", b"question"])
            ends.channel.forget_peer()
            ends.heard()
            ends.channel.send(data)
            assert peer.recv_multipart() == [*route, b"", data]


def test_large_messages(ends: Ends) -> None:
    """They do not fit into what a connection holds, so that the peer must take them meanwhile."""
    data = os.urandom(3_000_000)
    for _ in range(3):
        ends.peers[0].send_multipart([b"", data])
        assert zlib.crc32(ends.heard()) == zlib.crc32(data)
        ends.channel.send(data)
        while not ends.peers[0].poll(0):
            assert ends.channel.receive() is None
        assert ends.peers[0].recv_multipart() == [b"", data]


def test_a_large_answer_leaves_before_the_end(tmp_path: Path) -> None:
    data = os.urandom(1_000_000)
    with Ends(f"ipc://{tmp_path}/ends") as ends:
        ends.peers[0].send_multipart([b"", b"question"])
        ends.heard()
        ends.channel.send(data)
        ends.channel.close()
        assert ends.peers[0].recv_multipart() == [b"", data]


def test_whoever_has_gone_gets_nothing(ends: Ends) -> None:
    ends.talk()
    ends.peers[0].send_multipart([b"", b"last"])
    ends.heard()
    ends.peers[0].close()
    for _ in range(3):
        ends.channel.send(b"answer")
    until = monotonic() + PATIENCE
    while not ends.channel.is_peer_gone():
        assert monotonic() < until
        assert ends.channel.receive() is None
    ends.channel.send(b"answer")
    assert not ends.channel.owes_reply


# Signals


def test_what_a_handler_raises_ends_a_wait(tmp_path: Path) -> None:
    def raises(number: int, frame: object) -> None:
        raise LookupError

    with Ends(f"ipc://{tmp_path}/ends") as ends, handled(raises):
        ends.talk()
        interrupt_soon()
        with pytest.raises(LookupError):
            ends.heard()
        assert not ends.channel.owes_reply
        ends.talk(b"later")


@pytest.mark.parametrize("is_met", [False, True])
def test_a_handler_can_end_a_wait(tmp_path: Path, is_met: bool) -> None:
    """In the middle of a tick, however long it is, and all that follow."""
    with Ends(f"ipc://{tmp_path}/ends") as ends, handled(lambda number, frame: ends.channel.wake()):
        ends.channel.tick = ends.channel._wait = PATIENCE
        if is_met:
            ends.talk()
        interrupt_soon()
        assert ends.channel.receive() is None
        assert ends.channel.receive() is None


def test_a_message_that_comes_after_a_signal(ends: Ends) -> None:
    ends.talk()

    def says(number: int, frame: object) -> None:
        ends.peers[0].send_multipart([b"", b"now"])

    with handled(says):
        interrupt_soon()
        assert ends.heard() == b"now"


class Came(Exception):  # it is no error
    pass


@pytest.mark.parametrize("size", [3, 300])
def test_signals_at_random_moments_lose_nothing(ends: Ends, size: int) -> None:
    """Whatever is interrupted, either nothing was taken or `owes_reply` tells; and each answer is sent once."""
    wanted = False  # another thread may have got one, which is told later

    def comes(number: int, frame: object) -> None:
        if wanted:
            raise Came

    channel, peer = ends.channel, ends.peers[0]
    ends.talk()
    before = signal.signal(signal.SIGALRM, comes)
    interrupted = 0
    try:
        for number in range(1_000):
            said, heard, answered = b"%0*d" % (size, number), None, False
            peer.send_multipart([b"", said])
            try:
                wanted = True
                signal.setitimer(signal.ITIMER_REAL, 1e-6 + number * 2e-7)
                while heard is None:
                    heard = channel.receive()
                channel.send(heard)
                answered = True
                signal.setitimer(signal.ITIMER_REAL, 0)
                wanted = False
            except Came:
                wanted = False
                interrupted += 1
            if not answered:
                if heard is None and not channel.owes_reply:
                    heard = ends.heard()
                if channel.owes_reply:
                    channel.send(said)
            assert heard in (said, None)
            assert peer.recv_multipart() == [b"", said]
            assert channel.receive_now() is None
            assert not peer.poll(0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted


# The ends


def test_others_run_while_a_channel_waits(ends: Ends) -> None:
    heard: list[object] = []
    thread = threading.Thread(target=lambda: heard.append(ends.heard()))
    thread.start()
    ends.peers[0].send_multipart([b"", b"from another thread"])
    thread.join()
    assert heard == [b"from another thread"]


def test_a_socket_in_the_abstract_name_space() -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux has it")
    with Ends(f"ipc://@batprotocol-{os.getpid()}") as ends:
        ends.talk()


@pytest.mark.parametrize("endpoint", ["tcp://*:*", "tcp://lo:*", "ipc://*"])
def test_endpoints_that_libzmq_completes(endpoint: str) -> None:
    if endpoint == "tcp://lo:*" and sys.platform != "linux":
        pytest.skip("the interface has this name on Linux")
    with Ends(endpoint) as ends:
        assert "*" not in ends.channel.endpoint
        ends.talk()
    assert not ends.channel._path or not Path(ends.channel._path).parent.exists()


def test_connections_come_and_go(ends: Ends) -> None:
    """Also in the middle of an answer; the number of a closed one is used again."""
    for number in range(30):
        with ends.context.socket(zmq.REQ) as peer:
            peer.linger = 0
            peer.connect(ends.channel.endpoint)
            peer.send(b"%d" % number)
            ends.channel.forget_peer()
            assert ends.heard() == b"%d" % number
            if number % 3:
                ends.channel.send(b"answer")
                assert peer.recv() == b"answer"
        if number % 3 == 0:
            ends.channel.send(bytes(10**6))
            ends.channel.send(b"another one")
    until = monotonic() + PATIENCE
    while len(ends.channel._links) > len(ends.peers):
        assert monotonic() < until
        ends.channel.receive()


def test_nothing_is_kept(ends: Ends) -> None:
    def talk() -> None:
        for _ in range(500):
            ends.talk()
            ends.talk(b"x" * 1000)

    talk()
    gc.collect()
    before = sys.getallocatedblocks(), len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    talk()
    gc.collect()
    after = sys.getallocatedblocks(), len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    assert abs(after[0] - before[0]) < 100
    assert after[1] == before[1]


def test_much_is_read_at_once(ends: Ends) -> None:
    """Messages around the size that a call receives, of which the next one is in the same bytes, or not."""
    sizes = [AT_ONCE + offset for offset in range(-12, 3)]
    ends.talk()
    for size in sizes:
        for _ in range(2):
            ends.peers[0].send_multipart([b"", bytes(size)])
    assert [len(ends.heard()) for _ in range(2 * len(sizes))] == [size for size in sizes for _ in range(2)]
