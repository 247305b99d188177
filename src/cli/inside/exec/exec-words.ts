// The commands that run programs in a sprite, as data.
import { jsonFlag } from '../../json-flag.ts';
import type { InsideWord } from '../inside-command.ts';
import { variableFlag } from '../variables.ts';

export const execWords: readonly InsideWord[] = [
  {
    name: 'exec',
    summary: 'run a program in a sprite as if it ran here: `remora exec -s web -- ls -l`',
    operands: '[--] COMMAND ARGS…',
    count: [0, Number.POSITIVE_INFINITY],
    runs: true,
    flags: {
      tty: { type: 'boolean', short: 't', summary: 'in a terminal, also where this command has none' },
      'no-tty': { type: 'boolean', short: 'T', summary: 'without a terminal, also where this command has one' },
      'no-stdin': { type: 'boolean', short: 'n', summary: 'read nothing here; the input of the program is empty' },
      workdir: { type: 'string', short: 'w', value: 'DIR', summary: 'where it runs (the home of the user)' },
      env: variableFlag,
      keep: { type: 'boolean', short: 'k', summary: 'let it run on when it is left or the connection is lost' },
      detach: { type: 'boolean', short: 'd', summary: 'let it run on, leave at once, and print its id' },
      attach: {
        type: 'string',
        short: 'a',
        value: 'ID',
        summary: 'come back to a session: its last output, then all that comes',
      },
    },
    notes: [
      'Without -t or -T the program has a terminal when this command has one. There `~.` at the beginning of a line leaves it, as with',
      'ssh. Without a terminal Ctrl-C and other signals are passed on; a second Ctrl-C ends this side. The exit code is that of the',
      'program: 127 when there is none of that name, 128 and the number after a signal; 255 when the connection was lost.',
    ],
    load: () => import('./exec.ts'),
  },
  {
    name: 'sessions',
    summary:
      'the programs that run in a sprite; `remora exec --attach ID` comes back to one, `remora sessions kill ID` ends it',
    operands: '',
    count: [0, 0],
    flags: { json: jsonFlag },
    load: async () => ({ run: (await import('./sessions.ts')).listSessions }),
  },
  {
    name: 'sessions kill',
    inner: true,
    summary: 'end a program with all that it has started',
    operands: 'ID',
    count: [1, 1],
    flags: {
      signal: { type: 'string', value: 'NAME', summary: 'what it is sent (SIGTERM)' },
      timeout: { type: 'string', value: 'TIME', summary: 'how long it has before it is killed (10s)' },
      json: jsonFlag,
    },
    load: async () => ({ run: (await import('./sessions.ts')).killSession }),
  },
];
