"""`async for` over a server: the same turns, and the others are not blocked."""

from __future__ import annotations

import asyncio
import threading

import pytest
from replay import PATIENCE, InThread, Peer, begun, submitted
from simulations import ANY_PORT, SIMULATION, stopped, types, whole

from batprotocol import JobSubmittedEvent, Message
from batprotocol.edc import serve
from batprotocol.errors import PeerSilent


def test_async_for_gives_the_same_turns() -> None:
    async def main() -> list[list[Message]]:
        async def simulate() -> list[Message]:
            server = serve(ANY_PORT)
            batsim = InThread(whole)
            batsim(server.endpoint)
            messages = []
            async for turn in server:
                messages.append(turn.message)
                for event in turn.message.events:
                    if isinstance(event, JobSubmittedEvent):
                        turn.reply.add_execute_job(event.job_id, "0-3")
            assert types(batsim.join()) == [[], ["ExecuteJobEvent"], [], []]
            assert server._channel.closed
            return messages

        return await asyncio.gather(*(simulate() for _ in range(5)))

    assert asyncio.run(main()) == [SIMULATION] * 5


def test_an_async_loop_that_is_left_stops_the_simulation() -> None:
    async def main() -> InThread[bool]:
        batsim = InThread(lambda peer: stopped(begun(peer), submitted(1.0)))
        async with serve(ANY_PORT) as server:
            batsim(server.endpoint)
            async for turn in server:
                if turn.message.now:
                    break
        assert server._channel.closed
        return batsim

    assert asyncio.run(main()).join()


def test_an_async_loop_in_a_with_that_is_not_async() -> None:
    async def main() -> bool:
        batsim = InThread(lambda peer: stopped(begun(peer), submitted(1.0)))
        with serve(ANY_PORT) as server:
            batsim(server.endpoint)
            async for turn in server:
                if turn.message.now:
                    break
        return batsim.join()

    assert asyncio.run(main())


def test_an_async_loop_does_not_block_the_others() -> None:
    async def main() -> None:
        server = serve(ANY_PORT, timeout=0.5)
        waiting = asyncio.ensure_future(anext(aiter(server)))
        await asyncio.sleep(0)
        assert not waiting.done()
        with pytest.raises(PeerSilent):
            await waiting
        assert server._channel.closed

    asyncio.run(main())


def test_an_async_loop_can_be_cancelled() -> None:
    async def loop(batsim: InThread[bool]) -> None:
        server = serve(ANY_PORT)
        batsim(server.endpoint)
        async for _ in server:
            pass

    async def main() -> None:
        begins_said, cancelled = threading.Event(), threading.Event()

        def script(peer: Peer) -> bool:
            begun(peer)
            begins_said.set()
            cancelled.wait(PATIENCE)
            return stopped(peer, submitted(1.0))

        batsim = InThread(script)
        task = asyncio.create_task(loop(batsim))
        while not begins_said.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.sleep(0)
        cancelled.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert batsim.join()

    asyncio.run(main())
