"""The schema `batprotocol.fbs` as Python values. Written by `tools/compile_schema.py`; never edited by hand."""

from __future__ import annotations

from batprotocol.wire.reflection import Enum, Field, Schema, Table, Type, Union


SCHEMA_SHA256 = "1243c9399c5312da30c531bb403064a7091a927d3b62aedfdf98c9b8ca6dd6b7"
ROOT = "Message"

ENUMS: dict[str, Enum] = {
    'BooleanComparisonOperator': Enum('BooleanComparisonOperator', 'int8', {'GreaterThan': 0, 'GreaterThanOrEqual': 1, 'LessThan': 2, 'LessThanOrEqual': 3}, '', {}),
    'CumulativeFunction': Enum('CumulativeFunction', 'int8', {'Sum': 0, 'Minimum': 1, 'Maximum': 2}, '', {}),
    'FinalJobState': Enum('FinalJobState', 'int8', {'COMPLETED_SUCCESSFULLY': 0, 'COMPLETED_FAILED': 1, 'COMPLETED_WALLTIME_REACHED': 2, 'COMPLETED_KILLED': 3, 'REJECTED': 4}, '', {'COMPLETED_SUCCESSFULLY': 'Job executed without reaching walltime, with exit_code=0.', 'COMPLETED_FAILED': 'Job executed without reaching walltime, with exit_code!=0.', 'COMPLETED_WALLTIME_REACHED': 'Job executed but reached its walltime (killed automatically by Batsim).', 'COMPLETED_KILLED': 'Job executed but killed by the decision process.', 'REJECTED': 'Job not executed. Has been rejected by the decision process.'}),
    'HomogeneousParallelTaskGenerationStrategy': Enum('HomogeneousParallelTaskGenerationStrategy', 'int8', {'DefinedAmountsUsedForEachValue': 0, 'DefinedAmountsSpreadUniformly': 1}, '', {'DefinedAmountsUsedForEachValue': 'Every host computes computation_amount flops. Every link transfers communication_amount bytes (links from a host to itself transfers 0 bytes).', 'DefinedAmountsSpreadUniformly': 'Every host computes the same amount, and their sum equals computation_amount flops. Every link transfers the same amount (links from a host to itself transfers 0 bytes), and their sum equals communication_amount bytes.'}),
    'HostState': Enum('HostState', 'int8', {'SLEEPING': 0, 'IDLE': 1, 'COMPUTING': 2, 'SWITCHING_ON': 3, 'SWITCHING_OFF': 4}, '', {}),
    'Metrics': Enum('Metrics', 'int8', {'Power': 0, 'NetworkLoad': 1, 'ComputationLoad': 2, 'NormalizedNetworkLoad': 3, 'NormalizedComputationLoad': 4}, '', {'Power': 'The power in J/s', 'NetworkLoad': 'The network load in bytes/s', 'ComputationLoad': 'The load in flop/s (amount of computing operations per second)', 'NormalizedNetworkLoad': 'The normalized network load in [0,1]. Cannot be accumulated over time as this metrics is not defined per unit of time.', 'NormalizedComputationLoad': 'The normalized network load in [0,1]. Cannot be accumulated over time as this metrics is not defined per unit of time.'}),
    'PredefinedExecutorPlacementStrategy': Enum('PredefinedExecutorPlacementStrategy', 'int8', {'SpreadOverHostsFirst': 0, 'FillOneHostCoresFirst': 1}, '', {'SpreadOverHostsFirst': 'Host1 will be used, then Host2, ..., then HostN, then Host1...', 'FillOneHostCoresFirst': 'Host1 will be used, then Host1, ... (until Host1 cores are filled), then Host2...'}),
    'TimeUnit': Enum('TimeUnit', 'int8', {'Second': 0, 'Millisecond': 1}, '', {}),
    'TraceType': Enum('TraceType', 'int8', {'SMPI': 0, 'FractionalComputation': 1}, '', {}),
}

UNIONS: dict[str, Union] = {
    'Event': Union('Event', ('JobSubmittedEvent', 'JobCompletedEvent', 'RejectJobEvent', 'ExecuteJobEvent', 'KillJobsEvent', 'JobsKilledEvent', 'RegisterProfileEvent', 'RegisterJobEvent', 'CreateProbeEvent', 'StopProbeEvent', 'TriggerProbeEvent', 'ResetProbeEvent', 'ProbeDataEmittedEvent', 'CallMeLaterEvent', 'RequestedCallEvent', 'StopCallMeLaterEvent', 'EDCHelloEvent', 'SimulationBeginsEvent', 'SimulationEndsEvent', 'SimulationErrorEvent', 'AllStaticJobsHaveBeenSubmittedEvent', 'AllStaticExternalEventsHaveBeenInjectedEvent', 'FinishRegistrationEvent', 'ForceSimulationStopEvent', 'ChangeHostsPStateEvent', 'HostsPStateChangedEvent', 'TurnOnOffHostsEvent', 'HostsTurnedOnOffEvent', 'ExternalEventOccurredEvent'), '', {}),
    'ExecutorPlacement': Union('ExecutorPlacement', ('PredefinedExecutorPlacementStrategyWrapper', 'CustomExecutorToHostMapping'), '', {'PredefinedExecutorPlacementStrategyWrapper': 'Use a predefined placement strategy.', 'CustomExecutorToHostMapping': 'Use a precise manual placement.'}),
    'ExternalEvent': Union('ExternalEvent', ('GenericExternalEvent',), 'List of external event types', {}),
    'KillProgress': Union('KillProgress', ('KillProgressAtomicProfile', 'KillProgressSequentialProfile', 'KillProgressForkJoinProfile'), '', {}),
    'PeriodicMode': Union('PeriodicMode', ('Infinite', 'FinitePeriodNumber'), '', {}),
    'ProbeData': Union('ProbeData', ('AggregatedProbeData', 'VectorialProbeData'), '', {}),
    'ProbeDataAccumulationStrategy': Union('ProbeDataAccumulationStrategy', ('NoProbeDataAccumulation', 'ProbeDataAccumulation'), '', {}),
    'ProbeEmissionFilteringPolicy': Union('ProbeEmissionFilteringPolicy', ('NoFiltering', 'ThresholdFilteringFunction'), '', {}),
    'ProbeMeasurementTriggeringPolicy': Union('ProbeMeasurementTriggeringPolicy', ('TemporalTriggerWrapper',), '', {'TemporalTriggerWrapper': 'Union because later we will implement other kind of trigger (as react to an other probe event)'}),
    'Profile': Union('Profile', ('DelayProfile', 'ParallelTaskProfile', 'ParallelTaskHomogeneousProfile', 'SequentialCompositionProfile', 'ForkJoinCompositionProfile', 'ParallelTaskMergeCompositionProfile', 'ParallelTaskOnStorageHomogeneousProfile', 'ParallelTaskDataStagingBetweenStoragesProfile', 'TraceReplayProfile'), '', {}),
    'ResetMode': Union('ResetMode', ('NoReset', 'ProbeAccumulationReset'), '', {}),
    'Resources': Union('Resources', ('HostResources', 'LinkResources'), '', {}),
    'ResourcesAggregationFunction': Union('ResourcesAggregationFunction', ('NoResourcesAggregation', 'Sum', 'ArithmeticMean', 'QuantileFunction'), '', {}),
    'TemporalAggregationFunction': Union('TemporalAggregationFunction', ('NoTemporalAggregation', 'ExponentialMovingAverage', 'SlidingWindowOperation'), '', {}),
    'TemporalTrigger': Union('TemporalTrigger', ('OneShot', 'Periodic'), '', {}),
}

TABLES: dict[str, Table] = {
    'AggregatedProbeData': Table('AggregatedProbeData', (
        Field('data', 0, Type('float64'), False, False, 0.0, 'The value aggregated over all the resources'),
    ), ''),
    'AllStaticExternalEventsHaveBeenInjectedEvent': Table('AllStaticExternalEventsHaveBeenInjectedEvent', (
    ), ''),
    'AllStaticJobsHaveBeenSubmittedEvent': Table('AllStaticJobsHaveBeenSubmittedEvent', (
    ), ''),
    'AllocationPlacement': Table('AllocationPlacement', (
        Field('host_allocation', 0, Type('string'), True, False, None, 'Intervalset of hosts where the job should be executed.'),
        Field('executor_placement_type', 1, Type('utype', 'ExecutorPlacement'), False, False, 0, ''),
        Field('executor_placement', 2, Type('union', 'ExecutorPlacement'), True, False, None, 'Placement of SimGrid executors on hosts.'),
    ), ''),
    'ArithmeticMean': Table('ArithmeticMean', (
    ), ''),
    'CallMeLaterEvent': Table('CallMeLaterEvent', (
        Field('call_me_later_id', 0, Type('string'), True, False, None, 'Can be used by the decision process to identify why the CallMeLaterEvent has been requested. This field is forwarded in all RequestedCallEvent related to a CallMeLaterEvent.'),
        Field('when_type', 1, Type('utype', 'TemporalTrigger'), False, False, 0, ''),
        Field('when', 2, Type('union', 'TemporalTrigger'), True, False, None, 'Defines when the future call will be done.'),
    ), ''),
    'ChangeHostsPStateEvent': Table('ChangeHostsPStateEvent', (
        Field('host_ids', 0, Type('string'), True, False, None, 'Intervalset of hosts on which to change the PState'),
        Field('pstate', 1, Type('uint32'), False, False, 0, 'The new pstate'),
    ), 'The EDC asks Batsim to change the Pstate of some hosts'),
    'CreateProbeEvent': Table('CreateProbeEvent', (
        Field('probe_id', 0, Type('string'), True, False, None, 'The name of the probe'),
        Field('metrics', 1, Type('enum', 'Metrics'), False, False, 0, 'The metrics that we want to study'),
        Field('resources_type', 2, Type('utype', 'Resources'), False, False, 0, ''),
        Field('resources', 3, Type('union', 'Resources'), True, False, None, 'The resources onto which the probe should be set'),
        Field('data_accumulation_strategy_type', 4, Type('utype', 'ProbeDataAccumulationStrategy'), False, False, 0, ''),
        Field('data_accumulation_strategy', 5, Type('union', 'ProbeDataAccumulationStrategy'), True, False, None, ''),
        Field('measurement_triggering_policy_type', 6, Type('utype', 'ProbeMeasurementTriggeringPolicy'), False, False, 0, ''),
        Field('measurement_triggering_policy', 7, Type('union', 'ProbeMeasurementTriggeringPolicy'), True, False, None, 'When our probe is taking measures'),
        Field('resources_aggregation_function_type', 8, Type('utype', 'ResourcesAggregationFunction'), False, False, 0, ''),
        Field('resources_aggregation_function', 9, Type('union', 'ResourcesAggregationFunction'), True, False, None, 'The resources aggregation function'),
        Field('temporal_aggregation_function_type', 10, Type('utype', 'TemporalAggregationFunction'), False, False, 0, ''),
        Field('temporal_aggregation_function', 11, Type('union', 'TemporalAggregationFunction'), True, False, None, ''),
        Field('emission_filtering_policy_type', 12, Type('utype', 'ProbeEmissionFilteringPolicy'), False, False, 0, ''),
        Field('emission_filtering_policy', 13, Type('union', 'ProbeEmissionFilteringPolicy'), True, False, None, 'The condition that has to be respected to emited data'),
    ), ''),
    'CustomExecutorToHostMapping': Table('CustomExecutorToHostMapping', (
        Field('mapping', 0, Type('vector', '', Type('uint32')), True, False, None, 'Used to define precisely which host should be used by each SimGrid executor. The vector size must match the amount of SimGrid executors, which is defined by the (profile, host_allocation) tuple. The value at index i is used to determine where SimGrid executor i runs. Values are NOT host resource ids, they are unsigned integers in [0, size(host_allocation)[ that are used to refer to hosts indirectly via host_allocation.'),
    ), ''),
    'DelayProfile': Table('DelayProfile', (
        Field('delay', 0, Type('float64'), False, False, 0.0, ''),
    ), ''),
    'EDCHelloEvent': Table('EDCHelloEvent', (
        Field('batprotocol_version', 0, Type('string'), True, False, None, 'The version of the batprotocol. Expecting a released version of batprotocol, for example "0.1.0".'),
        Field('batprotocol_commit', 1, Type('string'), False, False, None, 'The Git commit of the batprotocol version. Optional but recommended for tracability.'),
        Field('decision_component_name', 2, Type('string'), True, False, None, 'The name of the decision component. For example "batsched" or "pybatsim". Cannot contain comma (ASCII/UTF-8 0x2C) nor double quote (ASCII/UTF-8 0x22).'),
        Field('decision_component_version', 3, Type('string'), True, False, None, 'The version of the decision component. Only used for tracability purpose. For example "1.2.0", "v3.2.0-1-g880dd60"... Cannot contain comma (ASCII/UTF-8 0x2C) nor double quote (ASCII/UTF-8 0x22).'),
        Field('decision_component_commit', 4, Type('string'), False, False, None, 'The commit (from a version control system, typically Git) that precisely identifies the decision component version. Can be null. Example: "880dd60c537d7d7a8246daaf5b2d1f7bfea3cbf4". Cannot contain comma (ASCII/UTF-8 0x2C) nor double quote (ASCII/UTF-8 0x22).'),
        Field('requested_simulation_features', 5, Type('table', 'EDCRequestedSimulationFeatures'), True, False, None, 'The simulation features requested by the decision component.'),
    ), ''),
    'EDCRequestedSimulationFeatures': Table('EDCRequestedSimulationFeatures', (
        Field('dynamic_registration', 0, Type('bool'), False, False, False, 'If true the dynamic registration of jobs and profiles will be enabled for this EDC. This means the EDC must send a FinishRegistrationEvent so the simulation can end.'),
        Field('profile_reuse', 1, Type('bool'), False, False, False, 'If true any existing profile can be used to register dynamic jobs. Otherwise the EDC must make sure that the desired profile has not been garbage collected from Batsim memory when registering a job (which happens when the last job that references a profile completes).'),
        Field('acknowledge_dynamic_jobs', 2, Type('bool'), False, False, False, 'If true Batsim will emit a JobSubmittedEvent to this EDC when the EDC registers a job.'),
        Field('forward_profiles_on_job_submission', 3, Type('bool'), False, False, False, 'If true Batsim will include profile information in JobSubmittedEvent.'),
        Field('forward_profiles_on_jobs_killed', 4, Type('bool'), False, False, False, 'If true Batsim will include profile information in JobsKilledEvent.'),
        Field('forward_profiles_on_simulation_begins', 5, Type('bool'), False, False, False, 'If true Batsim will include profile information in SimulationBeginsEvent.'),
    ), ''),
    'EventAndTimestamp': Table('EventAndTimestamp', (
        Field('timestamp', 0, Type('float64'), False, False, 0.0, ''),
        Field('event_type', 1, Type('utype', 'Event'), False, False, 0, ''),
        Field('event', 2, Type('union', 'Event'), True, False, None, ''),
    ), ''),
    'ExecuteJobEvent': Table('ExecuteJobEvent', (
        Field('job_id', 0, Type('string'), True, False, None, ''),
        Field('allocation', 1, Type('table', 'AllocationPlacement'), True, False, None, "Defines the job's main resource allocation and the placement of SimGrid executors on the allocated hosts."),
        Field('profile_allocation_override', 2, Type('vector', '', Type('table', 'ProfileAllocationPlacement')), False, False, None, "Can be set to override the placement of sub-profiles. Only makes sense if the job's main profile is a composition profile."),
        Field('storage_placement', 3, Type('vector', '', Type('table', 'StorageHost')), False, False, None, 'Overrides the placement of storage names. Enable the use of abstract storage names in your profiles.'),
    ), ''),
    'ExponentialMovingAverage': Table('ExponentialMovingAverage', (
    ), ''),
    'ExternalEventListAndFilename': Table('ExternalEventListAndFilename', (
        Field('name', 0, Type('string'), True, False, None, 'The external event list unique name.'),
        Field('filename', 1, Type('string'), True, False, None, 'The external event list filename.'),
    ), ''),
    'ExternalEventOccurredEvent': Table('ExternalEventOccurredEvent', (
        Field('id', 0, Type('string'), True, False, None, 'The unique identifier'),
        Field('external_event_type', 1, Type('utype', 'ExternalEvent'), False, False, 0, ''),
        Field('external_event', 2, Type('union', 'ExternalEvent'), True, False, None, 'The external event'),
    ), 'Batsim tells the EDC that an external event has occurred'),
    'FinishRegistrationEvent': Table('FinishRegistrationEvent', (
    ), ''),
    'FinitePeriodNumber': Table('FinitePeriodNumber', (
        Field('nb_periods', 0, Type('uint32'), False, False, 0, ''),
    ), ''),
    'ForceSimulationStopEvent': Table('ForceSimulationStopEvent', (
    ), ''),
    'ForkJoinCompositionProfile': Table('ForkJoinCompositionProfile', (
        Field('profile_ids', 0, Type('vector', '', Type('string')), True, False, None, ''),
    ), ''),
    'GenericExternalEvent': Table('GenericExternalEvent', (
        Field('data', 0, Type('string'), True, False, None, 'The data associated to the external event'),
    ), 'A generic external event containing a string of data'),
    'Host': Table('Host', (
        Field('id', 0, Type('uint32'), False, False, 0, 'The host unique identifier.'),
        Field('name', 1, Type('string'), True, False, None, 'The host name.'),
        Field('pstate', 2, Type('uint32'), False, False, 0, 'The host power state.'),
        Field('pstate_count', 3, Type('uint32'), False, False, 1, 'The host power state count.'),
        Field('state', 4, Type('enum', 'HostState'), False, False, 0, 'The host state.'),
        Field('properties', 5, Type('vector', '', Type('table', 'HostProperty')), False, False, None, 'The properties defined in this specific host.'),
        Field('zone_properties', 6, Type('vector', '', Type('table', 'HostProperty')), False, False, None, 'The properties defined for the Zone that contains this host.'),
        Field('core_count', 7, Type('uint32'), False, False, 1, 'The host core count.'),
        Field('computation_speed', 8, Type('vector', '', Type('float64')), True, False, None, 'The host computation speeds in each power state. Vector is indexed by power state number in [0,pstate_count[.'),
    ), ''),
    'HostProperty': Table('HostProperty', (
        Field('key', 0, Type('string'), True, False, None, ''),
        Field('value', 1, Type('string'), True, False, None, ''),
    ), ''),
    'HostResources': Table('HostResources', (
        Field('host_ids', 0, Type('string'), True, False, None, 'The intervalset of host ids'),
    ), ''),
    'HostsPStateChangedEvent': Table('HostsPStateChangedEvent', (
        Field('host_ids', 0, Type('string'), True, False, None, 'Intervalset of hosts on which the PState changed'),
        Field('pstate', 1, Type('uint32'), False, False, 0, 'The new pstate'),
    ), 'Batsim tells the EDC that Pstate of some hosts changed'),
    'HostsTurnedOnOffEvent': Table('HostsTurnedOnOffEvent', (
        Field('host_ids', 0, Type('string'), True, False, None, 'Intervamset of hosts impacted'),
        Field('state', 1, Type('uint32'), False, False, 0, 'The new state'),
    ), 'Batsim tells the EDC that the state of some hosts changed'),
    'Infinite': Table('Infinite', (
    ), ''),
    'Job': Table('Job', (
        Field('resource_request', 0, Type('uint32'), False, False, 0, 'Defines how many resources the job requests. This also defines the number of SimGrid executors.'),
        Field('walltime', 1, Type('float64'), False, True, None, 'If set, this is the amount of seconds after which the job will be automatically killed by Batsim.\nIf null, the job has no walltime, it will not be automatically killed by Batsim.'),
        Field('extra_data', 2, Type('string'), False, False, None, 'Custom user-defined data for the job. Batsim does not use this field at all, but external decision components (e.g., a scheduler or a dynamic submitter) can.'),
        Field('profile_id', 3, Type('string'), True, False, None, 'The job\'s profile name, which defines how the job should be simulated by Batsim. Expecting a "workload!name" syntax, but "name" is also allowed (in this case, only profiles from the job\'s workload can be used).'),
    ), ''),
    'JobAndProgress': Table('JobAndProgress', (
        Field('job_id', 0, Type('string'), True, False, None, ''),
        Field('wrapper', 1, Type('table', 'KillProgressWrapper'), True, False, None, ''),
    ), ''),
    'JobCompletedEvent': Table('JobCompletedEvent', (
        Field('job_id', 0, Type('string'), True, False, None, ''),
        Field('state', 1, Type('enum', 'FinalJobState'), False, False, 0, "The job's final state."),
        Field('return_code', 2, Type('int32'), False, False, 0, "The job's return code. 0 is equivalent to a successful completion."),
    ), ''),
    'JobSubmittedEvent': Table('JobSubmittedEvent', (
        Field('job_id', 0, Type('string'), True, False, None, ''),
        Field('job', 1, Type('table', 'Job'), True, False, None, ''),
        Field('submission_time', 2, Type('float64'), False, False, 0.0, 'The point in time at which the job has been submitted.'),
        Field('profile', 3, Type('table', 'ProfileAndId'), False, False, None, 'The Job profile. Only forwarded if forward_profiles_on_job_submission is set'),
    ), ''),
    'JobsKilledEvent': Table('JobsKilledEvent', (
        Field('job_ids', 0, Type('vector', '', Type('string')), True, False, None, ''),
        Field('progresses', 1, Type('vector', '', Type('table', 'JobAndProgress')), True, False, None, ''),
        Field('profiles', 2, Type('vector', '', Type('table', 'ProfileAndId')), False, False, None, 'Only used if forward_profiles_on_jobs_killed is set'),
    ), ''),
    'KillJobsEvent': Table('KillJobsEvent', (
        Field('job_ids', 0, Type('vector', '', Type('string')), True, False, None, ''),
    ), ''),
    'KillProgressAtomicProfile': Table('KillProgressAtomicProfile', (
        Field('profile_id', 0, Type('string'), True, False, None, 'The profile that has been killed. Syntax is "workload!name".'),
        Field('progress', 1, Type('float64'), False, False, 0.0, "The progress of the profile's execution in [0,1]. 0 means the profile execution has just started, 1 means it has just finished."),
    ), ''),
    'KillProgressForkJoinProfile': Table('KillProgressForkJoinProfile', (
        Field('profile_id', 0, Type('string'), True, False, None, 'The profile that has been killed. Syntax is "workload!name".'),
        Field('tasks_progress', 1, Type('vector', '', Type('table', 'KillProgressWrapper')), True, False, None, 'The (recursively defined) progress of the tasks of the associated ForkJoinCompositionProfile.'),
    ), ''),
    'KillProgressSequentialProfile': Table('KillProgressSequentialProfile', (
        Field('profile_id', 0, Type('string'), True, False, None, 'The profile that has been killed. Syntax is "workload!name".'),
        Field('current_repetition', 1, Type('uint32'), False, False, 0, 'The iteration of the associated SequentialCompositionProfile when it has been killed.'),
        Field('current_task_index', 2, Type('uint32'), False, False, 0, 'The index in [0, size(profiles)[ of the associated SequentialCompositionProfile when it has been killed.'),
        Field('current_task_progress', 3, Type('table', 'KillProgressWrapper'), True, False, None, 'The (recursively defined) progress of the task of the associated SequentialCompositionProfile.'),
    ), ''),
    'KillProgressWrapper': Table('KillProgressWrapper', (
        Field('kill_progress_type', 0, Type('utype', 'KillProgress'), False, False, 0, ''),
        Field('kill_progress', 1, Type('union', 'KillProgress'), True, False, None, ''),
    ), 'Wrapping needed because of a missing flatbuffers feature: https://github.com/google/flatbuffers/issues/4725'),
    'LinkResources': Table('LinkResources', (
        Field('link_ids', 0, Type('vector', '', Type('string')), True, False, None, 'The names of the links'),
    ), ''),
    'Message': Table('Message', (
        Field('now', 0, Type('float64'), False, False, 0.0, ''),
        Field('events', 1, Type('vector', '', Type('table', 'EventAndTimestamp')), True, False, None, ''),
    ), ''),
    'NoFiltering': Table('NoFiltering', (
    ), ''),
    'NoProbeDataAccumulation': Table('NoProbeDataAccumulation', (
    ), ''),
    'NoReset': Table('NoReset', (
    ), ''),
    'NoResourcesAggregation': Table('NoResourcesAggregation', (
    ), ''),
    'NoTemporalAggregation': Table('NoTemporalAggregation', (
    ), ''),
    'OneShot': Table('OneShot', (
        Field('time', 0, Type('uint64'), False, False, 0, 'The point in time at which the event should occur.'),
        Field('time_unit', 1, Type('enum', 'TimeUnit'), False, False, 0, 'The time unit'),
    ), 'A temporal trigger that happens only once, at a given time.'),
    'ParallelTaskDataStagingBetweenStoragesProfile': Table('ParallelTaskDataStagingBetweenStoragesProfile', (
        Field('bytes_to_transfer', 0, Type('float64'), False, False, 0.0, 'The amount of bytes to transfer from one storage to another.'),
        Field('emitter_storage_name', 1, Type('string'), True, False, None, 'The storage that sends data.'),
        Field('receiver_storage_name', 2, Type('string'), True, False, None, 'The storage that receives data.'),
    ), ''),
    'ParallelTaskHomogeneousProfile': Table('ParallelTaskHomogeneousProfile', (
        Field('computation_amount', 0, Type('float64'), False, False, 0.0, 'The computation amount. Can be 0. How this value is used depends on generation_strategy.'),
        Field('communication_amount', 1, Type('float64'), False, False, 0.0, 'The communication amount. Can be 0. How this value is used depends on generation_strategy.'),
        Field('generation_strategy', 2, Type('enum', 'HomogeneousParallelTaskGenerationStrategy'), False, False, 0, 'The strategy used to generate the parallel task matrices.'),
    ), ''),
    'ParallelTaskMergeCompositionProfile': Table('ParallelTaskMergeCompositionProfile', (
        Field('profile_ids', 0, Type('vector', '', Type('string')), True, False, None, ''),
    ), ''),
    'ParallelTaskOnStorageHomogeneousProfile': Table('ParallelTaskOnStorageHomogeneousProfile', (
        Field('storage_name', 0, Type('string'), True, False, None, 'The storage on which the byte transfers occur.'),
        Field('bytes_to_read', 1, Type('float64'), False, False, 0.0, 'The amount of bytes to read from the storage.'),
        Field('bytes_to_write', 2, Type('float64'), False, False, 0.0, 'The amount of bytes to write on the storage.'),
        Field('generation_strategy', 3, Type('enum', 'HomogeneousParallelTaskGenerationStrategy'), False, False, 0, 'The strategy used to generate the parallel task matrices. Only used to populate the communication matrix, as the computation vector is empty in this case.'),
    ), ''),
    'ParallelTaskProfile': Table('ParallelTaskProfile', (
        Field('computation_vector', 0, Type('vector', '', Type('float64')), False, False, None, 'The amount of computation (in flops) to do by each SimGrid executor. Can either be null or of size that equals the number of SimGrid executors.'),
        Field('communication_matrix', 1, Type('vector', '', Type('float64')), False, False, None, 'The amount of communication (in bytes) to do on each (oriented) link between the hosts where the SimGrid executors take place. Can either be null or of size that equals the square of the number of related SimGrid executors.'),
    ), ''),
    'Periodic': Table('Periodic', (
        Field('period', 0, Type('uint64'), False, False, 0, 'The _distance in time_ between two consecutive events.'),
        Field('offset', 1, Type('uint64'), False, False, 0, 'How measures should be offset from time 0.'),
        Field('time_unit', 2, Type('enum', 'TimeUnit'), False, False, 0, 'The time unit in which period and offset are expressed'),
        Field('mode_type', 3, Type('utype', 'PeriodicMode'), False, False, 0, ''),
        Field('mode', 4, Type('union', 'PeriodicMode'), True, False, None, ''),
    ), ''),
    'PredefinedExecutorPlacementStrategyWrapper': Table('PredefinedExecutorPlacementStrategyWrapper', (
        Field('strategy', 0, Type('enum', 'PredefinedExecutorPlacementStrategy'), False, False, 0, ''),
    ), ''),
    'ProbeAccumulationReset': Table('ProbeAccumulationReset', (
        Field('new_value', 0, Type('float64'), False, False, 0.0, ''),
    ), ''),
    'ProbeDataAccumulation': Table('ProbeDataAccumulation', (
        Field('reset_mode_type', 0, Type('utype', 'ResetMode'), False, False, 0, ''),
        Field('reset_mode', 1, Type('union', 'ResetMode'), True, False, None, ''),
        Field('cumulative_function', 2, Type('enum', 'CumulativeFunction'), False, False, 0, ''),
        Field('temporal_normalization', 3, Type('bool'), False, False, False, ''),
    ), ''),
    'ProbeDataEmittedEvent': Table('ProbeDataEmittedEvent', (
        Field('probe_id', 0, Type('string'), True, False, None, 'The name of the probe'),
        Field('resources_type', 1, Type('utype', 'Resources'), False, False, 0, ''),
        Field('resources', 2, Type('union', 'Resources'), True, False, None, 'The resources observed by the probe'),
        Field('metrics', 3, Type('enum', 'Metrics'), False, False, 0, 'The metrics measured by the probe'),
        Field('data_type', 4, Type('utype', 'ProbeData'), False, False, 0, ''),
        Field('data', 5, Type('union', 'ProbeData'), True, False, None, 'The returned value'),
        Field('manually_triggered', 6, Type('bool'), False, False, False, 'True if the Event has been directly requested by the user via a TriggerProbeEvent, false otherwise'),
        Field('nb_emitted', 7, Type('uint32'), False, False, 0, 'The number of times that the probe has emitted data'),
        Field('nb_triggered', 8, Type('uint32'), False, False, 0, 'The number of times that the probe has been triggered'),
    ), ''),
    'ProfileAllocationPlacement': Table('ProfileAllocationPlacement', (
        Field('profile_id', 0, Type('string'), True, False, None, 'The profile unique identifier. Expected syntax is "workload!name".'),
        Field('host_allocation', 1, Type('string'), True, False, None, 'Intervalset of hosts where the profile should be executed.'),
        Field('executor_placement_type', 2, Type('utype', 'ExecutorPlacement'), False, False, 0, ''),
        Field('executor_placement', 3, Type('union', 'ExecutorPlacement'), True, False, None, 'Placement of SimGrid executors on hosts for this profile.'),
    ), ''),
    'ProfileAndId': Table('ProfileAndId', (
        Field('id', 0, Type('string'), True, False, None, 'Using "workload!name" syntax.'),
        Field('profile_type', 1, Type('utype', 'Profile'), False, False, 0, ''),
        Field('profile', 2, Type('union', 'Profile'), True, False, None, ''),
        Field('extra_data', 3, Type('string'), False, False, None, 'Custom user-defined data for the profile. Batsim does not use this field at all, but external decision components (e.g., a scheduler or a dynamic submitter) can.'),
    ), ''),
    'QuantileFunction': Table('QuantileFunction', (
        Field('threshold', 0, Type('float64'), False, False, 0.0, 'The normalized threshold (in [0,1]) whose value of the quantile function (AKA inverse cumulative distribution function) is sought. threshold=1/2 means that we want the value of the median. threshold=1/4 means that we want the value of the first quartile.'),
    ), ''),
    'RegisterJobEvent': Table('RegisterJobEvent', (
        Field('job_id', 0, Type('string'), True, False, None, 'Using "workload!name" syntax.'),
        Field('job', 1, Type('table', 'Job'), True, False, None, ''),
    ), ''),
    'RegisterProfileEvent': Table('RegisterProfileEvent', (
        Field('profile', 0, Type('table', 'ProfileAndId'), True, False, None, ''),
    ), ''),
    'RejectJobEvent': Table('RejectJobEvent', (
        Field('job_id', 0, Type('string'), True, False, None, ''),
    ), ''),
    'RequestedCallEvent': Table('RequestedCallEvent', (
        Field('call_me_later_id', 0, Type('string'), True, False, None, ''),
        Field('last_periodic_call', 1, Type('bool'), False, False, False, ''),
    ), ''),
    'ResetProbeEvent': Table('ResetProbeEvent', (
        Field('probe_id', 0, Type('string'), True, False, None, 'The name of the probe'),
        Field('new_value', 1, Type('float64'), False, False, 0.0, 'The new desired value'),
    ), ''),
    'SequentialCompositionProfile': Table('SequentialCompositionProfile', (
        Field('repetition_count', 0, Type('uint32'), False, False, 1, 'The number of times the whole sequence should be executed.'),
        Field('profile_ids', 1, Type('vector', '', Type('string')), True, False, None, ''),
    ), ''),
    'SimulationBeginsEvent': Table('SimulationBeginsEvent', (
        Field('batprotocol_version', 0, Type('string'), True, False, None, 'The version of the batprotocol. Expecting a semantic versioning format. For example "1.0.0", "0.1.0+9a04b9d60a211c380d62abbe70e2a3b2ffb869b3"...'),
        Field('batsim_version', 1, Type('string'), True, False, None, 'The version of Batsim. Only used for tracability purpose. For example "4.0.0", "v4.0.0-69-g4f12a4b"... Cannot contain comma (ASCII/UTF-8 0x2C) nor double quote (ASCII/UTF-8 0x22).'),
        Field('batsim_commit', 2, Type('string'), False, False, None, 'The Git commit that precisely identifies the Batsim version. Example: "4f12a4b51ab38ff2936bc1116fa3f34a05f494e6". If not null, only contains hexadecimal characters.'),
        Field('host_number', 3, Type('uint32'), False, False, 0, 'The number of hosts in the simulated platform.'),
        Field('computation_host_number', 4, Type('uint32'), False, False, 0, 'The number of computation hosts in the simulated platform.'),
        Field('computation_hosts', 5, Type('vector', '', Type('table', 'Host')), True, False, None, 'The computation hosts.'),
        Field('storage_host_number', 6, Type('uint32'), False, False, 0, 'The number of storage hosts in the simulated platforms.'),
        Field('storage_hosts', 7, Type('vector', '', Type('table', 'Host')), True, False, None, 'The storage hosts.'),
        Field('batsim_arguments', 8, Type('vector', '', Type('string')), True, False, None, "Batsim's command-line arguments as received by Batsim."),
        Field('batsim_execution_context_json', 9, Type('string'), True, False, None, "Batsim's execution context, similar to what you would obtain via Batsim's command-line interface."),
        Field('workloads', 10, Type('vector', '', Type('table', 'WorkloadAndFilename')), True, False, None, 'The static workloads given to Batsim as input.'),
        Field('external_event_lists', 11, Type('vector', '', Type('table', 'ExternalEventListAndFilename')), True, False, None, 'The static external event lists given to Bastsim as input.'),
        Field('profiles', 12, Type('vector', '', Type('table', 'ProfileAndId')), False, False, None, 'The profiles defined in the static workloads given to Batsim as input. Can be null if profiles are not forwarded.'),
    ), ''),
    'SimulationEndsEvent': Table('SimulationEndsEvent', (
    ), ''),
    'SimulationErrorEvent': Table('SimulationErrorEvent', (
        Field('error', 0, Type('string'), True, False, None, ''),
    ), ''),
    'SlidingWindowOperation': Table('SlidingWindowOperation', (
    ), ''),
    'StopCallMeLaterEvent': Table('StopCallMeLaterEvent', (
        Field('call_me_later_id', 0, Type('string'), True, False, None, ''),
    ), ''),
    'StopProbeEvent': Table('StopProbeEvent', (
        Field('probe_id', 0, Type('string'), True, False, None, 'The name of the probe'),
    ), ''),
    'StorageHost': Table('StorageHost', (
        Field('storage_name', 0, Type('string'), True, False, None, ''),
        Field('host_id', 1, Type('uint32'), False, False, 0, 'The host unique identifier (as given by Batsim)'),
    ), ''),
    'Sum': Table('Sum', (
    ), ''),
    'TemporalTriggerWrapper': Table('TemporalTriggerWrapper', (
        Field('temporal_trigger_type', 0, Type('utype', 'TemporalTrigger'), False, False, 0, ''),
        Field('temporal_trigger', 1, Type('union', 'TemporalTrigger'), True, False, None, ''),
    ), 'Wrapping needed because of a missing flatbuffers feature: https://github.com/google/flatbuffers/issues/4725'),
    'ThresholdFilteringFunction': Table('ThresholdFilteringFunction', (
        Field('threshold', 0, Type('float64'), False, False, 0.0, 'The threshold'),
        Field('operator', 1, Type('enum', 'BooleanComparisonOperator'), False, False, 0, 'The operator for our filter'),
    ), ''),
    'TraceReplayProfile': Table('TraceReplayProfile', (
        Field('trace_type', 0, Type('enum', 'TraceType'), False, False, 0, ''),
        Field('filename', 1, Type('string'), True, False, None, 'The filename of the main trace file. This file should define a list of per-executor trace files.'),
    ), ''),
    'TriggerProbeEvent': Table('TriggerProbeEvent', (
        Field('probe_id', 0, Type('string'), True, False, None, 'The name of the probe'),
        Field('force_data_emission', 1, Type('bool'), False, False, True, 'If set to true, the triggering will always result in a ProbeDataEmittedEvent regardless of the Probe data emitting filtering policy.'),
    ), ''),
    'TurnOnOffHostsEvent': Table('TurnOnOffHostsEvent', (
        Field('host_ids', 0, Type('string'), True, False, None, 'Intervalset of hosts to turn on/off'),
        Field('state', 1, Type('uint32'), False, False, 0, 'The virtual pstate to reach'),
    ), 'The EDC asks Batsim to turn on/off some hosts'),
    'VectorialProbeData': Table('VectorialProbeData', (
        Field('data', 0, Type('vector', '', Type('float64')), True, False, None, 'The values (one value per resource with the same order as in the probe resources)'),
    ), ''),
    'WorkloadAndFilename': Table('WorkloadAndFilename', (
        Field('name', 0, Type('string'), True, False, None, 'The workload unique name. This name will be prefixed in jobs with the "workload_name!job_id" syntax.'),
        Field('filename', 1, Type('string'), True, False, None, 'The workload filename.'),
    ), ''),
}

SCHEMA = Schema(ROOT, TABLES, ENUMS, UNIONS)
