// The proxy in front, beside other proxies, before machines that sleep, with many idle connections, and with many sprites:
// `npm run bench:proxy -- [--rounds N] [--wakes N] [--connections N] [--sprites N] [--channels N]
// [--only requests,wakes,emulated,idle,scale]`. What counts are ratios, not numbers.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openDoor } from './proxy/door.ts';
import { measureEmulatedWakes } from './proxy/emulated-wakes.ts';
import { measureIdleConnections } from './proxy/idle-connections.ts';
import { measureRequests } from './proxy/requests.ts';
import { measureScale } from './proxy/scale.ts';
import { measureWakes } from './proxy/wakes.ts';
import { type Figure, printTable } from './table.ts';

const number = (value: string) => ({ type: 'string', default: value }) as const;
const { values } = parseArgs({
  options: {
    rounds: number('3'),
    wakes: number('30'),
    connections: number('10000'),
    sprites: number('100000'),
    channels: number('2000'),
    only: { type: 'string' },
  },
});
const chosen = values.only?.split(',');

const dir = mkdtempSync(join(tmpdir(), 'bench-'));
await using stack = new AsyncDisposableStack();
stack.defer(() => rmSync(dir, { recursive: true, force: true }));
const door = stack.use(await openDoor(dir));

const parts: Readonly<Record<string, readonly [string, () => Promise<Figure[]>]>> = {
  requests: [
    'Requests: CPU for one · added to the median · CPU beside node:http + undici',
    () => measureRequests(door, Number(values.rounds), dir),
  ],
  wakes: ['Machines that sleep', () => measureWakes(door, Number(values.wakes))],
  emulated: ['Emulated machines that sleep', () => measureEmulatedWakes(Number(values.wakes))],
  idle: ['Idle connections', () => measureIdleConnections(door, Number(values.connections))],
  scale: ['Many sprites', () => measureScale(dir, Number(values.sprites), Number(values.channels))],
};
for (const [name, [title, measure]] of Object.entries(parts)) {
  if (chosen !== undefined && !chosen.includes(name)) continue;
  console.error(`measuring ${name}`);
  printTable(title, await measure());
}
