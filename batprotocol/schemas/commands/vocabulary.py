"""`batproto schema --requests`, `--offers`, `--host-events`: the vocabulary of jobs and hosts as JSON schema."""

from __future__ import annotations

import json
from typing import Final

import click

from batprotocol.workloads.host_events import host_event_schema
from batprotocol.workloads.requests import host_schema, request_schema

__all__ = ["show_schema"]


_SCHEMAS: Final = {"requests": request_schema, "offers": host_schema, "host-events": host_event_schema}


def show_schema(which: str) -> None:
    """Print the JSON schema of the `requests` of jobs, of the `offers` of hosts, or of `host-events`."""
    click.echo(json.dumps(_SCHEMAS[which](), indent=2))
