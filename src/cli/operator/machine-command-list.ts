// The definitions of the commands of machines: names, operands, flags, and what to load.
import type { Word } from './operator-command.ts';

const app = { type: 'string', value: 'NAME', summary: 'the app of the machine (that of the organization)' } as const;

const configFlags = {
  memory: { type: 'string', value: 'MB', summary: 'its memory' },
  image: { type: 'string', value: 'NAME', summary: 'what it boots from' },
  'skip-launch': { type: 'boolean', summary: 'do not start it' },
} as const;

/** The same command is also `remora platform logs`. */
export const machineLogsCommand: Word = {
  name: 'machine logs',
  summary: 'what the agent of a machine has logged; --follow stays for what comes',
  operands: ['MACHINE'],
  flags: {
    app,
    follow: { type: 'boolean', short: 'f', summary: 'stay and print what comes' },
    tail: { type: 'string', value: 'N', summary: 'how many of the newest lines to begin with (100)' },
  },
  load: async () => (await import('./machine-commands.ts')).machineLogs,
};

/** The same command is also `remora platform why`. */
export const machineWhyCommand: Word = {
  name: 'machine why',
  summary: 'what keeps a machine awake, since when, and when it would be put to sleep',
  operands: ['MACHINE'],
  flags: { app },
  load: async () => (await import('./machine-why.ts')).machineWhy,
};

export const machineCommands: readonly Word[] = [
  machineLogsCommand,
  {
    name: 'machine list',
    summary: 'the machines with their states',
    flags: { app },
    load: async () => (await import('./machine-commands.ts')).listMachines,
  },
  {
    name: 'machine show',
    summary: 'one machine, by its id or the name of its sprite',
    operands: ['MACHINE'],
    flags: { app },
    load: async () => (await import('./machine-commands.ts')).showMachine,
  },
  {
    name: 'machine create',
    summary: 'make a machine and start it; its configuration as JSON, or - for the input',
    optional: 'CONFIG',
    flags: { app, ...configFlags, name: { type: 'string', value: 'NAME', summary: 'what to call it (its id)' } },
    load: async () => (await import('./machine-change-commands.ts')).createMachine,
  },
  {
    name: 'machine update',
    summary: 'give a machine another configuration, as JSON, or - for the input; one that runs is replaced',
    operands: ['MACHINE'],
    optional: 'CONFIG',
    flags: { app, ...configFlags },
    load: async () => (await import('./machine-change-commands.ts')).updateMachine,
  },
  {
    name: 'machine destroy',
    summary: 'delete a machine; its volumes stay',
    operands: ['MACHINE'],
    flags: { app, force: { type: 'boolean', summary: 'also one that runs' } },
    load: async () => (await import('./machine-change-commands.ts')).destroyMachine,
  },
  {
    name: 'machine restart',
    summary: 'stop a machine and boot it; done when its agent has reported',
    operands: ['MACHINE'],
    flags: { app },
    load: async () => (await import('./machine-change-commands.ts')).restartMachine,
  },
  {
    name: 'machine cordon',
    summary: 'let a machine get no more traffic through the proxy',
    operands: ['MACHINE'],
    flags: { app },
    load: async () => (await import('./machine-change-commands.ts')).cordonMachine,
  },
  {
    name: 'machine uncordon',
    summary: 'let a machine get traffic through the proxy again',
    operands: ['MACHINE'],
    flags: { app },
    load: async () => (await import('./machine-change-commands.ts')).uncordonMachine,
  },
  {
    name: 'machine lease',
    summary: 'get the lease of a machine, and print its nonce',
    operands: ['MACHINE'],
    flags: {
      app,
      ttl: { type: 'string', value: 'SECONDS', summary: 'for how long, at most 3600 (60)' },
      description: { type: 'string', value: 'TEXT', summary: 'what for' },
      release: { type: 'string', value: 'NONCE', summary: 'give this one back instead' },
    },
    load: async () => (await import('./machine-change-commands.ts')).leaseMachine,
  },
  {
    name: 'machine start',
    summary: 'boot or resume a machine; done when its agent has reported',
    operands: ['MACHINE'],
    flags: { app },
    load: async () => (await import('./machine-commands.ts')).startMachine,
  },
  {
    name: 'machine stop',
    summary: 'stop a machine; a snapshot is discarded',
    operands: ['MACHINE'],
    flags: {
      app,
      signal: { type: 'string', value: 'NAME', summary: 'how its agent is asked to end (SIGTERM)' },
      timeout: { type: 'string', value: 'TIME', summary: 'after how long it is made to, such as 30s (5s)' },
    },
    load: async () => (await import('./machine-commands.ts')).stopMachine,
  },
  {
    name: 'machine suspend',
    summary: 'suspend a machine; accepted when this ends, frozen soon after',
    operands: ['MACHINE'],
    flags: { app },
    load: async () => (await import('./machine-commands.ts')).suspendMachine,
  },
  {
    name: 'machine wait',
    summary: 'wait until a machine is in a state',
    operands: ['MACHINE'],
    flags: {
      app,
      state: { type: 'string', value: 'STATE', summary: 'running, suspended or stopped (running)' },
      timeout: { type: 'string', value: 'SECONDS', summary: 'for how long, at most 60 (60)' },
    },
    load: async () => (await import('./machine-commands.ts')).waitMachine,
  },
  machineWhyCommand,
  {
    name: 'machine adopt',
    summary: 'let the next agent that reports as the machine, and is not the one that is served, take its place',
    operands: ['MACHINE'],
    flags: { app },
    load: async () => (await import('./machine-commands.ts')).adoptMachine,
  },
];
