"""`batproto schema --wireshark`: print a dissector. `batprotocol.schemas` makes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

import click

from batprotocol.schemas import AGES, dissector, read_schema

__all__ = ["show"]


def show(source: str, ports: str, include: Sequence[str] = (), root: str = "") -> None:
    """Print the dissector of a schema.

    Args:
        source: an age or a file. The name of the file is the name of the protocol.
        ports: TCP ports, or "".
        include: the folders of included files.
        root: the table of a message, or "".
    """
    name = "batprotocol" if source in AGES else PurePath(source).stem
    click.echo(dissector(read_schema(source, whole=True, include=include, root=root), name, ports), nl=False)
