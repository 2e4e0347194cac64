"""`batproto grid output`: the output of jobs that did not end well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batprotocol.campaigns.commands.requests import json_of, opened, safe_lines
from batprotocol.campaigns.entities.failures import RESUBMITTED
from batprotocol.campaigns.model import Job, JobOutput, KillReason, exit_text
from batprotocol.campaigns.text import answers
from batprotocol.cli.terminal.output import Output

if TYPE_CHECKING:
    from batprotocol.campaigns.store import Store

__all__ = ["show_output"]

KINDS = (("stdout", "standard output"), ("stderr", "standard error"))


def show_output(
    url: str, *, campaign: int | None, job: int | None, kind: str | None, every: bool, as_json: bool
) -> int:
    """Print the output that the store keeps; return the exit status.

    Jobs of a campaign that did not fail are left out, unless `every` asks for them: a campaign on idle resources has
    many jobs that were killed and run again, and they hide those that failed.
    """
    output = Output()
    with opened(url) as store:
        if campaign is not None and store.campaign(campaign) is None:
            output.error("grid", answers.not_found(campaign))
            return 1
        found = store.job(job) if job is not None else None
        if job is not None and found is None:
            output.error("grid", f"Job {job} not found!")
            return 1
        again = None if campaign is None or every else _resubmitted(store, campaign)
        any_kept, left_out = False, 0
        for each, kept in store.outputs(campaign, job=job):
            any_kept = True
            if again is not None and (each.id in again or each.kill not in (None, KillReason.USER)):
                left_out += 1
            elif as_json:
                output.json(json_of(kept))
            elif kind is not None and job is not None:
                _print(output, getattr(kept, kind))
            else:
                _show(output, each, kept, kind)
        if not any_kept and not as_json:
            output.remark("grid", _why_not(found))
        if left_out:
            jobs = "1 job that was killed or runs" if left_out == 1 else f"{left_out} jobs that were killed or run"
            output.remark("grid", f"left out: the output of {jobs} again without you; --all prints it")
    return 0


def _resubmitted(store: Store, campaign: int) -> set[int | None]:
    """The jobs whose tasks went back into the bag when they ended."""
    return {event.job for event in store.events(campaign, closed=True) if event.code in RESUBMITTED}


def _show(output: Output, job: Job, kept: JobOutput, kind: str | None) -> None:
    how = "was killed" if job.exit_code is None else exit_text(job.exit_code)
    output.line(("heading", f"job {job.id} on {job.cluster}: {how}"))
    for name, title in KINDS:
        if kind in (None, name):
            text = getattr(kept, name)
            output.line(("detail", f"{title}:" if text else f"{title}: nothing"))
            if text:
                _print(output, text)


def _print(output: Output, text: str) -> None:
    output.line(("", safe_lines(text.removesuffix("\n"))))


def _why_not(job: Job | None) -> str:
    if job is None:
        return "there is no output: only that of jobs that do not end well is kept"
    if not job.state.ended:
        return f"there is no output of job {job.id} yet: it has not ended"
    return (
        f"there is no output of job {job.id}: only that of jobs that do not end well is kept;  "
        f"for a cluster of --local FOLDER, see FOLDER/output/{job.id}.stdout and .stderr"
    )
