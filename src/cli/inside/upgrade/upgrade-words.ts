// The command that upgrades the agent of a sprite, as data.
import { jsonFlag } from '../../json-flag.ts';
import type { InsideWord } from '../inside-command.ts';

export const upgradeWords: readonly InsideWord[] = [
  {
    name: 'upgrade',
    summary: 'replace the agent of a sprite by the version that is installed there; what runs goes on',
    operands: '',
    count: [0, 0],
    flags: {
      force: { type: 'boolean', summary: 'cut the calls that are in flight; without it they are waited for' },
      json: jsonFlag,
    },
    notes: [
      'It ends when the new version serves. A supervisor that runs something stays the version that it is.',
      'It says so when nothing newer is installed; `--json` prints a message and no versions then.',
    ],
    load: () => import('./upgrade.ts'),
  },
];
