"""How a job on a Slurm has ended, from what its own script has recorded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from batprotocol.campaigns.managers import _slurm_jobs

WITHOUT_ENGINE = True


@given(
    st.sampled_from(_slurm_jobs.TIMEOUT_STATUSES) | st.integers(0, 255),
    st.none() | st.integers(0, 50),
    st.integers(0, 50),
    st.integers(1, 50),
)
def test_a_job_has_the_end_of_its_command_or_its_time_is_over(
    status: int, began: int | None, took: int, walltime: int
) -> None:
    """Its time is over if `timeout` says so, and it has run as long as that."""
    known = _slurm_jobs._Known(
        began=None if began is None else float(began), over=float((began or 0) + took), how=str(status)
    )
    code, event = _slurm_jobs._end(known, float(walltime))
    if status in _slurm_jobs.TIMEOUT_STATUSES and began is not None and took >= walltime:
        assert (code, event) == (None, _slurm_jobs.TIME_OVER)
    else:
        assert (code, event) == (status - 128 if 128 < status <= 192 else status << 8, None)
