"""The parameters of the cluster that a simulation does not follow: those that decide nothing in it, and the others.

Parameters of versions from 20.02 to 25.05 are known, so that a file of another version can be read.
"""

from __future__ import annotations

from typing import Final

from batprotocol.sites.slurm.configuration.parameters.rows import Row, ignored, missed

__all__ = ["OTHERS"]

_ACCOUNTING: Final = (
    "AccountingStorageBackupHost AccountingStorageExternalHost AccountingStorageHost AccountingStorageLoc",
    "AccountingStorageParameters AccountingStoragePass AccountingStoragePort AccountingStorageTRES",
    "AccountingStorageUser AccountingStoreFlags AccountingStoreJobComment AcctGatherEnergyType",
    "AcctGatherFilesystemType AcctGatherInfinibandType AcctGatherInterconnectType AcctGatherNodeFreq",
    "AcctGatherProfileType DefaultStorageHost DefaultStorageLoc DefaultStoragePass DefaultStoragePort",
    "DefaultStorageType DefaultStorageUser JobAcctGatherFrequency JobAcctGatherParams JobAcctGatherType",
    "JobCompHost JobCompLoc JobCompParams JobCompPass JobCompPassScript JobCompPort JobCompType JobCompUser",
    "TrackWCKey",
)
_COMMUNICATION: Final = (
    "AuthAltParameters AuthAltTypes AuthInfo AuthType BackupAddr BackupController BcastExclude BcastParameters",
    "CertgenParameters CertgenType CertmgrParameters CertmgrType CommunicationParameters ControlAddr",
    "ControlMachine CredType CryptoType DataParserParameters DisableRootJobs EioTimeout EpilogMsgTime",
    "GetEnvTimeout GroupUpdateForce GroupUpdateTime HashPlugin HttpParserType JobCredentialPrivateKey",
    "JobCredentialPublicCertificate KeepAliveTime MaxDBDMsgs MaxNodeCount MessageTimeout MetricsAuthUsers",
    "MetricsType MsgAggregationParams PrivateData RoutePlugin SlurmctldAddr SlurmctldHost SlurmctldPort",
    "SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg SlurmctldTimeout SlurmdPort SlurmdTimeout SrunPortRange",
    "TCPTimeout TLSParameters TLSType TreeWidth UrlParserType",
)
_FILES: Final = (
    "DebugFlags JobFileAppend LogTimeFormat MailDomain MailProg PluginDir PlugStackConfig SlurmctldDebug",
    "SlurmctldLogFile SlurmctldPidFile SlurmctldPlugstack SlurmctldSyslogDebug SlurmdDebug SlurmdLogFile",
    "SlurmdParameters SlurmdPidFile SlurmdSpoolDir SlurmdSyslogDebug SlurmdUser SlurmSchedLogFile",
    "SlurmSchedLogLevel SlurmUser StateSaveLocation TmpFS",
)
_STEPS: Final = (
    "CgroupPlugin CoreSpecPlugin CpuFreqDef CpuFreqGovernors CpuFreqParameters ExtSensorsFreq ExtSensorsType",
    "GpuFreqDef HealthCheckInterval HealthCheckNodeState HealthCheckProgram InteractiveStepOptions",
    "JobContainerPlugin JobContainerType KillOnBadExit LaunchParameters LaunchType MaxJobId MaxStepCount",
    "MemLimitEnforce MpiDefault MpiParams NamespaceType PrEpParameters PrEpPlugins ProctrackType",
    "PropagatePrioProcess PropagateResourceLimits PropagateResourceLimitsExcept ReconfigFlags",
    "SallocDefaultCommand SrunEpilog SrunProlog SwitchParameters SwitchType TaskEpilog TaskPlugin TaskPluginParam",
    "TaskProlog UnkillableStepProgram UnkillableStepTimeout UsePAM VSizeFactor WaitTime X11Parameters",
)
_OF_OLD: Final = (
    "CacheGroups CheckpointType FastSchedule JobCheckpointDir Layouts SchedulerAuth SchedulerPort",
    "SchedulerRootFilter ChosLoc",
)
_MISSED: Final = (
    "AllowSpecResourcesUsage BatchStartTimeout BurstBufferType CliFilterPlugins Epilog EpilogSlurmctld",
    "EpilogTimeout FederationParameters InactiveLimit JobDefaults JobSubmitPlugins MaxBatchRequeue",
    "MaxTasksPerNode MCSParameters MCSPlugin NodeFeaturesPlugins PowerParameters PowerPlugin PreemptParameters",
    "PriorityParameters PrioritySiteFactorParameters PrioritySiteFactorPlugin Prolog PrologEpilogTimeout",
    "PrologFlags PrologSlurmctld PrologTimeout RebootProgram RequeueExit RequeueExitHold ResumeFailProgram",
    "ResumeProgram ResumeRate ResumeTimeout ResvEpilog ResvProlog SchedulerTimeSlice ScronParameters",
    "SlurmctldParameters SuspendExcNodes SuspendExcParts SuspendExcStates SuspendProgram SuspendRate SuspendTime",
    "SuspendTimeout",
)

OTHERS: Final[tuple[Row, ...]] = (
    *ignored(*" ".join((*_ACCOUNTING, *_COMMUNICATION, *_FILES, *_STEPS, *_OF_OLD)).split()),
    *missed(*" ".join(_MISSED).split()),
)
"""The rows of these parameters."""
