/* The schema as data for the native engine. Written by tools/compile_schema.py; never edited by hand. */

enum Kind { BOOL, ENUM, INT32, UINT32, UINT64, DOUBLE, STRING, TABLE, UNION, STRINGS, DOUBLES, NUMBERS, TABLES };

/* A field of a table. `length` is that of its name, here and below. `entry` is where the vtable has its offset, `tag`
   where it has that of a union's tag; `place` and `tag_place` are where we write them. `index` says which table, union
   or enum it is. Texts and times that come again and again have `recurs` set, job ids do not. */
typedef struct {
    const char *name;
    uint8_t length, kind, required, optional, recurs, place, tag_place;
    uint16_t entry, tag;
    int16_t index;
    int64_t number; /* the default of integers, enums and booleans */
    double real;    /* the default of doubles */
} Field;

/* A table. `wide` is what the size written so far must be modulo 8 before it, or 1 if that does not matter. */
typedef struct {
    const char *name;
    const Field *fields;
    uint8_t length, count, wrapper, event, size, wide;
    uint16_t first_vtable;
} Table;

typedef struct {
    const char *name;
    uint8_t count;
    const int16_t *members;
} Union;

typedef struct {
    const char *name;
    uint8_t length;
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
    {"time", 4, UINT64, 0, 0, 0, 8, 8, 4, 4, -1, 0, 0.0},
    {"time_unit", 9, ENUM, 0, 0, 0, 4, 4, 6, 6, 7, 0, 0.0},
};

static const Field FIELDS_FinitePeriodNumber[] = {
    {"nb_periods", 10, UINT32, 0, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_Periodic[] = {
    {"period", 6, UINT64, 0, 0, 0, 12, 12, 4, 4, -1, 0, 0.0},
    {"offset", 6, UINT64, 0, 0, 0, 20, 20, 6, 6, -1, 0, 0.0},
    {"time_unit", 9, ENUM, 0, 0, 0, 4, 4, 8, 8, 7, 0, 0.0},
    {"mode", 4, UNION, 1, 0, 0, 8, 5, 12, 10, 4, 0, 0.0},
};

static const Field FIELDS_CallMeLaterEvent[] = {
    {"call_me_later_id", 16, STRING, 1, 0, 1, 8, 8, 4, 4, -1, 0, 0.0},
    {"when", 4, UNION, 1, 0, 0, 12, 4, 8, 6, 14, 0, 0.0},
};

static const Field FIELDS_ChangeHostsPStateEvent[] = {
    {"host_ids", 8, STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
    {"pstate", 6, UINT32, 0, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_HostResources[] = {
    {"host_ids", 8, STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_LinkResources[] = {
    {"link_ids", 8, STRINGS, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_ProbeAccumulationReset[] = {
    {"new_value", 9, DOUBLE, 0, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_ProbeDataAccumulation[] = {
    {"reset_mode", 10, UNION, 1, 0, 0, 8, 4, 6, 4, 10, 0, 0.0},
    {"cumulative_function", 19, ENUM, 0, 0, 0, 5, 5, 8, 8, 1, 0, 0.0},
    {"temporal_normalization", 22, BOOL, 0, 0, 0, 6, 6, 10, 10, -1, 0, 0.0},
};

static const Field FIELDS_QuantileFunction[] = {
    {"threshold", 9, DOUBLE, 0, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_TemporalTriggerWrapper[] = {
    {"temporal_trigger", 16, UNION, 1, 0, 0, 8, 4, 6, 4, 14, 0, 0.0},
};

static const Field FIELDS_ThresholdFilteringFunction[] = {
    {"threshold", 9, DOUBLE, 0, 0, 0, 8, 8, 4, 4, -1, 0, 0.0},
    {"operator", 8, ENUM, 0, 0, 0, 4, 4, 6, 6, 0, 0, 0.0},
};

static const Field FIELDS_CreateProbeEvent[] = {
    {"probe_id", 8, STRING, 1, 0, 1, 12, 12, 4, 4, -1, 0, 0.0},
    {"metrics", 7, ENUM, 0, 0, 0, 4, 4, 6, 6, 5, 0, 0.0},
    {"resources", 9, UNION, 1, 0, 0, 16, 5, 10, 8, 11, 0, 0.0},
    {"data_accumulation_strategy", 26, UNION, 1, 0, 0, 20, 6, 14, 12, 6, 0, 0.0},
    {"measurement_triggering_policy", 29, UNION, 1, 0, 0, 24, 7, 18, 16, 8, 0, 0.0},
    {"resources_aggregation_function", 30, UNION, 1, 0, 0, 28, 8, 22, 20, 12, 0, 0.0},
    {"temporal_aggregation_function", 29, UNION, 1, 0, 0, 32, 9, 26, 24, 13, 0, 0.0},
    {"emission_filtering_policy", 25, UNION, 1, 0, 0, 36, 10, 30, 28, 7, 0, 0.0},
};

static const Field FIELDS_EDCRequestedSimulationFeatures[] = {
    {"dynamic_registration", 20, BOOL, 0, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"profile_reuse", 13, BOOL, 0, 0, 0, 5, 5, 6, 6, -1, 0, 0.0},
    {"acknowledge_dynamic_jobs", 24, BOOL, 0, 0, 0, 6, 6, 8, 8, -1, 0, 0.0},
    {"forward_profiles_on_job_submission", 34, BOOL, 0, 0, 0, 7, 7, 10, 10, -1, 0, 0.0},
    {"forward_profiles_on_jobs_killed", 31, BOOL, 0, 0, 0, 8, 8, 12, 12, -1, 0, 0.0},
    {"forward_profiles_on_simulation_begins", 37, BOOL, 0, 0, 0, 9, 9, 14, 14, -1, 0, 0.0},
};

static const Field FIELDS_EDCHelloEvent[] = {
    {"batprotocol_version", 19, STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"batprotocol_commit", 18, STRING, 0, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
    {"decision_component_name", 23, STRING, 1, 0, 0, 12, 12, 8, 8, -1, 0, 0.0},
    {"decision_component_version", 26, STRING, 1, 0, 0, 16, 16, 10, 10, -1, 0, 0.0},
    {"decision_component_commit", 25, STRING, 0, 0, 0, 20, 20, 12, 12, -1, 0, 0.0},
    {"requested_simulation_features", 29, TABLE, 1, 0, 0, 24, 24, 14, 14, 25, 0, 0.0},
};

static const Field FIELDS_CustomExecutorToHostMapping[] = {
    {"mapping", 7, NUMBERS, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_PredefinedExecutorPlacementStrategyWrapper[] = {
    {"strategy", 8, ENUM, 0, 0, 0, 4, 4, 4, 4, 6, 0, 0.0},
};

static const Field FIELDS_AllocationPlacement[] = {
    {"host_allocation", 15, STRING, 1, 0, 1, 8, 8, 4, 4, -1, 0, 0.0},
    {"executor_placement", 18, UNION, 1, 0, 0, 12, 4, 8, 6, 1, 0, 0.0},
};

static const Field FIELDS_ProfileAllocationPlacement[] = {
    {"profile_id", 10, STRING, 1, 0, 1, 8, 8, 4, 4, -1, 0, 0.0},
    {"host_allocation", 15, STRING, 1, 0, 1, 12, 12, 6, 6, -1, 0, 0.0},
    {"executor_placement", 18, UNION, 1, 0, 0, 16, 4, 10, 8, 1, 0, 0.0},
};

static const Field FIELDS_StorageHost[] = {
    {"storage_name", 12, STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
    {"host_id", 7, UINT32, 0, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_ExecuteJobEvent[] = {
    {"job_id", 6, STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"allocation", 10, TABLE, 1, 0, 0, 8, 8, 6, 6, 29, 0, 0.0},
    {"profile_allocation_override", 27, TABLES, 0, 0, 0, 12, 12, 8, 8, 30, 0, 0.0},
    {"storage_placement", 17, TABLES, 0, 0, 0, 16, 16, 10, 10, 31, 0, 0.0},
};

static const Field FIELDS_GenericExternalEvent[] = {
    {"data", 4, STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_ExternalEventOccurredEvent[] = {
    {"id", 2, STRING, 1, 0, 0, 8, 8, 4, 4, -1, 0, 0.0},
    {"external_event", 14, UNION, 1, 0, 0, 12, 4, 8, 6, 2, 0, 0.0},
};

static const Field FIELDS_HostsPStateChangedEvent[] = {
    {"host_ids", 8, STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
    {"pstate", 6, UINT32, 0, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_HostsTurnedOnOffEvent[] = {
    {"host_ids", 8, STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
    {"state", 5, UINT32, 0, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_JobCompletedEvent[] = {
    {"job_id", 6, STRING, 1, 0, 0, 8, 8, 4, 4, -1, 0, 0.0},
    {"state", 5, ENUM, 0, 0, 0, 4, 4, 6, 6, 2, 0, 0.0},
    {"return_code", 11, INT32, 0, 0, 0, 12, 12, 8, 8, -1, 0, 0.0},
};

static const Field FIELDS_Job[] = {
    {"resource_request", 16, UINT32, 0, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"walltime", 8, DOUBLE, 0, 1, 0, 16, 16, 6, 6, -1, 0, 0.0},
    {"extra_data", 10, STRING, 0, 0, 0, 8, 8, 8, 8, -1, 0, 0.0},
    {"profile_id", 10, STRING, 1, 0, 1, 12, 12, 10, 10, -1, 0, 0.0},
};

static const Field FIELDS_DelayProfile[] = {
    {"delay", 5, DOUBLE, 0, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_ForkJoinCompositionProfile[] = {
    {"profile_ids", 11, STRINGS, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_ParallelTaskDataStagingBetweenStoragesProfile[] = {
    {"bytes_to_transfer", 17, DOUBLE, 0, 0, 0, 12, 12, 4, 4, -1, 0, 0.0},
    {"emitter_storage_name", 20, STRING, 1, 0, 0, 4, 4, 6, 6, -1, 0, 0.0},
    {"receiver_storage_name", 21, STRING, 1, 0, 0, 8, 8, 8, 8, -1, 0, 0.0},
};

static const Field FIELDS_ParallelTaskHomogeneousProfile[] = {
    {"computation_amount", 18, DOUBLE, 0, 0, 0, 8, 8, 4, 4, -1, 0, 0.0},
    {"communication_amount", 20, DOUBLE, 0, 0, 0, 16, 16, 6, 6, -1, 0, 0.0},
    {"generation_strategy", 19, ENUM, 0, 0, 0, 4, 4, 8, 8, 3, 0, 0.0},
};

static const Field FIELDS_ParallelTaskMergeCompositionProfile[] = {
    {"profile_ids", 11, STRINGS, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_ParallelTaskOnStorageHomogeneousProfile[] = {
    {"storage_name", 12, STRING, 1, 0, 1, 8, 8, 4, 4, -1, 0, 0.0},
    {"bytes_to_read", 13, DOUBLE, 0, 0, 0, 12, 12, 6, 6, -1, 0, 0.0},
    {"bytes_to_write", 14, DOUBLE, 0, 0, 0, 20, 20, 8, 8, -1, 0, 0.0},
    {"generation_strategy", 19, ENUM, 0, 0, 0, 4, 4, 10, 10, 3, 0, 0.0},
};

static const Field FIELDS_ParallelTaskProfile[] = {
    {"computation_vector", 18, DOUBLES, 0, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"communication_matrix", 20, DOUBLES, 0, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_SequentialCompositionProfile[] = {
    {"repetition_count", 16, UINT32, 0, 0, 0, 4, 4, 4, 4, -1, 1, 0.0},
    {"profile_ids", 11, STRINGS, 1, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_TraceReplayProfile[] = {
    {"trace_type", 10, ENUM, 0, 0, 0, 4, 4, 4, 4, 8, 0, 0.0},
    {"filename", 8, STRING, 1, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_ProfileAndId[] = {
    {"id", 2, STRING, 1, 0, 0, 8, 8, 4, 4, -1, 0, 0.0},
    {"profile", 7, UNION, 1, 0, 0, 12, 4, 8, 6, 9, 0, 0.0},
    {"extra_data", 10, STRING, 0, 0, 0, 16, 16, 10, 10, -1, 0, 0.0},
};

static const Field FIELDS_JobSubmittedEvent[] = {
    {"job_id", 6, STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"job", 3, TABLE, 1, 0, 0, 8, 8, 6, 6, 40, 0, 0.0},
    {"submission_time", 15, DOUBLE, 0, 0, 0, 16, 16, 8, 8, -1, 0, 0.0},
    {"profile", 7, TABLE, 0, 0, 0, 12, 12, 10, 10, 50, 0, 0.0},
};

static const Field FIELDS_KillProgressAtomicProfile[] = {
    {"profile_id", 10, STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
    {"progress", 8, DOUBLE, 0, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_KillProgressForkJoinProfile[] = {
    {"profile_id", 10, STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
    {"tasks_progress", 14, TABLES, 1, 0, 0, 8, 8, 6, 6, 55, 0, 0.0},
};

static const Field FIELDS_KillProgressSequentialProfile[] = {
    {"profile_id", 10, STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
    {"current_repetition", 18, UINT32, 0, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
    {"current_task_index", 18, UINT32, 0, 0, 0, 12, 12, 8, 8, -1, 0, 0.0},
    {"current_task_progress", 21, TABLE, 1, 0, 0, 16, 16, 10, 10, 55, 0, 0.0},
};

static const Field FIELDS_KillProgressWrapper[] = {
    {"kill_progress", 13, UNION, 1, 0, 0, 8, 4, 6, 4, 3, 0, 0.0},
};

static const Field FIELDS_JobAndProgress[] = {
    {"job_id", 6, STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"wrapper", 7, TABLE, 1, 0, 0, 8, 8, 6, 6, 55, 0, 0.0},
};

static const Field FIELDS_JobsKilledEvent[] = {
    {"job_ids", 7, STRINGS, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"progresses", 10, TABLES, 1, 0, 0, 8, 8, 6, 6, 56, 0, 0.0},
    {"profiles", 8, TABLES, 0, 0, 0, 12, 12, 8, 8, 50, 0, 0.0},
};

static const Field FIELDS_KillJobsEvent[] = {
    {"job_ids", 7, STRINGS, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_AggregatedProbeData[] = {
    {"data", 4, DOUBLE, 0, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_VectorialProbeData[] = {
    {"data", 4, DOUBLES, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_ProbeDataEmittedEvent[] = {
    {"probe_id", 8, STRING, 1, 0, 1, 8, 8, 4, 4, -1, 0, 0.0},
    {"resources", 9, UNION, 1, 0, 0, 12, 4, 8, 6, 11, 0, 0.0},
    {"metrics", 7, ENUM, 0, 0, 0, 5, 5, 10, 10, 5, 0, 0.0},
    {"data", 4, UNION, 1, 0, 0, 16, 6, 14, 12, 5, 0, 0.0},
    {"manually_triggered", 18, BOOL, 0, 0, 0, 7, 7, 16, 16, -1, 0, 0.0},
    {"nb_emitted", 10, UINT32, 0, 0, 0, 20, 20, 18, 18, -1, 0, 0.0},
    {"nb_triggered", 12, UINT32, 0, 0, 0, 24, 24, 20, 20, -1, 0, 0.0},
};

static const Field FIELDS_RegisterJobEvent[] = {
    {"job_id", 6, STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"job", 3, TABLE, 1, 0, 0, 8, 8, 6, 6, 40, 0, 0.0},
};

static const Field FIELDS_RegisterProfileEvent[] = {
    {"profile", 7, TABLE, 1, 0, 0, 4, 4, 4, 4, 50, 0, 0.0},
};

static const Field FIELDS_RejectJobEvent[] = {
    {"job_id", 6, STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_RequestedCallEvent[] = {
    {"call_me_later_id", 16, STRING, 1, 0, 1, 8, 8, 4, 4, -1, 0, 0.0},
    {"last_periodic_call", 18, BOOL, 0, 0, 0, 4, 4, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_ResetProbeEvent[] = {
    {"probe_id", 8, STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
    {"new_value", 9, DOUBLE, 0, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_ExternalEventListAndFilename[] = {
    {"name", 4, STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"filename", 8, STRING, 1, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_HostProperty[] = {
    {"key", 3, STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
    {"value", 5, STRING, 1, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_Host[] = {
    {"id", 2, UINT32, 0, 0, 0, 8, 8, 4, 4, -1, 0, 0.0},
    {"name", 4, STRING, 1, 0, 0, 12, 12, 6, 6, -1, 0, 0.0},
    {"pstate", 6, UINT32, 0, 0, 0, 16, 16, 8, 8, -1, 0, 0.0},
    {"pstate_count", 12, UINT32, 0, 0, 0, 20, 20, 10, 10, -1, 1, 0.0},
    {"state", 5, ENUM, 0, 0, 0, 4, 4, 12, 12, 4, 0, 0.0},
    {"properties", 10, TABLES, 0, 0, 0, 24, 24, 14, 14, 68, 0, 0.0},
    {"zone_properties", 15, TABLES, 0, 0, 0, 28, 28, 16, 16, 68, 0, 0.0},
    {"core_count", 10, UINT32, 0, 0, 0, 32, 32, 18, 18, -1, 1, 0.0},
    {"computation_speed", 17, DOUBLES, 1, 0, 0, 36, 36, 20, 20, -1, 0, 0.0},
};

static const Field FIELDS_WorkloadAndFilename[] = {
    {"name", 4, STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"filename", 8, STRING, 1, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_SimulationBeginsEvent[] = {
    {"batprotocol_version", 19, STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
    {"batsim_version", 14, STRING, 1, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
    {"batsim_commit", 13, STRING, 0, 0, 0, 12, 12, 8, 8, -1, 0, 0.0},
    {"host_number", 11, UINT32, 0, 0, 0, 16, 16, 10, 10, -1, 0, 0.0},
    {"computation_host_number", 23, UINT32, 0, 0, 0, 20, 20, 12, 12, -1, 0, 0.0},
    {"computation_hosts", 17, TABLES, 1, 0, 0, 24, 24, 14, 14, 69, 0, 0.0},
    {"storage_host_number", 19, UINT32, 0, 0, 0, 28, 28, 16, 16, -1, 0, 0.0},
    {"storage_hosts", 13, TABLES, 1, 0, 0, 32, 32, 18, 18, 69, 0, 0.0},
    {"batsim_arguments", 16, STRINGS, 1, 0, 0, 36, 36, 20, 20, -1, 0, 0.0},
    {"batsim_execution_context_json", 29, STRING, 1, 0, 0, 40, 40, 22, 22, -1, 0, 0.0},
    {"workloads", 9, TABLES, 1, 0, 0, 44, 44, 24, 24, 70, 0, 0.0},
    {"external_event_lists", 20, TABLES, 1, 0, 0, 48, 48, 26, 26, 67, 0, 0.0},
    {"profiles", 8, TABLES, 0, 0, 0, 52, 52, 28, 28, 50, 0, 0.0},
};

static const Field FIELDS_SimulationErrorEvent[] = {
    {"error", 5, STRING, 1, 0, 0, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_StopCallMeLaterEvent[] = {
    {"call_me_later_id", 16, STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_StopProbeEvent[] = {
    {"probe_id", 8, STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
};

static const Field FIELDS_TriggerProbeEvent[] = {
    {"probe_id", 8, STRING, 1, 0, 1, 8, 8, 4, 4, -1, 0, 0.0},
    {"force_data_emission", 19, BOOL, 0, 0, 0, 4, 4, 6, 6, -1, 1, 0.0},
};

static const Field FIELDS_TurnOnOffHostsEvent[] = {
    {"host_ids", 8, STRING, 1, 0, 1, 4, 4, 4, 4, -1, 0, 0.0},
    {"state", 5, UINT32, 0, 0, 0, 8, 8, 6, 6, -1, 0, 0.0},
};

static const Field FIELDS_EventAndTimestamp[] = {
    {"timestamp", 9, DOUBLE, 0, 0, 1, 12, 12, 4, 4, -1, 0, 0.0},
    {"event", 5, UNION, 1, 0, 0, 8, 4, 8, 6, 0, 0, 0.0},
};

static const Field FIELDS_Message[] = {
    {"now", 3, DOUBLE, 0, 0, 1, 8, 8, 4, 4, -1, 0, 0.0},
    {"events", 6, TABLES, 1, 0, 0, 4, 4, 6, 6, 78, 0, 0.0},
};

static const Table TABLES_[] = {
    {"AllStaticExternalEventsHaveBeenInjectedEvent", NULL, 44, 0, 0, 1, 4, 1, 1},
    {"AllStaticJobsHaveBeenSubmittedEvent", NULL, 35, 0, 0, 1, 4, 1, 2},
    {"OneShot", FIELDS_OneShot, 7, 2, 0, 0, 16, 0, 59},
    {"FinitePeriodNumber", FIELDS_FinitePeriodNumber, 18, 1, 0, 0, 8, 1, 24},
    {"Infinite", NULL, 8, 0, 0, 0, 4, 1, 36},
    {"Periodic", FIELDS_Periodic, 8, 4, 0, 0, 28, 0, 68},
    {"CallMeLaterEvent", FIELDS_CallMeLaterEvent, 16, 2, 0, 1, 16, 1, 5},
    {"ChangeHostsPStateEvent", FIELDS_ChangeHostsPStateEvent, 22, 2, 0, 1, 12, 1, 6},
    {"ArithmeticMean", NULL, 14, 0, 0, 0, 4, 1, 4},
    {"ExponentialMovingAverage", NULL, 24, 0, 0, 0, 4, 1, 20},
    {"HostResources", FIELDS_HostResources, 13, 1, 0, 0, 8, 1, 33},
    {"LinkResources", FIELDS_LinkResources, 13, 1, 0, 0, 8, 1, 52},
    {"NoFiltering", NULL, 11, 0, 0, 0, 4, 1, 54},
    {"NoProbeDataAccumulation", NULL, 23, 0, 0, 0, 4, 1, 55},
    {"NoResourcesAggregation", NULL, 22, 0, 0, 0, 4, 1, 57},
    {"NoTemporalAggregation", NULL, 21, 0, 0, 0, 4, 1, 58},
    {"NoReset", NULL, 7, 0, 0, 0, 4, 1, 56},
    {"ProbeAccumulationReset", FIELDS_ProbeAccumulationReset, 22, 1, 0, 0, 12, 0, 70},
    {"ProbeDataAccumulation", FIELDS_ProbeDataAccumulation, 21, 3, 0, 0, 12, 1, 71},
    {"QuantileFunction", FIELDS_QuantileFunction, 16, 1, 0, 0, 12, 0, 76},
    {"SlidingWindowOperation", NULL, 22, 0, 0, 0, 4, 1, 89},
    {"Sum", NULL, 3, 0, 0, 0, 4, 1, 93},
    {"TemporalTriggerWrapper", FIELDS_TemporalTriggerWrapper, 22, 1, 1, 0, 12, 1, 94},
    {"ThresholdFilteringFunction", FIELDS_ThresholdFilteringFunction, 26, 2, 0, 0, 16, 0, 95},
    {"CreateProbeEvent", FIELDS_CreateProbeEvent, 16, 8, 0, 1, 40, 1, 7},
    {"EDCRequestedSimulationFeatures", FIELDS_EDCRequestedSimulationFeatures, 30, 6, 0, 0, 12, 1, 14},
    {"EDCHelloEvent", FIELDS_EDCHelloEvent, 13, 6, 0, 1, 28, 1, 10},
    {"CustomExecutorToHostMapping", FIELDS_CustomExecutorToHostMapping, 27, 1, 0, 0, 8, 1, 8},
    {"PredefinedExecutorPlacementStrategyWrapper", FIELDS_PredefinedExecutorPlacementStrategyWrapper, 42, 1, 1, 0, 8, 1, 69},
    {"AllocationPlacement", FIELDS_AllocationPlacement, 19, 2, 0, 0, 16, 1, 3},
    {"ProfileAllocationPlacement", FIELDS_ProfileAllocationPlacement, 26, 3, 0, 0, 20, 1, 73},
    {"StorageHost", FIELDS_StorageHost, 11, 2, 0, 0, 12, 1, 92},
    {"ExecuteJobEvent", FIELDS_ExecuteJobEvent, 15, 4, 0, 1, 20, 1, 16},
    {"GenericExternalEvent", FIELDS_GenericExternalEvent, 20, 1, 0, 0, 8, 1, 27},
    {"ExternalEventOccurredEvent", FIELDS_ExternalEventOccurredEvent, 26, 2, 0, 1, 16, 1, 22},
    {"FinishRegistrationEvent", NULL, 23, 0, 0, 1, 4, 1, 23},
    {"ForceSimulationStopEvent", NULL, 24, 0, 0, 1, 4, 1, 25},
    {"HostsPStateChangedEvent", FIELDS_HostsPStateChangedEvent, 23, 2, 0, 1, 12, 1, 34},
    {"HostsTurnedOnOffEvent", FIELDS_HostsTurnedOnOffEvent, 21, 2, 0, 1, 12, 1, 35},
    {"JobCompletedEvent", FIELDS_JobCompletedEvent, 17, 3, 0, 1, 16, 1, 42},
    {"Job", FIELDS_Job, 3, 4, 0, 0, 24, 0, 37},
    {"DelayProfile", FIELDS_DelayProfile, 12, 1, 0, 0, 12, 0, 9},
    {"ForkJoinCompositionProfile", FIELDS_ForkJoinCompositionProfile, 26, 1, 0, 0, 8, 1, 26},
    {"ParallelTaskDataStagingBetweenStoragesProfile", FIELDS_ParallelTaskDataStagingBetweenStoragesProfile, 45, 3, 0, 0, 20, 0, 60},
    {"ParallelTaskHomogeneousProfile", FIELDS_ParallelTaskHomogeneousProfile, 30, 3, 0, 0, 24, 0, 61},
    {"ParallelTaskMergeCompositionProfile", FIELDS_ParallelTaskMergeCompositionProfile, 35, 1, 0, 0, 8, 1, 62},
    {"ParallelTaskOnStorageHomogeneousProfile", FIELDS_ParallelTaskOnStorageHomogeneousProfile, 39, 4, 0, 0, 28, 0, 63},
    {"ParallelTaskProfile", FIELDS_ParallelTaskProfile, 19, 2, 0, 0, 12, 1, 64},
    {"SequentialCompositionProfile", FIELDS_SequentialCompositionProfile, 28, 2, 0, 0, 12, 1, 82},
    {"TraceReplayProfile", FIELDS_TraceReplayProfile, 18, 2, 0, 0, 12, 1, 96},
    {"ProfileAndId", FIELDS_ProfileAndId, 12, 3, 0, 0, 20, 1, 74},
    {"JobSubmittedEvent", FIELDS_JobSubmittedEvent, 17, 4, 0, 1, 24, 0, 43},
    {"KillProgressAtomicProfile", FIELDS_KillProgressAtomicProfile, 25, 2, 0, 0, 16, 0, 48},
    {"KillProgressForkJoinProfile", FIELDS_KillProgressForkJoinProfile, 27, 2, 0, 0, 12, 1, 49},
    {"KillProgressSequentialProfile", FIELDS_KillProgressSequentialProfile, 29, 4, 0, 0, 20, 1, 50},
    {"KillProgressWrapper", FIELDS_KillProgressWrapper, 19, 1, 1, 0, 12, 1, 51},
    {"JobAndProgress", FIELDS_JobAndProgress, 14, 2, 0, 0, 12, 1, 41},
    {"JobsKilledEvent", FIELDS_JobsKilledEvent, 15, 3, 0, 1, 16, 1, 45},
    {"KillJobsEvent", FIELDS_KillJobsEvent, 13, 1, 0, 1, 8, 1, 47},
    {"AggregatedProbeData", FIELDS_AggregatedProbeData, 19, 1, 0, 0, 12, 0, 0},
    {"VectorialProbeData", FIELDS_VectorialProbeData, 18, 1, 0, 0, 8, 1, 99},
    {"ProbeDataEmittedEvent", FIELDS_ProbeDataEmittedEvent, 21, 7, 0, 1, 28, 1, 72},
    {"RegisterJobEvent", FIELDS_RegisterJobEvent, 16, 2, 0, 1, 12, 1, 77},
    {"RegisterProfileEvent", FIELDS_RegisterProfileEvent, 20, 1, 0, 1, 8, 1, 78},
    {"RejectJobEvent", FIELDS_RejectJobEvent, 14, 1, 0, 1, 8, 1, 79},
    {"RequestedCallEvent", FIELDS_RequestedCallEvent, 18, 2, 0, 1, 12, 1, 80},
    {"ResetProbeEvent", FIELDS_ResetProbeEvent, 15, 2, 0, 1, 16, 0, 81},
    {"ExternalEventListAndFilename", FIELDS_ExternalEventListAndFilename, 28, 2, 0, 0, 12, 1, 21},
    {"HostProperty", FIELDS_HostProperty, 12, 2, 0, 0, 12, 1, 32},
    {"Host", FIELDS_Host, 4, 9, 0, 0, 40, 1, 28},
    {"WorkloadAndFilename", FIELDS_WorkloadAndFilename, 19, 2, 0, 0, 12, 1, 100},
    {"SimulationBeginsEvent", FIELDS_SimulationBeginsEvent, 21, 13, 0, 1, 56, 1, 83},
    {"SimulationEndsEvent", NULL, 19, 0, 0, 1, 4, 1, 87},
    {"SimulationErrorEvent", FIELDS_SimulationErrorEvent, 20, 1, 0, 1, 8, 1, 88},
    {"StopCallMeLaterEvent", FIELDS_StopCallMeLaterEvent, 20, 1, 0, 1, 8, 1, 90},
    {"StopProbeEvent", FIELDS_StopProbeEvent, 14, 1, 0, 1, 8, 1, 91},
    {"TriggerProbeEvent", FIELDS_TriggerProbeEvent, 17, 2, 0, 1, 12, 1, 97},
    {"TurnOnOffHostsEvent", FIELDS_TurnOnOffHostsEvent, 19, 2, 0, 1, 12, 1, 98},
    {"EventAndTimestamp", FIELDS_EventAndTimestamp, 17, 2, 0, 0, 20, 0, 15},
    {"Message", FIELDS_Message, 7, 2, 0, 0, 16, 0, 53},
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

static const EnumValue VALUES_BooleanComparisonOperator[] = {{"GreaterThan", 11, 0}, {"GreaterThanOrEqual", 18, 1}, {"LessThan", 8, 2}, {"LessThanOrEqual", 15, 3}};
static const EnumValue VALUES_CumulativeFunction[] = {{"Sum", 3, 0}, {"Minimum", 7, 1}, {"Maximum", 7, 2}};
static const EnumValue VALUES_FinalJobState[] = {{"COMPLETED_SUCCESSFULLY", 22, 0}, {"COMPLETED_FAILED", 16, 1}, {"COMPLETED_WALLTIME_REACHED", 26, 2}, {"COMPLETED_KILLED", 16, 3}, {"REJECTED", 8, 4}};
static const EnumValue VALUES_HomogeneousParallelTaskGenerationStrategy[] = {{"DefinedAmountsUsedForEachValue", 30, 0}, {"DefinedAmountsSpreadUniformly", 29, 1}};
static const EnumValue VALUES_HostState[] = {{"SLEEPING", 8, 0}, {"IDLE", 4, 1}, {"COMPUTING", 9, 2}, {"SWITCHING_ON", 12, 3}, {"SWITCHING_OFF", 13, 4}};
static const EnumValue VALUES_Metrics[] = {{"Power", 5, 0}, {"NetworkLoad", 11, 1}, {"ComputationLoad", 15, 2}, {"NormalizedNetworkLoad", 21, 3}, {"NormalizedComputationLoad", 25, 4}};
static const EnumValue VALUES_PredefinedExecutorPlacementStrategy[] = {{"SpreadOverHostsFirst", 20, 0}, {"FillOneHostCoresFirst", 21, 1}};
static const EnumValue VALUES_TimeUnit[] = {{"Second", 6, 0}, {"Millisecond", 11, 1}};
static const EnumValue VALUES_TraceType[] = {{"SMPI", 4, 0}, {"FractionalComputation", 21, 1}};

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
