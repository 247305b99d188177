// What services print: kept in a file, read back, cut into pieces where it must be, and never in the way of the service.
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type ServiceLogEvent, serviceLogEvent } from '../../../src/contract/services.ts';
import { LOG_MAX_BYTES, LogFile } from '../../../src/supervisor/services/log-file.ts';
import { toLogBytes } from '../../../src/supervisor/services/log-line.ts';
import { eventually } from '../../support/eventually.ts';
import { readIfThere } from '../../support/read-if-there.ts';
import { readLines } from '../../support/read-lines.ts';
import { serveServices } from '../../support/serve-services.ts';
import { logFileOf, readLogOf, toEvents } from '../../support/supervisor-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

const sh = (script: string) => ({ cmd: 'sh', args: ['-c', script] });
const linesOf = (events: readonly ServiceLogEvent[]) =>
  events.flatMap((event) => (event.type === 'stdout' || event.type === 'stderr' ? [event.data] : []));

/** The lines of a service, once there are so many. */
async function follow(socket: string, name: string, count: number, query = ''): Promise<string[]> {
  const reader = await readLines(`/v1/services/${name}/logs?duration=60s${query}`, socket);
  const events: ServiceLogEvent[] = [];
  while (linesOf(events).length < count) events.push(serviceLogEvent.parse(await reader.next()));
  reader.close();
  return linesOf(events);
}

test('the tail comes first, then what is printed meanwhile, each line once', async () => {
  const { call, socket } = await serveServices();
  await call('PUT', '/web?duration=0', sh('i=0; while :; do i=$((i+1)); echo $i; sleep 0.02; done'));
  await eventually(async () => linesOf(toEvents(await call('GET', '/web/logs'))).length > 20);
  const last = linesOf(toEvents(await call('GET', '/web/logs?lines=5')));
  expect(last).toHaveLength(5);
  const numbers = (await follow(socket, 'web', 50, '&lines=5')).map(Number);
  expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
  expect(toEvents(await call('GET', '/web/logs?lines=0')).map(({ type }) => type)).toEqual(['complete']);
  expect((await call('GET', '/none/logs')).status).toBe(404);
  expect((await call('GET', '/web/logs?duration=soon')).status).toBe(400);
});

test('output without a newline is shown while the service runs, and a long line comes whole, in pieces', async () => {
  const { call, dir, socket } = await serveServices();
  await call('PUT', '/ask?duration=0', sh('printf "name? "; sleep 60'));
  expect(await follow(socket, 'ask', 1)).toEqual(['name? ']);
  await eventually(() => readLogOf(dir, 'ask').includes('[stdout+] name? '));
  await call('PUT', '/long?duration=0', sh('head -c 1000000 /dev/zero | tr "\\0" x; echo; echo end; sleep 60'));
  await eventually(() => readLogOf(dir, 'long').includes('[stdout] end'));
  const pieces = linesOf(toEvents(await call('GET', '/long/logs')));
  expect(pieces.at(-1)).toBe('end');
  expect(pieces.slice(0, -1).join('')).toBe('x'.repeat(1_000_000));
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(65_536);
});

test('bytes that are no text stand in the file as they were, and break no event', async () => {
  const { call, dir, socket } = await serveServices();
  await call('PUT', '/raw?duration=0', sh('printf "a\\377\\000b\\n"; sleep 60'));
  expect(await follow(socket, 'raw', 1)).toEqual(['a\u{fffd}\0b']);
  await eventually(() => readIfThere(logFileOf(dir, 'raw'), 'latin1')?.includes('a\xff\0b'));
});

test('a reader that does not read holds nothing up; it hears how many lines it has missed', async () => {
  const { call, dir, socket } = await serveServices();
  const script =
    'i=0; while [ $i -lt 300 ]; do i=$((i+1)); head -c 20000 /dev/zero | tr "\\0" y; echo; done; echo done; sleep 60';
  const go = join(dir, 'go');
  await call('PUT', '/web?duration=0', sh(`until [ -e ${go} ]; do sleep 0.05; done; ${script}`));
  const slow = request({ socketPath: socket, path: '/v1/services/web/logs?duration=60s' }).end();
  onTestFinished(() => void slow.destroy());
  const response = await new Promise<import('node:http').IncomingMessage>((resolve) => slow.once('response', resolve));
  response.pause();
  writeFileSync(go, '');
  await eventually(() => readLogOf(dir, 'web').includes('[stdout] done'));
  let text = '';
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  response.resume();
  await call('POST', '/web/restart?duration=0');
  const missed = await eventually(() => /(\d+) lines were left out here/.exec(text)?.[1]);
  const seen = text.split('\n').filter((line) => line.includes('"stdout"')).length;
  expect(Number(missed) + seen).toBeGreaterThanOrEqual(301);
});

test('a program may open its own output by name, and print without end: others are answered, and the log goes on', async () => {
  const { call, dir, socket } = await serveServices();
  const named = sh('echo out > /dev/stdout; echo err > /dev/stderr; sleep 60');
  await call('PUT', '/named?duration=0', named);
  expect((await follow(socket, 'named', 2)).sort()).toEqual(['err', 'out']);
  await call('PUT', '/yes?duration=0', { cmd: 'yes' });
  await eventually(() => existsSync(`${logFileOf(dir, 'yes')}.1`));
  const events = toEvents(await call('GET', '/yes/logs?lines=10&duration=300ms'));
  expect(events.at(-1)?.type).toBe('complete');
  expect(linesOf(events).slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 'y'));
});

test('what is printed at once is in the file, each line once and in order, however much it is', async () => {
  const { call, dir } = await serveServices();
  const path = logFileOf(dir, 'much');
  await call('PUT', '/much?duration=0', sh('seq 300000; echo end; sleep 60'));
  await eventually(() => readLogOf(dir, 'much').endsWith('[stdout] end\n'));
  const lines = (readFileSync(`${path}.1`, 'utf8') + readFileSync(path, 'utf8')).split('\n').slice(0, -2);
  // A part of a line stands alone where the rest of it was slow to come.
  const text = lines.map((line) => line.replace(/^[-0-9T:.]+Z \[stdout(\+?)\] /, (_, goesOn) => (goesOn ? '+' : '')));
  const numbers = text
    .join('\n')
    .replaceAll(/^\+(.*)\n/gm, '$1')
    .split('\n')
    .map(Number);
  expect(numbers.length).toBe(300_000);
  expect(numbers.findIndex((number, index) => number !== index + 1)).toBe(-1);
});

test('a full disk stops no service; the lost lines are counted once there is room', async () => {
  const { call, dir, states, socket } = await serveServices();
  const path = logFileOf(dir, 'web');
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync('/dev/full', path);
  await call('PUT', '/web?duration=0', sh('while :; do echo line; sleep 0.1; done'));
  const shown = await follow(socket, 'web', 4);
  await eventually(async () => (await states()).web === 'running');
  rmSync(path);
  const lost = await eventually(
    () => /\[error\] (\d+) lines were not written here: ENOSPC/.exec(readLogOf(dir, 'web'))?.[1],
  );
  expect(Number(lost)).toBeGreaterThanOrEqual(shown.length);
  await eventually(() => readLogOf(dir, 'web').includes('[stdout] line'));
});

test('a log file is rotated, one older file is kept, and the tail reaches into it', async () => {
  const path = join(tempDir(), 'web.log');
  await using log = new LogFile({ path, gid: undefined, wall_ms: () => 0 });
  const piece = (text: string) => toLogBytes('stdout', [{ bytes: Buffer.from(text), goesOn: false }], 0);
  const big = piece('x'.repeat(60_000));
  for (let index = 0; index < 400; index += 1) {
    log.append(piece(`line ${index}`), 1);
    log.append(big, 1);
    if (index % 50 === 0) await log.position();
  }
  await log.position();
  expect(statSync(`${path}.1`).size).toBeGreaterThanOrEqual(LOG_MAX_BYTES);
  expect(statSync(path).size).toBeLessThan(LOG_MAX_BYTES * 1.2);
  expect(existsSync(`${path}.2`)).toBe(false);
  const { readTail } = await import('../../../src/supervisor/services/log-tail.ts');
  const lines: string[] = [];
  await readTail(path, await log.position(), 300, async (more) => void lines.push(...more));
  expect(lines).toHaveLength(300);
  const short = lines.filter((line) => line.length < 100).map((line) => line.split(' ').at(-1));
  expect(short).toEqual(short.map((_, index) => String(400 - short.length + index)));
  expect(short.length).toBe(lines.length / 2);
});

test('what the disk does not take in time is counted, and memory stays bounded', async () => {
  const path = join(tempDir(), 'web.log');
  await using log = new LogFile({ path, gid: undefined, wall_ms: () => 0 });
  const big = toLogBytes('stdout', [{ bytes: Buffer.alloc(60_000, 'x'), goesOn: false }], 0);
  for (let index = 0; index < 200; index += 1) log.append(big, 1);
  await log.position();
  const text = await eventually(() => {
    const found = readFileSync(path, 'utf8');
    return found.includes('lines were not written here') && found;
  });
  const kept = text.split('\n').filter((line) => line.includes('[stdout]')).length;
  const lost = Number(/(\d+) lines were not written here/.exec(text)?.[1]);
  expect(kept + lost).toBe(200);
});
