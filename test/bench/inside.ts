// What reaches into a sprite, beside ssh, scp and spawn on the same machine: `npm run bench:inside -- [--size MB] [--calls N]
// [--services N] [--rounds N] [--only exec,files,cat,services,lines,printing,beside]`. What counts are ratios, not numbers.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measureBeside } from './inside/beside.ts';
import { measureExecCat } from './inside/exec-cat.ts';
import { measureExecTrue } from './inside/exec-true.ts';
import { measureFiles } from './inside/files.ts';
import { measureLogLines } from './inside/log-lines.ts';
import { measurePrinting } from './inside/printing.ts';
import { measureServices } from './inside/services.ts';
import { openBenchSprite } from './inside/sprite.ts';
import { openSshd } from './inside/sshd.ts';
import { type Figure, printTable } from './table.ts';

const number = (value: string) => ({ type: 'string', default: value }) as const;
const { values } = parseArgs({
  options: {
    size: number('1000'),
    calls: number('100'),
    services: number('100'),
    lines: number('500'),
    rounds: number('3'),
    only: { type: 'string' },
  },
});
const megabytes = Number(values.size);
const rounds = Number(values.rounds);
const chosen = values.only?.split(',');

const dir = mkdtempSync(join(tmpdir(), 'bench-'));
await using stack = new AsyncDisposableStack();
stack.defer(() => rmSync(dir, { recursive: true, force: true }));
const sshd = await openSshd(dir);
if (sshd === undefined)
  console.log('!! OPENSSH IS NOT INSTALLED (apt-get install openssh-server): ssh and scp are missing');
else stack.use(sshd);
const sprite = stack.use(await openBenchSprite(dir));

const parts: Readonly<Record<string, readonly [string, () => Promise<Figure[]>]>> = {
  exec: ['/bin/true', () => measureExecTrue(sprite, sshd, { calls: Number(values.calls), dir })],
  files: [`A file of ${megabytes} MB`, () => measureFiles(sprite, sshd, { megabytes, rounds, dir })],
  cat: [`${megabytes} MB through cat`, () => measureExecCat(sprite, megabytes)],
  services: ['Services at the boot', () => measureServices(Number(values.services), rounds, dir)],
  lines: ['A line of a log', () => measureLogLines(sprite, Number(values.lines))],
  printing: ['Services that print much', () => measurePrinting(sprite, 100, dir)],
  beside: ['Small calls beside others', () => measureBeside(sprite, rounds, dir)],
};
for (const [name, [title, measure]] of Object.entries(parts)) {
  if (chosen !== undefined && !chosen.includes(name)) continue;
  console.error(`measuring ${name}`);
  printTable(title, await measure());
}
