// The commands that stay and serve in a machine. They are apart from the others, so that starting one of them loads no other.
import type { Command } from './command.ts';

export const daemonCommands: readonly Command[] = [
  {
    name: 'agent',
    group: 'run',
    summary: 'the daemon inside a machine, with its Unix socket',
    operands: '',
    count: [0, 0],
    flags: {
      config: { type: 'string', value: 'FILE', summary: 'settings as TOML; /etc/remora/agent.toml if it exists' },
      socket: { type: 'string', value: 'PATH', summary: 'where to serve (REMORA_SOCKET)' },
      'state-dir': { type: 'string', value: 'DIR', summary: 'where the databases are (REMORA_STATE_DIR)' },
      'base-url': { type: 'string', value: 'URL', summary: 'address of the platform (REMORA_BASE_URL)' },
      'token-file': { type: 'string', value: 'FILE', summary: "file with the sprite's token (REMORA_TOKEN_FILE)" },
      'machines-api': { type: 'string', value: 'ADDRESS', summary: 'unix:/path or a URL (REMORA_MACHINES_API)' },
      'node-url': { type: 'string', value: 'URL', summary: 'address of the database node (REMORA_NODE_URL)' },
      listen: { type: 'string', value: 'HOST:PORT', summary: 'a loopback address to serve on as well (REMORA_LISTEN)' },
      'log-level': { type: 'string', value: 'LEVEL', summary: 'trace, debug, info, warn, error or silent' },
      check: { type: 'boolean', summary: 'load the program, print its version and end, as an upgrade does first' },
    },
    notes: ['Flags win over REMORA_* variables, those over the file. src/agent/README.md lists every setting.'],
    load: () => import('./commands/agent.ts'),
  },
  {
    name: 'supervisor',
    group: 'run',
    summary: 'what runs services, programs and file operations for the agent, which starts it when it is needed',
    operands: '',
    count: [0, 0],
    flags: {
      socket: { type: 'string', value: 'PATH', summary: 'where to serve; not needed when systemd hands over a socket' },
      'state-dir': { type: 'string', value: 'DIR', summary: 'where definitions and logs are' },
      user: { type: 'string', value: 'NAME', summary: 'as whom programs run (REMORA_USER); needed when root runs it' },
      home: {
        type: 'string',
        value: 'DIR',
        summary: 'where programs begin, and their HOME (REMORA_HOME); that of the user',
      },
      'log-level': { type: 'string', value: 'LEVEL', summary: 'trace, debug, info, warn, error or silent' },
    },
    notes: [
      'It ends by itself when no service is defined and nothing runs; the agent starts it again.',
      'With a socket of systemd it reads the settings of the agent.',
    ],
    load: () => import('./commands/supervisor.ts'),
  },
  {
    name: 'network',
    group: 'run',
    summary: 'what enforces the network policy of a sprite for the agent, with the right to change the packet filter',
    operands: '',
    count: [0, 0],
    flags: {
      socket: { type: 'string', value: 'PATH', summary: 'where to serve; not needed when systemd hands over a socket' },
      'state-dir': { type: 'string', value: 'DIR', summary: 'where it keeps what holds (REMORA_NETWORK_STATE_DIR)' },
      upstream: {
        type: 'string',
        value: 'A,B',
        summary: 'name servers to ask, in the place of those of /etc/resolv.conf',
      },
      'log-level': { type: 'string', value: 'LEVEL', summary: 'trace, debug, info, warn, error or silent' },
    },
    notes: [
      'It needs libnftables and CAP_NET_ADMIN, and enforces in its own network namespace. It ends by itself when nothing is restricted; what is',
      'restricted stays so when it ends.',
    ],
    load: () => import('./commands/network.ts'),
  },
];
