// The command that explains the network policy of a sprite, as data.
import { jsonFlag } from '../../json-flag.ts';
import type { InsideWord } from '../inside-command.ts';

export const networkWords: readonly InsideWord[] = [
  {
    name: 'explain-network',
    summary: 'what the network policy does with a connection, and why; exit code 1 when it refuses',
    operands: 'HOST[:PORT] | --refused',
    count: [0, 1],
    flags: {
      refused: { type: 'boolean', summary: 'what it has refused lately, the last one first' },
      json: jsonFlag,
    },
    notes: ['HOST is a name or an address; an IPv6 address with a port stands in brackets, as in [2001:db8::1]:443.'],
    load: () => import('./explain-network.ts'),
  },
];
