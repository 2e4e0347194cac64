"""`batproto schema --requests` and `--offers`: the vocabulary of jobs and hosts as JSON schema."""

from __future__ import annotations

import json

import click

from batprotocol.requests import host_schema, request_schema

__all__ = ["show_schema"]


def show_schema(offers: bool) -> None:
    """Print the JSON schema of the offers of hosts, or of the requests of jobs."""
    click.echo(json.dumps(host_schema() if offers else request_schema(), indent=2))
