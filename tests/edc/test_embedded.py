"""Schedulers inside Batsim's process: they answer as over the socket, on a stack of 16 KiB, whoever loads them."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from embedded import needs_host, play
from replay import InThread, Peer, batsim_side, begins, completed, ends, submitted
from support import ROOT, runs
from test_examples import EXAMPLES

from batprotocol import Message
from batprotocol.cli.run import load
from batprotocol.edc import run
from batprotocol.errors import PeerGone
from batprotocol.wire import frames

pytestmark = needs_host

FEW = 4
"""How many recorded runs are played in the usual suite; the others take minutes."""


def target(module: str) -> str:
    return f"{ROOT}/examples/{module}.py:{EXAMPLES[module]}"


def talk(*messages: Message) -> list[bytes]:
    return [message.to_binary() for message in messages]


SIMULATION = (begins(), submitted(1.0, "w0!1"), completed(2.0, "w0!1"), ends(3.0))


def over_the_socket(target: str, told: Sequence[bytes], endpoint: str, format: str) -> list[bytes]:
    """What the scheduler answers over ZeroMQ, up to where it ends too early."""
    answers: list[bytes] = []

    def script(peer: Peer) -> None:
        answers.extend(peer.ask(frame) for frame in told)

    batsim = InThread(script)
    with suppress(PeerGone):  # some recordings are there because Batsim aborted
        run(load(target)(), endpoint, format, on_bound=batsim)
    batsim.join()
    return answers


def same(archive: Path, module: str, folder: Path) -> None:
    """In process and over the socket, a scheduler answers a recorded run with the same bytes."""
    told = batsim_side(archive)
    format = "json" if archive.name.endswith("__json.tar.xz") else "binary"
    played = play(folder, target(module), told[1:], format=format, init=frames.decode_init(told[0]))
    assert (played.status, played.stdout) == (0, "host: closed\n"), played.stderr
    answered = over_the_socket(target(module), told, f"ipc://{folder}/edc.sock", format)
    assert played.replies == answered


by_run = [pytest.param(archive, id=archive.name.removesuffix(".tar.xz")) for archive in runs()]
both_formats = list(itertools.chain.from_iterable(zip(by_run[: FEW // 2], by_run[-FEW // 2 :], strict=True)))


@pytest.mark.parametrize("module", EXAMPLES)
@pytest.mark.parametrize("archive", both_formats)
def test_answers_are_those_over_the_socket(
    archive: Path, module: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "batprotocol.edc")  # these runs were recorded with other schedulers
    same(archive, module, tmp_path)


@pytest.mark.minutes
@pytest.mark.parametrize("module", EXAMPLES)
@pytest.mark.parametrize("archive", by_run)
def test_all_answers_are_those_over_the_socket(
    archive: Path, module: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "batprotocol.edc")
    same(archive, module, tmp_path)
