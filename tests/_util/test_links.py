"""Links: whole messages through a ROUTER socket."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import zmq
from hypothesis import given
from hypothesis import strategies as st

from batprotocol._util.sockets import RouterLink

WITHOUT_ENGINE = True

Frames = list[bytes]


class Ends:
    """A link, and peers that are connected to its socket."""

    def __init__(self, peers: int = 1) -> None:
        self.context: zmq.Context[Any] = zmq.Context()
        self.socket = self.context.socket(zmq.ROUTER)
        self.socket.rcvtimeo = 10_000
        self.socket.bind("inproc://ends")
        self.peers = [self.context.socket(zmq.DEALER) for _ in range(peers)]
        for number, peer in enumerate(self.peers):
            peer.routing_id = b"peer %d" % number
            peer.rcvtimeo = 10_000
            peer.connect("inproc://ends")
        self.link = RouterLink(self.socket)

    def __enter__(self) -> Ends:
        return self

    def __exit__(self, *exception: object) -> None:
        self.context.destroy(linger=0)


@contextmanager
def handled(handler: Callable[[int, Any], None]) -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def interrupt_soon() -> None:
    """Send a signal to the main thread, which is the one that waits, as long as it has not been handled."""
    threading.Timer(0.1, signal.pthread_kill, (threading.main_thread().ident, signal.SIGUSR1)).start()


# What arrives

parts = st.binary(max_size=3) | st.just(b"") | st.binary(min_size=30, max_size=300)
messages = st.lists(parts, min_size=1, max_size=5)


@given(st.lists(messages, max_size=5), st.lists(parts, max_size=3))
def test_whatever_is_said_arrives(said: list[Frames], along: Frames) -> None:
    """Also several messages at once, of which none is taken for a part of another one."""
    route = (b"peer 0", *along)
    with Ends() as ends:
        for frames in said:
            ends.peers[0].send_multipart(frames)
        arrived = [ends.link.receive(route, zmq.NOBLOCK) for _ in said]
        assert ends.link.asked == bool(said)
        assert ends.link.receive(route, zmq.NOBLOCK) is None
    for frames, one in zip(said, arrived, strict=True):
        if frames[:-1] == along:
            assert one == frames[-1]
        else:
            assert isinstance(one, tuple)
            assert one == ([b"peer 0", *frames], None)  # within a process, there are no file descriptors


def test_the_file_descriptor_of_a_connection_is_told() -> None:
    with Ends() as ends:
        port = ends.socket.bind_to_random_port("tcp://127.0.0.1")
        with ends.context.socket(zmq.REQ) as peer, zmq.Context() as other, other.socket(zmq.REQ) as another:
            for each in peer, another:
                each.connect(f"tcp://127.0.0.1:{port}")
                each.send(b"hello")
            descriptors = set()
            for _ in range(2):
                arrived = ends.link.receive((), 0)
                assert isinstance(arrived, tuple)
                assert arrived[0][1:] == [b"", b"hello"]
                assert os.fstat(arrived[1] or 0)
                descriptors.add(arrived[1])
        assert len(descriptors) == 2


def test_nothing_arrives() -> None:
    with Ends() as ends:
        assert ends.link.receive((b"peer 0", b""), zmq.NOBLOCK) is None
        ends.socket.rcvtimeo = 1
        assert ends.link.receive((), 0) is None
        assert not ends.link.asked


# What is sent


@given(route=st.lists(parts, max_size=3), data=st.binary(max_size=100))
def test_whatever_is_sent_arrives(route: Frames, data: bytes) -> None:
    with Ends(peers=2) as ends:
        ends.peers[0].send(b"question")
        ends.link.receive((), 0)
        assert ends.link.asked
        ends.link.send((b"peer 0", *route), data)
        assert not ends.link.asked
        assert ends.peers[0].recv_multipart() == [*route, data]
        ends.link.send((b"peer 1",), data)
        assert ends.peers[1].recv_multipart() == [data]
        ends.link.send((b"nobody", *route), data)  # whoever has gone gets nothing


def test_large_messages() -> None:
    data = os.urandom(3_000_000)
    with Ends() as ends:
        for _ in range(3):
            ends.peers[0].send_multipart([b"", data])
            heard = ends.link.receive((b"peer 0", b""), 0)
            assert isinstance(heard, bytes)
            assert zlib.crc32(heard) == zlib.crc32(data)
            ends.link.send((b"peer 0", b""), heard)
            assert ends.peers[0].recv_multipart() == [b"", data]


# Signals


def test_what_a_handler_raises_ends_a_wait() -> None:
    def raises(number: int, frame: object) -> None:
        raise LookupError

    with Ends() as ends, handled(raises):
        interrupt_soon()
        with pytest.raises(LookupError):
            ends.link.receive((), 0)
        assert not ends.link.asked
        ends.peers[0].send(b"later")
        assert ends.link.receive((b"peer 0",), 0) == b"later"


def test_a_handler_can_shorten_a_wait() -> None:
    """The wait begins anew after a signal, with the time that the handler has set."""
    with Ends() as ends:

        def shortens(number: int, frame: object) -> None:
            ends.socket.rcvtimeo = 0

        with handled(shortens):
            interrupt_soon()
            assert ends.link.receive((), 0) is None


def test_a_message_that_comes_after_a_signal() -> None:
    with Ends() as ends:

        def answers(number: int, frame: object) -> None:
            ends.peers[0].send_multipart([b"", b"now"])

        with handled(answers):
            interrupt_soon()
            assert ends.link.receive((b"peer 0", b""), 0) == b"now"


# pyzmq gives a frame back by a call that looks for signals, and what a handler raises there gets lost.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_signals_at_random_moments_lose_nothing() -> None:
    """Whatever is interrupted, either nothing was taken or `asked` tells."""

    class Came(Exception):  # it is no error
        pass

    wanted = False  # another thread may have got one, which is told later

    def comes(number: int, frame: object) -> None:
        if wanted:
            raise Came

    with Ends() as ends:
        link, route = ends.link, (b"peer 0", b"")
        before = signal.signal(signal.SIGALRM, comes)
        interrupted = 0
        try:
            for number in range(2_000):
                said, heard = b"%d" % number, None
                ends.peers[0].send_multipart([b"", said])
                link.asked = False
                try:
                    wanted = True
                    signal.setitimer(signal.ITIMER_REAL, 1e-6 + number * 1e-8)
                    while heard is None:
                        heard = link.receive(route, zmq.NOBLOCK)
                    signal.setitimer(signal.ITIMER_REAL, 0)
                    wanted = False
                except Came:
                    wanted = False
                    interrupted += 1
                more = ends.socket.getsockopt(zmq.RCVMORE)
                if not link.asked and not more:
                    heard = link.receive(route, 0)
                while ends.socket.getsockopt(zmq.RCVMORE):
                    ends.socket.recv()
                assert heard in (said, None)
                assert link.receive(route, zmq.NOBLOCK) is None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert interrupted


# The ends


def test_others_run_while_a_link_waits() -> None:
    with Ends() as ends:
        heard: list[object] = []
        thread = threading.Thread(target=lambda: heard.append(ends.link.receive((b"peer 0",), 0)))
        thread.start()
        ends.peers[0].send(b"from another thread")
        thread.join()
        assert heard == [b"from another thread"]


def test_after_the_end() -> None:
    with Ends() as ends:
        ends.socket.close()
        for call in (lambda: ends.link.receive((), 0), lambda: ends.link.send((b"peer 0",), b"")):
            with pytest.raises(zmq.ZMQError) as caught:
                call()
            assert caught.value.errno == zmq.ENOTSOCK


def test_nothing_is_kept() -> None:
    with Ends() as ends:
        route, data = (b"peer 0", b"delimiter"), b"something to say"

        def talk() -> None:
            for _ in range(1_000):
                ends.peers[0].send_multipart([*route[1:], data])
                heard = ends.link.receive(route, 0)
                ends.peers[0].send_multipart([data, data])
                ends.link.receive(route, 0)
                with suppress(TypeError):
                    ends.link.send(route, 7)  # type: ignore[arg-type]  # refused, it keeps nothing
                assert isinstance(heard, bytes)
                ends.link.send(route, heard)
                ends.peers[0].recv_multipart()

        talk()
        gc.collect()
        before = sys.getallocatedblocks(), *(sys.getrefcount(each) for each in (*route, data, None, ends.link))
        talk()
        gc.collect()
        after = sys.getallocatedblocks(), *(sys.getrefcount(each) for each in (*route, data, None, ends.link))
    assert all(abs(later - sooner) < 100 for later, sooner in zip(after, before, strict=True))
