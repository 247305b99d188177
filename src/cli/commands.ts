// Every command of `remora`, in the order of the help. What a command needs is loaded when it runs, so that the agent never
// pays for the platform.
import type { Command } from './command.ts';
import { daemonCommands } from './daemon-commands.ts';
import type { Kinds } from './help.ts';
import { imageCommands, imageKind } from './image/image-commands.ts';
import { insideCommands, insideKinds } from './inside/inside-commands.ts';
import { jsonFlag } from './json-flag.ts';
import { kinds as operatorKinds, platformWordCommands, wordCommands } from './operator/operator-commands.ts';
import { spriteIdleFlag } from './platform/idle-flags.ts';
import { platformCareCommands, platformCommand } from './platform/platform-command.ts';
import { qemuFlags } from './platform/qemu-flags.ts';
import { socketFlag } from './socket-path.ts';

const json = jsonFlag;
const socket = socketFlag;

/** First words that several commands share. */
export const kinds: Kinds = [...insideKinds, ...operatorKinds, imageKind];

export const commands: readonly Command[] = [
  {
    name: 'dev',
    group: 'run',
    summary: 'agent, platform, a database node and sample providers on this machine; `npm start` runs this',
    operands: '',
    count: [0, 0],
    flags: {
      dir: {
        type: 'string',
        value: 'DIR',
        summary: 'where files go; a directory given here is kept, else one that is removed at the end',
      },
      port: { type: 'string', value: 'N', summary: 'port of the platform on 127.0.0.1 (4180); 0 takes a free one' },
      interval: { type: 'string', value: 'MS', summary: 'time between two writes of the database node (1000)' },
      'sprite-idle': {
        ...spriteIdleFlag,
        summary: 'after how long without work a sprite is suspended, such as 30s (never)',
      },
      ...qemuFlags,
    },
    notes: [
      'When all of it answers it writes DIR/dev.json and prints lines for curl that work as pasted. Ctrl-C ends all of it.',
      '--driver qemu runs the agent in a virtual machine, as root, from an image of `remora image build`, in REMORA_PLATFORM_DIR; the tour of the',
      'README needs --package python3 there.',
    ],
    load: () => import('./commands/dev.ts'),
  },
  ...daemonCommands,
  platformCommand,
  ...platformCareCommands,
  ...platformWordCommands,
  ...imageCommands,
  {
    name: 'status',
    group: 'ask',
    summary: 'version, identity, generation, the state of each part, and what the agent costs',
    operands: '',
    count: [0, 0],
    flags: { json, socket },
    load: () => import('./commands/status.ts'),
  },
  {
    name: 'doctor',
    group: 'ask',
    summary: 'what is wrong with the agent, and what to do about each; exit code 1 when there is something',
    operands: '',
    count: [0, 0],
    flags: { json, socket },
    load: () => import('./commands/doctor.ts'),
  },
  {
    name: 'ports',
    group: 'ask',
    summary: 'the TCP ports that are open; --watch goes on with each that opens or closes',
    operands: '',
    count: [0, 0],
    flags: { watch: { type: 'boolean', short: 'w', summary: 'stay and print changes' }, json, socket },
    load: () => import('./commands/ports.ts'),
  },
  {
    name: 'events',
    group: 'ask',
    summary: 'the events of the agent as they come',
    operands: '',
    count: [0, 0],
    flags: {
      since: {
        type: 'string',
        value: 'SEQ',
        summary: 'begin after this number; 0 begins with the oldest that is kept',
      },
      types: { type: 'string', value: 'A,B', summary: 'only these types' },
      json,
      socket,
    },
    load: () => import('./commands/events.ts'),
  },
  {
    name: 'suspend',
    group: 'ask',
    summary: 'suspend this machine',
    operands: '',
    count: [0, 0],
    flags: { force: { type: 'boolean', summary: 'in spite of holds, and also on a primary' }, json, socket },
    load: () => import('./commands/suspend.ts'),
  },
  {
    name: 'hold',
    group: 'ask',
    summary: 'run a command and hold the machine awake while it runs',
    operands: '-- COMMAND ARGS…',
    count: [1, Number.POSITIVE_INFINITY],
    flags: {
      name: { type: 'string', value: 'NAME', summary: 'name of the hold (COMMAND and a number)' },
      reason: { type: 'string', value: 'TEXT', summary: 'why, for those who ask' },
      mode: { type: 'string', value: 'MODE', summary: 'block suspends (default), or only delay them by at most 5 s' },
      'best-effort': { type: 'boolean', summary: 'run the command also when the machine cannot be held awake' },
      socket,
    },
    notes: [
      'Signals are passed on, and the exit code is that of COMMAND: 128 and the number when a signal ended it, 127 when there',
      'is no such command. Without a hold the command is not run, unless --best-effort is given.',
    ],
    load: () => import('./commands/hold.ts'),
  },
  {
    name: 'tasks',
    group: 'ask',
    summary: 'the holds that keep this machine awake',
    operands: '',
    count: [0, 0],
    flags: { json, socket },
    load: () => import('./commands/tasks.ts'),
  },
  {
    name: 'idle',
    group: 'ask',
    summary: 'why this machine is awake, what does not count, and when it would suspend itself',
    operands: '',
    count: [0, 0],
    flags: { json, socket },
    load: () => import('./commands/idle.ts'),
  },
  {
    name: 'wait',
    group: 'ask',
    summary: 'wait until a port listens, or until the replica of a database has a transaction: `remora wait port:3000`',
    operands: 'port:PORT | tx:DATABASE@TXID | DATABASE TXID',
    count: [1, 2],
    flags: {
      until: { type: 'string', value: 'STATE', summary: 'of a port: listen (default), http or closed' },
      timeout: { type: 'string', value: 'TIME', summary: 'for example 10s (30s); at most 60s for a port' },
      json,
      socket,
    },
    load: () => import('./commands/wait.ts'),
  },
  {
    name: 'connectors',
    group: 'ask',
    summary: 'the connectors that this sprite may use; of one of them also lines to paste',
    operands: '[ID]',
    count: [0, 1],
    flags: { json, socket },
    load: () => import('./commands/connectors.ts'),
  },
  {
    name: 'env',
    group: 'ask',
    summary: 'variables for the SDK of a provider, with a token as its key: `eval "$(remora env --connector ID)"`',
    operands: '',
    count: [0, 0],
    flags: {
      connector: { type: 'string', value: 'ID', summary: 'the connector that the token opens' },
      expire: { type: 'string', value: 'TIME', summary: 'for how long it is good, for example 10m (1h)' },
      json,
      socket,
    },
    notes: ['The agent must have a loopback listener: REMORA_LISTEN=127.0.0.1:4181.'],
    load: () => import('./commands/env.ts'),
  },
  {
    name: 'log',
    group: 'ask',
    summary: 'the calls of the gateway: when, what was decided and why, how they ended',
    operands: '',
    count: [0, 0],
    flags: {
      follow: { type: 'boolean', short: 'f', summary: 'stay and print those that come' },
      limit: { type: 'string', value: 'N', summary: 'how many of the newest to begin with (20)' },
      json,
      socket,
    },
    load: () => import('./commands/log.ts'),
  },
  {
    name: 'explain',
    group: 'ask',
    summary: 'what the gateway would do with a call, and why; exit code 1 when it would refuse',
    operands: 'METHOD URL',
    count: [2, 2],
    flags: { platform: { type: 'boolean', summary: 'ask the platform as well' }, json, socket },
    notes: [
      'URL is /v1/gateway/PROVIDER/CONNECTOR/PATH, with or without http://host before it. CONNECTOR is its id or its name.',
    ],
    load: () => import('./commands/explain.ts'),
  },
  {
    name: 'curl',
    group: 'ask',
    summary: 'curl over the socket: `remora curl /v1/status`, `remora curl -X POST /v1/machine/suspend`',
    operands: 'ARGS…',
    count: [1, Number.POSITIVE_INFINITY],
    flags: { socket: { ...socket, summary: `${socket.summary}; only as the first word` } },
    notes: [
      'A word that begins with a slash becomes a URL; all else goes to curl as it is, and its exit code comes back: 22 for an',
      'answer that is an error, which is printed too; --no-fail-with-body ends with 0 there. Needs curl 7.76 or later.',
    ],
    raw: true,
    load: () => import('./commands/curl.ts'),
  },
  ...insideCommands,
  {
    name: 'login',
    group: 'platform',
    summary: 'keep the address of a platform and a token for it, which is read from the input, for this user',
    operands: '',
    count: [0, 0],
    flags: { url: { type: 'string', value: 'URL', summary: 'the platform, as https://HOST or http://HOST:PORT' } },
    notes: [
      'The file is $XDG_CONFIG_HOME/remora/context.json, else below ~/.config. `remora login --url URL < token`',
      'A token that --token-file, REMORA_API_TOKEN_FILE or REMORA_API_TOKEN gives is used in place of the one in it.',
    ],
    load: () => import('./commands/login.ts'),
  },
  {
    name: 'logout',
    group: 'platform',
    summary: 'forget what `remora login` keeps; the token stays good',
    operands: '',
    count: [0, 0],
    flags: {},
    load: () => import('./commands/logout.ts'),
  },
  ...wordCommands,
  {
    name: 'completion',
    group: 'shell',
    summary: 'the script that completes commands and flags: `eval "$(remora completion bash)"`',
    operands: 'bash | zsh | fish',
    count: [1, 1],
    flags: {},
    load: () => import('./commands/completion.ts'),
  },
];
