"""The pure-Python codec of the schema. Written by `tools/compile_schema.py`; never edited by hand."""

from __future__ import annotations

from struct import Struct

from batprotocol import model
from batprotocol.model.value import fast
from batprotocol.wire.binding import MAX_DEPTH, MAX_TABLES
from batprotocol.wire.layout import (
    PAD4,
    STRING,
    U32,
    Doubt,
    Slot,
    doubles,
    learn,
    long_string,
    numbers,
    offsets,
    refuse,
    strings,
    write_doubles,
    write_long_string,
    write_numbers,
    write_places,
    write_strings,
)

_I32 = Struct("<i").unpack_from
_FLAG = {False: 0, True: 1}


class _Members(dict):
    """The members of an enum by number, `b""` being the default. Numbers without a name come on demand."""

    def __init__(self, enum, default):
        super().__init__({int(member): member for member in enum})
        self[b""] = enum(default)
        self.enum = enum

    def __missing__(self, number):
        return self.enum(number)


_BooleanComparisonOperator_0 = _Members(model.BooleanComparisonOperator, 0)
_CumulativeFunction_0 = _Members(model.CumulativeFunction, 0)
_FinalJobState_0 = _Members(model.FinalJobState, 0)
_HomogeneousParallelTaskGenerationStrategy_0 = _Members(model.HomogeneousParallelTaskGenerationStrategy, 0)
_HostState_0 = _Members(model.HostState, 0)
_Metrics_0 = _Members(model.Metrics, 0)
_PredefinedExecutorPlacementStrategy_0 = _Members(model.PredefinedExecutorPlacementStrategy, 0)
_TimeUnit_0 = _Members(model.TimeUnit, 0)
_TraceType_0 = _Members(model.TraceType, 0)


_AllStaticExternalEventsHaveBeenInjectedEvent = model.AllStaticExternalEventsHaveBeenInjectedEvent
_NEW_AllStaticExternalEventsHaveBeenInjectedEvent = fast(_AllStaticExternalEventsHaveBeenInjectedEvent)
_PLANS_AllStaticExternalEventsHaveBeenInjectedEvent = {}
_PACK_AllStaticExternalEventsHaveBeenInjectedEvent = Struct('<i').pack
_SLOTS_AllStaticExternalEventsHaveBeenInjectedEvent = ()


def _read_AllStaticExternalEventsHaveBeenInjectedEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_AllStaticExternalEventsHaveBeenInjectedEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_AllStaticExternalEventsHaveBeenInjectedEvent, _SLOTS_AllStaticExternalEventsHaveBeenInjectedEvent, data, vtable)
    return _NEW_AllStaticExternalEventsHaveBeenInjectedEvent(timestamp=timestamp)


def _write_AllStaticExternalEventsHaveBeenInjectedEvent(value, append, size, vtables):
    if value.__class__ is not _AllStaticExternalEventsHaveBeenInjectedEvent:
        raise TypeError
    vtable = vtables[1]
    if not vtable:
        append(_VTABLES[1])
        size += len(_VTABLES[1])
        vtable = vtables[1] = size
    size += 4
    append(_PACK_AllStaticExternalEventsHaveBeenInjectedEvent(vtable - size))
    return size


_AllStaticJobsHaveBeenSubmittedEvent = model.AllStaticJobsHaveBeenSubmittedEvent
_NEW_AllStaticJobsHaveBeenSubmittedEvent = fast(_AllStaticJobsHaveBeenSubmittedEvent)
_PLANS_AllStaticJobsHaveBeenSubmittedEvent = {}
_PACK_AllStaticJobsHaveBeenSubmittedEvent = Struct('<i').pack
_SLOTS_AllStaticJobsHaveBeenSubmittedEvent = ()


def _read_AllStaticJobsHaveBeenSubmittedEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_AllStaticJobsHaveBeenSubmittedEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_AllStaticJobsHaveBeenSubmittedEvent, _SLOTS_AllStaticJobsHaveBeenSubmittedEvent, data, vtable)
    return _NEW_AllStaticJobsHaveBeenSubmittedEvent(timestamp=timestamp)


def _write_AllStaticJobsHaveBeenSubmittedEvent(value, append, size, vtables):
    if value.__class__ is not _AllStaticJobsHaveBeenSubmittedEvent:
        raise TypeError
    vtable = vtables[2]
    if not vtable:
        append(_VTABLES[2])
        size += len(_VTABLES[2])
        vtable = vtables[2] = size
    size += 4
    append(_PACK_AllStaticJobsHaveBeenSubmittedEvent(vtable - size))
    return size


_OneShot = model.OneShot
_NEW_OneShot = fast(_OneShot)
_PLANS_OneShot = {}
_PACK_OneShot = Struct('<ib3xQ').pack
_SLOTS_OneShot = (
    Slot(1, 1, 'b', False, False),
    Slot(0, 8, 'Q', False, False),
)


def _read_OneShot(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_OneShot.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_OneShot, _SLOTS_OneShot, data, vtable)
    read = plan[0]
    time_unit_, time_, = read(data, position)
    return _NEW_OneShot(time=time_ or 0, time_unit=_TimeUnit_0[time_unit_])


def _write_OneShot(value, append, size, vtables):
    if value.__class__ is not _OneShot:
        raise TypeError
    vtable = vtables[59]
    if not vtable:
        append(_VTABLES[59])
        size += len(_VTABLES[59])
        vtable = vtables[59] = size
    if size & 4:
        append(PAD4)
        size += 4
    size += 16
    append(_PACK_OneShot(vtable - size, value.time_unit, value.time))
    return size


_FinitePeriodNumber = model.FinitePeriodNumber
_NEW_FinitePeriodNumber = fast(_FinitePeriodNumber)
_PLANS_FinitePeriodNumber = {}
_PACK_FinitePeriodNumber = Struct('<iI').pack
_SLOTS_FinitePeriodNumber = (
    Slot(0, 4, 'I', False, False),
)


def _read_FinitePeriodNumber(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_FinitePeriodNumber.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_FinitePeriodNumber, _SLOTS_FinitePeriodNumber, data, vtable)
    read = plan[0]
    nb_periods_, = read(data, position)
    return _NEW_FinitePeriodNumber(nb_periods=nb_periods_ or 0)


def _write_FinitePeriodNumber(value, append, size, vtables):
    if value.__class__ is not _FinitePeriodNumber:
        raise TypeError
    vtable = vtables[24]
    if not vtable:
        append(_VTABLES[24])
        size += len(_VTABLES[24])
        vtable = vtables[24] = size
    size += 8
    append(_PACK_FinitePeriodNumber(vtable - size, value.nb_periods))
    return size


_Infinite = model.Infinite
_NEW_Infinite = fast(_Infinite)
_PLANS_Infinite = {}
_PACK_Infinite = Struct('<i').pack
_SLOTS_Infinite = ()


def _read_Infinite(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_Infinite.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_Infinite, _SLOTS_Infinite, data, vtable)
    return _NEW_Infinite()


def _write_Infinite(value, append, size, vtables):
    if value.__class__ is not _Infinite:
        raise TypeError
    vtable = vtables[36]
    if not vtable:
        append(_VTABLES[36])
        size += len(_VTABLES[36])
        vtable = vtables[36] = size
    size += 4
    append(_PACK_Infinite(vtable - size))
    return size


_Periodic = model.Periodic
_NEW_Periodic = fast(_Periodic)
_PLANS_Periodic = {}
_PACK_Periodic = Struct('<ibB2xIQQ').pack
_SLOTS_Periodic = (
    Slot(2, 1, 'b', False, False),
    Slot(3, 1, 'B', False, False),
    Slot(4, 4, 'I', True, True),
    Slot(0, 8, 'Q', False, False),
    Slot(1, 8, 'Q', False, False),
)


def _read_Periodic(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_Periodic.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_Periodic, _SLOTS_Periodic, data, vtable)
    read, mode_at = plan
    time_unit_, mode_type_, mode_, period_, offset_, = read(data, position)
    return _NEW_Periodic(period=period_ or 0, offset=offset_ or 0, time_unit=_TimeUnit_0[time_unit_], mode=_READ_PeriodicMode[mode_type_](data, position + mode_at + mode_, seen))


def _write_Periodic(value, append, size, vtables):
    if value.__class__ is not _Periodic:
        raise TypeError
    child = value.mode
    mode_type, write = _WRITE_PeriodicMode[child.__class__]
    size = write(child, append, size, vtables)
    mode_place = size
    vtable = vtables[68]
    if not vtable:
        append(_VTABLES[68])
        size += len(_VTABLES[68])
        vtable = vtables[68] = size
    if size & 4:
        append(PAD4)
        size += 4
    size += 28
    append(_PACK_Periodic(vtable - size, value.time_unit, mode_type, size - 8 - mode_place, value.period, value.offset))
    return size


_CallMeLaterEvent = model.CallMeLaterEvent
_NEW_CallMeLaterEvent = fast(_CallMeLaterEvent)
_PLANS_CallMeLaterEvent = {}
_PACK_CallMeLaterEvent = Struct('<iB3xII').pack
_SLOTS_CallMeLaterEvent = (
    Slot(1, 1, 'B', False, False),
    Slot(0, 4, 'I', True, True),
    Slot(2, 4, 'I', True, True),
)


def _read_CallMeLaterEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_CallMeLaterEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_CallMeLaterEvent, _SLOTS_CallMeLaterEvent, data, vtable)
    read, call_me_later_id_at, when_at = plan
    when_type_, call_me_later_id_, when_, = read(data, position)
    at = position + call_me_later_id_at + call_me_later_id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        call_me_later_id_ = data[at:size].decode()
    elif size:
        call_me_later_id_ = long_string(data, at, size, seen)
    elif call_me_later_id_ and not data[at + 4]:
        call_me_later_id_ = ""
    else:
        raise Doubt
    return _NEW_CallMeLaterEvent(timestamp=timestamp, call_me_later_id=call_me_later_id_, when=_READ_TemporalTrigger[when_type_](data, position + when_at + when_, seen))


def _write_CallMeLaterEvent(value, append, size, vtables):
    if value.__class__ is not _CallMeLaterEvent:
        raise TypeError
    child = value.call_me_later_id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    call_me_later_id_place = size
    child = value.when
    when_type, write = _WRITE_TemporalTrigger[child.__class__]
    size = write(child, append, size, vtables)
    when_place = size
    vtable = vtables[5]
    if not vtable:
        append(_VTABLES[5])
        size += len(_VTABLES[5])
        vtable = vtables[5] = size
    size += 16
    append(_PACK_CallMeLaterEvent(vtable - size, when_type, size - 8 - call_me_later_id_place, size - 12 - when_place))
    return size


_ChangeHostsPStateEvent = model.ChangeHostsPStateEvent
_NEW_ChangeHostsPStateEvent = fast(_ChangeHostsPStateEvent)
_PLANS_ChangeHostsPStateEvent = {}
_PACK_ChangeHostsPStateEvent = Struct('<iII').pack
_SLOTS_ChangeHostsPStateEvent = (
    Slot(0, 4, 'I', True, True),
    Slot(1, 4, 'I', False, False),
)


def _read_ChangeHostsPStateEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_ChangeHostsPStateEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_ChangeHostsPStateEvent, _SLOTS_ChangeHostsPStateEvent, data, vtable)
    read, host_ids_at = plan
    host_ids_, pstate_, = read(data, position)
    at = position + host_ids_at + host_ids_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        host_ids_ = data[at:size].decode()
    elif size:
        host_ids_ = long_string(data, at, size, seen)
    elif host_ids_ and not data[at + 4]:
        host_ids_ = ""
    else:
        raise Doubt
    return _NEW_ChangeHostsPStateEvent(timestamp=timestamp, host_ids=host_ids_, pstate=pstate_ or 0)


def _write_ChangeHostsPStateEvent(value, append, size, vtables):
    if value.__class__ is not _ChangeHostsPStateEvent:
        raise TypeError
    child = value.host_ids
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    host_ids_place = size
    vtable = vtables[6]
    if not vtable:
        append(_VTABLES[6])
        size += len(_VTABLES[6])
        vtable = vtables[6] = size
    size += 12
    append(_PACK_ChangeHostsPStateEvent(vtable - size, size - 4 - host_ids_place, value.pstate))
    return size


_ArithmeticMean = model.ArithmeticMean
_NEW_ArithmeticMean = fast(_ArithmeticMean)
_PLANS_ArithmeticMean = {}
_PACK_ArithmeticMean = Struct('<i').pack
_SLOTS_ArithmeticMean = ()


def _read_ArithmeticMean(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_ArithmeticMean.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_ArithmeticMean, _SLOTS_ArithmeticMean, data, vtable)
    return _NEW_ArithmeticMean()


def _write_ArithmeticMean(value, append, size, vtables):
    if value.__class__ is not _ArithmeticMean:
        raise TypeError
    vtable = vtables[4]
    if not vtable:
        append(_VTABLES[4])
        size += len(_VTABLES[4])
        vtable = vtables[4] = size
    size += 4
    append(_PACK_ArithmeticMean(vtable - size))
    return size


_ExponentialMovingAverage = model.ExponentialMovingAverage
_NEW_ExponentialMovingAverage = fast(_ExponentialMovingAverage)
_PLANS_ExponentialMovingAverage = {}
_PACK_ExponentialMovingAverage = Struct('<i').pack
_SLOTS_ExponentialMovingAverage = ()


def _read_ExponentialMovingAverage(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_ExponentialMovingAverage.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_ExponentialMovingAverage, _SLOTS_ExponentialMovingAverage, data, vtable)
    return _NEW_ExponentialMovingAverage()


def _write_ExponentialMovingAverage(value, append, size, vtables):
    if value.__class__ is not _ExponentialMovingAverage:
        raise TypeError
    vtable = vtables[20]
    if not vtable:
        append(_VTABLES[20])
        size += len(_VTABLES[20])
        vtable = vtables[20] = size
    size += 4
    append(_PACK_ExponentialMovingAverage(vtable - size))
    return size


_HostResources = model.HostResources
_NEW_HostResources = fast(_HostResources)
_PLANS_HostResources = {}
_PACK_HostResources = Struct('<iI').pack
_SLOTS_HostResources = (
    Slot(0, 4, 'I', True, True),
)


def _read_HostResources(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_HostResources.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_HostResources, _SLOTS_HostResources, data, vtable)
    read, host_ids_at = plan
    host_ids_, = read(data, position)
    at = position + host_ids_at + host_ids_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        host_ids_ = data[at:size].decode()
    elif size:
        host_ids_ = long_string(data, at, size, seen)
    elif host_ids_ and not data[at + 4]:
        host_ids_ = ""
    else:
        raise Doubt
    return _NEW_HostResources(host_ids=host_ids_)


def _write_HostResources(value, append, size, vtables):
    if value.__class__ is not _HostResources:
        raise TypeError
    child = value.host_ids
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    host_ids_place = size
    vtable = vtables[33]
    if not vtable:
        append(_VTABLES[33])
        size += len(_VTABLES[33])
        vtable = vtables[33] = size
    size += 8
    append(_PACK_HostResources(vtable - size, size - 4 - host_ids_place))
    return size


_LinkResources = model.LinkResources
_NEW_LinkResources = fast(_LinkResources)
_PLANS_LinkResources = {}
_PACK_LinkResources = Struct('<iI').pack
_SLOTS_LinkResources = (
    Slot(0, 4, 'I', True, True),
)


def _read_LinkResources(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_LinkResources.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_LinkResources, _SLOTS_LinkResources, data, vtable)
    read, link_ids_at = plan
    link_ids_, = read(data, position)
    return _NEW_LinkResources(link_ids=strings(data, position + link_ids_at + link_ids_, link_ids_, seen))


def _write_LinkResources(value, append, size, vtables):
    if value.__class__ is not _LinkResources:
        raise TypeError
    child = value.link_ids
    size = write_strings(child, append, size)
    link_ids_place = size
    vtable = vtables[52]
    if not vtable:
        append(_VTABLES[52])
        size += len(_VTABLES[52])
        vtable = vtables[52] = size
    size += 8
    append(_PACK_LinkResources(vtable - size, size - 4 - link_ids_place))
    return size


_NoFiltering = model.NoFiltering
_NEW_NoFiltering = fast(_NoFiltering)
_PLANS_NoFiltering = {}
_PACK_NoFiltering = Struct('<i').pack
_SLOTS_NoFiltering = ()


def _read_NoFiltering(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_NoFiltering.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_NoFiltering, _SLOTS_NoFiltering, data, vtable)
    return _NEW_NoFiltering()


def _write_NoFiltering(value, append, size, vtables):
    if value.__class__ is not _NoFiltering:
        raise TypeError
    vtable = vtables[54]
    if not vtable:
        append(_VTABLES[54])
        size += len(_VTABLES[54])
        vtable = vtables[54] = size
    size += 4
    append(_PACK_NoFiltering(vtable - size))
    return size


_NoProbeDataAccumulation = model.NoProbeDataAccumulation
_NEW_NoProbeDataAccumulation = fast(_NoProbeDataAccumulation)
_PLANS_NoProbeDataAccumulation = {}
_PACK_NoProbeDataAccumulation = Struct('<i').pack
_SLOTS_NoProbeDataAccumulation = ()


def _read_NoProbeDataAccumulation(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_NoProbeDataAccumulation.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_NoProbeDataAccumulation, _SLOTS_NoProbeDataAccumulation, data, vtable)
    return _NEW_NoProbeDataAccumulation()


def _write_NoProbeDataAccumulation(value, append, size, vtables):
    if value.__class__ is not _NoProbeDataAccumulation:
        raise TypeError
    vtable = vtables[55]
    if not vtable:
        append(_VTABLES[55])
        size += len(_VTABLES[55])
        vtable = vtables[55] = size
    size += 4
    append(_PACK_NoProbeDataAccumulation(vtable - size))
    return size


_NoResourcesAggregation = model.NoResourcesAggregation
_NEW_NoResourcesAggregation = fast(_NoResourcesAggregation)
_PLANS_NoResourcesAggregation = {}
_PACK_NoResourcesAggregation = Struct('<i').pack
_SLOTS_NoResourcesAggregation = ()


def _read_NoResourcesAggregation(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_NoResourcesAggregation.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_NoResourcesAggregation, _SLOTS_NoResourcesAggregation, data, vtable)
    return _NEW_NoResourcesAggregation()


def _write_NoResourcesAggregation(value, append, size, vtables):
    if value.__class__ is not _NoResourcesAggregation:
        raise TypeError
    vtable = vtables[57]
    if not vtable:
        append(_VTABLES[57])
        size += len(_VTABLES[57])
        vtable = vtables[57] = size
    size += 4
    append(_PACK_NoResourcesAggregation(vtable - size))
    return size


_NoTemporalAggregation = model.NoTemporalAggregation
_NEW_NoTemporalAggregation = fast(_NoTemporalAggregation)
_PLANS_NoTemporalAggregation = {}
_PACK_NoTemporalAggregation = Struct('<i').pack
_SLOTS_NoTemporalAggregation = ()


def _read_NoTemporalAggregation(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_NoTemporalAggregation.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_NoTemporalAggregation, _SLOTS_NoTemporalAggregation, data, vtable)
    return _NEW_NoTemporalAggregation()


def _write_NoTemporalAggregation(value, append, size, vtables):
    if value.__class__ is not _NoTemporalAggregation:
        raise TypeError
    vtable = vtables[58]
    if not vtable:
        append(_VTABLES[58])
        size += len(_VTABLES[58])
        vtable = vtables[58] = size
    size += 4
    append(_PACK_NoTemporalAggregation(vtable - size))
    return size


_NoReset = model.NoReset
_NEW_NoReset = fast(_NoReset)
_PLANS_NoReset = {}
_PACK_NoReset = Struct('<i').pack
_SLOTS_NoReset = ()


def _read_NoReset(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_NoReset.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_NoReset, _SLOTS_NoReset, data, vtable)
    return _NEW_NoReset()


def _write_NoReset(value, append, size, vtables):
    if value.__class__ is not _NoReset:
        raise TypeError
    vtable = vtables[56]
    if not vtable:
        append(_VTABLES[56])
        size += len(_VTABLES[56])
        vtable = vtables[56] = size
    size += 4
    append(_PACK_NoReset(vtable - size))
    return size


_ProbeAccumulationReset = model.ProbeAccumulationReset
_NEW_ProbeAccumulationReset = fast(_ProbeAccumulationReset)
_PLANS_ProbeAccumulationReset = {}
_PACK_ProbeAccumulationReset = Struct('<id').pack
_SLOTS_ProbeAccumulationReset = (
    Slot(0, 8, 'd', False, False),
)


def _read_ProbeAccumulationReset(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_ProbeAccumulationReset.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_ProbeAccumulationReset, _SLOTS_ProbeAccumulationReset, data, vtable)
    read = plan[0]
    new_value_, = read(data, position)
    return _NEW_ProbeAccumulationReset(new_value=new_value_ if new_value_.__class__ is float else 0.0)


def _write_ProbeAccumulationReset(value, append, size, vtables):
    if value.__class__ is not _ProbeAccumulationReset:
        raise TypeError
    vtable = vtables[70]
    if not vtable:
        append(_VTABLES[70])
        size += len(_VTABLES[70])
        vtable = vtables[70] = size
    if size & 4:
        append(PAD4)
        size += 4
    size += 12
    append(_PACK_ProbeAccumulationReset(vtable - size, value.new_value))
    return size


_ProbeDataAccumulation = model.ProbeDataAccumulation
_NEW_ProbeDataAccumulation = fast(_ProbeDataAccumulation)
_PLANS_ProbeDataAccumulation = {}
_PACK_ProbeDataAccumulation = Struct('<iBbB1xI').pack
_SLOTS_ProbeDataAccumulation = (
    Slot(0, 1, 'B', False, False),
    Slot(2, 1, 'b', False, False),
    Slot(3, 1, 'B', False, False),
    Slot(1, 4, 'I', True, True),
)


def _read_ProbeDataAccumulation(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_ProbeDataAccumulation.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_ProbeDataAccumulation, _SLOTS_ProbeDataAccumulation, data, vtable)
    read, reset_mode_at = plan
    reset_mode_type_, cumulative_function_, temporal_normalization_, reset_mode_, = read(data, position)
    return _NEW_ProbeDataAccumulation(reset_mode=_READ_ResetMode[reset_mode_type_](data, position + reset_mode_at + reset_mode_, seen), cumulative_function=_CumulativeFunction_0[cumulative_function_], temporal_normalization=True if temporal_normalization_ else False)


def _write_ProbeDataAccumulation(value, append, size, vtables):
    if value.__class__ is not _ProbeDataAccumulation:
        raise TypeError
    child = value.reset_mode
    reset_mode_type, write = _WRITE_ResetMode[child.__class__]
    size = write(child, append, size, vtables)
    reset_mode_place = size
    vtable = vtables[71]
    if not vtable:
        append(_VTABLES[71])
        size += len(_VTABLES[71])
        vtable = vtables[71] = size
    size += 12
    append(_PACK_ProbeDataAccumulation(vtable - size, reset_mode_type, value.cumulative_function, _FLAG[value.temporal_normalization], size - 8 - reset_mode_place))
    return size


_QuantileFunction = model.QuantileFunction
_NEW_QuantileFunction = fast(_QuantileFunction)
_PLANS_QuantileFunction = {}
_PACK_QuantileFunction = Struct('<id').pack
_SLOTS_QuantileFunction = (
    Slot(0, 8, 'd', False, False),
)


def _read_QuantileFunction(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_QuantileFunction.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_QuantileFunction, _SLOTS_QuantileFunction, data, vtable)
    read = plan[0]
    threshold_, = read(data, position)
    return _NEW_QuantileFunction(threshold=threshold_ if threshold_.__class__ is float else 0.0)


def _write_QuantileFunction(value, append, size, vtables):
    if value.__class__ is not _QuantileFunction:
        raise TypeError
    vtable = vtables[76]
    if not vtable:
        append(_VTABLES[76])
        size += len(_VTABLES[76])
        vtable = vtables[76] = size
    if size & 4:
        append(PAD4)
        size += 4
    size += 12
    append(_PACK_QuantileFunction(vtable - size, value.threshold))
    return size


_SlidingWindowOperation = model.SlidingWindowOperation
_NEW_SlidingWindowOperation = fast(_SlidingWindowOperation)
_PLANS_SlidingWindowOperation = {}
_PACK_SlidingWindowOperation = Struct('<i').pack
_SLOTS_SlidingWindowOperation = ()


def _read_SlidingWindowOperation(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_SlidingWindowOperation.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_SlidingWindowOperation, _SLOTS_SlidingWindowOperation, data, vtable)
    return _NEW_SlidingWindowOperation()


def _write_SlidingWindowOperation(value, append, size, vtables):
    if value.__class__ is not _SlidingWindowOperation:
        raise TypeError
    vtable = vtables[89]
    if not vtable:
        append(_VTABLES[89])
        size += len(_VTABLES[89])
        vtable = vtables[89] = size
    size += 4
    append(_PACK_SlidingWindowOperation(vtable - size))
    return size


_Sum = model.Sum
_NEW_Sum = fast(_Sum)
_PLANS_Sum = {}
_PACK_Sum = Struct('<i').pack
_SLOTS_Sum = ()


def _read_Sum(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_Sum.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_Sum, _SLOTS_Sum, data, vtable)
    return _NEW_Sum()


def _write_Sum(value, append, size, vtables):
    if value.__class__ is not _Sum:
        raise TypeError
    vtable = vtables[93]
    if not vtable:
        append(_VTABLES[93])
        size += len(_VTABLES[93])
        vtable = vtables[93] = size
    size += 4
    append(_PACK_Sum(vtable - size))
    return size


_PLANS_TemporalTriggerWrapper = {}
_PACK_TemporalTriggerWrapper = Struct('<iB3xI').pack
_SLOTS_TemporalTriggerWrapper = (
    Slot(0, 1, 'B', False, False),
    Slot(1, 4, 'I', True, True),
)


def _read_TemporalTriggerWrapper(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_TemporalTriggerWrapper.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_TemporalTriggerWrapper, _SLOTS_TemporalTriggerWrapper, data, vtable)
    read, temporal_trigger_at = plan
    temporal_trigger_type_, temporal_trigger_, = read(data, position)
    return _READ_TemporalTrigger[temporal_trigger_type_](data, position + temporal_trigger_at + temporal_trigger_, seen)


def _write_TemporalTriggerWrapper(value, append, size, vtables):
    child = value
    temporal_trigger_type, write = _WRITE_TemporalTrigger[child.__class__]
    size = write(child, append, size, vtables)
    temporal_trigger_place = size
    vtable = vtables[94]
    if not vtable:
        append(_VTABLES[94])
        size += len(_VTABLES[94])
        vtable = vtables[94] = size
    size += 12
    append(_PACK_TemporalTriggerWrapper(vtable - size, temporal_trigger_type, size - 8 - temporal_trigger_place))
    return size


_ThresholdFilteringFunction = model.ThresholdFilteringFunction
_NEW_ThresholdFilteringFunction = fast(_ThresholdFilteringFunction)
_PLANS_ThresholdFilteringFunction = {}
_PACK_ThresholdFilteringFunction = Struct('<ib3xd').pack
_SLOTS_ThresholdFilteringFunction = (
    Slot(1, 1, 'b', False, False),
    Slot(0, 8, 'd', False, False),
)


def _read_ThresholdFilteringFunction(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_ThresholdFilteringFunction.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_ThresholdFilteringFunction, _SLOTS_ThresholdFilteringFunction, data, vtable)
    read = plan[0]
    operator_, threshold_, = read(data, position)
    return _NEW_ThresholdFilteringFunction(threshold=threshold_ if threshold_.__class__ is float else 0.0, operator=_BooleanComparisonOperator_0[operator_])


def _write_ThresholdFilteringFunction(value, append, size, vtables):
    if value.__class__ is not _ThresholdFilteringFunction:
        raise TypeError
    vtable = vtables[95]
    if not vtable:
        append(_VTABLES[95])
        size += len(_VTABLES[95])
        vtable = vtables[95] = size
    if size & 4:
        append(PAD4)
        size += 4
    size += 16
    append(_PACK_ThresholdFilteringFunction(vtable - size, value.operator, value.threshold))
    return size


_CreateProbeEvent = model.CreateProbeEvent
_NEW_CreateProbeEvent = fast(_CreateProbeEvent)
_PLANS_CreateProbeEvent = {}
_PACK_CreateProbeEvent = Struct('<ibBBBBBB1xIIIIIII').pack
_SLOTS_CreateProbeEvent = (
    Slot(1, 1, 'b', False, False),
    Slot(2, 1, 'B', False, False),
    Slot(4, 1, 'B', False, False),
    Slot(6, 1, 'B', False, False),
    Slot(8, 1, 'B', False, False),
    Slot(10, 1, 'B', False, False),
    Slot(12, 1, 'B', False, False),
    Slot(0, 4, 'I', True, True),
    Slot(3, 4, 'I', True, True),
    Slot(5, 4, 'I', True, True),
    Slot(7, 4, 'I', True, True),
    Slot(9, 4, 'I', True, True),
    Slot(11, 4, 'I', True, True),
    Slot(13, 4, 'I', True, True),
)


def _read_CreateProbeEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_CreateProbeEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_CreateProbeEvent, _SLOTS_CreateProbeEvent, data, vtable)
    read, probe_id_at, resources_at, data_accumulation_strategy_at, measurement_triggering_policy_at, resources_aggregation_function_at, temporal_aggregation_function_at, emission_filtering_policy_at = plan
    metrics_, resources_type_, data_accumulation_strategy_type_, measurement_triggering_policy_type_, resources_aggregation_function_type_, temporal_aggregation_function_type_, emission_filtering_policy_type_, probe_id_, resources_, data_accumulation_strategy_, measurement_triggering_policy_, resources_aggregation_function_, temporal_aggregation_function_, emission_filtering_policy_, = read(data, position)
    at = position + probe_id_at + probe_id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        probe_id_ = data[at:size].decode()
    elif size:
        probe_id_ = long_string(data, at, size, seen)
    elif probe_id_ and not data[at + 4]:
        probe_id_ = ""
    else:
        raise Doubt
    return _NEW_CreateProbeEvent(timestamp=timestamp, probe_id=probe_id_, metrics=_Metrics_0[metrics_], resources=_READ_Resources[resources_type_](data, position + resources_at + resources_, seen), data_accumulation_strategy=_READ_ProbeDataAccumulationStrategy[data_accumulation_strategy_type_](data, position + data_accumulation_strategy_at + data_accumulation_strategy_, seen), measurement_triggering_policy=_READ_ProbeMeasurementTriggeringPolicy[measurement_triggering_policy_type_](data, position + measurement_triggering_policy_at + measurement_triggering_policy_, seen), resources_aggregation_function=_READ_ResourcesAggregationFunction[resources_aggregation_function_type_](data, position + resources_aggregation_function_at + resources_aggregation_function_, seen), temporal_aggregation_function=_READ_TemporalAggregationFunction[temporal_aggregation_function_type_](data, position + temporal_aggregation_function_at + temporal_aggregation_function_, seen), emission_filtering_policy=_READ_ProbeEmissionFilteringPolicy[emission_filtering_policy_type_](data, position + emission_filtering_policy_at + emission_filtering_policy_, seen))


def _write_CreateProbeEvent(value, append, size, vtables):
    if value.__class__ is not _CreateProbeEvent:
        raise TypeError
    child = value.probe_id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    probe_id_place = size
    child = value.resources
    resources_type, write = _WRITE_Resources[child.__class__]
    size = write(child, append, size, vtables)
    resources_place = size
    child = value.data_accumulation_strategy
    data_accumulation_strategy_type, write = _WRITE_ProbeDataAccumulationStrategy[child.__class__]
    size = write(child, append, size, vtables)
    data_accumulation_strategy_place = size
    child = value.measurement_triggering_policy
    measurement_triggering_policy_type, write = _WRITE_ProbeMeasurementTriggeringPolicy[child.__class__]
    size = write(child, append, size, vtables)
    measurement_triggering_policy_place = size
    child = value.resources_aggregation_function
    resources_aggregation_function_type, write = _WRITE_ResourcesAggregationFunction[child.__class__]
    size = write(child, append, size, vtables)
    resources_aggregation_function_place = size
    child = value.temporal_aggregation_function
    temporal_aggregation_function_type, write = _WRITE_TemporalAggregationFunction[child.__class__]
    size = write(child, append, size, vtables)
    temporal_aggregation_function_place = size
    child = value.emission_filtering_policy
    emission_filtering_policy_type, write = _WRITE_ProbeEmissionFilteringPolicy[child.__class__]
    size = write(child, append, size, vtables)
    emission_filtering_policy_place = size
    vtable = vtables[7]
    if not vtable:
        append(_VTABLES[7])
        size += len(_VTABLES[7])
        vtable = vtables[7] = size
    size += 40
    append(_PACK_CreateProbeEvent(vtable - size, value.metrics, resources_type, data_accumulation_strategy_type, measurement_triggering_policy_type, resources_aggregation_function_type, temporal_aggregation_function_type, emission_filtering_policy_type, size - 12 - probe_id_place, size - 16 - resources_place, size - 20 - data_accumulation_strategy_place, size - 24 - measurement_triggering_policy_place, size - 28 - resources_aggregation_function_place, size - 32 - temporal_aggregation_function_place, size - 36 - emission_filtering_policy_place))
    return size


_EDCRequestedSimulationFeatures = model.EDCRequestedSimulationFeatures
_NEW_EDCRequestedSimulationFeatures = fast(_EDCRequestedSimulationFeatures)
_PLANS_EDCRequestedSimulationFeatures = {}
_PACK_EDCRequestedSimulationFeatures = Struct('<iBBBBBB2x').pack
_SLOTS_EDCRequestedSimulationFeatures = (
    Slot(0, 1, 'B', False, False),
    Slot(1, 1, 'B', False, False),
    Slot(2, 1, 'B', False, False),
    Slot(3, 1, 'B', False, False),
    Slot(4, 1, 'B', False, False),
    Slot(5, 1, 'B', False, False),
)


def _read_EDCRequestedSimulationFeatures(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_EDCRequestedSimulationFeatures.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_EDCRequestedSimulationFeatures, _SLOTS_EDCRequestedSimulationFeatures, data, vtable)
    read = plan[0]
    dynamic_registration_, profile_reuse_, acknowledge_dynamic_jobs_, forward_profiles_on_job_submission_, forward_profiles_on_jobs_killed_, forward_profiles_on_simulation_begins_, = read(data, position)
    return _NEW_EDCRequestedSimulationFeatures(dynamic_registration=True if dynamic_registration_ else False, profile_reuse=True if profile_reuse_ else False, acknowledge_dynamic_jobs=True if acknowledge_dynamic_jobs_ else False, forward_profiles_on_job_submission=True if forward_profiles_on_job_submission_ else False, forward_profiles_on_jobs_killed=True if forward_profiles_on_jobs_killed_ else False, forward_profiles_on_simulation_begins=True if forward_profiles_on_simulation_begins_ else False)


def _write_EDCRequestedSimulationFeatures(value, append, size, vtables):
    if value.__class__ is not _EDCRequestedSimulationFeatures:
        raise TypeError
    vtable = vtables[14]
    if not vtable:
        append(_VTABLES[14])
        size += len(_VTABLES[14])
        vtable = vtables[14] = size
    size += 12
    append(_PACK_EDCRequestedSimulationFeatures(vtable - size, _FLAG[value.dynamic_registration], _FLAG[value.profile_reuse], _FLAG[value.acknowledge_dynamic_jobs], _FLAG[value.forward_profiles_on_job_submission], _FLAG[value.forward_profiles_on_jobs_killed], _FLAG[value.forward_profiles_on_simulation_begins]))
    return size


_EDCHelloEvent = model.EDCHelloEvent
_NEW_EDCHelloEvent = fast(_EDCHelloEvent)
_PLANS_EDCHelloEvent = {}
_PACK_EDCHelloEvent = Struct('<iIIIIII').pack
_SLOTS_EDCHelloEvent = (
    Slot(0, 4, 'I', True, True),
    Slot(1, 4, 'I', True, False),
    Slot(2, 4, 'I', True, True),
    Slot(3, 4, 'I', True, True),
    Slot(4, 4, 'I', True, False),
    Slot(5, 4, 'I', True, True),
)


def _read_EDCHelloEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_EDCHelloEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_EDCHelloEvent, _SLOTS_EDCHelloEvent, data, vtable)
    read, batprotocol_version_at, batprotocol_commit_at, decision_component_name_at, decision_component_version_at, decision_component_commit_at, requested_simulation_features_at = plan
    batprotocol_version_, batprotocol_commit_, decision_component_name_, decision_component_version_, decision_component_commit_, requested_simulation_features_, = read(data, position)
    at = position + batprotocol_version_at + batprotocol_version_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        batprotocol_version_ = data[at:size].decode()
    elif size:
        batprotocol_version_ = long_string(data, at, size, seen)
    elif batprotocol_version_ and not data[at + 4]:
        batprotocol_version_ = ""
    else:
        raise Doubt
    if batprotocol_commit_at is None:
        batprotocol_commit_ = None
    else:
        at = position + batprotocol_commit_at + batprotocol_commit_
        size = U32(data, at)[0]
        if 0 < size < 64:
            at += 4
            size += at
            if data[size]:
                raise Doubt
            batprotocol_commit_ = data[at:size].decode()
        elif size:
            batprotocol_commit_ = long_string(data, at, size, seen)
        elif batprotocol_commit_ and not data[at + 4]:
            batprotocol_commit_ = ""
        else:
            raise Doubt
    at = position + decision_component_name_at + decision_component_name_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        decision_component_name_ = data[at:size].decode()
    elif size:
        decision_component_name_ = long_string(data, at, size, seen)
    elif decision_component_name_ and not data[at + 4]:
        decision_component_name_ = ""
    else:
        raise Doubt
    at = position + decision_component_version_at + decision_component_version_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        decision_component_version_ = data[at:size].decode()
    elif size:
        decision_component_version_ = long_string(data, at, size, seen)
    elif decision_component_version_ and not data[at + 4]:
        decision_component_version_ = ""
    else:
        raise Doubt
    if decision_component_commit_at is None:
        decision_component_commit_ = None
    else:
        at = position + decision_component_commit_at + decision_component_commit_
        size = U32(data, at)[0]
        if 0 < size < 64:
            at += 4
            size += at
            if data[size]:
                raise Doubt
            decision_component_commit_ = data[at:size].decode()
        elif size:
            decision_component_commit_ = long_string(data, at, size, seen)
        elif decision_component_commit_ and not data[at + 4]:
            decision_component_commit_ = ""
        else:
            raise Doubt
    return _NEW_EDCHelloEvent(timestamp=timestamp, batprotocol_version=batprotocol_version_, batprotocol_commit=batprotocol_commit_, decision_component_name=decision_component_name_, decision_component_version=decision_component_version_, decision_component_commit=decision_component_commit_, requested_simulation_features=_read_EDCRequestedSimulationFeatures(data, position + requested_simulation_features_at + requested_simulation_features_, seen))


def _write_EDCHelloEvent(value, append, size, vtables):
    if value.__class__ is not _EDCHelloEvent:
        raise TypeError
    child = value.batprotocol_version
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    batprotocol_version_place = size
    child = value.batprotocol_commit
    batprotocol_commit_place = None
    if child is not None:
        text = child.encode()
        length = len(text)
        append(STRING[length](length, text) if length < 128 else write_long_string(text))
        size += length + 8 & -4
        batprotocol_commit_place = size
    child = value.decision_component_name
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    decision_component_name_place = size
    child = value.decision_component_version
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    decision_component_version_place = size
    child = value.decision_component_commit
    decision_component_commit_place = None
    if child is not None:
        text = child.encode()
        length = len(text)
        append(STRING[length](length, text) if length < 128 else write_long_string(text))
        size += length + 8 & -4
        decision_component_commit_place = size
    child = value.requested_simulation_features
    size = _write_EDCRequestedSimulationFeatures(child, append, size, vtables)
    requested_simulation_features_place = size
    number = 10 + (1 if batprotocol_commit_place is not None else 0) + (2 if decision_component_commit_place is not None else 0)
    vtable = vtables[number]
    if not vtable:
        append(_VTABLES[number])
        size += len(_VTABLES[number])
        vtable = vtables[number] = size
    size += 28
    append(_PACK_EDCHelloEvent(vtable - size, size - 4 - batprotocol_version_place, 0 if batprotocol_commit_place is None else size - 8 - batprotocol_commit_place, size - 12 - decision_component_name_place, size - 16 - decision_component_version_place, 0 if decision_component_commit_place is None else size - 20 - decision_component_commit_place, size - 24 - requested_simulation_features_place))
    return size


_CustomExecutorToHostMapping = model.CustomExecutorToHostMapping
_NEW_CustomExecutorToHostMapping = fast(_CustomExecutorToHostMapping)
_PLANS_CustomExecutorToHostMapping = {}
_PACK_CustomExecutorToHostMapping = Struct('<iI').pack
_SLOTS_CustomExecutorToHostMapping = (
    Slot(0, 4, 'I', True, True),
)


def _read_CustomExecutorToHostMapping(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_CustomExecutorToHostMapping.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_CustomExecutorToHostMapping, _SLOTS_CustomExecutorToHostMapping, data, vtable)
    read, mapping_at = plan
    mapping_, = read(data, position)
    return _NEW_CustomExecutorToHostMapping(mapping=numbers(data, position + mapping_at + mapping_, mapping_, seen))


def _write_CustomExecutorToHostMapping(value, append, size, vtables):
    if value.__class__ is not _CustomExecutorToHostMapping:
        raise TypeError
    child = value.mapping
    size = write_numbers(child, append, size)
    mapping_place = size
    vtable = vtables[8]
    if not vtable:
        append(_VTABLES[8])
        size += len(_VTABLES[8])
        vtable = vtables[8] = size
    size += 8
    append(_PACK_CustomExecutorToHostMapping(vtable - size, size - 4 - mapping_place))
    return size


_PLANS_PredefinedExecutorPlacementStrategyWrapper = {}
_PACK_PredefinedExecutorPlacementStrategyWrapper = Struct('<ib3x').pack
_SLOTS_PredefinedExecutorPlacementStrategyWrapper = (
    Slot(0, 1, 'b', False, False),
)


def _read_PredefinedExecutorPlacementStrategyWrapper(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_PredefinedExecutorPlacementStrategyWrapper.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_PredefinedExecutorPlacementStrategyWrapper, _SLOTS_PredefinedExecutorPlacementStrategyWrapper, data, vtable)
    read = plan[0]
    strategy_, = read(data, position)
    return _PredefinedExecutorPlacementStrategy_0[strategy_]


def _write_PredefinedExecutorPlacementStrategyWrapper(value, append, size, vtables):
    vtable = vtables[69]
    if not vtable:
        append(_VTABLES[69])
        size += len(_VTABLES[69])
        vtable = vtables[69] = size
    size += 8
    append(_PACK_PredefinedExecutorPlacementStrategyWrapper(vtable - size, value))
    return size


_AllocationPlacement = model.AllocationPlacement
_NEW_AllocationPlacement = fast(_AllocationPlacement)
_PLANS_AllocationPlacement = {}
_PACK_AllocationPlacement = Struct('<iB3xII').pack
_SLOTS_AllocationPlacement = (
    Slot(1, 1, 'B', False, False),
    Slot(0, 4, 'I', True, True),
    Slot(2, 4, 'I', True, True),
)


def _read_AllocationPlacement(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_AllocationPlacement.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_AllocationPlacement, _SLOTS_AllocationPlacement, data, vtable)
    read, host_allocation_at, executor_placement_at = plan
    executor_placement_type_, host_allocation_, executor_placement_, = read(data, position)
    at = position + host_allocation_at + host_allocation_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        host_allocation_ = data[at:size].decode()
    elif size:
        host_allocation_ = long_string(data, at, size, seen)
    elif host_allocation_ and not data[at + 4]:
        host_allocation_ = ""
    else:
        raise Doubt
    return _NEW_AllocationPlacement(host_allocation=host_allocation_, executor_placement=_READ_ExecutorPlacement[executor_placement_type_](data, position + executor_placement_at + executor_placement_, seen))


def _write_AllocationPlacement(value, append, size, vtables):
    if value.__class__ is not _AllocationPlacement:
        raise TypeError
    child = value.host_allocation
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    host_allocation_place = size
    child = value.executor_placement
    executor_placement_type, write = _WRITE_ExecutorPlacement[child.__class__]
    size = write(child, append, size, vtables)
    executor_placement_place = size
    vtable = vtables[3]
    if not vtable:
        append(_VTABLES[3])
        size += len(_VTABLES[3])
        vtable = vtables[3] = size
    size += 16
    append(_PACK_AllocationPlacement(vtable - size, executor_placement_type, size - 8 - host_allocation_place, size - 12 - executor_placement_place))
    return size


_ProfileAllocationPlacement = model.ProfileAllocationPlacement
_NEW_ProfileAllocationPlacement = fast(_ProfileAllocationPlacement)
_PLANS_ProfileAllocationPlacement = {}
_PACK_ProfileAllocationPlacement = Struct('<iB3xIII').pack
_SLOTS_ProfileAllocationPlacement = (
    Slot(2, 1, 'B', False, False),
    Slot(0, 4, 'I', True, True),
    Slot(1, 4, 'I', True, True),
    Slot(3, 4, 'I', True, True),
)


def _read_ProfileAllocationPlacement(data, position, seen):
    vtable = position - _I32(data, position)[0]
    known = vtable << 7 | 10
    plan = seen.get(known)
    if plan is None:
        if vtable < 0:
            raise Doubt
        plan = _PLANS_ProfileAllocationPlacement.get(data[vtable : vtable + data[vtable]])
        if plan is None:
            plan = learn(_PLANS_ProfileAllocationPlacement, _SLOTS_ProfileAllocationPlacement, data, vtable)
        seen[known] = plan
    read, profile_id_at, host_allocation_at, executor_placement_at = plan
    executor_placement_type_, profile_id_, host_allocation_, executor_placement_, = read(data, position)
    at = position + profile_id_at + profile_id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        profile_id_ = data[at:size].decode()
    elif size:
        profile_id_ = long_string(data, at, size, seen)
    elif profile_id_ and not data[at + 4]:
        profile_id_ = ""
    else:
        raise Doubt
    at = position + host_allocation_at + host_allocation_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        host_allocation_ = data[at:size].decode()
    elif size:
        host_allocation_ = long_string(data, at, size, seen)
    elif host_allocation_ and not data[at + 4]:
        host_allocation_ = ""
    else:
        raise Doubt
    return _NEW_ProfileAllocationPlacement(profile_id=profile_id_, host_allocation=host_allocation_, executor_placement=_READ_ExecutorPlacement[executor_placement_type_](data, position + executor_placement_at + executor_placement_, seen))


def _write_ProfileAllocationPlacement(value, append, size, vtables):
    if value.__class__ is not _ProfileAllocationPlacement:
        raise TypeError
    child = value.profile_id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    profile_id_place = size
    child = value.host_allocation
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    host_allocation_place = size
    child = value.executor_placement
    executor_placement_type, write = _WRITE_ExecutorPlacement[child.__class__]
    size = write(child, append, size, vtables)
    executor_placement_place = size
    vtable = vtables[73]
    if not vtable:
        append(_VTABLES[73])
        size += len(_VTABLES[73])
        vtable = vtables[73] = size
    size += 20
    append(_PACK_ProfileAllocationPlacement(vtable - size, executor_placement_type, size - 8 - profile_id_place, size - 12 - host_allocation_place, size - 16 - executor_placement_place))
    return size


_StorageHost = model.StorageHost
_NEW_StorageHost = fast(_StorageHost)
_PLANS_StorageHost = {}
_PACK_StorageHost = Struct('<iII').pack
_SLOTS_StorageHost = (
    Slot(0, 4, 'I', True, True),
    Slot(1, 4, 'I', False, False),
)


def _read_StorageHost(data, position, seen):
    vtable = position - _I32(data, position)[0]
    known = vtable << 7 | 12
    plan = seen.get(known)
    if plan is None:
        if vtable < 0:
            raise Doubt
        plan = _PLANS_StorageHost.get(data[vtable : vtable + data[vtable]])
        if plan is None:
            plan = learn(_PLANS_StorageHost, _SLOTS_StorageHost, data, vtable)
        seen[known] = plan
    read, storage_name_at = plan
    storage_name_, host_id_, = read(data, position)
    at = position + storage_name_at + storage_name_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        storage_name_ = data[at:size].decode()
    elif size:
        storage_name_ = long_string(data, at, size, seen)
    elif storage_name_ and not data[at + 4]:
        storage_name_ = ""
    else:
        raise Doubt
    return _NEW_StorageHost(storage_name=storage_name_, host_id=host_id_ or 0)


def _write_StorageHost(value, append, size, vtables):
    if value.__class__ is not _StorageHost:
        raise TypeError
    child = value.storage_name
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    storage_name_place = size
    vtable = vtables[92]
    if not vtable:
        append(_VTABLES[92])
        size += len(_VTABLES[92])
        vtable = vtables[92] = size
    size += 12
    append(_PACK_StorageHost(vtable - size, size - 4 - storage_name_place, value.host_id))
    return size


_ExecuteJobEvent = model.ExecuteJobEvent
_NEW_ExecuteJobEvent = fast(_ExecuteJobEvent)
_PLANS_ExecuteJobEvent = {}
_PACK_ExecuteJobEvent = Struct('<iIIII').pack
_SLOTS_ExecuteJobEvent = (
    Slot(0, 4, 'I', True, True),
    Slot(1, 4, 'I', True, True),
    Slot(2, 4, 'I', True, False),
    Slot(3, 4, 'I', True, False),
)


def _read_ExecuteJobEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_ExecuteJobEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_ExecuteJobEvent, _SLOTS_ExecuteJobEvent, data, vtable)
    read, job_id_at, allocation_at, profile_allocation_override_at, storage_placement_at = plan
    job_id_, allocation_, profile_allocation_override_, storage_placement_, = read(data, position)
    at = position + job_id_at + job_id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        job_id_ = data[at:size].decode()
    elif size:
        job_id_ = long_string(data, at, size, seen)
    elif job_id_ and not data[at + 4]:
        job_id_ = ""
    else:
        raise Doubt
    if profile_allocation_override_at is None:
        profile_allocation_override_ = None
    else:
        items = []
        at = position + profile_allocation_override_at + profile_allocation_override_
        for step in offsets(data, at, profile_allocation_override_, seen):
            at += 4
            items.append(_read_ProfileAllocationPlacement(data, at + step, seen))
        profile_allocation_override_ = tuple(items)
    if storage_placement_at is None:
        storage_placement_ = None
    else:
        items = []
        at = position + storage_placement_at + storage_placement_
        for step in offsets(data, at, storage_placement_, seen):
            at += 4
            items.append(_read_StorageHost(data, at + step, seen))
        storage_placement_ = tuple(items)
    return _NEW_ExecuteJobEvent(timestamp=timestamp, job_id=job_id_, allocation=_read_AllocationPlacement(data, position + allocation_at + allocation_, seen), profile_allocation_override=profile_allocation_override_, storage_placement=storage_placement_)


def _write_ExecuteJobEvent(value, append, size, vtables):
    if value.__class__ is not _ExecuteJobEvent:
        raise TypeError
    child = value.job_id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    job_id_place = size
    child = value.allocation
    size = _write_AllocationPlacement(child, append, size, vtables)
    allocation_place = size
    child = value.profile_allocation_override
    profile_allocation_override_place = None
    if child is not None:
        if child.__class__ is not tuple:
            raise TypeError
        places = []
        for each in child:
            size = _write_ProfileAllocationPlacement(each, append, size, vtables)
            places.append(size)
        size = write_places(places, append, size)
        profile_allocation_override_place = size
    child = value.storage_placement
    storage_placement_place = None
    if child is not None:
        if child.__class__ is not tuple:
            raise TypeError
        places = []
        for each in child:
            size = _write_StorageHost(each, append, size, vtables)
            places.append(size)
        size = write_places(places, append, size)
        storage_placement_place = size
    number = 16 + (1 if profile_allocation_override_place is not None else 0) + (2 if storage_placement_place is not None else 0)
    vtable = vtables[number]
    if not vtable:
        append(_VTABLES[number])
        size += len(_VTABLES[number])
        vtable = vtables[number] = size
    size += 20
    append(_PACK_ExecuteJobEvent(vtable - size, size - 4 - job_id_place, size - 8 - allocation_place, 0 if profile_allocation_override_place is None else size - 12 - profile_allocation_override_place, 0 if storage_placement_place is None else size - 16 - storage_placement_place))
    return size


_GenericExternalEvent = model.GenericExternalEvent
_NEW_GenericExternalEvent = fast(_GenericExternalEvent)
_PLANS_GenericExternalEvent = {}
_PACK_GenericExternalEvent = Struct('<iI').pack
_SLOTS_GenericExternalEvent = (
    Slot(0, 4, 'I', True, True),
)


def _read_GenericExternalEvent(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_GenericExternalEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_GenericExternalEvent, _SLOTS_GenericExternalEvent, data, vtable)
    read, data_at = plan
    data_, = read(data, position)
    at = position + data_at + data_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        data_ = data[at:size].decode()
    elif size:
        data_ = long_string(data, at, size, seen)
    elif data_ and not data[at + 4]:
        data_ = ""
    else:
        raise Doubt
    return _NEW_GenericExternalEvent(data=data_)


def _write_GenericExternalEvent(value, append, size, vtables):
    if value.__class__ is not _GenericExternalEvent:
        raise TypeError
    child = value.data
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    data_place = size
    vtable = vtables[27]
    if not vtable:
        append(_VTABLES[27])
        size += len(_VTABLES[27])
        vtable = vtables[27] = size
    size += 8
    append(_PACK_GenericExternalEvent(vtable - size, size - 4 - data_place))
    return size


_ExternalEventOccurredEvent = model.ExternalEventOccurredEvent
_NEW_ExternalEventOccurredEvent = fast(_ExternalEventOccurredEvent)
_PLANS_ExternalEventOccurredEvent = {}
_PACK_ExternalEventOccurredEvent = Struct('<iB3xII').pack
_SLOTS_ExternalEventOccurredEvent = (
    Slot(1, 1, 'B', False, False),
    Slot(0, 4, 'I', True, True),
    Slot(2, 4, 'I', True, True),
)


def _read_ExternalEventOccurredEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_ExternalEventOccurredEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_ExternalEventOccurredEvent, _SLOTS_ExternalEventOccurredEvent, data, vtable)
    read, id_at, external_event_at = plan
    external_event_type_, id_, external_event_, = read(data, position)
    at = position + id_at + id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        id_ = data[at:size].decode()
    elif size:
        id_ = long_string(data, at, size, seen)
    elif id_ and not data[at + 4]:
        id_ = ""
    else:
        raise Doubt
    return _NEW_ExternalEventOccurredEvent(timestamp=timestamp, id=id_, external_event=_READ_ExternalEvent[external_event_type_](data, position + external_event_at + external_event_, seen))


def _write_ExternalEventOccurredEvent(value, append, size, vtables):
    if value.__class__ is not _ExternalEventOccurredEvent:
        raise TypeError
    child = value.id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    id_place = size
    child = value.external_event
    external_event_type, write = _WRITE_ExternalEvent[child.__class__]
    size = write(child, append, size, vtables)
    external_event_place = size
    vtable = vtables[22]
    if not vtable:
        append(_VTABLES[22])
        size += len(_VTABLES[22])
        vtable = vtables[22] = size
    size += 16
    append(_PACK_ExternalEventOccurredEvent(vtable - size, external_event_type, size - 8 - id_place, size - 12 - external_event_place))
    return size


_FinishRegistrationEvent = model.FinishRegistrationEvent
_NEW_FinishRegistrationEvent = fast(_FinishRegistrationEvent)
_PLANS_FinishRegistrationEvent = {}
_PACK_FinishRegistrationEvent = Struct('<i').pack
_SLOTS_FinishRegistrationEvent = ()


def _read_FinishRegistrationEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_FinishRegistrationEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_FinishRegistrationEvent, _SLOTS_FinishRegistrationEvent, data, vtable)
    return _NEW_FinishRegistrationEvent(timestamp=timestamp)


def _write_FinishRegistrationEvent(value, append, size, vtables):
    if value.__class__ is not _FinishRegistrationEvent:
        raise TypeError
    vtable = vtables[23]
    if not vtable:
        append(_VTABLES[23])
        size += len(_VTABLES[23])
        vtable = vtables[23] = size
    size += 4
    append(_PACK_FinishRegistrationEvent(vtable - size))
    return size


_ForceSimulationStopEvent = model.ForceSimulationStopEvent
_NEW_ForceSimulationStopEvent = fast(_ForceSimulationStopEvent)
_PLANS_ForceSimulationStopEvent = {}
_PACK_ForceSimulationStopEvent = Struct('<i').pack
_SLOTS_ForceSimulationStopEvent = ()


def _read_ForceSimulationStopEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_ForceSimulationStopEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_ForceSimulationStopEvent, _SLOTS_ForceSimulationStopEvent, data, vtable)
    return _NEW_ForceSimulationStopEvent(timestamp=timestamp)


def _write_ForceSimulationStopEvent(value, append, size, vtables):
    if value.__class__ is not _ForceSimulationStopEvent:
        raise TypeError
    vtable = vtables[25]
    if not vtable:
        append(_VTABLES[25])
        size += len(_VTABLES[25])
        vtable = vtables[25] = size
    size += 4
    append(_PACK_ForceSimulationStopEvent(vtable - size))
    return size


_HostsPStateChangedEvent = model.HostsPStateChangedEvent
_NEW_HostsPStateChangedEvent = fast(_HostsPStateChangedEvent)
_PLANS_HostsPStateChangedEvent = {}
_PACK_HostsPStateChangedEvent = Struct('<iII').pack
_SLOTS_HostsPStateChangedEvent = (
    Slot(0, 4, 'I', True, True),
    Slot(1, 4, 'I', False, False),
)


def _read_HostsPStateChangedEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_HostsPStateChangedEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_HostsPStateChangedEvent, _SLOTS_HostsPStateChangedEvent, data, vtable)
    read, host_ids_at = plan
    host_ids_, pstate_, = read(data, position)
    at = position + host_ids_at + host_ids_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        host_ids_ = data[at:size].decode()
    elif size:
        host_ids_ = long_string(data, at, size, seen)
    elif host_ids_ and not data[at + 4]:
        host_ids_ = ""
    else:
        raise Doubt
    return _NEW_HostsPStateChangedEvent(timestamp=timestamp, host_ids=host_ids_, pstate=pstate_ or 0)


def _write_HostsPStateChangedEvent(value, append, size, vtables):
    if value.__class__ is not _HostsPStateChangedEvent:
        raise TypeError
    child = value.host_ids
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    host_ids_place = size
    vtable = vtables[34]
    if not vtable:
        append(_VTABLES[34])
        size += len(_VTABLES[34])
        vtable = vtables[34] = size
    size += 12
    append(_PACK_HostsPStateChangedEvent(vtable - size, size - 4 - host_ids_place, value.pstate))
    return size


_HostsTurnedOnOffEvent = model.HostsTurnedOnOffEvent
_NEW_HostsTurnedOnOffEvent = fast(_HostsTurnedOnOffEvent)
_PLANS_HostsTurnedOnOffEvent = {}
_PACK_HostsTurnedOnOffEvent = Struct('<iII').pack
_SLOTS_HostsTurnedOnOffEvent = (
    Slot(0, 4, 'I', True, True),
    Slot(1, 4, 'I', False, False),
)


def _read_HostsTurnedOnOffEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_HostsTurnedOnOffEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_HostsTurnedOnOffEvent, _SLOTS_HostsTurnedOnOffEvent, data, vtable)
    read, host_ids_at = plan
    host_ids_, state_, = read(data, position)
    at = position + host_ids_at + host_ids_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        host_ids_ = data[at:size].decode()
    elif size:
        host_ids_ = long_string(data, at, size, seen)
    elif host_ids_ and not data[at + 4]:
        host_ids_ = ""
    else:
        raise Doubt
    return _NEW_HostsTurnedOnOffEvent(timestamp=timestamp, host_ids=host_ids_, state=state_ or 0)


def _write_HostsTurnedOnOffEvent(value, append, size, vtables):
    if value.__class__ is not _HostsTurnedOnOffEvent:
        raise TypeError
    child = value.host_ids
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    host_ids_place = size
    vtable = vtables[35]
    if not vtable:
        append(_VTABLES[35])
        size += len(_VTABLES[35])
        vtable = vtables[35] = size
    size += 12
    append(_PACK_HostsTurnedOnOffEvent(vtable - size, size - 4 - host_ids_place, value.state))
    return size


_JobCompletedEvent = model.JobCompletedEvent
_NEW_JobCompletedEvent = fast(_JobCompletedEvent)
_PLANS_JobCompletedEvent = {}
_PACK_JobCompletedEvent = Struct('<ib3xIi').pack
_SLOTS_JobCompletedEvent = (
    Slot(1, 1, 'b', False, False),
    Slot(0, 4, 'I', True, True),
    Slot(2, 4, 'i', False, False),
)


def _read_JobCompletedEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_JobCompletedEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_JobCompletedEvent, _SLOTS_JobCompletedEvent, data, vtable)
    read, job_id_at = plan
    state_, job_id_, return_code_, = read(data, position)
    at = position + job_id_at + job_id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        job_id_ = data[at:size].decode()
    elif size:
        job_id_ = long_string(data, at, size, seen)
    elif job_id_ and not data[at + 4]:
        job_id_ = ""
    else:
        raise Doubt
    return _NEW_JobCompletedEvent(timestamp=timestamp, job_id=job_id_, state=_FinalJobState_0[state_], return_code=return_code_ or 0)


def _write_JobCompletedEvent(value, append, size, vtables):
    if value.__class__ is not _JobCompletedEvent:
        raise TypeError
    child = value.job_id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    job_id_place = size
    vtable = vtables[42]
    if not vtable:
        append(_VTABLES[42])
        size += len(_VTABLES[42])
        vtable = vtables[42] = size
    size += 16
    append(_PACK_JobCompletedEvent(vtable - size, value.state, size - 8 - job_id_place, value.return_code))
    return size


_Job = model.Job
_NEW_Job = fast(_Job)
_PLANS_Job = {}
_PACK_Job = Struct('<iIIId').pack
_SLOTS_Job = (
    Slot(0, 4, 'I', False, False),
    Slot(2, 4, 'I', True, False),
    Slot(3, 4, 'I', True, True),
    Slot(1, 8, 'd', False, False),
)


def _read_Job(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_Job.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_Job, _SLOTS_Job, data, vtable)
    read, extra_data_at, profile_id_at = plan
    resource_request_, extra_data_, profile_id_, walltime_, = read(data, position)
    if extra_data_at is None:
        extra_data_ = None
    else:
        at = position + extra_data_at + extra_data_
        size = U32(data, at)[0]
        if 0 < size < 64:
            at += 4
            size += at
            if data[size]:
                raise Doubt
            extra_data_ = data[at:size].decode()
        elif size:
            extra_data_ = long_string(data, at, size, seen)
        elif extra_data_ and not data[at + 4]:
            extra_data_ = ""
        else:
            raise Doubt
    at = position + profile_id_at + profile_id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        profile_id_ = data[at:size].decode()
    elif size:
        profile_id_ = long_string(data, at, size, seen)
    elif profile_id_ and not data[at + 4]:
        profile_id_ = ""
    else:
        raise Doubt
    return _NEW_Job(resource_request=resource_request_ or 0, walltime=walltime_ if walltime_.__class__ is float else None, extra_data=extra_data_, profile_id=profile_id_)


def _write_Job(value, append, size, vtables):
    if value.__class__ is not _Job:
        raise TypeError
    walltime = value.walltime
    child = value.extra_data
    extra_data_place = None
    if child is not None:
        text = child.encode()
        length = len(text)
        append(STRING[length](length, text) if length < 128 else write_long_string(text))
        size += length + 8 & -4
        extra_data_place = size
    child = value.profile_id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    profile_id_place = size
    number = 37 + (1 if walltime is not None else 0) + (2 if extra_data_place is not None else 0)
    vtable = vtables[number]
    if not vtable:
        append(_VTABLES[number])
        size += len(_VTABLES[number])
        vtable = vtables[number] = size
    if size & 4:
        append(PAD4)
        size += 4
    size += 24
    append(_PACK_Job(vtable - size, value.resource_request, 0 if extra_data_place is None else size - 8 - extra_data_place, size - 12 - profile_id_place, 0.0 if walltime is None else walltime))
    return size


_DelayProfile = model.DelayProfile
_NEW_DelayProfile = fast(_DelayProfile)
_PLANS_DelayProfile = {}
_PACK_DelayProfile = Struct('<id').pack
_SLOTS_DelayProfile = (
    Slot(0, 8, 'd', False, False),
)


def _read_DelayProfile(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_DelayProfile.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_DelayProfile, _SLOTS_DelayProfile, data, vtable)
    read = plan[0]
    delay_, = read(data, position)
    return _NEW_DelayProfile(delay=delay_ if delay_.__class__ is float else 0.0)


def _write_DelayProfile(value, append, size, vtables):
    if value.__class__ is not _DelayProfile:
        raise TypeError
    vtable = vtables[9]
    if not vtable:
        append(_VTABLES[9])
        size += len(_VTABLES[9])
        vtable = vtables[9] = size
    if size & 4:
        append(PAD4)
        size += 4
    size += 12
    append(_PACK_DelayProfile(vtable - size, value.delay))
    return size


_ForkJoinCompositionProfile = model.ForkJoinCompositionProfile
_NEW_ForkJoinCompositionProfile = fast(_ForkJoinCompositionProfile)
_PLANS_ForkJoinCompositionProfile = {}
_PACK_ForkJoinCompositionProfile = Struct('<iI').pack
_SLOTS_ForkJoinCompositionProfile = (
    Slot(0, 4, 'I', True, True),
)


def _read_ForkJoinCompositionProfile(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_ForkJoinCompositionProfile.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_ForkJoinCompositionProfile, _SLOTS_ForkJoinCompositionProfile, data, vtable)
    read, profile_ids_at = plan
    profile_ids_, = read(data, position)
    return _NEW_ForkJoinCompositionProfile(profile_ids=strings(data, position + profile_ids_at + profile_ids_, profile_ids_, seen))


def _write_ForkJoinCompositionProfile(value, append, size, vtables):
    if value.__class__ is not _ForkJoinCompositionProfile:
        raise TypeError
    child = value.profile_ids
    size = write_strings(child, append, size)
    profile_ids_place = size
    vtable = vtables[26]
    if not vtable:
        append(_VTABLES[26])
        size += len(_VTABLES[26])
        vtable = vtables[26] = size
    size += 8
    append(_PACK_ForkJoinCompositionProfile(vtable - size, size - 4 - profile_ids_place))
    return size


_ParallelTaskDataStagingBetweenStoragesProfile = model.ParallelTaskDataStagingBetweenStoragesProfile
_NEW_ParallelTaskDataStagingBetweenStoragesProfile = fast(_ParallelTaskDataStagingBetweenStoragesProfile)
_PLANS_ParallelTaskDataStagingBetweenStoragesProfile = {}
_PACK_ParallelTaskDataStagingBetweenStoragesProfile = Struct('<iIId').pack
_SLOTS_ParallelTaskDataStagingBetweenStoragesProfile = (
    Slot(1, 4, 'I', True, True),
    Slot(2, 4, 'I', True, True),
    Slot(0, 8, 'd', False, False),
)


def _read_ParallelTaskDataStagingBetweenStoragesProfile(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_ParallelTaskDataStagingBetweenStoragesProfile.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_ParallelTaskDataStagingBetweenStoragesProfile, _SLOTS_ParallelTaskDataStagingBetweenStoragesProfile, data, vtable)
    read, emitter_storage_name_at, receiver_storage_name_at = plan
    emitter_storage_name_, receiver_storage_name_, bytes_to_transfer_, = read(data, position)
    at = position + emitter_storage_name_at + emitter_storage_name_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        emitter_storage_name_ = data[at:size].decode()
    elif size:
        emitter_storage_name_ = long_string(data, at, size, seen)
    elif emitter_storage_name_ and not data[at + 4]:
        emitter_storage_name_ = ""
    else:
        raise Doubt
    at = position + receiver_storage_name_at + receiver_storage_name_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        receiver_storage_name_ = data[at:size].decode()
    elif size:
        receiver_storage_name_ = long_string(data, at, size, seen)
    elif receiver_storage_name_ and not data[at + 4]:
        receiver_storage_name_ = ""
    else:
        raise Doubt
    return _NEW_ParallelTaskDataStagingBetweenStoragesProfile(bytes_to_transfer=bytes_to_transfer_ if bytes_to_transfer_.__class__ is float else 0.0, emitter_storage_name=emitter_storage_name_, receiver_storage_name=receiver_storage_name_)


def _write_ParallelTaskDataStagingBetweenStoragesProfile(value, append, size, vtables):
    if value.__class__ is not _ParallelTaskDataStagingBetweenStoragesProfile:
        raise TypeError
    child = value.emitter_storage_name
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    emitter_storage_name_place = size
    child = value.receiver_storage_name
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    receiver_storage_name_place = size
    vtable = vtables[60]
    if not vtable:
        append(_VTABLES[60])
        size += len(_VTABLES[60])
        vtable = vtables[60] = size
    if size & 4:
        append(PAD4)
        size += 4
    size += 20
    append(_PACK_ParallelTaskDataStagingBetweenStoragesProfile(vtable - size, size - 4 - emitter_storage_name_place, size - 8 - receiver_storage_name_place, value.bytes_to_transfer))
    return size


_ParallelTaskHomogeneousProfile = model.ParallelTaskHomogeneousProfile
_NEW_ParallelTaskHomogeneousProfile = fast(_ParallelTaskHomogeneousProfile)
_PLANS_ParallelTaskHomogeneousProfile = {}
_PACK_ParallelTaskHomogeneousProfile = Struct('<ib3xdd').pack
_SLOTS_ParallelTaskHomogeneousProfile = (
    Slot(2, 1, 'b', False, False),
    Slot(0, 8, 'd', False, False),
    Slot(1, 8, 'd', False, False),
)


def _read_ParallelTaskHomogeneousProfile(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_ParallelTaskHomogeneousProfile.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_ParallelTaskHomogeneousProfile, _SLOTS_ParallelTaskHomogeneousProfile, data, vtable)
    read = plan[0]
    generation_strategy_, computation_amount_, communication_amount_, = read(data, position)
    return _NEW_ParallelTaskHomogeneousProfile(computation_amount=computation_amount_ if computation_amount_.__class__ is float else 0.0, communication_amount=communication_amount_ if communication_amount_.__class__ is float else 0.0, generation_strategy=_HomogeneousParallelTaskGenerationStrategy_0[generation_strategy_])


def _write_ParallelTaskHomogeneousProfile(value, append, size, vtables):
    if value.__class__ is not _ParallelTaskHomogeneousProfile:
        raise TypeError
    vtable = vtables[61]
    if not vtable:
        append(_VTABLES[61])
        size += len(_VTABLES[61])
        vtable = vtables[61] = size
    if size & 4:
        append(PAD4)
        size += 4
    size += 24
    append(_PACK_ParallelTaskHomogeneousProfile(vtable - size, value.generation_strategy, value.computation_amount, value.communication_amount))
    return size


_ParallelTaskMergeCompositionProfile = model.ParallelTaskMergeCompositionProfile
_NEW_ParallelTaskMergeCompositionProfile = fast(_ParallelTaskMergeCompositionProfile)
_PLANS_ParallelTaskMergeCompositionProfile = {}
_PACK_ParallelTaskMergeCompositionProfile = Struct('<iI').pack
_SLOTS_ParallelTaskMergeCompositionProfile = (
    Slot(0, 4, 'I', True, True),
)


def _read_ParallelTaskMergeCompositionProfile(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_ParallelTaskMergeCompositionProfile.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_ParallelTaskMergeCompositionProfile, _SLOTS_ParallelTaskMergeCompositionProfile, data, vtable)
    read, profile_ids_at = plan
    profile_ids_, = read(data, position)
    return _NEW_ParallelTaskMergeCompositionProfile(profile_ids=strings(data, position + profile_ids_at + profile_ids_, profile_ids_, seen))


def _write_ParallelTaskMergeCompositionProfile(value, append, size, vtables):
    if value.__class__ is not _ParallelTaskMergeCompositionProfile:
        raise TypeError
    child = value.profile_ids
    size = write_strings(child, append, size)
    profile_ids_place = size
    vtable = vtables[62]
    if not vtable:
        append(_VTABLES[62])
        size += len(_VTABLES[62])
        vtable = vtables[62] = size
    size += 8
    append(_PACK_ParallelTaskMergeCompositionProfile(vtable - size, size - 4 - profile_ids_place))
    return size


_ParallelTaskOnStorageHomogeneousProfile = model.ParallelTaskOnStorageHomogeneousProfile
_NEW_ParallelTaskOnStorageHomogeneousProfile = fast(_ParallelTaskOnStorageHomogeneousProfile)
_PLANS_ParallelTaskOnStorageHomogeneousProfile = {}
_PACK_ParallelTaskOnStorageHomogeneousProfile = Struct('<ib3xIdd').pack
_SLOTS_ParallelTaskOnStorageHomogeneousProfile = (
    Slot(3, 1, 'b', False, False),
    Slot(0, 4, 'I', True, True),
    Slot(1, 8, 'd', False, False),
    Slot(2, 8, 'd', False, False),
)


def _read_ParallelTaskOnStorageHomogeneousProfile(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_ParallelTaskOnStorageHomogeneousProfile.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_ParallelTaskOnStorageHomogeneousProfile, _SLOTS_ParallelTaskOnStorageHomogeneousProfile, data, vtable)
    read, storage_name_at = plan
    generation_strategy_, storage_name_, bytes_to_read_, bytes_to_write_, = read(data, position)
    at = position + storage_name_at + storage_name_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        storage_name_ = data[at:size].decode()
    elif size:
        storage_name_ = long_string(data, at, size, seen)
    elif storage_name_ and not data[at + 4]:
        storage_name_ = ""
    else:
        raise Doubt
    return _NEW_ParallelTaskOnStorageHomogeneousProfile(storage_name=storage_name_, bytes_to_read=bytes_to_read_ if bytes_to_read_.__class__ is float else 0.0, bytes_to_write=bytes_to_write_ if bytes_to_write_.__class__ is float else 0.0, generation_strategy=_HomogeneousParallelTaskGenerationStrategy_0[generation_strategy_])


def _write_ParallelTaskOnStorageHomogeneousProfile(value, append, size, vtables):
    if value.__class__ is not _ParallelTaskOnStorageHomogeneousProfile:
        raise TypeError
    child = value.storage_name
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    storage_name_place = size
    vtable = vtables[63]
    if not vtable:
        append(_VTABLES[63])
        size += len(_VTABLES[63])
        vtable = vtables[63] = size
    if size & 4:
        append(PAD4)
        size += 4
    size += 28
    append(_PACK_ParallelTaskOnStorageHomogeneousProfile(vtable - size, value.generation_strategy, size - 8 - storage_name_place, value.bytes_to_read, value.bytes_to_write))
    return size


_ParallelTaskProfile = model.ParallelTaskProfile
_NEW_ParallelTaskProfile = fast(_ParallelTaskProfile)
_PLANS_ParallelTaskProfile = {}
_PACK_ParallelTaskProfile = Struct('<iII').pack
_SLOTS_ParallelTaskProfile = (
    Slot(0, 4, 'I', True, False),
    Slot(1, 4, 'I', True, False),
)


def _read_ParallelTaskProfile(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_ParallelTaskProfile.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_ParallelTaskProfile, _SLOTS_ParallelTaskProfile, data, vtable)
    read, computation_vector_at, communication_matrix_at = plan
    computation_vector_, communication_matrix_, = read(data, position)
    return _NEW_ParallelTaskProfile(computation_vector=None if computation_vector_at is None else doubles(data, position + computation_vector_at + computation_vector_, computation_vector_, seen), communication_matrix=None if communication_matrix_at is None else doubles(data, position + communication_matrix_at + communication_matrix_, communication_matrix_, seen))


def _write_ParallelTaskProfile(value, append, size, vtables):
    if value.__class__ is not _ParallelTaskProfile:
        raise TypeError
    child = value.computation_vector
    computation_vector_place = None
    if child is not None:
        size = write_doubles(child, append, size)
        computation_vector_place = size
    child = value.communication_matrix
    communication_matrix_place = None
    if child is not None:
        size = write_doubles(child, append, size)
        communication_matrix_place = size
    number = 64 + (1 if computation_vector_place is not None else 0) + (2 if communication_matrix_place is not None else 0)
    vtable = vtables[number]
    if not vtable:
        append(_VTABLES[number])
        size += len(_VTABLES[number])
        vtable = vtables[number] = size
    size += 12
    append(_PACK_ParallelTaskProfile(vtable - size, 0 if computation_vector_place is None else size - 4 - computation_vector_place, 0 if communication_matrix_place is None else size - 8 - communication_matrix_place))
    return size


_SequentialCompositionProfile = model.SequentialCompositionProfile
_NEW_SequentialCompositionProfile = fast(_SequentialCompositionProfile)
_PLANS_SequentialCompositionProfile = {}
_PACK_SequentialCompositionProfile = Struct('<iII').pack
_SLOTS_SequentialCompositionProfile = (
    Slot(0, 4, 'I', False, False),
    Slot(1, 4, 'I', True, True),
)


def _read_SequentialCompositionProfile(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_SequentialCompositionProfile.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_SequentialCompositionProfile, _SLOTS_SequentialCompositionProfile, data, vtable)
    read, profile_ids_at = plan
    repetition_count_, profile_ids_, = read(data, position)
    return _NEW_SequentialCompositionProfile(repetition_count=repetition_count_ if repetition_count_.__class__ is int else 1, profile_ids=strings(data, position + profile_ids_at + profile_ids_, profile_ids_, seen))


def _write_SequentialCompositionProfile(value, append, size, vtables):
    if value.__class__ is not _SequentialCompositionProfile:
        raise TypeError
    child = value.profile_ids
    size = write_strings(child, append, size)
    profile_ids_place = size
    vtable = vtables[82]
    if not vtable:
        append(_VTABLES[82])
        size += len(_VTABLES[82])
        vtable = vtables[82] = size
    size += 12
    append(_PACK_SequentialCompositionProfile(vtable - size, value.repetition_count, size - 8 - profile_ids_place))
    return size


_TraceReplayProfile = model.TraceReplayProfile
_NEW_TraceReplayProfile = fast(_TraceReplayProfile)
_PLANS_TraceReplayProfile = {}
_PACK_TraceReplayProfile = Struct('<ib3xI').pack
_SLOTS_TraceReplayProfile = (
    Slot(0, 1, 'b', False, False),
    Slot(1, 4, 'I', True, True),
)


def _read_TraceReplayProfile(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_TraceReplayProfile.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_TraceReplayProfile, _SLOTS_TraceReplayProfile, data, vtable)
    read, filename_at = plan
    trace_type_, filename_, = read(data, position)
    at = position + filename_at + filename_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        filename_ = data[at:size].decode()
    elif size:
        filename_ = long_string(data, at, size, seen)
    elif filename_ and not data[at + 4]:
        filename_ = ""
    else:
        raise Doubt
    return _NEW_TraceReplayProfile(trace_type=_TraceType_0[trace_type_], filename=filename_)


def _write_TraceReplayProfile(value, append, size, vtables):
    if value.__class__ is not _TraceReplayProfile:
        raise TypeError
    child = value.filename
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    filename_place = size
    vtable = vtables[96]
    if not vtable:
        append(_VTABLES[96])
        size += len(_VTABLES[96])
        vtable = vtables[96] = size
    size += 12
    append(_PACK_TraceReplayProfile(vtable - size, value.trace_type, size - 8 - filename_place))
    return size


_ProfileAndId = model.ProfileAndId
_NEW_ProfileAndId = fast(_ProfileAndId)
_PLANS_ProfileAndId = {}
_PACK_ProfileAndId = Struct('<iB3xIII').pack
_SLOTS_ProfileAndId = (
    Slot(1, 1, 'B', False, False),
    Slot(0, 4, 'I', True, True),
    Slot(2, 4, 'I', True, True),
    Slot(3, 4, 'I', True, False),
)


def _read_ProfileAndId(data, position, seen):
    vtable = position - _I32(data, position)[0]
    known = vtable << 7 | 11
    plan = seen.get(known)
    if plan is None:
        if vtable < 0:
            raise Doubt
        plan = _PLANS_ProfileAndId.get(data[vtable : vtable + data[vtable]])
        if plan is None:
            plan = learn(_PLANS_ProfileAndId, _SLOTS_ProfileAndId, data, vtable)
        seen[known] = plan
    read, id_at, profile_at, extra_data_at = plan
    profile_type_, id_, profile_, extra_data_, = read(data, position)
    at = position + id_at + id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        id_ = data[at:size].decode()
    elif size:
        id_ = long_string(data, at, size, seen)
    elif id_ and not data[at + 4]:
        id_ = ""
    else:
        raise Doubt
    if extra_data_at is None:
        extra_data_ = None
    else:
        at = position + extra_data_at + extra_data_
        size = U32(data, at)[0]
        if 0 < size < 64:
            at += 4
            size += at
            if data[size]:
                raise Doubt
            extra_data_ = data[at:size].decode()
        elif size:
            extra_data_ = long_string(data, at, size, seen)
        elif extra_data_ and not data[at + 4]:
            extra_data_ = ""
        else:
            raise Doubt
    return _NEW_ProfileAndId(id=id_, profile=_READ_Profile[profile_type_](data, position + profile_at + profile_, seen), extra_data=extra_data_)


def _write_ProfileAndId(value, append, size, vtables):
    if value.__class__ is not _ProfileAndId:
        raise TypeError
    child = value.id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    id_place = size
    child = value.profile
    profile_type, write = _WRITE_Profile[child.__class__]
    size = write(child, append, size, vtables)
    profile_place = size
    child = value.extra_data
    extra_data_place = None
    if child is not None:
        text = child.encode()
        length = len(text)
        append(STRING[length](length, text) if length < 128 else write_long_string(text))
        size += length + 8 & -4
        extra_data_place = size
    number = 74 + (1 if extra_data_place is not None else 0)
    vtable = vtables[number]
    if not vtable:
        append(_VTABLES[number])
        size += len(_VTABLES[number])
        vtable = vtables[number] = size
    size += 20
    append(_PACK_ProfileAndId(vtable - size, profile_type, size - 8 - id_place, size - 12 - profile_place, 0 if extra_data_place is None else size - 16 - extra_data_place))
    return size


_JobSubmittedEvent = model.JobSubmittedEvent
_NEW_JobSubmittedEvent = fast(_JobSubmittedEvent)
_PLANS_JobSubmittedEvent = {}
_PACK_JobSubmittedEvent = Struct('<iIIId').pack
_SLOTS_JobSubmittedEvent = (
    Slot(0, 4, 'I', True, True),
    Slot(1, 4, 'I', True, True),
    Slot(3, 4, 'I', True, False),
    Slot(2, 8, 'd', False, False),
)


def _read_JobSubmittedEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_JobSubmittedEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_JobSubmittedEvent, _SLOTS_JobSubmittedEvent, data, vtable)
    read, job_id_at, job_at, profile_at = plan
    job_id_, job_, profile_, submission_time_, = read(data, position)
    at = position + job_id_at + job_id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        job_id_ = data[at:size].decode()
    elif size:
        job_id_ = long_string(data, at, size, seen)
    elif job_id_ and not data[at + 4]:
        job_id_ = ""
    else:
        raise Doubt
    return _NEW_JobSubmittedEvent(timestamp=timestamp, job_id=job_id_, job=_read_Job(data, position + job_at + job_, seen), submission_time=submission_time_ if submission_time_.__class__ is float else 0.0, profile=None if profile_at is None else _read_ProfileAndId(data, position + profile_at + profile_, seen))


def _write_JobSubmittedEvent(value, append, size, vtables):
    if value.__class__ is not _JobSubmittedEvent:
        raise TypeError
    child = value.job_id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    job_id_place = size
    child = value.job
    size = _write_Job(child, append, size, vtables)
    job_place = size
    child = value.profile
    profile_place = None
    if child is not None:
        size = _write_ProfileAndId(child, append, size, vtables)
        profile_place = size
    number = 43 + (1 if profile_place is not None else 0)
    vtable = vtables[number]
    if not vtable:
        append(_VTABLES[number])
        size += len(_VTABLES[number])
        vtable = vtables[number] = size
    if size & 4:
        append(PAD4)
        size += 4
    size += 24
    append(_PACK_JobSubmittedEvent(vtable - size, size - 4 - job_id_place, size - 8 - job_place, 0 if profile_place is None else size - 12 - profile_place, value.submission_time))
    return size


_KillProgressAtomicProfile = model.KillProgressAtomicProfile
_NEW_KillProgressAtomicProfile = fast(_KillProgressAtomicProfile)
_PLANS_KillProgressAtomicProfile = {}
_PACK_KillProgressAtomicProfile = Struct('<iId').pack
_SLOTS_KillProgressAtomicProfile = (
    Slot(0, 4, 'I', True, True),
    Slot(1, 8, 'd', False, False),
)


def _read_KillProgressAtomicProfile(data, position, seen, depth):
    seen[0] -= 1
    if depth > MAX_DEPTH or seen[0] < 0:
        raise Doubt
    vtable = position - _I32(data, position)[0]
    known = vtable << 7 | 6
    plan = seen.get(known)
    if plan is None:
        if vtable < 0:
            raise Doubt
        plan = _PLANS_KillProgressAtomicProfile.get(data[vtable : vtable + data[vtable]])
        if plan is None:
            plan = learn(_PLANS_KillProgressAtomicProfile, _SLOTS_KillProgressAtomicProfile, data, vtable)
        seen[known] = plan
    read, profile_id_at = plan
    profile_id_, progress_, = read(data, position)
    at = position + profile_id_at + profile_id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        profile_id_ = data[at:size].decode()
    elif size:
        profile_id_ = long_string(data, at, size, seen)
    elif profile_id_ and not data[at + 4]:
        profile_id_ = ""
    else:
        raise Doubt
    return _NEW_KillProgressAtomicProfile(profile_id=profile_id_, progress=progress_ if progress_.__class__ is float else 0.0)


def _write_KillProgressAtomicProfile(value, append, size, vtables, depth):
    if depth > MAX_DEPTH:
        raise Doubt
    if value.__class__ is not _KillProgressAtomicProfile:
        raise TypeError
    child = value.profile_id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    profile_id_place = size
    vtable = vtables[48]
    if not vtable:
        append(_VTABLES[48])
        size += len(_VTABLES[48])
        vtable = vtables[48] = size
    if size & 4:
        append(PAD4)
        size += 4
    size += 16
    append(_PACK_KillProgressAtomicProfile(vtable - size, size - 4 - profile_id_place, value.progress))
    return size


_KillProgressForkJoinProfile = model.KillProgressForkJoinProfile
_NEW_KillProgressForkJoinProfile = fast(_KillProgressForkJoinProfile)
_PLANS_KillProgressForkJoinProfile = {}
_PACK_KillProgressForkJoinProfile = Struct('<iII').pack
_SLOTS_KillProgressForkJoinProfile = (
    Slot(0, 4, 'I', True, True),
    Slot(1, 4, 'I', True, True),
)


def _read_KillProgressForkJoinProfile(data, position, seen, depth):
    seen[0] -= 1
    if depth > MAX_DEPTH or seen[0] < 0:
        raise Doubt
    vtable = position - _I32(data, position)[0]
    known = vtable << 7 | 7
    plan = seen.get(known)
    if plan is None:
        if vtable < 0:
            raise Doubt
        plan = _PLANS_KillProgressForkJoinProfile.get(data[vtable : vtable + data[vtable]])
        if plan is None:
            plan = learn(_PLANS_KillProgressForkJoinProfile, _SLOTS_KillProgressForkJoinProfile, data, vtable)
        seen[known] = plan
    read, profile_id_at, tasks_progress_at = plan
    profile_id_, tasks_progress_, = read(data, position)
    at = position + profile_id_at + profile_id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        profile_id_ = data[at:size].decode()
    elif size:
        profile_id_ = long_string(data, at, size, seen)
    elif profile_id_ and not data[at + 4]:
        profile_id_ = ""
    else:
        raise Doubt
    items = []
    at = position + tasks_progress_at + tasks_progress_
    for step in offsets(data, at, tasks_progress_, seen):
        at += 4
        items.append(_read_KillProgressWrapper(data, at + step, seen, depth + 1))
    tasks_progress_ = tuple(items)
    return _NEW_KillProgressForkJoinProfile(profile_id=profile_id_, tasks_progress=tasks_progress_)


def _write_KillProgressForkJoinProfile(value, append, size, vtables, depth):
    if depth > MAX_DEPTH:
        raise Doubt
    if value.__class__ is not _KillProgressForkJoinProfile:
        raise TypeError
    child = value.profile_id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    profile_id_place = size
    child = value.tasks_progress
    if child.__class__ is not tuple:
        raise TypeError
    places = []
    for each in child:
        size = _write_KillProgressWrapper(each, append, size, vtables, depth + 1)
        places.append(size)
    size = write_places(places, append, size)
    tasks_progress_place = size
    vtable = vtables[49]
    if not vtable:
        append(_VTABLES[49])
        size += len(_VTABLES[49])
        vtable = vtables[49] = size
    size += 12
    append(_PACK_KillProgressForkJoinProfile(vtable - size, size - 4 - profile_id_place, size - 8 - tasks_progress_place))
    return size


_KillProgressSequentialProfile = model.KillProgressSequentialProfile
_NEW_KillProgressSequentialProfile = fast(_KillProgressSequentialProfile)
_PLANS_KillProgressSequentialProfile = {}
_PACK_KillProgressSequentialProfile = Struct('<iIIII').pack
_SLOTS_KillProgressSequentialProfile = (
    Slot(0, 4, 'I', True, True),
    Slot(1, 4, 'I', False, False),
    Slot(2, 4, 'I', False, False),
    Slot(3, 4, 'I', True, True),
)


def _read_KillProgressSequentialProfile(data, position, seen, depth):
    seen[0] -= 1
    if depth > MAX_DEPTH or seen[0] < 0:
        raise Doubt
    vtable = position - _I32(data, position)[0]
    known = vtable << 7 | 8
    plan = seen.get(known)
    if plan is None:
        if vtable < 0:
            raise Doubt
        plan = _PLANS_KillProgressSequentialProfile.get(data[vtable : vtable + data[vtable]])
        if plan is None:
            plan = learn(_PLANS_KillProgressSequentialProfile, _SLOTS_KillProgressSequentialProfile, data, vtable)
        seen[known] = plan
    read, profile_id_at, current_task_progress_at = plan
    profile_id_, current_repetition_, current_task_index_, current_task_progress_, = read(data, position)
    at = position + profile_id_at + profile_id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        profile_id_ = data[at:size].decode()
    elif size:
        profile_id_ = long_string(data, at, size, seen)
    elif profile_id_ and not data[at + 4]:
        profile_id_ = ""
    else:
        raise Doubt
    return _NEW_KillProgressSequentialProfile(profile_id=profile_id_, current_repetition=current_repetition_ or 0, current_task_index=current_task_index_ or 0, current_task_progress=_read_KillProgressWrapper(data, position + current_task_progress_at + current_task_progress_, seen, depth + 1))


def _write_KillProgressSequentialProfile(value, append, size, vtables, depth):
    if depth > MAX_DEPTH:
        raise Doubt
    if value.__class__ is not _KillProgressSequentialProfile:
        raise TypeError
    child = value.profile_id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    profile_id_place = size
    child = value.current_task_progress
    size = _write_KillProgressWrapper(child, append, size, vtables, depth + 1)
    current_task_progress_place = size
    vtable = vtables[50]
    if not vtable:
        append(_VTABLES[50])
        size += len(_VTABLES[50])
        vtable = vtables[50] = size
    size += 20
    append(_PACK_KillProgressSequentialProfile(vtable - size, size - 4 - profile_id_place, value.current_repetition, value.current_task_index, size - 16 - current_task_progress_place))
    return size


_PLANS_KillProgressWrapper = {}
_PACK_KillProgressWrapper = Struct('<iB3xI').pack
_SLOTS_KillProgressWrapper = (
    Slot(0, 1, 'B', False, False),
    Slot(1, 4, 'I', True, True),
)


def _read_KillProgressWrapper(data, position, seen, depth):
    seen[0] -= 1
    if depth > MAX_DEPTH or seen[0] < 0:
        raise Doubt
    vtable = position - _I32(data, position)[0]
    known = vtable << 7 | 9
    plan = seen.get(known)
    if plan is None:
        if vtable < 0:
            raise Doubt
        plan = _PLANS_KillProgressWrapper.get(data[vtable : vtable + data[vtable]])
        if plan is None:
            plan = learn(_PLANS_KillProgressWrapper, _SLOTS_KillProgressWrapper, data, vtable)
        seen[known] = plan
    read, kill_progress_at = plan
    kill_progress_type_, kill_progress_, = read(data, position)
    return _READ_KillProgress[kill_progress_type_](data, position + kill_progress_at + kill_progress_, seen, depth + 1)


def _write_KillProgressWrapper(value, append, size, vtables, depth):
    if depth > MAX_DEPTH:
        raise Doubt
    child = value
    kill_progress_type, write = _WRITE_KillProgress[child.__class__]
    size = write(child, append, size, vtables, depth + 1)
    kill_progress_place = size
    vtable = vtables[51]
    if not vtable:
        append(_VTABLES[51])
        size += len(_VTABLES[51])
        vtable = vtables[51] = size
    size += 12
    append(_PACK_KillProgressWrapper(vtable - size, kill_progress_type, size - 8 - kill_progress_place))
    return size


_JobAndProgress = model.JobAndProgress
_NEW_JobAndProgress = fast(_JobAndProgress)
_PLANS_JobAndProgress = {}
_PACK_JobAndProgress = Struct('<iII').pack
_SLOTS_JobAndProgress = (
    Slot(0, 4, 'I', True, True),
    Slot(1, 4, 'I', True, True),
)


def _read_JobAndProgress(data, position, seen):
    vtable = position - _I32(data, position)[0]
    known = vtable << 7 | 5
    plan = seen.get(known)
    if plan is None:
        if vtable < 0:
            raise Doubt
        plan = _PLANS_JobAndProgress.get(data[vtable : vtable + data[vtable]])
        if plan is None:
            plan = learn(_PLANS_JobAndProgress, _SLOTS_JobAndProgress, data, vtable)
        seen[known] = plan
    read, job_id_at, wrapper_at = plan
    job_id_, wrapper_, = read(data, position)
    at = position + job_id_at + job_id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        job_id_ = data[at:size].decode()
    elif size:
        job_id_ = long_string(data, at, size, seen)
    elif job_id_ and not data[at + 4]:
        job_id_ = ""
    else:
        raise Doubt
    return _NEW_JobAndProgress(job_id=job_id_, wrapper=_read_KillProgressWrapper(data, position + wrapper_at + wrapper_, seen, 5))


def _write_JobAndProgress(value, append, size, vtables):
    if value.__class__ is not _JobAndProgress:
        raise TypeError
    child = value.job_id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    job_id_place = size
    child = value.wrapper
    size = _write_KillProgressWrapper(child, append, size, vtables, 5)
    wrapper_place = size
    vtable = vtables[41]
    if not vtable:
        append(_VTABLES[41])
        size += len(_VTABLES[41])
        vtable = vtables[41] = size
    size += 12
    append(_PACK_JobAndProgress(vtable - size, size - 4 - job_id_place, size - 8 - wrapper_place))
    return size


_JobsKilledEvent = model.JobsKilledEvent
_NEW_JobsKilledEvent = fast(_JobsKilledEvent)
_PLANS_JobsKilledEvent = {}
_PACK_JobsKilledEvent = Struct('<iIII').pack
_SLOTS_JobsKilledEvent = (
    Slot(0, 4, 'I', True, True),
    Slot(1, 4, 'I', True, True),
    Slot(2, 4, 'I', True, False),
)


def _read_JobsKilledEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_JobsKilledEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_JobsKilledEvent, _SLOTS_JobsKilledEvent, data, vtable)
    read, job_ids_at, progresses_at, profiles_at = plan
    job_ids_, progresses_, profiles_, = read(data, position)
    items = []
    at = position + progresses_at + progresses_
    for step in offsets(data, at, progresses_, seen):
        at += 4
        items.append(_read_JobAndProgress(data, at + step, seen))
    progresses_ = tuple(items)
    if profiles_at is None:
        profiles_ = None
    else:
        items = []
        at = position + profiles_at + profiles_
        for step in offsets(data, at, profiles_, seen):
            at += 4
            items.append(_read_ProfileAndId(data, at + step, seen))
        profiles_ = tuple(items)
    return _NEW_JobsKilledEvent(timestamp=timestamp, job_ids=strings(data, position + job_ids_at + job_ids_, job_ids_, seen), progresses=progresses_, profiles=profiles_)


def _write_JobsKilledEvent(value, append, size, vtables):
    if value.__class__ is not _JobsKilledEvent:
        raise TypeError
    child = value.job_ids
    size = write_strings(child, append, size)
    job_ids_place = size
    child = value.progresses
    if child.__class__ is not tuple:
        raise TypeError
    places = []
    for each in child:
        size = _write_JobAndProgress(each, append, size, vtables)
        places.append(size)
    size = write_places(places, append, size)
    progresses_place = size
    child = value.profiles
    profiles_place = None
    if child is not None:
        if child.__class__ is not tuple:
            raise TypeError
        places = []
        for each in child:
            size = _write_ProfileAndId(each, append, size, vtables)
            places.append(size)
        size = write_places(places, append, size)
        profiles_place = size
    number = 45 + (1 if profiles_place is not None else 0)
    vtable = vtables[number]
    if not vtable:
        append(_VTABLES[number])
        size += len(_VTABLES[number])
        vtable = vtables[number] = size
    size += 16
    append(_PACK_JobsKilledEvent(vtable - size, size - 4 - job_ids_place, size - 8 - progresses_place, 0 if profiles_place is None else size - 12 - profiles_place))
    return size


_KillJobsEvent = model.KillJobsEvent
_NEW_KillJobsEvent = fast(_KillJobsEvent)
_PLANS_KillJobsEvent = {}
_PACK_KillJobsEvent = Struct('<iI').pack
_SLOTS_KillJobsEvent = (
    Slot(0, 4, 'I', True, True),
)


def _read_KillJobsEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_KillJobsEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_KillJobsEvent, _SLOTS_KillJobsEvent, data, vtable)
    read, job_ids_at = plan
    job_ids_, = read(data, position)
    return _NEW_KillJobsEvent(timestamp=timestamp, job_ids=strings(data, position + job_ids_at + job_ids_, job_ids_, seen))


def _write_KillJobsEvent(value, append, size, vtables):
    if value.__class__ is not _KillJobsEvent:
        raise TypeError
    child = value.job_ids
    size = write_strings(child, append, size)
    job_ids_place = size
    vtable = vtables[47]
    if not vtable:
        append(_VTABLES[47])
        size += len(_VTABLES[47])
        vtable = vtables[47] = size
    size += 8
    append(_PACK_KillJobsEvent(vtable - size, size - 4 - job_ids_place))
    return size


_AggregatedProbeData = model.AggregatedProbeData
_NEW_AggregatedProbeData = fast(_AggregatedProbeData)
_PLANS_AggregatedProbeData = {}
_PACK_AggregatedProbeData = Struct('<id').pack
_SLOTS_AggregatedProbeData = (
    Slot(0, 8, 'd', False, False),
)


def _read_AggregatedProbeData(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_AggregatedProbeData.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_AggregatedProbeData, _SLOTS_AggregatedProbeData, data, vtable)
    read = plan[0]
    data_, = read(data, position)
    return _NEW_AggregatedProbeData(data=data_ if data_.__class__ is float else 0.0)


def _write_AggregatedProbeData(value, append, size, vtables):
    if value.__class__ is not _AggregatedProbeData:
        raise TypeError
    vtable = vtables[0]
    if not vtable:
        append(_VTABLES[0])
        size += len(_VTABLES[0])
        vtable = vtables[0] = size
    if size & 4:
        append(PAD4)
        size += 4
    size += 12
    append(_PACK_AggregatedProbeData(vtable - size, value.data))
    return size


_VectorialProbeData = model.VectorialProbeData
_NEW_VectorialProbeData = fast(_VectorialProbeData)
_PLANS_VectorialProbeData = {}
_PACK_VectorialProbeData = Struct('<iI').pack
_SLOTS_VectorialProbeData = (
    Slot(0, 4, 'I', True, True),
)


def _read_VectorialProbeData(data, position, seen):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_VectorialProbeData.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_VectorialProbeData, _SLOTS_VectorialProbeData, data, vtable)
    read, data_at = plan
    data_, = read(data, position)
    return _NEW_VectorialProbeData(data=doubles(data, position + data_at + data_, data_, seen))


def _write_VectorialProbeData(value, append, size, vtables):
    if value.__class__ is not _VectorialProbeData:
        raise TypeError
    child = value.data
    size = write_doubles(child, append, size)
    data_place = size
    vtable = vtables[99]
    if not vtable:
        append(_VTABLES[99])
        size += len(_VTABLES[99])
        vtable = vtables[99] = size
    size += 8
    append(_PACK_VectorialProbeData(vtable - size, size - 4 - data_place))
    return size


_ProbeDataEmittedEvent = model.ProbeDataEmittedEvent
_NEW_ProbeDataEmittedEvent = fast(_ProbeDataEmittedEvent)
_PLANS_ProbeDataEmittedEvent = {}
_PACK_ProbeDataEmittedEvent = Struct('<iBbBBIIIII').pack
_SLOTS_ProbeDataEmittedEvent = (
    Slot(1, 1, 'B', False, False),
    Slot(3, 1, 'b', False, False),
    Slot(4, 1, 'B', False, False),
    Slot(6, 1, 'B', False, False),
    Slot(0, 4, 'I', True, True),
    Slot(2, 4, 'I', True, True),
    Slot(5, 4, 'I', True, True),
    Slot(7, 4, 'I', False, False),
    Slot(8, 4, 'I', False, False),
)


def _read_ProbeDataEmittedEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_ProbeDataEmittedEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_ProbeDataEmittedEvent, _SLOTS_ProbeDataEmittedEvent, data, vtable)
    read, probe_id_at, resources_at, data_at = plan
    resources_type_, metrics_, data_type_, manually_triggered_, probe_id_, resources_, data_, nb_emitted_, nb_triggered_, = read(data, position)
    at = position + probe_id_at + probe_id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        probe_id_ = data[at:size].decode()
    elif size:
        probe_id_ = long_string(data, at, size, seen)
    elif probe_id_ and not data[at + 4]:
        probe_id_ = ""
    else:
        raise Doubt
    return _NEW_ProbeDataEmittedEvent(timestamp=timestamp, probe_id=probe_id_, resources=_READ_Resources[resources_type_](data, position + resources_at + resources_, seen), metrics=_Metrics_0[metrics_], data=_READ_ProbeData[data_type_](data, position + data_at + data_, seen), manually_triggered=True if manually_triggered_ else False, nb_emitted=nb_emitted_ or 0, nb_triggered=nb_triggered_ or 0)


def _write_ProbeDataEmittedEvent(value, append, size, vtables):
    if value.__class__ is not _ProbeDataEmittedEvent:
        raise TypeError
    child = value.probe_id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    probe_id_place = size
    child = value.resources
    resources_type, write = _WRITE_Resources[child.__class__]
    size = write(child, append, size, vtables)
    resources_place = size
    child = value.data
    data_type, write = _WRITE_ProbeData[child.__class__]
    size = write(child, append, size, vtables)
    data_place = size
    vtable = vtables[72]
    if not vtable:
        append(_VTABLES[72])
        size += len(_VTABLES[72])
        vtable = vtables[72] = size
    size += 28
    append(_PACK_ProbeDataEmittedEvent(vtable - size, resources_type, value.metrics, data_type, _FLAG[value.manually_triggered], size - 8 - probe_id_place, size - 12 - resources_place, size - 16 - data_place, value.nb_emitted, value.nb_triggered))
    return size


_RegisterJobEvent = model.RegisterJobEvent
_NEW_RegisterJobEvent = fast(_RegisterJobEvent)
_PLANS_RegisterJobEvent = {}
_PACK_RegisterJobEvent = Struct('<iII').pack
_SLOTS_RegisterJobEvent = (
    Slot(0, 4, 'I', True, True),
    Slot(1, 4, 'I', True, True),
)


def _read_RegisterJobEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_RegisterJobEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_RegisterJobEvent, _SLOTS_RegisterJobEvent, data, vtable)
    read, job_id_at, job_at = plan
    job_id_, job_, = read(data, position)
    at = position + job_id_at + job_id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        job_id_ = data[at:size].decode()
    elif size:
        job_id_ = long_string(data, at, size, seen)
    elif job_id_ and not data[at + 4]:
        job_id_ = ""
    else:
        raise Doubt
    return _NEW_RegisterJobEvent(timestamp=timestamp, job_id=job_id_, job=_read_Job(data, position + job_at + job_, seen))


def _write_RegisterJobEvent(value, append, size, vtables):
    if value.__class__ is not _RegisterJobEvent:
        raise TypeError
    child = value.job_id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    job_id_place = size
    child = value.job
    size = _write_Job(child, append, size, vtables)
    job_place = size
    vtable = vtables[77]
    if not vtable:
        append(_VTABLES[77])
        size += len(_VTABLES[77])
        vtable = vtables[77] = size
    size += 12
    append(_PACK_RegisterJobEvent(vtable - size, size - 4 - job_id_place, size - 8 - job_place))
    return size


_RegisterProfileEvent = model.RegisterProfileEvent
_NEW_RegisterProfileEvent = fast(_RegisterProfileEvent)
_PLANS_RegisterProfileEvent = {}
_PACK_RegisterProfileEvent = Struct('<iI').pack
_SLOTS_RegisterProfileEvent = (
    Slot(0, 4, 'I', True, True),
)


def _read_RegisterProfileEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_RegisterProfileEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_RegisterProfileEvent, _SLOTS_RegisterProfileEvent, data, vtable)
    read, profile_at = plan
    profile_, = read(data, position)
    return _NEW_RegisterProfileEvent(timestamp=timestamp, profile=_read_ProfileAndId(data, position + profile_at + profile_, seen))


def _write_RegisterProfileEvent(value, append, size, vtables):
    if value.__class__ is not _RegisterProfileEvent:
        raise TypeError
    child = value.profile
    size = _write_ProfileAndId(child, append, size, vtables)
    profile_place = size
    vtable = vtables[78]
    if not vtable:
        append(_VTABLES[78])
        size += len(_VTABLES[78])
        vtable = vtables[78] = size
    size += 8
    append(_PACK_RegisterProfileEvent(vtable - size, size - 4 - profile_place))
    return size


_RejectJobEvent = model.RejectJobEvent
_NEW_RejectJobEvent = fast(_RejectJobEvent)
_PLANS_RejectJobEvent = {}
_PACK_RejectJobEvent = Struct('<iI').pack
_SLOTS_RejectJobEvent = (
    Slot(0, 4, 'I', True, True),
)


def _read_RejectJobEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_RejectJobEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_RejectJobEvent, _SLOTS_RejectJobEvent, data, vtable)
    read, job_id_at = plan
    job_id_, = read(data, position)
    at = position + job_id_at + job_id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        job_id_ = data[at:size].decode()
    elif size:
        job_id_ = long_string(data, at, size, seen)
    elif job_id_ and not data[at + 4]:
        job_id_ = ""
    else:
        raise Doubt
    return _NEW_RejectJobEvent(timestamp=timestamp, job_id=job_id_)


def _write_RejectJobEvent(value, append, size, vtables):
    if value.__class__ is not _RejectJobEvent:
        raise TypeError
    child = value.job_id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    job_id_place = size
    vtable = vtables[79]
    if not vtable:
        append(_VTABLES[79])
        size += len(_VTABLES[79])
        vtable = vtables[79] = size
    size += 8
    append(_PACK_RejectJobEvent(vtable - size, size - 4 - job_id_place))
    return size


_RequestedCallEvent = model.RequestedCallEvent
_NEW_RequestedCallEvent = fast(_RequestedCallEvent)
_PLANS_RequestedCallEvent = {}
_PACK_RequestedCallEvent = Struct('<iB3xI').pack
_SLOTS_RequestedCallEvent = (
    Slot(1, 1, 'B', False, False),
    Slot(0, 4, 'I', True, True),
)


def _read_RequestedCallEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_RequestedCallEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_RequestedCallEvent, _SLOTS_RequestedCallEvent, data, vtable)
    read, call_me_later_id_at = plan
    last_periodic_call_, call_me_later_id_, = read(data, position)
    at = position + call_me_later_id_at + call_me_later_id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        call_me_later_id_ = data[at:size].decode()
    elif size:
        call_me_later_id_ = long_string(data, at, size, seen)
    elif call_me_later_id_ and not data[at + 4]:
        call_me_later_id_ = ""
    else:
        raise Doubt
    return _NEW_RequestedCallEvent(timestamp=timestamp, call_me_later_id=call_me_later_id_, last_periodic_call=True if last_periodic_call_ else False)


def _write_RequestedCallEvent(value, append, size, vtables):
    if value.__class__ is not _RequestedCallEvent:
        raise TypeError
    child = value.call_me_later_id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    call_me_later_id_place = size
    vtable = vtables[80]
    if not vtable:
        append(_VTABLES[80])
        size += len(_VTABLES[80])
        vtable = vtables[80] = size
    size += 12
    append(_PACK_RequestedCallEvent(vtable - size, _FLAG[value.last_periodic_call], size - 8 - call_me_later_id_place))
    return size


_ResetProbeEvent = model.ResetProbeEvent
_NEW_ResetProbeEvent = fast(_ResetProbeEvent)
_PLANS_ResetProbeEvent = {}
_PACK_ResetProbeEvent = Struct('<iId').pack
_SLOTS_ResetProbeEvent = (
    Slot(0, 4, 'I', True, True),
    Slot(1, 8, 'd', False, False),
)


def _read_ResetProbeEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_ResetProbeEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_ResetProbeEvent, _SLOTS_ResetProbeEvent, data, vtable)
    read, probe_id_at = plan
    probe_id_, new_value_, = read(data, position)
    at = position + probe_id_at + probe_id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        probe_id_ = data[at:size].decode()
    elif size:
        probe_id_ = long_string(data, at, size, seen)
    elif probe_id_ and not data[at + 4]:
        probe_id_ = ""
    else:
        raise Doubt
    return _NEW_ResetProbeEvent(timestamp=timestamp, probe_id=probe_id_, new_value=new_value_ if new_value_.__class__ is float else 0.0)


def _write_ResetProbeEvent(value, append, size, vtables):
    if value.__class__ is not _ResetProbeEvent:
        raise TypeError
    child = value.probe_id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    probe_id_place = size
    vtable = vtables[81]
    if not vtable:
        append(_VTABLES[81])
        size += len(_VTABLES[81])
        vtable = vtables[81] = size
    if size & 4:
        append(PAD4)
        size += 4
    size += 16
    append(_PACK_ResetProbeEvent(vtable - size, size - 4 - probe_id_place, value.new_value))
    return size


_ExternalEventListAndFilename = model.ExternalEventListAndFilename
_NEW_ExternalEventListAndFilename = fast(_ExternalEventListAndFilename)
_PLANS_ExternalEventListAndFilename = {}
_PACK_ExternalEventListAndFilename = Struct('<iII').pack
_SLOTS_ExternalEventListAndFilename = (
    Slot(0, 4, 'I', True, True),
    Slot(1, 4, 'I', True, True),
)


def _read_ExternalEventListAndFilename(data, position, seen):
    vtable = position - _I32(data, position)[0]
    known = vtable << 7 | 2
    plan = seen.get(known)
    if plan is None:
        if vtable < 0:
            raise Doubt
        plan = _PLANS_ExternalEventListAndFilename.get(data[vtable : vtable + data[vtable]])
        if plan is None:
            plan = learn(_PLANS_ExternalEventListAndFilename, _SLOTS_ExternalEventListAndFilename, data, vtable)
        seen[known] = plan
    read, name_at, filename_at = plan
    name_, filename_, = read(data, position)
    at = position + name_at + name_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        name_ = data[at:size].decode()
    elif size:
        name_ = long_string(data, at, size, seen)
    elif name_ and not data[at + 4]:
        name_ = ""
    else:
        raise Doubt
    at = position + filename_at + filename_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        filename_ = data[at:size].decode()
    elif size:
        filename_ = long_string(data, at, size, seen)
    elif filename_ and not data[at + 4]:
        filename_ = ""
    else:
        raise Doubt
    return _NEW_ExternalEventListAndFilename(name=name_, filename=filename_)


def _write_ExternalEventListAndFilename(value, append, size, vtables):
    if value.__class__ is not _ExternalEventListAndFilename:
        raise TypeError
    child = value.name
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    name_place = size
    child = value.filename
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    filename_place = size
    vtable = vtables[21]
    if not vtable:
        append(_VTABLES[21])
        size += len(_VTABLES[21])
        vtable = vtables[21] = size
    size += 12
    append(_PACK_ExternalEventListAndFilename(vtable - size, size - 4 - name_place, size - 8 - filename_place))
    return size


_HostProperty = model.HostProperty
_NEW_HostProperty = fast(_HostProperty)
_PLANS_HostProperty = {}
_PACK_HostProperty = Struct('<iII').pack
_SLOTS_HostProperty = (
    Slot(0, 4, 'I', True, True),
    Slot(1, 4, 'I', True, True),
)


def _read_HostProperty(data, position, seen):
    vtable = position - _I32(data, position)[0]
    known = vtable << 7 | 4
    plan = seen.get(known)
    if plan is None:
        if vtable < 0:
            raise Doubt
        plan = _PLANS_HostProperty.get(data[vtable : vtable + data[vtable]])
        if plan is None:
            plan = learn(_PLANS_HostProperty, _SLOTS_HostProperty, data, vtable)
        seen[known] = plan
    read, key_at, value_at = plan
    key_, value_, = read(data, position)
    at = position + key_at + key_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        key_ = data[at:size].decode()
    elif size:
        key_ = long_string(data, at, size, seen)
    elif key_ and not data[at + 4]:
        key_ = ""
    else:
        raise Doubt
    at = position + value_at + value_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        value_ = data[at:size].decode()
    elif size:
        value_ = long_string(data, at, size, seen)
    elif value_ and not data[at + 4]:
        value_ = ""
    else:
        raise Doubt
    return _NEW_HostProperty(key=key_, value=value_)


def _write_HostProperty(value, append, size, vtables):
    if value.__class__ is not _HostProperty:
        raise TypeError
    child = value.key
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    key_place = size
    child = value.value
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    value_place = size
    vtable = vtables[32]
    if not vtable:
        append(_VTABLES[32])
        size += len(_VTABLES[32])
        vtable = vtables[32] = size
    size += 12
    append(_PACK_HostProperty(vtable - size, size - 4 - key_place, size - 8 - value_place))
    return size


_Host = model.Host
_NEW_Host = fast(_Host)
_PLANS_Host = {}
_PACK_Host = Struct('<ib3xIIIIIIII').pack
_SLOTS_Host = (
    Slot(4, 1, 'b', False, False),
    Slot(0, 4, 'I', False, False),
    Slot(1, 4, 'I', True, True),
    Slot(2, 4, 'I', False, False),
    Slot(3, 4, 'I', False, False),
    Slot(5, 4, 'I', True, False),
    Slot(6, 4, 'I', True, False),
    Slot(7, 4, 'I', False, False),
    Slot(8, 4, 'I', True, True),
)


def _read_Host(data, position, seen):
    vtable = position - _I32(data, position)[0]
    known = vtable << 7 | 3
    plan = seen.get(known)
    if plan is None:
        if vtable < 0:
            raise Doubt
        plan = _PLANS_Host.get(data[vtable : vtable + data[vtable]])
        if plan is None:
            plan = learn(_PLANS_Host, _SLOTS_Host, data, vtable)
        seen[known] = plan
    read, name_at, properties_at, zone_properties_at, computation_speed_at = plan
    state_, id_, name_, pstate_, pstate_count_, properties_, zone_properties_, core_count_, computation_speed_, = read(data, position)
    at = position + name_at + name_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        name_ = data[at:size].decode()
    elif size:
        name_ = long_string(data, at, size, seen)
    elif name_ and not data[at + 4]:
        name_ = ""
    else:
        raise Doubt
    if properties_at is None:
        properties_ = None
    else:
        items = []
        at = position + properties_at + properties_
        for step in offsets(data, at, properties_, seen):
            at += 4
            items.append(_read_HostProperty(data, at + step, seen))
        properties_ = tuple(items)
    if zone_properties_at is None:
        zone_properties_ = None
    else:
        items = []
        at = position + zone_properties_at + zone_properties_
        for step in offsets(data, at, zone_properties_, seen):
            at += 4
            items.append(_read_HostProperty(data, at + step, seen))
        zone_properties_ = tuple(items)
    return _NEW_Host(id=id_ or 0, name=name_, pstate=pstate_ or 0, pstate_count=pstate_count_ if pstate_count_.__class__ is int else 1, state=_HostState_0[state_], properties=properties_, zone_properties=zone_properties_, core_count=core_count_ if core_count_.__class__ is int else 1, computation_speed=doubles(data, position + computation_speed_at + computation_speed_, computation_speed_, seen))


def _write_Host(value, append, size, vtables):
    if value.__class__ is not _Host:
        raise TypeError
    child = value.name
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    name_place = size
    child = value.properties
    properties_place = None
    if child is not None:
        if child.__class__ is not tuple:
            raise TypeError
        places = []
        for each in child:
            size = _write_HostProperty(each, append, size, vtables)
            places.append(size)
        size = write_places(places, append, size)
        properties_place = size
    child = value.zone_properties
    zone_properties_place = None
    if child is not None:
        if child.__class__ is not tuple:
            raise TypeError
        places = []
        for each in child:
            size = _write_HostProperty(each, append, size, vtables)
            places.append(size)
        size = write_places(places, append, size)
        zone_properties_place = size
    child = value.computation_speed
    size = write_doubles(child, append, size)
    computation_speed_place = size
    number = 28 + (1 if properties_place is not None else 0) + (2 if zone_properties_place is not None else 0)
    vtable = vtables[number]
    if not vtable:
        append(_VTABLES[number])
        size += len(_VTABLES[number])
        vtable = vtables[number] = size
    size += 40
    append(_PACK_Host(vtable - size, value.state, value.id, size - 12 - name_place, value.pstate, value.pstate_count, 0 if properties_place is None else size - 24 - properties_place, 0 if zone_properties_place is None else size - 28 - zone_properties_place, value.core_count, size - 36 - computation_speed_place))
    return size


_WorkloadAndFilename = model.WorkloadAndFilename
_NEW_WorkloadAndFilename = fast(_WorkloadAndFilename)
_PLANS_WorkloadAndFilename = {}
_PACK_WorkloadAndFilename = Struct('<iII').pack
_SLOTS_WorkloadAndFilename = (
    Slot(0, 4, 'I', True, True),
    Slot(1, 4, 'I', True, True),
)


def _read_WorkloadAndFilename(data, position, seen):
    vtable = position - _I32(data, position)[0]
    known = vtable << 7 | 13
    plan = seen.get(known)
    if plan is None:
        if vtable < 0:
            raise Doubt
        plan = _PLANS_WorkloadAndFilename.get(data[vtable : vtable + data[vtable]])
        if plan is None:
            plan = learn(_PLANS_WorkloadAndFilename, _SLOTS_WorkloadAndFilename, data, vtable)
        seen[known] = plan
    read, name_at, filename_at = plan
    name_, filename_, = read(data, position)
    at = position + name_at + name_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        name_ = data[at:size].decode()
    elif size:
        name_ = long_string(data, at, size, seen)
    elif name_ and not data[at + 4]:
        name_ = ""
    else:
        raise Doubt
    at = position + filename_at + filename_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        filename_ = data[at:size].decode()
    elif size:
        filename_ = long_string(data, at, size, seen)
    elif filename_ and not data[at + 4]:
        filename_ = ""
    else:
        raise Doubt
    return _NEW_WorkloadAndFilename(name=name_, filename=filename_)


def _write_WorkloadAndFilename(value, append, size, vtables):
    if value.__class__ is not _WorkloadAndFilename:
        raise TypeError
    child = value.name
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    name_place = size
    child = value.filename
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    filename_place = size
    vtable = vtables[100]
    if not vtable:
        append(_VTABLES[100])
        size += len(_VTABLES[100])
        vtable = vtables[100] = size
    size += 12
    append(_PACK_WorkloadAndFilename(vtable - size, size - 4 - name_place, size - 8 - filename_place))
    return size


_SimulationBeginsEvent = model.SimulationBeginsEvent
_NEW_SimulationBeginsEvent = fast(_SimulationBeginsEvent)
_PLANS_SimulationBeginsEvent = {}
_PACK_SimulationBeginsEvent = Struct('<iIIIIIIIIIIIII').pack
_SLOTS_SimulationBeginsEvent = (
    Slot(0, 4, 'I', True, True),
    Slot(1, 4, 'I', True, True),
    Slot(2, 4, 'I', True, False),
    Slot(3, 4, 'I', False, False),
    Slot(4, 4, 'I', False, False),
    Slot(5, 4, 'I', True, True),
    Slot(6, 4, 'I', False, False),
    Slot(7, 4, 'I', True, True),
    Slot(8, 4, 'I', True, True),
    Slot(9, 4, 'I', True, True),
    Slot(10, 4, 'I', True, True),
    Slot(11, 4, 'I', True, True),
    Slot(12, 4, 'I', True, False),
)


def _read_SimulationBeginsEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_SimulationBeginsEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_SimulationBeginsEvent, _SLOTS_SimulationBeginsEvent, data, vtable)
    read, batprotocol_version_at, batsim_version_at, batsim_commit_at, computation_hosts_at, storage_hosts_at, batsim_arguments_at, batsim_execution_context_json_at, workloads_at, external_event_lists_at, profiles_at = plan
    batprotocol_version_, batsim_version_, batsim_commit_, host_number_, computation_host_number_, computation_hosts_, storage_host_number_, storage_hosts_, batsim_arguments_, batsim_execution_context_json_, workloads_, external_event_lists_, profiles_, = read(data, position)
    at = position + batprotocol_version_at + batprotocol_version_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        batprotocol_version_ = data[at:size].decode()
    elif size:
        batprotocol_version_ = long_string(data, at, size, seen)
    elif batprotocol_version_ and not data[at + 4]:
        batprotocol_version_ = ""
    else:
        raise Doubt
    at = position + batsim_version_at + batsim_version_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        batsim_version_ = data[at:size].decode()
    elif size:
        batsim_version_ = long_string(data, at, size, seen)
    elif batsim_version_ and not data[at + 4]:
        batsim_version_ = ""
    else:
        raise Doubt
    if batsim_commit_at is None:
        batsim_commit_ = None
    else:
        at = position + batsim_commit_at + batsim_commit_
        size = U32(data, at)[0]
        if 0 < size < 64:
            at += 4
            size += at
            if data[size]:
                raise Doubt
            batsim_commit_ = data[at:size].decode()
        elif size:
            batsim_commit_ = long_string(data, at, size, seen)
        elif batsim_commit_ and not data[at + 4]:
            batsim_commit_ = ""
        else:
            raise Doubt
    items = []
    at = position + computation_hosts_at + computation_hosts_
    for step in offsets(data, at, computation_hosts_, seen):
        at += 4
        items.append(_read_Host(data, at + step, seen))
    computation_hosts_ = tuple(items)
    items = []
    at = position + storage_hosts_at + storage_hosts_
    for step in offsets(data, at, storage_hosts_, seen):
        at += 4
        items.append(_read_Host(data, at + step, seen))
    storage_hosts_ = tuple(items)
    at = position + batsim_execution_context_json_at + batsim_execution_context_json_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        batsim_execution_context_json_ = data[at:size].decode()
    elif size:
        batsim_execution_context_json_ = long_string(data, at, size, seen)
    elif batsim_execution_context_json_ and not data[at + 4]:
        batsim_execution_context_json_ = ""
    else:
        raise Doubt
    items = []
    at = position + workloads_at + workloads_
    for step in offsets(data, at, workloads_, seen):
        at += 4
        items.append(_read_WorkloadAndFilename(data, at + step, seen))
    workloads_ = tuple(items)
    items = []
    at = position + external_event_lists_at + external_event_lists_
    for step in offsets(data, at, external_event_lists_, seen):
        at += 4
        items.append(_read_ExternalEventListAndFilename(data, at + step, seen))
    external_event_lists_ = tuple(items)
    if profiles_at is None:
        profiles_ = None
    else:
        items = []
        at = position + profiles_at + profiles_
        for step in offsets(data, at, profiles_, seen):
            at += 4
            items.append(_read_ProfileAndId(data, at + step, seen))
        profiles_ = tuple(items)
    return _NEW_SimulationBeginsEvent(timestamp=timestamp, batprotocol_version=batprotocol_version_, batsim_version=batsim_version_, batsim_commit=batsim_commit_, host_number=host_number_ or 0, computation_host_number=computation_host_number_ or 0, computation_hosts=computation_hosts_, storage_host_number=storage_host_number_ or 0, storage_hosts=storage_hosts_, batsim_arguments=strings(data, position + batsim_arguments_at + batsim_arguments_, batsim_arguments_, seen), batsim_execution_context_json=batsim_execution_context_json_, workloads=workloads_, external_event_lists=external_event_lists_, profiles=profiles_)


def _write_SimulationBeginsEvent(value, append, size, vtables):
    if value.__class__ is not _SimulationBeginsEvent:
        raise TypeError
    child = value.batprotocol_version
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    batprotocol_version_place = size
    child = value.batsim_version
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    batsim_version_place = size
    child = value.batsim_commit
    batsim_commit_place = None
    if child is not None:
        text = child.encode()
        length = len(text)
        append(STRING[length](length, text) if length < 128 else write_long_string(text))
        size += length + 8 & -4
        batsim_commit_place = size
    child = value.computation_hosts
    if child.__class__ is not tuple:
        raise TypeError
    places = []
    for each in child:
        size = _write_Host(each, append, size, vtables)
        places.append(size)
    size = write_places(places, append, size)
    computation_hosts_place = size
    child = value.storage_hosts
    if child.__class__ is not tuple:
        raise TypeError
    places = []
    for each in child:
        size = _write_Host(each, append, size, vtables)
        places.append(size)
    size = write_places(places, append, size)
    storage_hosts_place = size
    child = value.batsim_arguments
    size = write_strings(child, append, size)
    batsim_arguments_place = size
    child = value.batsim_execution_context_json
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    batsim_execution_context_json_place = size
    child = value.workloads
    if child.__class__ is not tuple:
        raise TypeError
    places = []
    for each in child:
        size = _write_WorkloadAndFilename(each, append, size, vtables)
        places.append(size)
    size = write_places(places, append, size)
    workloads_place = size
    child = value.external_event_lists
    if child.__class__ is not tuple:
        raise TypeError
    places = []
    for each in child:
        size = _write_ExternalEventListAndFilename(each, append, size, vtables)
        places.append(size)
    size = write_places(places, append, size)
    external_event_lists_place = size
    child = value.profiles
    profiles_place = None
    if child is not None:
        if child.__class__ is not tuple:
            raise TypeError
        places = []
        for each in child:
            size = _write_ProfileAndId(each, append, size, vtables)
            places.append(size)
        size = write_places(places, append, size)
        profiles_place = size
    number = 83 + (1 if batsim_commit_place is not None else 0) + (2 if profiles_place is not None else 0)
    vtable = vtables[number]
    if not vtable:
        append(_VTABLES[number])
        size += len(_VTABLES[number])
        vtable = vtables[number] = size
    size += 56
    append(_PACK_SimulationBeginsEvent(vtable - size, size - 4 - batprotocol_version_place, size - 8 - batsim_version_place, 0 if batsim_commit_place is None else size - 12 - batsim_commit_place, value.host_number, value.computation_host_number, size - 24 - computation_hosts_place, value.storage_host_number, size - 32 - storage_hosts_place, size - 36 - batsim_arguments_place, size - 40 - batsim_execution_context_json_place, size - 44 - workloads_place, size - 48 - external_event_lists_place, 0 if profiles_place is None else size - 52 - profiles_place))
    return size


_SimulationEndsEvent = model.SimulationEndsEvent
_NEW_SimulationEndsEvent = fast(_SimulationEndsEvent)
_PLANS_SimulationEndsEvent = {}
_PACK_SimulationEndsEvent = Struct('<i').pack
_SLOTS_SimulationEndsEvent = ()


def _read_SimulationEndsEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_SimulationEndsEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_SimulationEndsEvent, _SLOTS_SimulationEndsEvent, data, vtable)
    return _NEW_SimulationEndsEvent(timestamp=timestamp)


def _write_SimulationEndsEvent(value, append, size, vtables):
    if value.__class__ is not _SimulationEndsEvent:
        raise TypeError
    vtable = vtables[87]
    if not vtable:
        append(_VTABLES[87])
        size += len(_VTABLES[87])
        vtable = vtables[87] = size
    size += 4
    append(_PACK_SimulationEndsEvent(vtable - size))
    return size


_SimulationErrorEvent = model.SimulationErrorEvent
_NEW_SimulationErrorEvent = fast(_SimulationErrorEvent)
_PLANS_SimulationErrorEvent = {}
_PACK_SimulationErrorEvent = Struct('<iI').pack
_SLOTS_SimulationErrorEvent = (
    Slot(0, 4, 'I', True, True),
)


def _read_SimulationErrorEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_SimulationErrorEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_SimulationErrorEvent, _SLOTS_SimulationErrorEvent, data, vtable)
    read, error_at = plan
    error_, = read(data, position)
    at = position + error_at + error_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        error_ = data[at:size].decode()
    elif size:
        error_ = long_string(data, at, size, seen)
    elif error_ and not data[at + 4]:
        error_ = ""
    else:
        raise Doubt
    return _NEW_SimulationErrorEvent(timestamp=timestamp, error=error_)


def _write_SimulationErrorEvent(value, append, size, vtables):
    if value.__class__ is not _SimulationErrorEvent:
        raise TypeError
    child = value.error
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    error_place = size
    vtable = vtables[88]
    if not vtable:
        append(_VTABLES[88])
        size += len(_VTABLES[88])
        vtable = vtables[88] = size
    size += 8
    append(_PACK_SimulationErrorEvent(vtable - size, size - 4 - error_place))
    return size


_StopCallMeLaterEvent = model.StopCallMeLaterEvent
_NEW_StopCallMeLaterEvent = fast(_StopCallMeLaterEvent)
_PLANS_StopCallMeLaterEvent = {}
_PACK_StopCallMeLaterEvent = Struct('<iI').pack
_SLOTS_StopCallMeLaterEvent = (
    Slot(0, 4, 'I', True, True),
)


def _read_StopCallMeLaterEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_StopCallMeLaterEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_StopCallMeLaterEvent, _SLOTS_StopCallMeLaterEvent, data, vtable)
    read, call_me_later_id_at = plan
    call_me_later_id_, = read(data, position)
    at = position + call_me_later_id_at + call_me_later_id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        call_me_later_id_ = data[at:size].decode()
    elif size:
        call_me_later_id_ = long_string(data, at, size, seen)
    elif call_me_later_id_ and not data[at + 4]:
        call_me_later_id_ = ""
    else:
        raise Doubt
    return _NEW_StopCallMeLaterEvent(timestamp=timestamp, call_me_later_id=call_me_later_id_)


def _write_StopCallMeLaterEvent(value, append, size, vtables):
    if value.__class__ is not _StopCallMeLaterEvent:
        raise TypeError
    child = value.call_me_later_id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    call_me_later_id_place = size
    vtable = vtables[90]
    if not vtable:
        append(_VTABLES[90])
        size += len(_VTABLES[90])
        vtable = vtables[90] = size
    size += 8
    append(_PACK_StopCallMeLaterEvent(vtable - size, size - 4 - call_me_later_id_place))
    return size


_StopProbeEvent = model.StopProbeEvent
_NEW_StopProbeEvent = fast(_StopProbeEvent)
_PLANS_StopProbeEvent = {}
_PACK_StopProbeEvent = Struct('<iI').pack
_SLOTS_StopProbeEvent = (
    Slot(0, 4, 'I', True, True),
)


def _read_StopProbeEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_StopProbeEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_StopProbeEvent, _SLOTS_StopProbeEvent, data, vtable)
    read, probe_id_at = plan
    probe_id_, = read(data, position)
    at = position + probe_id_at + probe_id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        probe_id_ = data[at:size].decode()
    elif size:
        probe_id_ = long_string(data, at, size, seen)
    elif probe_id_ and not data[at + 4]:
        probe_id_ = ""
    else:
        raise Doubt
    return _NEW_StopProbeEvent(timestamp=timestamp, probe_id=probe_id_)


def _write_StopProbeEvent(value, append, size, vtables):
    if value.__class__ is not _StopProbeEvent:
        raise TypeError
    child = value.probe_id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    probe_id_place = size
    vtable = vtables[91]
    if not vtable:
        append(_VTABLES[91])
        size += len(_VTABLES[91])
        vtable = vtables[91] = size
    size += 8
    append(_PACK_StopProbeEvent(vtable - size, size - 4 - probe_id_place))
    return size


_TriggerProbeEvent = model.TriggerProbeEvent
_NEW_TriggerProbeEvent = fast(_TriggerProbeEvent)
_PLANS_TriggerProbeEvent = {}
_PACK_TriggerProbeEvent = Struct('<iB3xI').pack
_SLOTS_TriggerProbeEvent = (
    Slot(1, 1, 'B', False, False),
    Slot(0, 4, 'I', True, True),
)


def _read_TriggerProbeEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_TriggerProbeEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_TriggerProbeEvent, _SLOTS_TriggerProbeEvent, data, vtable)
    read, probe_id_at = plan
    force_data_emission_, probe_id_, = read(data, position)
    at = position + probe_id_at + probe_id_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        probe_id_ = data[at:size].decode()
    elif size:
        probe_id_ = long_string(data, at, size, seen)
    elif probe_id_ and not data[at + 4]:
        probe_id_ = ""
    else:
        raise Doubt
    return _NEW_TriggerProbeEvent(timestamp=timestamp, probe_id=probe_id_, force_data_emission=force_data_emission_ != 0)


def _write_TriggerProbeEvent(value, append, size, vtables):
    if value.__class__ is not _TriggerProbeEvent:
        raise TypeError
    child = value.probe_id
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    probe_id_place = size
    vtable = vtables[97]
    if not vtable:
        append(_VTABLES[97])
        size += len(_VTABLES[97])
        vtable = vtables[97] = size
    size += 12
    append(_PACK_TriggerProbeEvent(vtable - size, _FLAG[value.force_data_emission], size - 8 - probe_id_place))
    return size


_TurnOnOffHostsEvent = model.TurnOnOffHostsEvent
_NEW_TurnOnOffHostsEvent = fast(_TurnOnOffHostsEvent)
_PLANS_TurnOnOffHostsEvent = {}
_PACK_TurnOnOffHostsEvent = Struct('<iII').pack
_SLOTS_TurnOnOffHostsEvent = (
    Slot(0, 4, 'I', True, True),
    Slot(1, 4, 'I', False, False),
)


def _read_TurnOnOffHostsEvent(data, position, seen, timestamp):
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_TurnOnOffHostsEvent.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_TurnOnOffHostsEvent, _SLOTS_TurnOnOffHostsEvent, data, vtable)
    read, host_ids_at = plan
    host_ids_, state_, = read(data, position)
    at = position + host_ids_at + host_ids_
    size = U32(data, at)[0]
    if 0 < size < 64:
        at += 4
        size += at
        if data[size]:
            raise Doubt
        host_ids_ = data[at:size].decode()
    elif size:
        host_ids_ = long_string(data, at, size, seen)
    elif host_ids_ and not data[at + 4]:
        host_ids_ = ""
    else:
        raise Doubt
    return _NEW_TurnOnOffHostsEvent(timestamp=timestamp, host_ids=host_ids_, state=state_ or 0)


def _write_TurnOnOffHostsEvent(value, append, size, vtables):
    if value.__class__ is not _TurnOnOffHostsEvent:
        raise TypeError
    child = value.host_ids
    text = child.encode()
    length = len(text)
    append(STRING[length](length, text) if length < 128 else write_long_string(text))
    size += length + 8 & -4
    host_ids_place = size
    vtable = vtables[98]
    if not vtable:
        append(_VTABLES[98])
        size += len(_VTABLES[98])
        vtable = vtables[98] = size
    size += 12
    append(_PACK_TurnOnOffHostsEvent(vtable - size, size - 4 - host_ids_place, value.state))
    return size


_READ_Event = (
    refuse,
    _read_JobSubmittedEvent,
    _read_JobCompletedEvent,
    _read_RejectJobEvent,
    _read_ExecuteJobEvent,
    _read_KillJobsEvent,
    _read_JobsKilledEvent,
    _read_RegisterProfileEvent,
    _read_RegisterJobEvent,
    _read_CreateProbeEvent,
    _read_StopProbeEvent,
    _read_TriggerProbeEvent,
    _read_ResetProbeEvent,
    _read_ProbeDataEmittedEvent,
    _read_CallMeLaterEvent,
    _read_RequestedCallEvent,
    _read_StopCallMeLaterEvent,
    _read_EDCHelloEvent,
    _read_SimulationBeginsEvent,
    _read_SimulationEndsEvent,
    _read_SimulationErrorEvent,
    _read_AllStaticJobsHaveBeenSubmittedEvent,
    _read_AllStaticExternalEventsHaveBeenInjectedEvent,
    _read_FinishRegistrationEvent,
    _read_ForceSimulationStopEvent,
    _read_ChangeHostsPStateEvent,
    _read_HostsPStateChangedEvent,
    _read_TurnOnOffHostsEvent,
    _read_HostsTurnedOnOffEvent,
    _read_ExternalEventOccurredEvent,
)
_WRITE_Event = {
    model.JobSubmittedEvent: (1, _write_JobSubmittedEvent),
    model.JobCompletedEvent: (2, _write_JobCompletedEvent),
    model.RejectJobEvent: (3, _write_RejectJobEvent),
    model.ExecuteJobEvent: (4, _write_ExecuteJobEvent),
    model.KillJobsEvent: (5, _write_KillJobsEvent),
    model.JobsKilledEvent: (6, _write_JobsKilledEvent),
    model.RegisterProfileEvent: (7, _write_RegisterProfileEvent),
    model.RegisterJobEvent: (8, _write_RegisterJobEvent),
    model.CreateProbeEvent: (9, _write_CreateProbeEvent),
    model.StopProbeEvent: (10, _write_StopProbeEvent),
    model.TriggerProbeEvent: (11, _write_TriggerProbeEvent),
    model.ResetProbeEvent: (12, _write_ResetProbeEvent),
    model.ProbeDataEmittedEvent: (13, _write_ProbeDataEmittedEvent),
    model.CallMeLaterEvent: (14, _write_CallMeLaterEvent),
    model.RequestedCallEvent: (15, _write_RequestedCallEvent),
    model.StopCallMeLaterEvent: (16, _write_StopCallMeLaterEvent),
    model.EDCHelloEvent: (17, _write_EDCHelloEvent),
    model.SimulationBeginsEvent: (18, _write_SimulationBeginsEvent),
    model.SimulationEndsEvent: (19, _write_SimulationEndsEvent),
    model.SimulationErrorEvent: (20, _write_SimulationErrorEvent),
    model.AllStaticJobsHaveBeenSubmittedEvent: (21, _write_AllStaticJobsHaveBeenSubmittedEvent),
    model.AllStaticExternalEventsHaveBeenInjectedEvent: (22, _write_AllStaticExternalEventsHaveBeenInjectedEvent),
    model.FinishRegistrationEvent: (23, _write_FinishRegistrationEvent),
    model.ForceSimulationStopEvent: (24, _write_ForceSimulationStopEvent),
    model.ChangeHostsPStateEvent: (25, _write_ChangeHostsPStateEvent),
    model.HostsPStateChangedEvent: (26, _write_HostsPStateChangedEvent),
    model.TurnOnOffHostsEvent: (27, _write_TurnOnOffHostsEvent),
    model.HostsTurnedOnOffEvent: (28, _write_HostsTurnedOnOffEvent),
    model.ExternalEventOccurredEvent: (29, _write_ExternalEventOccurredEvent),
}
_READ_ExecutorPlacement = (
    refuse,
    _read_PredefinedExecutorPlacementStrategyWrapper,
    _read_CustomExecutorToHostMapping,
)
_WRITE_ExecutorPlacement = {
    model.PredefinedExecutorPlacementStrategy: (1, _write_PredefinedExecutorPlacementStrategyWrapper),
    model.CustomExecutorToHostMapping: (2, _write_CustomExecutorToHostMapping),
}
_READ_ExternalEvent = (
    refuse,
    _read_GenericExternalEvent,
)
_WRITE_ExternalEvent = {
    model.GenericExternalEvent: (1, _write_GenericExternalEvent),
}
_READ_KillProgress = (
    refuse,
    _read_KillProgressAtomicProfile,
    _read_KillProgressSequentialProfile,
    _read_KillProgressForkJoinProfile,
)
_WRITE_KillProgress = {
    model.KillProgressAtomicProfile: (1, _write_KillProgressAtomicProfile),
    model.KillProgressSequentialProfile: (2, _write_KillProgressSequentialProfile),
    model.KillProgressForkJoinProfile: (3, _write_KillProgressForkJoinProfile),
}
_READ_PeriodicMode = (
    refuse,
    _read_Infinite,
    _read_FinitePeriodNumber,
)
_WRITE_PeriodicMode = {
    model.Infinite: (1, _write_Infinite),
    model.FinitePeriodNumber: (2, _write_FinitePeriodNumber),
}
_READ_ProbeData = (
    refuse,
    _read_AggregatedProbeData,
    _read_VectorialProbeData,
)
_WRITE_ProbeData = {
    model.AggregatedProbeData: (1, _write_AggregatedProbeData),
    model.VectorialProbeData: (2, _write_VectorialProbeData),
}
_READ_ProbeDataAccumulationStrategy = (
    refuse,
    _read_NoProbeDataAccumulation,
    _read_ProbeDataAccumulation,
)
_WRITE_ProbeDataAccumulationStrategy = {
    model.NoProbeDataAccumulation: (1, _write_NoProbeDataAccumulation),
    model.ProbeDataAccumulation: (2, _write_ProbeDataAccumulation),
}
_READ_ProbeEmissionFilteringPolicy = (
    refuse,
    _read_NoFiltering,
    _read_ThresholdFilteringFunction,
)
_WRITE_ProbeEmissionFilteringPolicy = {
    model.NoFiltering: (1, _write_NoFiltering),
    model.ThresholdFilteringFunction: (2, _write_ThresholdFilteringFunction),
}
_READ_ProbeMeasurementTriggeringPolicy = (
    refuse,
    _read_TemporalTriggerWrapper,
)
_WRITE_ProbeMeasurementTriggeringPolicy = {
    model.OneShot: (1, _write_TemporalTriggerWrapper),
    model.Periodic: (1, _write_TemporalTriggerWrapper),
}
_READ_Profile = (
    refuse,
    _read_DelayProfile,
    _read_ParallelTaskProfile,
    _read_ParallelTaskHomogeneousProfile,
    _read_SequentialCompositionProfile,
    _read_ForkJoinCompositionProfile,
    _read_ParallelTaskMergeCompositionProfile,
    _read_ParallelTaskOnStorageHomogeneousProfile,
    _read_ParallelTaskDataStagingBetweenStoragesProfile,
    _read_TraceReplayProfile,
)
_WRITE_Profile = {
    model.DelayProfile: (1, _write_DelayProfile),
    model.ParallelTaskProfile: (2, _write_ParallelTaskProfile),
    model.ParallelTaskHomogeneousProfile: (3, _write_ParallelTaskHomogeneousProfile),
    model.SequentialCompositionProfile: (4, _write_SequentialCompositionProfile),
    model.ForkJoinCompositionProfile: (5, _write_ForkJoinCompositionProfile),
    model.ParallelTaskMergeCompositionProfile: (6, _write_ParallelTaskMergeCompositionProfile),
    model.ParallelTaskOnStorageHomogeneousProfile: (7, _write_ParallelTaskOnStorageHomogeneousProfile),
    model.ParallelTaskDataStagingBetweenStoragesProfile: (8, _write_ParallelTaskDataStagingBetweenStoragesProfile),
    model.TraceReplayProfile: (9, _write_TraceReplayProfile),
}
_READ_ResetMode = (
    refuse,
    _read_NoReset,
    _read_ProbeAccumulationReset,
)
_WRITE_ResetMode = {
    model.NoReset: (1, _write_NoReset),
    model.ProbeAccumulationReset: (2, _write_ProbeAccumulationReset),
}
_READ_Resources = (
    refuse,
    _read_HostResources,
    _read_LinkResources,
)
_WRITE_Resources = {
    model.HostResources: (1, _write_HostResources),
    model.LinkResources: (2, _write_LinkResources),
}
_READ_ResourcesAggregationFunction = (
    refuse,
    _read_NoResourcesAggregation,
    _read_Sum,
    _read_ArithmeticMean,
    _read_QuantileFunction,
)
_WRITE_ResourcesAggregationFunction = {
    model.NoResourcesAggregation: (1, _write_NoResourcesAggregation),
    model.Sum: (2, _write_Sum),
    model.ArithmeticMean: (3, _write_ArithmeticMean),
    model.QuantileFunction: (4, _write_QuantileFunction),
}
_READ_TemporalAggregationFunction = (
    refuse,
    _read_NoTemporalAggregation,
    _read_ExponentialMovingAverage,
    _read_SlidingWindowOperation,
)
_WRITE_TemporalAggregationFunction = {
    model.NoTemporalAggregation: (1, _write_NoTemporalAggregation),
    model.ExponentialMovingAverage: (2, _write_ExponentialMovingAverage),
    model.SlidingWindowOperation: (3, _write_SlidingWindowOperation),
}
_READ_TemporalTrigger = (
    refuse,
    _read_OneShot,
    _read_Periodic,
)
_WRITE_TemporalTrigger = {
    model.OneShot: (1, _write_OneShot),
    model.Periodic: (2, _write_Periodic),
}


_PLANS_EventAndTimestamp = {}
_PACK_EventAndTimestamp = Struct('<iB3xId').pack
_SLOTS_EventAndTimestamp = (
    Slot(1, 1, 'B', False, False),
    Slot(2, 4, 'I', True, True),
    Slot(0, 8, 'd', False, False),
)


_Message = model.Message
_NEW_Message = fast(_Message)
_PLANS_Message = {}
_PACK_Message = Struct('<iId').pack
_SLOTS_Message = (
    Slot(1, 4, 'I', True, True),
    Slot(0, 8, 'd', False, False),
)


def decode(data):
    """Read a message from `bytes`; on anything unusual raise one of `layout.STUMBLES`."""
    seen = {0: min(len(data) // 8, MAX_TABLES // 11)}
    position = U32(data, 0)[0]
    vtable = position - _I32(data, position)[0]
    if vtable < 0:
        raise Doubt
    plan = _PLANS_Message.get(data[vtable : vtable + data[vtable]])
    if plan is None:
        plan = learn(_PLANS_Message, _SLOTS_Message, data, vtable)
    read, events_at = plan
    events_, now_, = read(data, position)
    now = now_ if now_.__class__ is float else 0.0
    found = []
    known = None
    at = position + events_at + events_
    for step in offsets(data, at, events_, seen):
        at += 4
        position = at + step
        vtable = position - _I32(data, position)[0]
        if vtable != known:  # events share their vtable with the one before, as a rule
            if vtable < 0:
                raise Doubt
            plan = _PLANS_EventAndTimestamp.get(data[vtable : vtable + data[vtable]])
            if plan is None:
                plan = learn(_PLANS_EventAndTimestamp, _SLOTS_EventAndTimestamp, data, vtable)
            read, event_at = plan
            known = vtable
        event_type_, event_, timestamp_ = read(data, position)
        found.append(
            _READ_Event[event_type_](
                data,
                position + event_at + event_,
                seen,
                timestamp_ if timestamp_.__class__ is float else 0.0,
            )
        )
    return _NEW_Message(now, tuple(found))


_VTABLES = (
    b'\x06\x00\x0c\x00\x04\x00\x00\x00',
    b'\x04\x00\x04\x00',
    b'\x04\x00\x04\x00',
    b'\n\x00\x10\x00\x08\x00\x04\x00\x0c\x00\x00\x00',
    b'\x04\x00\x04\x00',
    b'\n\x00\x10\x00\x08\x00\x04\x00\x0c\x00\x00\x00',
    b'\x08\x00\x0c\x00\x04\x00\x08\x00',
    b' \x00(\x00\x0c\x00\x04\x00\x05\x00\x10\x00\x06\x00\x14\x00\x07\x00\x18\x00\x08\x00\x1c\x00\t\x00 \x00\n\x00$\x00',
    b'\x06\x00\x08\x00\x04\x00\x00\x00',
    b'\x06\x00\x0c\x00\x04\x00\x00\x00',
    b'\x10\x00\x1c\x00\x04\x00\x00\x00\x0c\x00\x10\x00\x00\x00\x18\x00',
    b'\x10\x00\x1c\x00\x04\x00\x08\x00\x0c\x00\x10\x00\x00\x00\x18\x00',
    b'\x10\x00\x1c\x00\x04\x00\x00\x00\x0c\x00\x10\x00\x14\x00\x18\x00',
    b'\x10\x00\x1c\x00\x04\x00\x08\x00\x0c\x00\x10\x00\x14\x00\x18\x00',
    b'\x10\x00\x0c\x00\x04\x00\x05\x00\x06\x00\x07\x00\x08\x00\t\x00',
    b'\n\x00\x14\x00\x0c\x00\x04\x00\x08\x00\x00\x00',
    b'\x0c\x00\x14\x00\x04\x00\x08\x00\x00\x00\x00\x00',
    b'\x0c\x00\x14\x00\x04\x00\x08\x00\x0c\x00\x00\x00',
    b'\x0c\x00\x14\x00\x04\x00\x08\x00\x00\x00\x10\x00',
    b'\x0c\x00\x14\x00\x04\x00\x08\x00\x0c\x00\x10\x00',
    b'\x04\x00\x04\x00',
    b'\x08\x00\x0c\x00\x04\x00\x08\x00',
    b'\n\x00\x10\x00\x08\x00\x04\x00\x0c\x00\x00\x00',
    b'\x04\x00\x04\x00',
    b'\x06\x00\x08\x00\x04\x00\x00\x00',
    b'\x04\x00\x04\x00',
    b'\x06\x00\x08\x00\x04\x00\x00\x00',
    b'\x06\x00\x08\x00\x04\x00\x00\x00',
    b'\x16\x00(\x00\x08\x00\x0c\x00\x10\x00\x14\x00\x04\x00\x00\x00\x00\x00 \x00$\x00\x00\x00',
    b'\x16\x00(\x00\x08\x00\x0c\x00\x10\x00\x14\x00\x04\x00\x18\x00\x00\x00 \x00$\x00\x00\x00',
    b'\x16\x00(\x00\x08\x00\x0c\x00\x10\x00\x14\x00\x04\x00\x00\x00\x1c\x00 \x00$\x00\x00\x00',
    b'\x16\x00(\x00\x08\x00\x0c\x00\x10\x00\x14\x00\x04\x00\x18\x00\x1c\x00 \x00$\x00\x00\x00',
    b'\x08\x00\x0c\x00\x04\x00\x08\x00',
    b'\x06\x00\x08\x00\x04\x00\x00\x00',
    b'\x08\x00\x0c\x00\x04\x00\x08\x00',
    b'\x08\x00\x0c\x00\x04\x00\x08\x00',
    b'\x04\x00\x04\x00',
    b'\x0c\x00\x18\x00\x04\x00\x00\x00\x00\x00\x0c\x00',
    b'\x0c\x00\x18\x00\x04\x00\x10\x00\x00\x00\x0c\x00',
    b'\x0c\x00\x18\x00\x04\x00\x00\x00\x08\x00\x0c\x00',
    b'\x0c\x00\x18\x00\x04\x00\x10\x00\x08\x00\x0c\x00',
    b'\x08\x00\x0c\x00\x04\x00\x08\x00',
    b'\n\x00\x10\x00\x08\x00\x04\x00\x0c\x00\x00\x00',
    b'\x0c\x00\x18\x00\x04\x00\x08\x00\x10\x00\x00\x00',
    b'\x0c\x00\x18\x00\x04\x00\x08\x00\x10\x00\x0c\x00',
    b'\n\x00\x10\x00\x04\x00\x08\x00\x00\x00\x00\x00',
    b'\n\x00\x10\x00\x04\x00\x08\x00\x0c\x00\x00\x00',
    b'\x06\x00\x08\x00\x04\x00\x00\x00',
    b'\x08\x00\x10\x00\x04\x00\x08\x00',
    b'\x08\x00\x0c\x00\x04\x00\x08\x00',
    b'\x0c\x00\x14\x00\x04\x00\x08\x00\x0c\x00\x10\x00',
    b'\x08\x00\x0c\x00\x04\x00\x08\x00',
    b'\x06\x00\x08\x00\x04\x00\x00\x00',
    b'\x08\x00\x10\x00\x08\x00\x04\x00',
    b'\x04\x00\x04\x00',
    b'\x04\x00\x04\x00',
    b'\x04\x00\x04\x00',
    b'\x04\x00\x04\x00',
    b'\x04\x00\x04\x00',
    b'\x08\x00\x10\x00\x08\x00\x04\x00',
    b'\n\x00\x14\x00\x0c\x00\x04\x00\x08\x00\x00\x00',
    b'\n\x00\x18\x00\x08\x00\x10\x00\x04\x00\x00\x00',
    b'\x06\x00\x08\x00\x04\x00\x00\x00',
    b'\x0c\x00\x1c\x00\x08\x00\x0c\x00\x14\x00\x04\x00',
    b'\x08\x00\x0c\x00\x00\x00\x00\x00',
    b'\x08\x00\x0c\x00\x04\x00\x00\x00',
    b'\x08\x00\x0c\x00\x00\x00\x08\x00',
    b'\x08\x00\x0c\x00\x04\x00\x08\x00',
    b'\x0e\x00\x1c\x00\x0c\x00\x14\x00\x04\x00\x05\x00\x08\x00\x00\x00',
    b'\x06\x00\x08\x00\x04\x00\x00\x00',
    b'\x06\x00\x0c\x00\x04\x00\x00\x00',
    b'\x0c\x00\x0c\x00\x04\x00\x08\x00\x05\x00\x06\x00',
    b'\x16\x00\x1c\x00\x08\x00\x04\x00\x0c\x00\x05\x00\x06\x00\x10\x00\x07\x00\x14\x00\x18\x00\x00\x00',
    b'\x0c\x00\x14\x00\x08\x00\x0c\x00\x04\x00\x10\x00',
    b'\x0c\x00\x14\x00\x08\x00\x04\x00\x0c\x00\x00\x00',
    b'\x0c\x00\x14\x00\x08\x00\x04\x00\x0c\x00\x10\x00',
    b'\x06\x00\x0c\x00\x04\x00\x00\x00',
    b'\x08\x00\x0c\x00\x04\x00\x08\x00',
    b'\x06\x00\x08\x00\x04\x00\x00\x00',
    b'\x06\x00\x08\x00\x04\x00\x00\x00',
    b'\x08\x00\x0c\x00\x08\x00\x04\x00',
    b'\x08\x00\x10\x00\x04\x00\x08\x00',
    b'\x08\x00\x0c\x00\x04\x00\x08\x00',
    b'\x1e\x008\x00\x04\x00\x08\x00\x00\x00\x10\x00\x14\x00\x18\x00\x1c\x00 \x00$\x00(\x00,\x000\x00\x00\x00\x00\x00',
    b'\x1e\x008\x00\x04\x00\x08\x00\x0c\x00\x10\x00\x14\x00\x18\x00\x1c\x00 \x00$\x00(\x00,\x000\x00\x00\x00\x00\x00',
    b'\x1e\x008\x00\x04\x00\x08\x00\x00\x00\x10\x00\x14\x00\x18\x00\x1c\x00 \x00$\x00(\x00,\x000\x004\x00\x00\x00',
    b'\x1e\x008\x00\x04\x00\x08\x00\x0c\x00\x10\x00\x14\x00\x18\x00\x1c\x00 \x00$\x00(\x00,\x000\x004\x00\x00\x00',
    b'\x04\x00\x04\x00',
    b'\x06\x00\x08\x00\x04\x00\x00\x00',
    b'\x04\x00\x04\x00',
    b'\x06\x00\x08\x00\x04\x00\x00\x00',
    b'\x06\x00\x08\x00\x04\x00\x00\x00',
    b'\x08\x00\x0c\x00\x04\x00\x08\x00',
    b'\x04\x00\x04\x00',
    b'\x08\x00\x0c\x00\x04\x00\x08\x00',
    b'\x08\x00\x10\x00\x08\x00\x04\x00',
    b'\x08\x00\x0c\x00\x04\x00\x08\x00',
    b'\x08\x00\x0c\x00\x08\x00\x04\x00',
    b'\x08\x00\x0c\x00\x04\x00\x08\x00',
    b'\x06\x00\x08\x00\x04\x00\x00\x00',
    b'\x08\x00\x0c\x00\x04\x00\x08\x00',
)


def encode(message):
    """Write a message; on anything that it cannot write raise one of the exceptions of Python."""
    pieces = []
    append = pieces.append
    vtables = [0] * len(_VTABLES)
    size = 0
    places = []
    if message.events.__class__ is not tuple:
        raise TypeError
    for event in message.events:
        event_type, write = _WRITE_Event[event.__class__]
        event_place = size = write(event, append, size, vtables)
        vtable = vtables[15]
        if not vtable:
            append(_VTABLES[15])
            size += len(_VTABLES[15])
            vtable = vtables[15] = size
        if size & 4:
            append(PAD4)
            size += 4
        size += 20
        append(_PACK_EventAndTimestamp(vtable - size, event_type, size - 8 - event_place, event.timestamp))
        places.append(size)
    events_place = size = write_places(places, append, size)
    vtable = vtables[53]
    if not vtable:
        append(_VTABLES[53])
        size += len(_VTABLES[53])
        vtable = vtables[53] = size
    if size & 4:
        append(PAD4)
        size += 4
    size += 16
    append(_PACK_Message(vtable - size, size - 4 - events_place, message.now))
    place = size
    size = size + 11 & -8
    append((size - place).to_bytes(4, 'little') + bytes(size - place - 4))
    pieces.reverse()
    return b"".join(pieces)
