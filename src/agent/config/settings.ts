// Every setting of the agent as one entry: where it may be written, its schema, and its default.
import * as z from '../../contract/lazy-zod.ts';
import { NETWORK_RULES_VARIABLE } from '../../core/network-wire.ts';
import { PROGRAM_POLICY_VARIABLE } from '../../core/supervisor-wire.ts';
import { gatewaySettings } from './gateway-settings.ts';
import {
  absolutePath,
  baseUrl,
  cgroupList,
  digest,
  duration,
  exemptList,
  fileMode,
  hostList,
  hostPort,
  ignoredPorts,
  machinesApi,
  onOff,
  portList,
} from './setting-values.ts';

export interface Setting {
  readonly env: string;
  /** Dotted path in the TOML file; the flag is the same with dashes: `gateway.policy_max_age` = `--gateway-policy-max-age`. */
  readonly key: string;
  readonly summary: string;
  /** Turns text into the value. */
  readonly schema: z.ZodType<unknown, string>;
  /** The default as text, so that it is checked like any other value. Absent = the setting may be absent. */
  readonly fallback?: string;
  /** Whether a running agent takes a new value when its settings are read again. */
  readonly isLive?: true;
}

export const settings = {
  socket: {
    env: 'REMORA_SOCKET',
    key: 'socket',
    summary: 'path of the Unix socket',
    schema: absolutePath,
    fallback: '/run/remora/remora.sock',
  },
  socketMode: {
    env: 'REMORA_SOCKET_MODE',
    key: 'socket_mode',
    summary: 'file mode of the socket',
    schema: fileMode,
    fallback: '0660',
  },
  socketGroup: {
    env: 'REMORA_SOCKET_GROUP',
    key: 'socket_group',
    summary: 'group of the socket, name or number',
    schema: z.string().min(1),
  },
  readonlySocket: {
    env: 'REMORA_READONLY_SOCKET',
    key: 'readonly_socket',
    summary: 'path of a second socket that only reads: status, ports, events, replication, metrics',
    schema: absolutePath,
  },
  listen: {
    env: 'REMORA_LISTEN',
    key: 'listen',
    summary: 'loopback host:port for callers without Unix sockets; needs a capability token',
    schema: hostPort,
  },
  socketRoot: {
    env: 'REMORA_SOCKET_ROOT',
    key: 'socket_root',
    summary:
      'whether callers of the socket may act as root in files and commands; they may when the socket is 0600 and root runs the agent',
    schema: onOff,
    fallback: 'false',
  },
  supervisorSocket: {
    env: 'REMORA_SUPERVISOR_SOCKET',
    key: 'supervisor_socket',
    summary:
      'where the supervisor serves, which is started at the first use; supervisor.sock beside the socket unless said otherwise',
    schema: absolutePath,
  },
  user: {
    env: 'REMORA_USER',
    key: 'user',
    summary:
      'the user of this sprite, as whom services, files and commands run; the user of the agent, and needed when that is root',
    schema: z.string().regex(/^[a-z_][a-z0-9_-]{0,31}\$?$|^\d{1,10}$/, 'must be the name or the number of a user'),
  },
  home: {
    env: 'REMORA_HOME',
    key: 'home',
    summary:
      'where services and commands begin, and their HOME; the home directory of their user unless said otherwise',
    schema: absolutePath,
  },
  networkPolicy: {
    env: 'REMORA_NETWORK_POLICY',
    key: 'network_policy',
    summary:
      'whether the agent starts what enforces a network policy, with rights that root has; not needed with remora-network.socket',
    schema: onOff,
    fallback: 'false',
  },
  networkRules: {
    env: NETWORK_RULES_VARIABLE,
    key: 'network_rules',
    summary:
      'the digest of the network policy that is to hold before anything runs, as the platform gives it to a machine that boots',
    schema: digest,
  },
  programPolicy: {
    env: PROGRAM_POLICY_VARIABLE,
    key: 'program_policy',
    summary:
      'the digest of the policies of privileges and resources that are to hold before anything runs, as the platform gives it to a machine that boots',
    schema: digest,
  },
  networkExempt: {
    env: 'REMORA_NETWORK_EXEMPT',
    key: 'network_exempt',
    summary:
      'what every network policy leaves open beside the platform: names, addresses and networks such as 10.0.0.0/8; names may lead to private addresses',
    schema: exemptList,
    fallback: '',
  },
  stateDir: {
    env: 'REMORA_STATE_DIR',
    key: 'state_dir',
    summary: 'directory of the databases',
    schema: absolutePath,
    fallback: '/var/lib/remora',
  },
  baseUrl: { env: 'REMORA_BASE_URL', key: 'base_url', summary: 'address of the platform', schema: baseUrl },
  tokenFile: {
    env: 'REMORA_TOKEN_FILE',
    key: 'token_file',
    summary: "file with the sprite's token",
    schema: absolutePath,
  },
  sprite: {
    env: 'REMORA_SPRITE',
    key: 'sprite',
    summary: 'name of this sprite',
    schema: z.string().regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'must be a sprite name: a-z, 0-9 and dashes'),
  },
  app: {
    env: 'REMORA_APP',
    key: 'app',
    summary: 'application of this machine (FLY_APP_NAME)',
    schema: z.string().min(1),
  },
  machine: {
    env: 'REMORA_MACHINE',
    key: 'machine',
    summary: 'id of this machine (FLY_MACHINE_ID)',
    schema: z.string().min(1),
  },
  machinesApi: {
    env: 'REMORA_MACHINES_API',
    key: 'machines_api',
    summary: 'machines API, unix:/path or a URL (/.fly/api where it exists)',
    schema: machinesApi,
  },
  plainHttpHosts: {
    env: 'REMORA_PLAIN_HTTP_HOSTS',
    key: 'plain_http_hosts',
    summary: 'hosts to which the token may go over plain http: those of a link that no other machine is on',
    schema: hostList,
    fallback: '',
  },
  nodeUrl: {
    env: 'REMORA_NODE_URL',
    key: 'node_url',
    summary: 'address of the replicated database node',
    schema: baseUrl,
  },
  litefsDir: {
    env: 'REMORA_LITEFS_DIR',
    key: 'replication.litefs_dir',
    summary: 'where the node mounts its databases; read after a reconnect, so that quiet databases are live again',
    schema: absolutePath,
  },
  positionsDir: {
    env: 'REMORA_POSITIONS_DIR',
    key: 'replication.positions_dir',
    summary: 'directory in which the agent keeps .primary and <db>-pos, for clients such as litefs-js',
    schema: absolutePath,
  },
  portAddress: {
    env: 'REMORA_PORT_ADDRESS',
    key: 'port_address',
    summary: 'address of a port: a template with {port} and {sprite}, or "bind"',
    schema: z.string().refine((text) => text === 'bind' || text.includes('{port}'), 'must be "bind" or contain {port}'),
  },
  portsIgnore: {
    env: 'REMORA_PORTS_IGNORE',
    key: 'ports.ignore',
    summary:
      'listeners that are not announced: ports, ranges such as 9000-9010, and "system" for the services of the machine itself',
    schema: ignoredPorts,
    fallback: '',
  },
  portsPush: {
    env: 'REMORA_PORTS_PUSH',
    key: 'ports.push',
    summary:
      'where a port that closes is heard of first: "off" = at the next look, "ss" = at once, from an `ss` that is kept running, where there is one',
    schema: z.enum(['off', 'ss']),
    fallback: 'off',
  },
  ...gatewaySettings,
  hooksDir: {
    env: 'REMORA_HOOKS_DIR',
    key: 'hooks_dir',
    summary: 'directory with pre-suspend.d, post-resume.d and primary-change.d',
    schema: absolutePath,
  },
  generationFile: {
    env: 'REMORA_GENERATION_FILE',
    key: 'generation_file',
    summary:
      'file that holds the generation, rewritten after each resume; "generation" beside the socket unless said otherwise',
    schema: absolutePath,
  },
  pausesFile: {
    env: 'REMORA_PAUSES_FILE',
    key: 'pauses_file',
    summary:
      'file in which the host counts for how many copies it held this machine still, and how often it resumed it; a pause for a copy is no resume',
    schema: absolutePath,
  },
  suspendStreams: {
    env: 'REMORA_SUSPEND_STREAMS',
    key: 'suspend.streams',
    summary:
      'what gateway calls, calls from outside and processes at work do to a suspend: "block" it, or be cut and only "name" themselves',
    schema: z.enum(['block', 'name']),
    fallback: 'block',
    isLive: true,
  },
  idleAfter_ms: {
    env: 'REMORA_SUSPEND_IDLE_AFTER',
    key: 'suspend.idle_after',
    summary: 'suspend this machine after so long without work, at least 1s; absent = never',
    schema: duration.transform((value) => Math.max(1_000, value)),
  },
  idleIgnorePorts: {
    env: 'REMORA_SUSPEND_IDLE_IGNORE_PORTS',
    key: 'suspend.idle_ignore_ports',
    summary: 'ports whose connections are no work, such as one that is only asked for health or metrics',
    schema: portList,
    fallback: '',
  },
  killPorts: {
    env: 'REMORA_RESUME_KILL_PORTS',
    key: 'resume.kill_ports',
    summary: 'after a resume, end older TCP connections with one of these ports at either end; needs CAP_NET_ADMIN',
    schema: portList,
    fallback: '',
  },
  killCgroups: {
    env: 'REMORA_RESUME_KILL_CGROUPS',
    key: 'resume.kill_cgroups',
    summary: 'after a resume, end older TCP connections of these cgroups and those below; needs CAP_NET_ADMIN',
    schema: cgroupList,
    fallback: '',
  },
  resumeRng: {
    env: 'REMORA_RESUME_RNG',
    key: 'resume.rng',
    summary:
      'after a resume that may have cloned this machine: "keep" the process, or "restart" it, so that the TLS library of the clones draws different numbers; needs started_again',
    schema: z.enum(['keep', 'restart']),
    fallback: 'keep',
    isLive: true,
  },
  startedAgain: {
    env: 'REMORA_STARTED_AGAIN',
    key: 'started_again',
    summary:
      'whether what started the agent starts it again when it ends with exit code 75, as the unit and the platform do; an upgrade needs that',
    schema: onOff,
    fallback: 'false',
  },
  shutdown_ms: {
    env: 'REMORA_SHUTDOWN_TIMEOUT',
    key: 'shutdown_timeout',
    summary: 'how long answers may take to finish after SIGTERM',
    schema: duration,
    fallback: '10s',
    isLive: true,
  },
  logLevel: {
    env: 'REMORA_LOG_LEVEL',
    key: 'log_level',
    summary: 'trace, debug, info, warn, error or silent',
    schema: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']),
    fallback: 'info',
    isLive: true,
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof settings;

/** A setting with a fallback always has a value; the others may be undefined. */
export type SettingValues = {
  readonly [K in SettingName]: (typeof settings)[K] extends { fallback: string }
    ? z.output<(typeof settings)[K]['schema']>
    : z.output<(typeof settings)[K]['schema']> | undefined;
};
