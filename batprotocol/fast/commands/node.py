"""`batproto fast node`: nodes until they have quit or a signal comes. The library defines their behaviour."""

from __future__ import annotations

import logging
import sys
from typing import Any

from batprotocol.cli.terminal.text import number_of
from batprotocol.fast.nodes.serving import Nodes, serve_nodes
from batprotocol.fast.nodes.settings import Settings
from batprotocol.fast.runtime.broker import Broker

__all__ = ["node"]


def node(hosts: tuple[str, ...], broker: Broker, verbose: bool, **settings: Any) -> None:
    """Run these nodes."""
    logging.basicConfig(format="batproto: %(message)s", level=logging.INFO if verbose else logging.WARNING)

    def tell(nodes: Nodes) -> None:
        count = number_of(len(nodes.agents), "node")
        print(f"batproto: {count} at the broker {broker}: {' '.join(hosts)}", file=sys.stderr, flush=True)

    serve_nodes(hosts, broker, Settings(**settings), on_ready=tell)
