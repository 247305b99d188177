// The flags of `remora platform` about machines without work.
import type { Flag } from '../command.ts';

export const spriteIdleFlag: Flag = {
  type: 'string',
  value: 'TIME',
  summary: 'after how long without work a sprite is suspended, by the word of its agent (30s); 0s never',
};

export const idleFlags: Readonly<Record<string, Flag>> = {
  'sprite-idle': spriteIdleFlag,
  'sprite-cold': {
    type: 'string',
    value: 'TIME',
    summary: 'after how long a suspended sprite loses its memory and becomes cold (24h); 0s never',
  },
  'app-idle': {
    type: 'string',
    value: 'TIME',
    summary:
      'how often one machine of each app may be put to sleep, where its services say auto_stop_machines (5m, from 30s); 0s never',
  },
  'start-wait': {
    type: 'string',
    value: 'TIME',
    summary: 'how long a start waits where no more sprites of the organization may run (30s); 0s not at all',
  },
};
