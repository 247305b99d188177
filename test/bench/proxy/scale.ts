// What a sprite costs its platform that has many of them: one that sleeps in its database, and one that runs with its channel open. Told for
// 100,000 on paper in the page of figures.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { toServerTarget } from '../../../src/agent/channel/channel-target.ts';
import { serveChannel } from '../../../src/agent/channel/serve-channel.ts';
import { openSqliteStorage } from '../../../src/platform/storage/sqlite-storage.ts';
import type { PlayedMachine } from '../../support/channel-tenants.ts';
import { dialAs, reportMachine } from '../../support/dial-as.ts';
import { endProcess, runPlatform, startPlatform } from '../platform/platform.ts';
import { seedSprites } from '../platform/seed.ts';
import { readCpu_ms, readMemory, toMegabytes } from '../process-cost.ts';
import type { Figure } from '../table.ts';

const SETTLE_MS = 5_000;
const REST_MS = 20_000;
const BATCH = 50;

export async function measureScale(dir: string, sprites: number, channels: number): Promise<Figure[]> {
  return [...(await measureRecords(join(dir, 'records'), sprites)), ...(await measureChannels(dir, channels))];
}

/** What a process computes in a second in which nothing is asked of it, in ms; and what is its own in memory then. */
async function restOf(pid: number) {
  await sleep(SETTLE_MS);
  const begun_ms = readCpu_ms(pid);
  await sleep(REST_MS);
  return { cpu_ms: (readCpu_ms(pid) - begun_ms) / (REST_MS / 1_000), bytes: readMemory(pid).anonymous_bytes };
}

async function measureRecords(dir: string, count: number): Promise<Figure[]> {
  mkdirSync(dir);
  const [home, keyFile, tokenFile] = [join(dir, 'p'), join(dir, 'key'), join(dir, 'token')];
  writeFileSync(keyFile, await runPlatform(['key']), { mode: 0o600 });
  const place = ['--dir', home, '--key-file', keyFile, '--organization', 'acme', '--token-file', tokenFile];
  const words = [...place, '--proxy-listen', '127.0.0.1:0'];
  async function restOfPlatform() {
    const platform = await startPlatform(words);
    const rest = await restOf(platform.pid);
    await platform.end();
    return rest;
  }
  const database = join(home, 'platform.db');
  const empty = await restOfPlatform();
  const before_bytes = statSync(database).size;
  {
    await using storage = openSqliteStorage(home);
    await seedSprites(storage, 'acme', count);
  }
  const added_bytes = statSync(database).size - before_bytes;
  const full = await restOfPlatform();
  const show = ({ cpu_ms, bytes }: typeof full) => `${toMegabytes(bytes)}, ${cpu_ms.toFixed(1)} ms of CPU a second`;
  return [
    {
      what: 'a sprite with its machine and a token, in the database',
      value: `${(added_bytes / count / 1_024).toFixed(2)} KB`,
    },
    { what: 'the platform at rest, without sprites', value: show(empty) },
    { what: `the platform at rest, with ${count} sprites, none of which runs`, value: show(full) },
  ];
}

async function measureChannels(dir: string, count: number): Promise<Figure[]> {
  const script = new URL('../../support/channel-tenants-child.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, dir, String(count / 2)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' }).end('[]');
  });
  const ends: (() => void)[] = [];
  try {
    const { pid, url, machines } = await readTenants(child);
    const before = await restOf(pid);
    for (let begun = 0; begun < count; begun += BATCH) {
      const opened = machines.slice(begun, begun + BATCH).map(async (machine) => {
        const socket = await dialAs(url, machine, await reportMachine(url, machine));
        const targets = [toServerTarget('agent', server)];
        const session = serveChannel(socket, { targets, onClose: () => undefined });
        ends.push(() => session.destroy());
      });
      await Promise.all(opened);
    }
    const after = await restOf(pid);
    const kilobytes = (after.bytes - before.bytes) / count / 1_024;
    const cpu_us = ((after.cpu_ms - before.cpu_ms) / count) * 1_000;
    const what = `an idle channel of a machine that runs, of ${count}`;
    return [{ what, value: `${kilobytes.toFixed(1)} KB, ${cpu_us.toFixed(1)} µs of CPU a second` }];
  } finally {
    for (const end of ends) end();
    await endProcess(child);
  }
}

async function readTenants(child: ChildProcess) {
  const { pid, stdout } = child;
  if (pid === undefined || stdout === null) throw new Error('the platform did not start');
  for await (const line of createInterface(stdout)) {
    if (!line.startsWith('{"url"')) continue;
    stdout.resume();
    const { url, tenants } = JSON.parse(line) as { url: string; tenants: { machines: PlayedMachine[] }[] };
    return { pid, url, machines: tenants.flatMap(({ machines }) => machines) };
  }
  throw new Error('the platform ended before it served');
}
