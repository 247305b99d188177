// Every type of event that the agent publishes, with its fields besides `seq`, `time`, `generation` and `type`.

interface EventType {
  readonly summary: string;
  /** The names of the fields in their order in the event; some may be absent or null. */
  readonly fields: readonly string[];
}

export const agentEvents = {
  agent_started: { summary: 'the daemon serves', fields: ['version', 'pid'] },
  agent_restarted: {
    summary: 'the daemon has ended by itself, was started again and serves',
    fields: ['version', 'pid', 'ms'],
  },
  restart_failed: { summary: 'the daemon was to be started again, and went on', fields: ['reason'] },
  suspending: {
    summary: 'a suspend begins; it is decided by `deadline`',
    fields: ['deadline', 'forced', 'overruled', 'calls_cut'],
  },
  suspend_accepted: { summary: 'the platform accepted the suspend; the freeze follows', fields: [] },
  suspend_failed: { summary: 'the machine stays awake', fields: ['outcome', 'message'] },
  suspend_interrupted: { summary: 'the suspend was accepted, and the machine ran on', fields: ['message'] },
  idle_suspend: { summary: 'the agent asks for a suspend because nothing works', fields: ['idle_ms', 'after_ms'] },
  idle_suspend_failed: { summary: 'that suspend did not come about', fields: ['message', 'retry_ms'] },
  resumed: {
    summary: 'a resume was noticed, and the recovery is over',
    fields: ['cause', 'certainty', 'signals', 'gap_ms', 'wall_skew_ms', 'restores', 'steps'],
  },
  cold_start: {
    summary: 'the machine had been suspended, and booted without its memory, for this cause',
    fields: ['cause'],
  },
  clock_stepped: { summary: 'the wall clock jumped without a resume', fields: ['step_ms'] },
  clock_corrected: { summary: 'the wall clock caught up after a resume', fields: ['step_ms'] },
  signal_lost: { summary: 'a source that tells of resumes cannot be read any more', fields: ['signal'] },
  signal_found: { summary: 'a source that tells of resumes can be read', fields: ['signal'] },
  stale_sockets_ended: {
    summary: 'older TCP connections were ended after a resume, by setting',
    fields: ['count', 'connections'],
  },
  fenced_off: {
    summary: 'the platform refuses this machine as a copy of another',
    fields: ['code', 'known_generation'],
  },
  hold_created: { summary: 'a hold began', fields: ['name', 'mode'] },
  hold_released: { summary: 'a hold ended', fields: ['name', 'reason'] },
  policies_changed: { summary: 'the policies of the gateway changed', fields: ['connectors'] },
  gateway_call_ended: {
    summary: 'an open call was ended, because it is not allowed any more',
    fields: ['provider', 'connector_id', 'code'],
  },
  port_opened: { summary: 'a TCP port listens', fields: ['port', 'address', 'pid'] },
  port_closed: { summary: 'a TCP port listens no more', fields: ['port', 'address', 'pid'] },
  primary_changed: {
    summary: 'the node became primary or replica, or follows another primary',
    fields: ['primary', 'hostname', 'previous'],
  },
  replication_connected: {
    summary: 'the stream of the database node is followed',
    fields: ['primary', 'hostname', 'node_id', 'cluster_id'],
  },
  replication_disconnected: { summary: 'that stream ended', fields: ['code', 'message'] },
  replication_unreachable: { summary: 'the node cannot be followed, for a new reason', fields: ['code', 'message'] },
  replication_node_restarted: { summary: 'the node is another process', fields: ['node_id', 'previous'] },
  replication_cluster_changed: {
    summary: 'the node belongs to another cluster; the cache is emptied',
    fields: ['cluster_id', 'previous'],
  },
  replication_gap: {
    summary: 'transactions of a database are missing in the cache',
    fields: ['db', 'from', 'to', 'missing', 'cause'],
  },
  replication_rewound: {
    summary: 'the ids of a database went back',
    fields: ['db', 'txID', 'postApplyChecksum'],
  },
  replication_diverged: {
    summary: 'an id came again with another checksum',
    fields: ['db', 'txID', 'postApplyChecksum'],
  },
  replication_dropped: { summary: 'a database was dropped', fields: ['db', 'txID', 'postApplyChecksum'] },
} as const satisfies Record<string, EventType>;

export type AgentEventType = keyof typeof agentEvents;

/** The fields that an event of this type may have. */
export type AgentEventFields<T extends string> = Readonly<
  T extends AgentEventType
    ? Partial<Record<(typeof agentEvents)[T]['fields'][number], unknown>>
    : Record<string, unknown>
>;
