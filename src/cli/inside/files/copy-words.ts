// The command that copies files, as data.
import type { InsideWord } from '../inside-command.ts';

export const copyWords: readonly InsideWord[] = [
  {
    name: 'cp',
    summary: 'copy a file into a sprite or out of it: `remora cp app.js web:/srv/`, `remora cp -r web:/srv/data .`',
    operands: 'SOURCE DEST',
    count: [2, 2],
    flags: {
      recursive: { type: 'boolean', short: 'r', summary: 'a directory with all that is in it' },
      quiet: { type: 'boolean', short: 'q', summary: 'no progress on the terminal' },
    },
    notes: [
      'One of the two is in a sprite: SPRITE:PATH, or :PATH for the sprite that the flags choose. A relative path there begins at the',
      'home of its user. - is the standard input or output. A file keeps its mode, and takes its place at once as a whole, on both',
      'sides. With -r links, devices and the like are left out: each is named, and the exit code is 1.',
    ],
    load: () => import('./copy.ts'),
  },
];
