"""What the documentation says of schedulers for FaST, run with nodes at a real broker."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from brokers import Mosquitto
from fast_nodes import nodes
from support import ROOT

from batprotocol.fast import run
from batprotocol.fast.runtime.scheduler import _CALLED

WITHOUT_ENGINE = True
DOCUMENT = (ROOT / "docs" / "howto" / "use-fast.md").read_text()


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run_alone(block: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(compile(block, "<documentation>", "exec"), namespace)
    return namespace


@pytest.mark.slow
def test_the_first_scheduler_of_the_documentation(mosquitto: Mosquitto, capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = [block for block in blocks(DOCUMENT) if "class FillUp" in block]
    assert len(block.split("\n\n\n")[1].splitlines()) <= 20
    options = ["--bandwidth", "vm*:0.35", "--start-time", "0", "--mmbwmon-time", "0", "--fail", "start:1"]
    started: list[tuple[str, str]] = []

    class Watched(run_alone(block)["FillUp"]):  # type: ignore[misc]  # what the page has is known when it is read
        async def on_connected(self) -> None:
            self.process = nodes(["node-a", "node-b"], mosquitto.address, *options)
            await asyncio.to_thread(self.process.__enter__)

        def on_vm_started(self, host: str, message: Any) -> None:
            started.append((host, message.list[0].vm_name))

    for fails in (True, False):
        scheduler = Watched(["vm1", "vm2", "vm3"])
        run(scheduler, mosquitto.address)
        scheduler.process.__exit__(None, None, None)
        assert sorted(name for _, name in started) == ["vm1", "vm2", "vm3"]
        assert {host for host, _ in started} == {"node-a", "node-b"}
        assert ("start vm" in capsys.readouterr().out) == fails
        started.clear()
        del options[-2:]


@pytest.mark.slow
def test_the_blocks_of_the_documentation(mosquitto: Mosquitto) -> None:
    _, places, start = map(run_alone, blocks(DOCUMENT))
    assert str(places["broker"]) == "head:8883"
    with nodes(["node-a"], mosquitto.address, "--start-time", "0"):
        assert start["start"](mosquitto.address, "node-a", "vm1", "vm2") == ["vm1", "vm2"]


def test_all_methods_are_documented() -> None:
    (table,) = re.findall(r"^\| method \|.*?\n\n", DOCUMENT, re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"`(main|on_\w+)`", table)) == set(_CALLED)
