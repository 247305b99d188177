// The commands of services, as data.
import type { Flag } from '../../command.ts';
import { jsonFlag } from '../../json-flag.ts';
import type { InsideWord } from '../inside-command.ts';
import { variableFlag } from '../variables.ts';

type Module = typeof import('./service-commands.ts');

const json: Readonly<Record<string, Flag>> = { json: jsonFlag };
const duration: Readonly<Record<string, Flag>> = {
  duration: { type: 'string', value: 'TIME', summary: 'how long to show what it prints (5s)' },
};

function toWord(name: string, summary: string, run: keyof Module, rest: Partial<InsideWord> = {}): InsideWord {
  return {
    name: `services ${name}`,
    inner: true,
    summary,
    operands: 'NAME',
    count: [1, 1],
    ...rest,
    flags: { ...rest.flags, ...json },
    load: async () => ({ run: (await import('./service-commands.ts'))[run] }),
  };
}

export const serviceWords: readonly InsideWord[] = [
  toWord('list', 'the services of a sprite with their states', 'listServices', { operands: '', count: [0, 0] }),
  toWord('show', 'one service', 'showService'),
  toWord('create', 'define or replace a service, start it, and show what it prints at first', 'createService', {
    operands: 'NAME -- COMMAND ARGS…',
    count: [2, Number.POSITIVE_INFINITY],
    flags: {
      needs: { type: 'string', value: 'A,B', summary: 'services that must run before it is started' },
      workdir: { type: 'string', short: 'w', value: 'DIR', summary: 'where it runs (the home of the user)' },
      env: variableFlag,
      'http-port': { type: 'string', value: 'N', summary: 'where it serves HTTP; requests to the sprite go there' },
      ...duration,
    },
    notes: [
      'It is started again when it ends, also after a boot of the machine. The exit code is 1 when it is not up at the end.',
    ],
  }),
  toWord('start', 'start a service, and show what it prints at first', 'startService', { flags: duration }),
  toWord('stop', 'stop a service; it stays stopped until it is started', 'stopService', {
    flags: { timeout: { type: 'string', value: 'TIME', summary: 'how long it has before it is killed (10s)' } },
  }),
  toWord('restart', 'stop and start a service', 'restartService', { flags: duration }),
  toWord('delete', 'stop and forget a service', 'deleteService'),
  toWord('logs', 'what a service has printed: its standard output here too, all else on standard error', 'showLogs', {
    flags: {
      follow: { type: 'boolean', short: 'f', summary: 'stay and print what comes' },
      lines: { type: 'string', short: 'n', value: 'N', summary: 'how many of the last lines to begin with (100)' },
    },
  }),
  toWord('signal', 'send a signal to a service: `remora services signal web HUP`', 'signalService', {
    operands: 'NAME SIGNAL',
    count: [2, 2],
  }),
];
