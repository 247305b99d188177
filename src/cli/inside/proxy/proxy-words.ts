// The command that makes ports of a sprite reachable, as data.
import type { InsideWord } from '../inside-command.ts';

export const proxyWords: readonly InsideWord[] = [
  {
    name: 'proxy',
    summary: 'make ports of a sprite reachable here: `remora proxy -s web 5432 8080:80`',
    operands: 'PORT | LOCAL:REMOTE …',
    count: [1, 64],
    flags: {},
    notes: ['It listens on 127.0.0.1 until Ctrl-C. LOCAL 0 takes a free port. A connection wakes the machine.'],
    load: () => import('./proxy.ts'),
  },
];
