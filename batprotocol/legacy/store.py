"""Jobs and profiles outside of messages, in a store that both sides read: in Redis, by key and prefix.

Batsim 4 and 2 write `PREFIX:job_WORKLOAD!JOB`, `PREFIX:profile_WORKLOAD!PROFILE` and `PREFIX:nb_res`. The package
`redis` comes with `batprotocol[redis]`, and is imported at its first use.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

import msgspec

from batprotocol._util.requirements import installing
from batprotocol.errors import DecodeError, EncodeError, PackageMissing, PeerGone
from batprotocol.legacy.json.values import Job, JobProfile, types_of
from batprotocol.legacy.json.wire import parsed

if TYPE_CHECKING:
    from redis import Redis

__all__ = [
    "JobStore",
    "connect_redis",
    "decode_job",
    "decode_profile",
    "encode_job",
    "encode_profile",
    "store_of_workload",
]


def decode_job(data: bytes | str) -> Job:
    """Read a stored job.

    Raises:
        DecodeError: this is not a job.
    """
    members = _object(data)
    known = {name: members[name] for name in Job.__struct_fields__ if name != "extra" and members.get(name) is not None}
    extra = {key: value for key, value in members.items() if key not in known}
    try:
        types = types_of(Job)
        return Job(**{name: msgspec.convert(value, types[name]) for name, value in known.items()}, extra=extra)
    except msgspec.ValidationError as error:
        raise DecodeError(str(error)) from None


def encode_job(job: Job) -> bytes:
    """Write a job for the store. `EncodeError` if JSON cannot hold it."""
    names = [name for name in Job.__struct_fields__ if name != "extra"]
    members = {name: value for name in names if (value := getattr(job, name)) is not None}
    return _written({**members, **job.extra})


def decode_profile(data: bytes | str) -> JobProfile:
    """Read a stored profile. `DecodeError` if this is not a profile."""
    return JobProfile(_object(data))


def encode_profile(profile: JobProfile) -> bytes:
    """Write a profile for the store. `EncodeError` if JSON cannot hold it."""
    return _written(dict(profile.fields))


def _object(data: bytes | str) -> dict[str, Any]:
    try:
        found, _ = parsed(data.encode() if isinstance(data, str) else data)
    except (UnicodeEncodeError, RecursionError) as error:
        raise DecodeError(str(error)) from None
    if not isinstance(found, dict):
        raise DecodeError("expected an object")
    return found


def _written(members: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(members)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise EncodeError(str(error)) from None


class JobStore:
    """The jobs and profiles of one simulation, in any mapping from keys to texts: a dict, or `connect_redis`.

    Args:
        values: the mapping.
        prefix: the beginning of all keys, before a colon: `redis-prefix` in Batsim's configuration.

    >>> store = JobStore({}, "pfx")
    >>> store.put_job(Job("w0!1", "d", 2)); store.job("w0!1").res
    2
    """

    def __init__(self, values: MutableMapping[str, bytes], prefix: str = "default") -> None:
        self.values = values
        self.prefix = prefix

    def _key(self, kind: str, name: str) -> str:
        return f"{self.prefix}:{kind}{name}"

    def job(self, job_id: str) -> Job | None:
        """The job of this name, None if there is none. `DecodeError` if the value is not a job."""
        found = self.values.get(self._key("job_", job_id))
        return None if found is None else decode_job(found)

    def put_job(self, job: Job) -> None:
        """Store a job, by its id."""
        self.values[self._key("job_", str(job.id))] = encode_job(job)

    def profile(self, profile_id: str) -> JobProfile | None:
        """The profile `workload!name`, None if there is none. `DecodeError` if the value is not a profile."""
        found = self.values.get(self._key("profile_", profile_id))
        return None if found is None else decode_profile(found)

    def put_profile(self, profile_id: str, profile: JobProfile) -> None:
        """Store a profile, by its name `workload!name`."""
        self.values[self._key("profile_", profile_id)] = encode_profile(profile)

    @property
    def nb_res(self) -> int | None:
        """The number of hosts, None if the store does not have it. `DecodeError` if it is not a number."""
        found = self.values.get(self._key("", "nb_res"))
        if found is None:
            return None
        text = found if isinstance(found, str) else str(found, "ascii", "replace")
        if not (text.isascii() and text.isdecimal() and len(text) < 10):
            raise DecodeError(f"expected the number of hosts, found {text[:40]!r}", "nb_res")
        return int(text)

    @nb_res.setter
    def nb_res(self, number: int) -> None:
        self.values[self._key("", "nb_res")] = b"%d" % number


def store_of_workload(path: str, workload: str = "w0") -> JobStore:
    """The jobs and profiles of a workload file: versions 0 and 1 of text read this file, and not Redis.

    Args:
        path: the file, as Batsim 1 and earlier versions read it.
        workload: the name of the workload.

    Raises:
        OSError: there is no such file.
        DecodeError: it is not a workload.
    """
    with open(path, "rb") as file:
        whole = _object(file.read())
    store = JobStore({}, workload)
    jobs, profiles, count = whole.get("jobs"), whole.get("profiles"), whole.get("nb_res")
    if not isinstance(jobs, list) or not isinstance(profiles, dict):
        raise DecodeError("expected jobs and profiles")
    for index, job in enumerate(jobs):
        if not isinstance(job, dict):
            raise DecodeError("expected an object", f"jobs[{index}]")
        store.put_job(decode_job(_written({**job, "id": f"{workload}!{job.get('id')}"})))
    for name, profile in profiles.items():
        if not isinstance(profile, dict):
            raise DecodeError("expected an object", f"profiles.{name}")
        store.put_profile(f"{workload}!{name}", JobProfile(profile))
    if type(count) is int and count > 0:
        store.nb_res = count
    return store


class _RedisValues(MutableMapping[str, bytes]):
    """The strings of a Redis server as a mapping."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def _asked(self, name: str, *arguments: Any) -> Any:
        from redis.exceptions import RedisError

        try:
            return getattr(self._client, name)(*arguments)
        except RedisError as error:
            raise PeerGone(f"the Redis server does not answer: {error}") from None

    def __getitem__(self, key: str) -> bytes:
        found = self._asked("get", key)
        if found is None:
            raise KeyError(key)
        return bytes(found)

    def __setitem__(self, key: str, value: bytes) -> None:
        self._asked("set", key, value)

    def __delitem__(self, key: str) -> None:
        if not self._asked("delete", key):
            raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return (str(key, "utf-8", "replace") for key in self._asked("keys", "*"))

    def __len__(self) -> int:
        return int(self._asked("dbsize"))


def connect_redis(host: str = "127.0.0.1", port: int = 6379, prefix: str = "default") -> JobStore:
    """The jobs and profiles that Batsim and the scheduler share in a Redis server.

    Args:
        host: its host.
        port: its port.
        prefix: the beginning of all keys.

    Raises:
        PackageMissing: the package `redis` is not installed.
        PeerGone: a later access gets no answer of the server.
    """
    try:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError:
        raise PackageMissing(f"jobs in Redis need the package redis: {installing('redis')}") from None
    once = Retry(NoBackoff(), 0)  # if there is no server, do not retry again and again
    client: Redis = redis.Redis(host, port, socket_timeout=10, socket_connect_timeout=10, retry=once)
    return JobStore(_RedisValues(client), prefix)
