/* The schema as data for the native engine. Written by tools/compile_schema.py; never edited by hand. */

enum Kind { BOOL, ENUM, INT32, UINT32, UINT64, DOUBLE, STRING, TABLE, UNION, STRINGS, DOUBLES, NUMBERS, TABLES };

/* A field of a table. `entry` is where the vtable has its offset, `tag` where it has that of a union's tag; `place` and
   `tag_place` are where we write them. `index` says which table, union or enum it is. Texts that come again and again
   have `recurs` set, job ids do not. */
typedef struct {
    const char *name;
    uint8_t kind, required, optional, recurs, place, tag_place;
    uint16_t entry, tag;
    int16_t index;
    int64_t number; /* the default of integers, enums and booleans */
    double real;    /* the default of doubles */
} Field;

/* A table. `wide` is what the size written so far must be modulo 8 before it, or 1 if that does not matter. */
typedef struct {
    const char *name;
    const Field *fields;
    uint8_t count, wrapper, event, size, wide;
    uint16_t first_vtable;
} Table;

typedef struct {
    const char *name;
    uint8_t count;
    const int16_t *members;
} Union;

typedef struct {
    const char *name;
    int8_t number;
} EnumValue;

typedef struct {
    const char *name;
    uint8_t count;
    const EnumValue *values;
} Enum;

typedef struct {
    uint8_t size;
    const char *bytes;
} Vtable;

static const Field FIELDS_OneShot[] = {
    {"time", UINT64, 0, 0, 0, 8, 8, 4, 4, -1, 0, 0.0},
    {"time_unit", ENUM, 0, 0, 0, 4, 4, 6, 6, 7, 0, 0.0},
};

static const Field FIELDS_FinitePeriodNumber[] = {
    {"nb_periods", UINT32, 0, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_Periodic[] = {
    {"period", UINT64, 0, 0, 0, 12, 12, 4, 4, -1, 0, 0.0},
    {"offset", UINT64, 0, 0, 0, 20, 20, 6, 6, -1, 0, 0.0},
    {"time_unit", ENUM, 0, 0, 0, 4, 4, 8, 8, 7, 0, 0.0},
    {"mode", UNION, 1, 0, 0, 8, 5, 12, 10, 4, 0, 0.0},
};

static const Field FIELDS_CallMeLaterEvent[] = {
    {"call_me_later_id", STRING, 1, 0, 1, 8, 8, 4, 4, -1, 0, 0.0},
    {"when", UNION, 1, 0, 0, 12, 4, 8, 6, 14, 0, 0.0},
};

static const Field FIELDS_ChangeHostsPStateEvent[] = {
    {"host_ids", STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
    {"pstate", UINT32, 0, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_HostResources[] = {
    {"host_ids", STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_LinkResources[] = {
    {"link_ids", STRINGS, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_ProbeAccumulationReset[] = {
    {"new_value", DOUBLE, 0, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_ProbeDataAccumulation[] = {
    {"reset_mode", UNION, 1, 0, 0, 8, 4, 6, 4, 10, 0, 0.0},
    {"cumulative_function", ENUM, 0, 0, 0, 5, 5, 8, 8, 1, 0, 0.0},
    {"temporal_normalization", BOOL, 0, 0, 0, 6, 6, 10, 10, -1, 0, 0.0},
};

static const Field FIELDS_QuantileFunction[] = {
    {"threshold", DOUBLE, 0, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_TemporalTriggerWrapper[] = {
    {"temporal_trigger", UNION, 1, 0, 0, 8, 4, 6, 4, 14, 0, 0.0},
};

static const Field FIELDS_ThresholdFilteringFunction[] = {
    {"threshold", DOUBLE, 0, 0, 0, 8, 8, 4, 4, -1, 0, 0.0},
    {"operator", ENUM, 0, 0, 0, 4, 4, 6, 6, 0, 0, 0.0},
};

static const Field FIELDS_CreateProbeEvent[] = {
    {"probe_id", STRING, 1, 0, 1, 12, 12, 4, 4, -1, 0, 0.0},
    {"metrics", ENUM, 0, 0, 0, 4, 4, 6, 6, 5, 0, 0.0},
    {"resources", UNION, 1, 0, 0, 16, 5, 10, 8, 11, 0, 0.0},
    {"data_accumulation_strategy", UNION, 1, 0, 0, 20, 6, 14, 12, 6, 0, 0.0},
    {"measurement_triggering_policy", UNION, 1, 0, 0, 24, 7, 18, 16, 8, 0, 0.0},
    {"resources_aggregation_function", UNION, 1, 0, 0, 28, 8, 22, 20, 12, 0, 0.0},
    {"temporal_aggregation_function", UNION, 1, 0, 0, 32, 9, 26, 24, 13, 0, 0.0},
    {"emission_filtering_policy", UNION, 1, 0, 0, 36, 10, 30, 28, 7, 0, 0.0},
};

static const Field FIELDS_EDCRequestedSimulationFeatures[] = {
    {"dynamic_registration", BOOL, 0, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"profile_reuse", BOOL, 0, 0, 0, 5, 5, 6, 6, -1, 0, 0.0},
    {"acknowledge_dynamic_jobs", BOOL, 0, 0, 0, 6, 6, 8, 8, -1, 0, 0.0},
    {"forward_profiles_on_job_submission", BOOL, 0, 0, 0, 7, 7, 10, 10, -1, 0, 0.0},
    {"forward_profiles_on_jobs_killed", BOOL, 0, 0, 0, 8, 8, 12, 12, -1, 0, 0.0},
    {"forward_profiles_on_simulation_begins", BOOL, 0, 0, 0, 9, 9, 14, 14, -1, 0, 0.0},
};

static const Field FIELDS_EDCHelloEvent[] = {
    {"batprotocol_version", STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"batprotocol_commit", STRING, 0, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
    {"decision_component_name", STRING, 1, 0, 0, 12, 12, 8, 8, -1, 0, 0.0},
    {"decision_component_version", STRING, 1, 0, 0, 16, 16, 10, 10, -1, 0, 0.0},
    {"decision_component_commit", STRING, 0, 0, 0, 20, 20, 12, 12, -1, 0, 0.0},
    {"requested_simulation_features", TABLE, 1, 0, 0, 24, 24, 14, 14, 25, 0, 0.0},
};

static const Field FIELDS_CustomExecutorToHostMapping[] = {
    {"mapping", NUMBERS, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_PredefinedExecutorPlacementStrategyWrapper[] = {
    {"strategy", ENUM, 0, 0, 0, 4, 4, 4, 4, 6, 0, 0.0},
};

static const Field FIELDS_AllocationPlacement[] = {
    {"host_allocation", STRING, 1, 0, 1, 8, 8, 4, 4, -1, 0, 0.0},
    {"executor_placement", UNION, 1, 0, 0, 12, 4, 8, 6, 1, 0, 0.0},
};

static const Field FIELDS_ProfileAllocationPlacement[] = {
    {"profile_id", STRING, 1, 0, 1, 8, 8, 4, 4, -1, 0, 0.0},
    {"host_allocation", STRING, 1, 0, 1, 12, 12, 6, 6, -1, 0, 0.0},
    {"executor_placement", UNION, 1, 0, 0, 16, 4, 10, 8, 1, 0, 0.0},
};

static const Field FIELDS_StorageHost[] = {
    {"storage_name", STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
    {"host_id", UINT32, 0, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_ExecuteJobEvent[] = {
    {"job_id", STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"allocation", TABLE, 1, 0, 0, 8, 8, 6, 6, 29, 0, 0.0},
    {"profile_allocation_override", TABLES, 0, 0, 0, 12, 12, 8, 8, 30, 0, 0.0},
    {"storage_placement", TABLES, 0, 0, 0, 16, 16, 10, 10, 31, 0, 0.0},
};

static const Field FIELDS_GenericExternalEvent[] = {
    {"data", STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_ExternalEventOccurredEvent[] = {
    {"id", STRING, 1, 0, 0, 8, 8, 4, 4, -1, 0, 0.0},
    {"external_event", UNION, 1, 0, 0, 12, 4, 8, 6, 2, 0, 0.0},
};

static const Field FIELDS_HostsPStateChangedEvent[] = {
    {"host_ids", STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
    {"pstate", UINT32, 0, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_HostsTurnedOnOffEvent[] = {
    {"host_ids", STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
    {"state", UINT32, 0, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_JobCompletedEvent[] = {
    {"job_id", STRING, 1, 0, 0, 8, 8, 4, 4, -1, 0, 0.0},
    {"state", ENUM, 0, 0, 0, 4, 4, 6, 6, 2, 0, 0.0},
    {"return_code", INT32, 0, 0, 0, 12, 12, 8, 8, -1, 0, 0.0},
};

static const Field FIELDS_Job[] = {
    {"resource_request", UINT32, 0, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"walltime", DOUBLE, 0, 1, 0, 16, 16, 6, 6, -1, 0, 0.0},
    {"extra_data", STRING, 0, 0, 0, 8, 8, 8, 8, -1, 0, 0.0},
    {"profile_id", STRING, 1, 0, 1, 12, 12, 10, 10, -1, 0, 0.0},
};

static const Field FIELDS_DelayProfile[] = {
    {"delay", DOUBLE, 0, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_ForkJoinCompositionProfile[] = {
    {"profile_ids", STRINGS, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_ParallelTaskDataStagingBetweenStoragesProfile[] = {
    {"bytes_to_transfer", DOUBLE, 0, 0, 0, 12, 12, 4, 4, -1, 0, 0.0},
    {"emitter_storage_name", STRING, 1, 0, 0, 4, 4, 6, 6, -1, 0, 0.0},
    {"receiver_storage_name", STRING, 1, 0, 0, 8, 8, 8, 8, -1, 0, 0.0},
};

static const Field FIELDS_ParallelTaskHomogeneousProfile[] = {
    {"computation_amount", DOUBLE, 0, 0, 0, 8, 8, 4, 4, -1, 0, 0.0},
    {"communication_amount", DOUBLE, 0, 0, 0, 16, 16, 6, 6, -1, 0, 0.0},
    {"generation_strategy", ENUM, 0, 0, 0, 4, 4, 8, 8, 3, 0, 0.0},
};

static const Field FIELDS_ParallelTaskMergeCompositionProfile[] = {
    {"profile_ids", STRINGS, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_ParallelTaskOnStorageHomogeneousProfile[] = {
    {"storage_name", STRING, 1, 0, 1, 8, 8, 4, 4, -1, 0, 0.0},
    {"bytes_to_read", DOUBLE, 0, 0, 0, 12, 12, 6, 6, -1, 0, 0.0},
    {"bytes_to_write", DOUBLE, 0, 0, 0, 20, 20, 8, 8, -1, 0, 0.0},
    {"generation_strategy", ENUM, 0, 0, 0, 4, 4, 10, 10, 3, 0, 0.0},
};

static const Field FIELDS_ParallelTaskProfile[] = {
    {"computation_vector", DOUBLES, 0, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"communication_matrix", DOUBLES, 0, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_SequentialCompositionProfile[] = {
    {"repetition_count", UINT32, 0, 0, 0, 4, 4, 4, 4, -1, 1, 0.0},
    {"profile_ids", STRINGS, 1, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_TraceReplayProfile[] = {
    {"trace_type", ENUM, 0, 0, 0, 4, 4, 4, 4, 8, 0, 0.0},
    {"filename", STRING, 1, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_ProfileAndId[] = {
    {"id", STRING, 1, 0, 0, 8, 8, 4, 4, -1, 0, 0.0},
    {"profile", UNION, 1, 0, 0, 12, 4, 8, 6, 9, 0, 0.0},
    {"extra_data", STRING, 0, 0, 0, 16, 16, 10, 10, -1, 0, 0.0},
};

static const Field FIELDS_JobSubmittedEvent[] = {
    {"job_id", STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"job", TABLE, 1, 0, 0, 8, 8, 6, 6, 40, 0, 0.0},
    {"submission_time", DOUBLE, 0, 0, 0, 16, 16, 8, 8, -1, 0, 0.0},
    {"profile", TABLE, 0, 0, 0, 12, 12, 10, 10, 50, 0, 0.0},
};

static const Field FIELDS_KillProgressAtomicProfile[] = {
    {"profile_id", STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
    {"progress", DOUBLE, 0, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_KillProgressForkJoinProfile[] = {
    {"profile_id", STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
    {"tasks_progress", TABLES, 1, 0, 0, 8, 8, 6, 6, 55, 0, 0.0},
};

static const Field FIELDS_KillProgressSequentialProfile[] = {
    {"profile_id", STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
    {"current_repetition", UINT32, 0, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
    {"current_task_index", UINT32, 0, 0, 0, 12, 12, 8, 8, -1, 0, 0.0},
    {"current_task_progress", TABLE, 1, 0, 0, 16, 16, 10, 10, 55, 0, 0.0},
};

static const Field FIELDS_KillProgressWrapper[] = {
    {"kill_progress", UNION, 1, 0, 0, 8, 4, 6, 4, 3, 0, 0.0},
};

static const Field FIELDS_JobAndProgress[] = {
    {"job_id", STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"wrapper", TABLE, 1, 0, 0, 8, 8, 6, 6, 55, 0, 0.0},
};

static const Field FIELDS_JobsKilledEvent[] = {
    {"job_ids", STRINGS, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"progresses", TABLES, 1, 0, 0, 8, 8, 6, 6, 56, 0, 0.0},
    {"profiles", TABLES, 0, 0, 0, 12, 12, 8, 8, 50, 0, 0.0},
};

static const Field FIELDS_KillJobsEvent[] = {
    {"job_ids", STRINGS, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_AggregatedProbeData[] = {
    {"data", DOUBLE, 0, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_VectorialProbeData[] = {
    {"data", DOUBLES, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_ProbeDataEmittedEvent[] = {
    {"probe_id", STRING, 1, 0, 1, 8, 8, 4, 4, -1, 0, 0.0},
    {"resources", UNION, 1, 0, 0, 12, 4, 8, 6, 11, 0, 0.0},
    {"metrics", ENUM, 0, 0, 0, 5, 5, 10, 10, 5, 0, 0.0},
    {"data", UNION, 1, 0, 0, 16, 6, 14, 12, 5, 0, 0.0},
    {"manually_triggered", BOOL, 0, 0, 0, 7, 7, 16, 16, -1, 0, 0.0},
    {"nb_emitted", UINT32, 0, 0, 0, 20, 20, 18, 18, -1, 0, 0.0},
    {"nb_triggered", UINT32, 0, 0, 0, 24, 24, 20, 20, -1, 0, 0.0},
};

static const Field FIELDS_RegisterJobEvent[] = {
    {"job_id", STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"job", TABLE, 1, 0, 0, 8, 8, 6, 6, 40, 0, 0.0},
};

static const Field FIELDS_RegisterProfileEvent[] = {
    {"profile", TABLE, 1, 0, 0, 4, 4, 4, 4, 50, 0, 0.0},
};

static const Field FIELDS_RejectJobEvent[] = {
    {"job_id", STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_RequestedCallEvent[] = {
    {"call_me_later_id", STRING, 1, 0, 1, 8, 8, 4, 4, -1, 0, 0.0},
    {"last_periodic_call", BOOL, 0, 0, 0, 4, 4, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_ResetProbeEvent[] = {
    {"probe_id", STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
    {"new_value", DOUBLE, 0, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_ExternalEventListAndFilename[] = {
    {"name", STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"filename", STRING, 1, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_HostProperty[] = {
    {"key", STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
    {"value", STRING, 1, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_Host[] = {
    {"id", UINT32, 0, 0, 0, 8, 8, 4, 4, -1, 0, 0.0},
    {"name", STRING, 1, 0, 0, 12, 12, 6, 6, -1, 0, 0.0},
    {"pstate", UINT32, 0, 0, 0, 16, 16, 8, 8, -1, 0, 0.0},
    {"pstate_count", UINT32, 0, 0, 0, 20, 20, 10, 10, -1, 1, 0.0},
    {"state", ENUM, 0, 0, 0, 4, 4, 12, 12, 4, 0, 0.0},
    {"properties", TABLES, 0, 0, 0, 24, 24, 14, 14, 68, 0, 0.0},
    {"zone_properties", TABLES, 0, 0, 0, 28, 28, 16, 16, 68, 0, 0.0},
    {"core_count", UINT32, 0, 0, 0, 32, 32, 18, 18, -1, 1, 0.0},
    {"computation_speed", DOUBLES, 1, 0, 0, 36, 36, 20, 20, -1, 0, 0.0},
};

static const Field FIELDS_WorkloadAndFilename[] = {
    {"name", STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"filename", STRING, 1, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_SimulationBeginsEvent[] = {
    {"batprotocol_version", STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"batsim_version", STRING, 1, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
    {"batsim_commit", STRING, 0, 0, 0, 12, 12, 8, 8, -1, 0, 0.0},
    {"host_number", UINT32, 0, 0, 0, 16, 16, 10, 10, -1, 0, 0.0},
    {"computation_host_number", UINT32, 0, 0, 0, 20, 20, 12, 12, -1, 0, 0.0},
    {"computation_hosts", TABLES, 1, 0, 0, 24, 24, 14, 14, 69, 0, 0.0},
    {"storage_host_number", UINT32, 0, 0, 0, 28, 28, 16, 16, -1, 0, 0.0},
    {"storage_hosts", TABLES, 1, 0, 0, 32, 32, 18, 18, 69, 0, 0.0},
    {"batsim_arguments", STRINGS, 1, 0, 0, 36, 36, 20, 20, -1, 0, 0.0},
    {"batsim_execution_context_json", STRING, 1, 0, 0, 40, 40, 22, 22, -1, 0, 0.0},
    {"workloads", TABLES, 1, 0, 0, 44, 44, 24, 24, 70, 0, 0.0},
    {"external_event_lists", TABLES, 1, 0, 0, 48, 48, 26, 26, 67, 0, 0.0},
    {"profiles", TABLES, 0, 0, 0, 52, 52, 28, 28, 50, 0, 0.0},
};

static const Field FIELDS_SimulationErrorEvent[] = {
    {"error", STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_StopCallMeLaterEvent[] = {
    {"call_me_later_id", STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_StopProbeEvent[] = {
    {"probe_id", STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_TriggerProbeEvent[] = {
    {"probe_id", STRING, 1, 0, 1, 8, 8, 4, 4, -1, 0, 0.0},
    {"force_data_emission", BOOL, 0, 0, 0, 4, 4, 6, 6, -1, 1, 0.0},
};

static const Field FIELDS_TurnOnOffHostsEvent[] = {
    {"host_ids", STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
    {"state", UINT32, 0, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_EventAndTimestamp[] = {
    {"timestamp", DOUBLE, 0, 0, 0, 12, 12, 4, 4, -1, 0, 0.0},
    {"event", UNION, 1, 0, 0, 8, 4, 8, 6, 0, 0, 0.0},
};

static const Field FIELDS_Message[] = {
    {"now", DOUBLE, 0, 0, 0, 8, 8, 4, 4, -1, 0, 0.0},
    {"events", TABLES, 1, 0, 0, 4, 4, 6, 6, 78, 0, 0.0},
};

static const Table TABLES_[] = {
    {"AllStaticExternalEventsHaveBeenInjectedEvent", NULL, 0, 0, 1, 4, 1, 1},
    {"AllStaticJobsHaveBeenSubmittedEvent", NULL, 0, 0, 1, 4, 1, 2},
    {"OneShot", FIELDS_OneShot, 2, 0, 0, 16, 0, 59},
    {"FinitePeriodNumber", FIELDS_FinitePeriodNumber, 1, 0, 0, 8, 1, 24},
    {"Infinite", NULL, 0, 0, 0, 4, 1, 36},
    {"Periodic", FIELDS_Periodic, 4, 0, 0, 28, 0, 68},
    {"CallMeLaterEvent", FIELDS_CallMeLaterEvent, 2, 0, 1, 16, 1, 5},
    {"ChangeHostsPStateEvent", FIELDS_ChangeHostsPStateEvent, 2, 0, 1, 12, 1, 6},
    {"ArithmeticMean", NULL, 0, 0, 0, 4, 1, 4},
    {"ExponentialMovingAverage", NULL, 0, 0, 0, 4, 1, 20},
    {"HostResources", FIELDS_HostResources, 1, 0, 0, 8, 1, 33},
    {"LinkResources", FIELDS_LinkResources, 1, 0, 0, 8, 1, 52},
    {"NoFiltering", NULL, 0, 0, 0, 4, 1, 54},
    {"NoProbeDataAccumulation", NULL, 0, 0, 0, 4, 1, 55},
    {"NoResourcesAggregation", NULL, 0, 0, 0, 4, 1, 57},
    {"NoTemporalAggregation", NULL, 0, 0, 0, 4, 1, 58},
    {"NoReset", NULL, 0, 0, 0, 4, 1, 56},
    {"ProbeAccumulationReset", FIELDS_ProbeAccumulationReset, 1, 0, 0, 12, 0, 70},
    {"ProbeDataAccumulation", FIELDS_ProbeDataAccumulation, 3, 0, 0, 12, 1, 71},
    {"QuantileFunction", FIELDS_QuantileFunction, 1, 0, 0, 12, 0, 76},
    {"SlidingWindowOperation", NULL, 0, 0, 0, 4, 1, 89},
    {"Sum", NULL, 0, 0, 0, 4, 1, 93},
    {"TemporalTriggerWrapper", FIELDS_TemporalTriggerWrapper, 1, 1, 0, 12, 1, 94},
    {"ThresholdFilteringFunction", FIELDS_ThresholdFilteringFunction, 2, 0, 0, 16, 0, 95},
    {"CreateProbeEvent", FIELDS_CreateProbeEvent, 8, 0, 1, 40, 1, 7},
    {"EDCRequestedSimulationFeatures", FIELDS_EDCRequestedSimulationFeatures, 6, 0, 0, 12, 1, 14},
    {"EDCHelloEvent", FIELDS_EDCHelloEvent, 6, 0, 1, 28, 1, 10},
    {"CustomExecutorToHostMapping", FIELDS_CustomExecutorToHostMapping, 1, 0, 0, 8, 1, 8},
    {"PredefinedExecutorPlacementStrategyWrapper", FIELDS_PredefinedExecutorPlacementStrategyWrapper, 1, 1, 0, 8, 1, 69},
    {"AllocationPlacement", FIELDS_AllocationPlacement, 2, 0, 0, 16, 1, 3},
    {"ProfileAllocationPlacement", FIELDS_ProfileAllocationPlacement, 3, 0, 0, 20, 1, 73},
    {"StorageHost", FIELDS_StorageHost, 2, 0, 0, 12, 1, 92},
    {"ExecuteJobEvent", FIELDS_ExecuteJobEvent, 4, 0, 1, 20, 1, 16},
    {"GenericExternalEvent", FIELDS_GenericExternalEvent, 1, 0, 0, 8, 1, 27},
    {"ExternalEventOccurredEvent", FIELDS_ExternalEventOccurredEvent, 2, 0, 1, 16, 1, 22},
    {"FinishRegistrationEvent", NULL, 0, 0, 1, 4, 1, 23},
    {"ForceSimulationStopEvent", NULL, 0, 0, 1, 4, 1, 25},
    {"HostsPStateChangedEvent", FIELDS_HostsPStateChangedEvent, 2, 0, 1, 12, 1, 34},
    {"HostsTurnedOnOffEvent", FIELDS_HostsTurnedOnOffEvent, 2, 0, 1, 12, 1, 35},
    {"JobCompletedEvent", FIELDS_JobCompletedEvent, 3, 0, 1, 16, 1, 42},
    {"Job", FIELDS_Job, 4, 0, 0, 24, 0, 37},
    {"DelayProfile", FIELDS_DelayProfile, 1, 0, 0, 12, 0, 9},
    {"ForkJoinCompositionProfile", FIELDS_ForkJoinCompositionProfile, 1, 0, 0, 8, 1, 26},
    {"ParallelTaskDataStagingBetweenStoragesProfile", FIELDS_ParallelTaskDataStagingBetweenStoragesProfile, 3, 0, 0, 20, 0, 60},
    {"ParallelTaskHomogeneousProfile", FIELDS_ParallelTaskHomogeneousProfile, 3, 0, 0, 24, 0, 61},
    {"ParallelTaskMergeCompositionProfile", FIELDS_ParallelTaskMergeCompositionProfile, 1, 0, 0, 8, 1, 62},
    {"ParallelTaskOnStorageHomogeneousProfile", FIELDS_ParallelTaskOnStorageHomogeneousProfile, 4, 0, 0, 28, 0, 63},
    {"ParallelTaskProfile", FIELDS_ParallelTaskProfile, 2, 0, 0, 12, 1, 64},
    {"SequentialCompositionProfile", FIELDS_SequentialCompositionProfile, 2, 0, 0, 12, 1, 82},
    {"TraceReplayProfile", FIELDS_TraceReplayProfile, 2, 0, 0, 12, 1, 96},
    {"ProfileAndId", FIELDS_ProfileAndId, 3, 0, 0, 20, 1, 74},
    {"JobSubmittedEvent", FIELDS_JobSubmittedEvent, 4, 0, 1, 24, 0, 43},
    {"KillProgressAtomicProfile", FIELDS_KillProgressAtomicProfile, 2, 0, 0, 16, 0, 48},
    {"KillProgressForkJoinProfile", FIELDS_KillProgressForkJoinProfile, 2, 0, 0, 12, 1, 49},
    {"KillProgressSequentialProfile", FIELDS_KillProgressSequentialProfile, 4, 0, 0, 20, 1, 50},
    {"KillProgressWrapper", FIELDS_KillProgressWrapper, 1, 1, 0, 12, 1, 51},
    {"JobAndProgress", FIELDS_JobAndProgress, 2, 0, 0, 12, 1, 41},
    {"JobsKilledEvent", FIELDS_JobsKilledEvent, 3, 0, 1, 16, 1, 45},
    {"KillJobsEvent", FIELDS_KillJobsEvent, 1, 0, 1, 8, 1, 47},
    {"AggregatedProbeData", FIELDS_AggregatedProbeData, 1, 0, 0, 12, 0, 0},
    {"VectorialProbeData", FIELDS_VectorialProbeData, 1, 0, 0, 8, 1, 99},
    {"ProbeDataEmittedEvent", FIELDS_ProbeDataEmittedEvent, 7, 0, 1, 28, 1, 72},
    {"RegisterJobEvent", FIELDS_RegisterJobEvent, 2, 0, 1, 12, 1, 77},
    {"RegisterProfileEvent", FIELDS_RegisterProfileEvent, 1, 0, 1, 8, 1, 78},
    {"RejectJobEvent", FIELDS_RejectJobEvent, 1, 0, 1, 8, 1, 79},
    {"RequestedCallEvent", FIELDS_RequestedCallEvent, 2, 0, 1, 12, 1, 80},
    {"ResetProbeEvent", FIELDS_ResetProbeEvent, 2, 0, 1, 16, 0, 81},
    {"ExternalEventListAndFilename", FIELDS_ExternalEventListAndFilename, 2, 0, 0, 12, 1, 21},
    {"HostProperty", FIELDS_HostProperty, 2, 0, 0, 12, 1, 32},
    {"Host", FIELDS_Host, 9, 0, 0, 40, 1, 28},
    {"WorkloadAndFilename", FIELDS_WorkloadAndFilename, 2, 0, 0, 12, 1, 100},
    {"SimulationBeginsEvent", FIELDS_SimulationBeginsEvent, 13, 0, 1, 56, 1, 83},
    {"SimulationEndsEvent", NULL, 0, 0, 1, 4, 1, 87},
    {"SimulationErrorEvent", FIELDS_SimulationErrorEvent, 1, 0, 1, 8, 1, 88},
    {"StopCallMeLaterEvent", FIELDS_StopCallMeLaterEvent, 1, 0, 1, 8, 1, 90},
    {"StopProbeEvent", FIELDS_StopProbeEvent, 1, 0, 1, 8, 1, 91},
    {"TriggerProbeEvent", FIELDS_TriggerProbeEvent, 2, 0, 1, 12, 1, 97},
    {"TurnOnOffHostsEvent", FIELDS_TurnOnOffHostsEvent, 2, 0, 1, 12, 1, 98},
    {"EventAndTimestamp", FIELDS_EventAndTimestamp, 2, 0, 0, 20, 0, 15},
    {"Message", FIELDS_Message, 2, 0, 0, 16, 0, 53},
};

static const int16_t MEMBERS_Event[] = {51, 39, 64, 32, 58, 57, 63, 62, 24, 75, 76, 66, 61, 6, 65, 74, 26, 71, 72, 73, 1, 0, 35, 36, 7, 37, 77, 38, 34};
static const int16_t MEMBERS_ExecutorPlacement[] = {28, 27};
static const int16_t MEMBERS_ExternalEvent[] = {33};
static const int16_t MEMBERS_KillProgress[] = {52, 54, 53};
static const int16_t MEMBERS_PeriodicMode[] = {4, 3};
static const int16_t MEMBERS_ProbeData[] = {59, 60};
static const int16_t MEMBERS_ProbeDataAccumulationStrategy[] = {13, 18};
static const int16_t MEMBERS_ProbeEmissionFilteringPolicy[] = {12, 23};
static const int16_t MEMBERS_ProbeMeasurementTriggeringPolicy[] = {22};
static const int16_t MEMBERS_Profile[] = {41, 47, 44, 48, 42, 45, 46, 43, 49};
static const int16_t MEMBERS_ResetMode[] = {16, 17};
static const int16_t MEMBERS_Resources[] = {10, 11};
static const int16_t MEMBERS_ResourcesAggregationFunction[] = {14, 21, 8, 19};
static const int16_t MEMBERS_TemporalAggregationFunction[] = {15, 9, 20};
static const int16_t MEMBERS_TemporalTrigger[] = {2, 5};

static const Union UNIONS_[] = {
    {"Event", 29, MEMBERS_Event},
    {"ExecutorPlacement", 2, MEMBERS_ExecutorPlacement},
    {"ExternalEvent", 1, MEMBERS_ExternalEvent},
    {"KillProgress", 3, MEMBERS_KillProgress},
    {"PeriodicMode", 2, MEMBERS_PeriodicMode},
    {"ProbeData", 2, MEMBERS_ProbeData},
    {"ProbeDataAccumulationStrategy", 2, MEMBERS_ProbeDataAccumulationStrategy},
    {"ProbeEmissionFilteringPolicy", 2, MEMBERS_ProbeEmissionFilteringPolicy},
    {"ProbeMeasurementTriggeringPolicy", 1, MEMBERS_ProbeMeasurementTriggeringPolicy},
    {"Profile", 9, MEMBERS_Profile},
    {"ResetMode", 2, MEMBERS_ResetMode},
    {"Resources", 2, MEMBERS_Resources},
    {"ResourcesAggregationFunction", 4, MEMBERS_ResourcesAggregationFunction},
    {"TemporalAggregationFunction", 3, MEMBERS_TemporalAggregationFunction},
    {"TemporalTrigger", 2, MEMBERS_TemporalTrigger},
};

static const EnumValue VALUES_BooleanComparisonOperator[] = {{"GreaterThan", 0}, {"GreaterThanOrEqual", 1}, {"LessThan", 2}, {"LessThanOrEqual", 3}};
static const EnumValue VALUES_CumulativeFunction[] = {{"Sum", 0}, {"Minimum", 1}, {"Maximum", 2}};
static const EnumValue VALUES_FinalJobState[] = {{"COMPLETED_SUCCESSFULLY", 0}, {"COMPLETED_FAILED", 1}, {"COMPLETED_WALLTIME_REACHED", 2}, {"COMPLETED_KILLED", 3}, {"REJECTED", 4}};
static const EnumValue VALUES_HomogeneousParallelTaskGenerationStrategy[] = {{"DefinedAmountsUsedForEachValue", 0}, {"DefinedAmountsSpreadUniformly", 1}};
static const EnumValue VALUES_HostState[] = {{"SLEEPING", 0}, {"IDLE", 1}, {"COMPUTING", 2}, {"SWITCHING_ON", 3}, {"SWITCHING_OFF", 4}};
static const EnumValue VALUES_Metrics[] = {{"Power", 0}, {"NetworkLoad", 1}, {"ComputationLoad", 2}, {"NormalizedNetworkLoad", 3}, {"NormalizedComputationLoad", 4}};
static const EnumValue VALUES_PredefinedExecutorPlacementStrategy[] = {{"SpreadOverHostsFirst", 0}, {"FillOneHostCoresFirst", 1}};
static const EnumValue VALUES_TimeUnit[] = {{"Second", 0}, {"Millisecond", 1}};
static const EnumValue VALUES_TraceType[] = {{"SMPI", 0}, {"FractionalComputation", 1}};

static const Enum ENUMS_[] = {
    {"BooleanComparisonOperator", 4, VALUES_BooleanComparisonOperator},
    {"CumulativeFunction", 3, VALUES_CumulativeFunction},
    {"FinalJobState", 5, VALUES_FinalJobState},
    {"HomogeneousParallelTaskGenerationStrategy", 2, VALUES_HomogeneousParallelTaskGenerationStrategy},
    {"HostState", 5, VALUES_HostState},
    {"Metrics", 5, VALUES_Metrics},
    {"PredefinedExecutorPlacementStrategy", 2, VALUES_PredefinedExecutorPlacementStrategy},
    {"TimeUnit", 2, VALUES_TimeUnit},
    {"TraceType", 2, VALUES_TraceType},
};

static const Vtable VTABLES_[] = {
    {8, "\x06\x00\x0c\x00\x04\x00\x00\x00"},
    {4, "\x04\x00\x04\x00"},
    {4, "\x04\x00\x04\x00"},
    {12, "\x0a\x00\x10\x00\x08\x00\x04\x00\x0c\x00\x00\x00"},
    {4, "\x04\x00\x04\x00"},
    {12, "\x0a\x00\x10\x00\x08\x00\x04\x00\x0c\x00\x00\x00"},
    {8, "\x08\x00\x0c\x00\x04\x00\x08\x00"},
    {32, "\x20\x00\x28\x00\x0c\x00\x04\x00\x05\x00\x10\x00\x06\x00\x14\x00\x07\x00\x18\x00\x08\x00\x1c\x00\x09\x00\x20\x00\x0a\x00\x24\x00"},
    {8, "\x06\x00\x08\x00\x04\x00\x00\x00"},
    {8, "\x06\x00\x0c\x00\x04\x00\x00\x00"},
    {16, "\x10\x00\x1c\x00\x04\x00\x00\x00\x0c\x00\x10\x00\x00\x00\x18\x00"},
    {16, "\x10\x00\x1c\x00\x04\x00\x08\x00\x0c\x00\x10\x00\x00\x00\x18\x00"},
    {16, "\x10\x00\x1c\x00\x04\x00\x00\x00\x0c\x00\x10\x00\x14\x00\x18\x00"},
    {16, "\x10\x00\x1c\x00\x04\x00\x08\x00\x0c\x00\x10\x00\x14\x00\x18\x00"},
    {16, "\x10\x00\x0c\x00\x04\x00\x05\x00\x06\x00\x07\x00\x08\x00\x09\x00"},
    {12, "\x0a\x00\x14\x00\x0c\x00\x04\x00\x08\x00\x00\x00"},
    {12, "\x0c\x00\x14\x00\x04\x00\x08\x00\x00\x00\x00\x00"},
    {12, "\x0c\x00\x14\x00\x04\x00\x08\x00\x0c\x00\x00\x00"},
    {12, "\x0c\x00\x14\x00\x04\x00\x08\x00\x00\x00\x10\x00"},
    {12, "\x0c\x00\x14\x00\x04\x00\x08\x00\x0c\x00\x10\x00"},
    {4, "\x04\x00\x04\x00"},
    {8, "\x08\x00\x0c\x00\x04\x00\x08\x00"},
    {12, "\x0a\x00\x10\x00\x08\x00\x04\x00\x0c\x00\x00\x00"},
    {4, "\x04\x00\x04\x00"},
    {8, "\x06\x00\x08\x00\x04\x00\x00\x00"},
    {4, "\x04\x00\x04\x00"},
    {8, "\x06\x00\x08\x00\x04\x00\x00\x00"},
    {8, "\x06\x00\x08\x00\x04\x00\x00\x00"},
    {24, "\x16\x00\x28\x00\x08\x00\x0c\x00\x10\x00\x14\x00\x04\x00\x00\x00\x00\x00\x20\x00\x24\x00\x00\x00"},
    {24, "\x16\x00\x28\x00\x08\x00\x0c\x00\x10\x00\x14\x00\x04\x00\x18\x00\x00\x00\x20\x00\x24\x00\x00\x00"},
    {24, "\x16\x00\x28\x00\x08\x00\x0c\x00\x10\x00\x14\x00\x04\x00\x00\x00\x1c\x00\x20\x00\x24\x00\x00\x00"},
    {24, "\x16\x00\x28\x00\x08\x00\x0c\x00\x10\x00\x14\x00\x04\x00\x18\x00\x1c\x00\x20\x00\x24\x00\x00\x00"},
    {8, "\x08\x00\x0c\x00\x04\x00\x08\x00"},
    {8, "\x06\x00\x08\x00\x04\x00\x00\x00"},
    {8, "\x08\x00\x0c\x00\x04\x00\x08\x00"},
    {8, "\x08\x00\x0c\x00\x04\x00\x08\x00"},
    {4, "\x04\x00\x04\x00"},
    {12, "\x0c\x00\x18\x00\x04\x00\x00\x00\x00\x00\x0c\x00"},
    {12, "\x0c\x00\x18\x00\x04\x00\x10\x00\x00\x00\x0c\x00"},
    {12, "\x0c\x00\x18\x00\x04\x00\x00\x00\x08\x00\x0c\x00"},
    {12, "\x0c\x00\x18\x00\x04\x00\x10\x00\x08\x00\x0c\x00"},
    {8, "\x08\x00\x0c\x00\x04\x00\x08\x00"},
    {12, "\x0a\x00\x10\x00\x08\x00\x04\x00\x0c\x00\x00\x00"},
    {12, "\x0c\x00\x18\x00\x04\x00\x08\x00\x10\x00\x00\x00"},
    {12, "\x0c\x00\x18\x00\x04\x00\x08\x00\x10\x00\x0c\x00"},
    {12, "\x0a\x00\x10\x00\x04\x00\x08\x00\x00\x00\x00\x00"},
    {12, "\x0a\x00\x10\x00\x04\x00\x08\x00\x0c\x00\x00\x00"},
    {8, "\x06\x00\x08\x00\x04\x00\x00\x00"},
    {8, "\x08\x00\x10\x00\x04\x00\x08\x00"},
    {8, "\x08\x00\x0c\x00\x04\x00\x08\x00"},
    {12, "\x0c\x00\x14\x00\x04\x00\x08\x00\x0c\x00\x10\x00"},
    {8, "\x08\x00\x0c\x00\x04\x00\x08\x00"},
    {8, "\x06\x00\x08\x00\x04\x00\x00\x00"},
    {8, "\x08\x00\x10\x00\x08\x00\x04\x00"},
    {4, "\x04\x00\x04\x00"},
    {4, "\x04\x00\x04\x00"},
    {4, "\x04\x00\x04\x00"},
    {4, "\x04\x00\x04\x00"},
    {4, "\x04\x00\x04\x00"},
    {8, "\x08\x00\x10\x00\x08\x00\x04\x00"},
    {12, "\x0a\x00\x14\x00\x0c\x00\x04\x00\x08\x00\x00\x00"},
    {12, "\x0a\x00\x18\x00\x08\x00\x10\x00\x04\x00\x00\x00"},
    {8, "\x06\x00\x08\x00\x04\x00\x00\x00"},
    {12, "\x0c\x00\x1c\x00\x08\x00\x0c\x00\x14\x00\x04\x00"},
    {8, "\x08\x00\x0c\x00\x00\x00\x00\x00"},
    {8, "\x08\x00\x0c\x00\x04\x00\x00\x00"},
    {8, "\x08\x00\x0c\x00\x00\x00\x08\x00"},
    {8, "\x08\x00\x0c\x00\x04\x00\x08\x00"},
    {16, "\x0e\x00\x1c\x00\x0c\x00\x14\x00\x04\x00\x05\x00\x08\x00\x00\x00"},
    {8, "\x06\x00\x08\x00\x04\x00\x00\x00"},
    {8, "\x06\x00\x0c\x00\x04\x00\x00\x00"},
    {12, "\x0c\x00\x0c\x00\x04\x00\x08\x00\x05\x00\x06\x00"},
    {24, "\x16\x00\x1c\x00\x08\x00\x04\x00\x0c\x00\x05\x00\x06\x00\x10\x00\x07\x00\x14\x00\x18\x00\x00\x00"},
    {12, "\x0c\x00\x14\x00\x08\x00\x0c\x00\x04\x00\x10\x00"},
    {12, "\x0c\x00\x14\x00\x08\x00\x04\x00\x0c\x00\x00\x00"},
    {12, "\x0c\x00\x14\x00\x08\x00\x04\x00\x0c\x00\x10\x00"},
    {8, "\x06\x00\x0c\x00\x04\x00\x00\x00"},
    {8, "\x08\x00\x0c\x00\x04\x00\x08\x00"},
    {8, "\x06\x00\x08\x00\x04\x00\x00\x00"},
    {8, "\x06\x00\x08\x00\x04\x00\x00\x00"},
    {8, "\x08\x00\x0c\x00\x08\x00\x04\x00"},
    {8, "\x08\x00\x10\x00\x04\x00\x08\x00"},
    {8, "\x08\x00\x0c\x00\x04\x00\x08\x00"},
    {32, "\x1e\x00\x38\x00\x04\x00\x08\x00\x00\x00\x10\x00\x14\x00\x18\x00\x1c\x00\x20\x00\x24\x00\x28\x00\x2c\x00\x30\x00\x00\x00\x00\x00"},
    {32, "\x1e\x00\x38\x00\x04\x00\x08\x00\x0c\x00\x10\x00\x14\x00\x18\x00\x1c\x00\x20\x00\x24\x00\x28\x00\x2c\x00\x30\x00\x00\x00\x00\x00"},
    {32, "\x1e\x00\x38\x00\x04\x00\x08\x00\x00\x00\x10\x00\x14\x00\x18\x00\x1c\x00\x20\x00\x24\x00\x28\x00\x2c\x00\x30\x00\x34\x00\x00\x00"},
    {32, "\x1e\x00\x38\x00\x04\x00\x08\x00\x0c\x00\x10\x00\x14\x00\x18\x00\x1c\x00\x20\x00\x24\x00\x28\x00\x2c\x00\x30\x00\x34\x00\x00\x00"},
    {4, "\x04\x00\x04\x00"},
    {8, "\x06\x00\x08\x00\x04\x00\x00\x00"},
    {4, "\x04\x00\x04\x00"},
    {8, "\x06\x00\x08\x00\x04\x00\x00\x00"},
    {8, "\x06\x00\x08\x00\x04\x00\x00\x00"},
    {8, "\x08\x00\x0c\x00\x04\x00\x08\x00"},
    {4, "\x04\x00\x04\x00"},
    {8, "\x08\x00\x0c\x00\x04\x00\x08\x00"},
    {8, "\x08\x00\x10\x00\x08\x00\x04\x00"},
    {8, "\x08\x00\x0c\x00\x04\x00\x08\x00"},
    {8, "\x08\x00\x0c\x00\x08\x00\x04\x00"},
    {8, "\x08\x00\x0c\x00\x04\x00\x08\x00"},
    {8, "\x06\x00\x08\x00\x04\x00\x00\x00"},
    {8, "\x08\x00\x0c\x00\x04\x00\x08\x00"},
};

#define TABLE_COUNT 80
#define UNION_COUNT 15
#define ENUM_COUNT 9
#define VTABLE_COUNT 101
#define MOST_FIELDS 14
#define MOST_MEMBERS 29
#define ROOT 79
#define ENVELOPE 78
#define EVENTS 0
