// `remora platform` as data: its flags and its help.
import type { Command, Flag } from '../command.ts';
import { idleFlags } from './idle-flags.ts';
import { mailFlags } from './mail-flags.ts';
import { proxyFlags } from './proxy-flags.ts';
import { qemuFlags } from './qemu-flags.ts';
import { signInFlags } from './sign-in-flags.ts';

export const platformCommand: Command = {
  name: 'platform',
  group: 'run',
  summary: 'the control plane: sprites, connectors, gateway, machines; and what its operator does beside it',
  operands: '',
  count: [0, 0],
  flags: {
    dir: { type: 'string', value: 'DIR', summary: 'where its database and machines are (REMORA_PLATFORM_DIR)' },
    database: {
      type: 'string',
      value: 'URL',
      summary: 'PostgreSQL in place of a file in --dir; for several platforms (REMORA_DATABASE_URL)',
    },
    host: { type: 'string', value: 'HOST', summary: 'address to listen on (127.0.0.1)' },
    port: { type: 'string', value: 'N', summary: 'port to listen on (4180); 0 takes a free one' },
    'key-file': {
      type: 'string',
      value: 'FILE',
      summary: 'vault keys, the newest first, one a line; a file of mode 0600',
    },
    organization: { type: 'string', value: 'NAME', summary: 'make this organization if there is none' },
    'token-file': {
      type: 'string',
      value: 'FILE',
      summary: 'where a new token of it goes, unless the file is there',
    },
    'reconnect-spread': {
      type: 'string',
      value: 'TIME',
      summary: 'over how long machines that are resumed together come back, for example 10s (0s: at once)',
    },
    'trust-machines': {
      type: 'boolean',
      summary: 'let tokens of an organization reach into its machines, which share kernel and files with the platform',
    },
    ...qemuFlags,
    'end-machines': { type: 'boolean', summary: 'end the machines when it stops; they go on otherwise' },
    'start-deadline': {
      type: 'string',
      value: 'TIME',
      summary:
        'how long a machine that is started has for the first report of its agent (30s; for --driver qemu 5m, or 1m with kvm)',
    },
    'snapshot-max-age': {
      type: 'string',
      value: 'TIME',
      summary:
        'how long the snapshot of a suspended machine is kept, such as 24h; an older one is a cold start (for ever)',
    },
    ...idleFlags,
    'host-address': {
      type: 'string',
      value: 'URL',
      summary: 'where the other platforms on its database reach this one, past what stands before them all',
    },
    'public-url': { type: 'string', value: 'URL', summary: 'where callers reach it, for links and redirects' },
    providers: {
      type: 'string',
      value: 'FILE',
      summary: 'more providers, OAuth clients and management keys, as TOML',
    },
    'environment-version': {
      type: 'string',
      value: 'TEXT',
      summary: 'version of what machines boot from, shown with every sprite',
    },
    'connector-rate': {
      type: 'string',
      value: 'N',
      summary: 'gateway calls that may begin each second through one connector (2000)',
    },
    'connector-in-flight': {
      type: 'string',
      value: 'N',
      summary: 'gateway calls that may be open at once through one connector (1024)',
    },
    'sprite-rate': { type: 'string', value: 'N', summary: 'the same of one sprite (1000)' },
    'sprite-in-flight': { type: 'string', value: 'N', summary: 'the same of one sprite (512)' },
    'token-rate': { type: 'string', value: 'N', summary: 'other calls each second with one token (100)' },
    'creation-limit': {
      type: 'string',
      value: 'N',
      summary: 'sprites that an organization without a limit of its own may create in a minute (600)',
    },
    'body-limit': {
      type: 'string',
      value: 'BYTES',
      summary: 'largest request body of a gateway call (33554432); the agent has a limit of its own',
    },
    'websocket-idle': {
      type: 'string',
      value: 'TIME',
      summary: 'how long a WebSocket through the gateway may be silent (10m); 0s for ever',
    },
    'metrics-listen': {
      type: 'string',
      value: 'HOST:PORT',
      summary: 'a listener for /metrics alone; else it is on the main one, without a token on loopback only',
    },
    'metrics-token-file': {
      type: 'string',
      value: 'FILE',
      summary: 'file with the token that /metrics asks for (mode 0600)',
    },
    ...proxyFlags,
    ...mailFlags,
    ...signInFlags,
    'verify-keys': { type: 'boolean', summary: 'ask a provider about an API key before it is stored' },
    'log-level': { type: 'string', value: 'LEVEL', summary: 'trace, debug, info, warn, error or silent' },
  },
  notes: [
    '`remora platform key FILE` makes a new key. There is no start without one: --key-file, or REMORA_PLATFORM_KEY_FILE, or',
    'REMORA_PLATFORM_KEY, or the systemd credential remora-platform-key; a file with a key that other users may read is refused,',
    'but for that credential, which systemd guards. What follows works beside a platform that serves or not.',
  ],
  load: () => import('../commands/platform.ts'),
};

const { dir, database, 'key-file': keyFile, providers } = platformCommand.flags as Readonly<Record<string, Flag>>;

/** The commands for keys and files of a platform; those for its records are elsewhere. */
export const platformCareCommands: readonly Command[] = [
  {
    name: 'platform key',
    group: 'run',
    inner: true,
    summary: 'make a new vault key, in a file that only its owner may read; without FILE it is printed',
    operands: '[FILE]',
    count: [0, 1],
    flags: {},
    load: async () => ({ run: (await import('./key-and-backup-commands.ts')).makeKey }),
  },
  {
    name: 'platform backup',
    group: 'run',
    inner: true,
    summary: 'copy the database of one moment; the vault keys are not in it',
    operands: 'FILE',
    count: [1, 1],
    flags: withoutUndefined({ dir, database, 'key-file': keyFile }),
    load: async () => ({ run: (await import('./key-and-backup-commands.ts')).backup }),
  },
  {
    name: 'platform rotate',
    group: 'run',
    inner: true,
    summary: 'close every credential with the first key of the file; can be repeated',
    operands: '',
    count: [0, 0],
    flags: withoutUndefined({ dir, database, 'key-file': keyFile, providers }),
    load: async () => ({ run: (await import('./key-and-backup-commands.ts')).rotate }),
  },
];

function withoutUndefined(flags: Readonly<Record<string, Flag | undefined>>): Record<string, Flag> {
  const given: Record<string, Flag> = {};
  for (const [name, flag] of Object.entries(flags)) if (flag !== undefined) given[name] = flag;
  return given;
}
