// File operations whose callers are interrupted: what was there is whole, and nothing that was begun lies beside it.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { eventually } from '../eventually.ts';
import type { KillablePlatform } from '../killable-platform.ts';
import { namesIn } from '../names-in.ts';
import { openCall } from './open-call.ts';
import { openSocket } from './open-socket.ts';
import type { Operation } from './operation.ts';

const MEGABYTE = 1024 * 1024;
const LARGE_BYTES = 50 * MEGABYTE;
const content = (letter: string) => letter.repeat(LARGE_BYTES);
/** Each a write, a copy or a link that has not taken its place yet. */
const temporaries = (dir: string) => readdirSync(dir).filter((name) => name.startsWith('.remora-'));

function toQuery(platform: KillablePlatform, path: string, more: Readonly<Record<string, string>> = {}): string {
  return new URLSearchParams({ path, workingDir: platform.home(), ...more }).toString();
}

function makeFiles(dir: string, count: number, text: string, prefix = ''): void {
  mkdirSync(dir, { recursive: true });
  for (let index = 0; index < count; index += 1) writeFileSync(join(dir, prefix + index), text);
}

export const read: Operation = {
  name: 'the read of 50 MB',
  async prepare(platform) {
    writeFileSync(platform.home('large'), content('r'));
  },
  async begin(platform) {
    const open = () => openCall(platform, { method: 'GET', path: `/fs/read?${toQuery(platform, 'large')}` });
    const call = open();
    await call.until(/r/);
    return {
      ending: call.ending,
      async left() {
        expect(call.text().length).toBeLessThan(LARGE_BYTES);
        expect(statSync(platform.home('large')).size).toBe(LARGE_BYTES);
      },
      async again() {
        const next = open();
        expect([await next.ending(), next.text() === content('r')]).toEqual(['whole', true]);
      },
    };
  },
};

/** Half of 50 MB on the way to a file that has `old` in it. */
function toWrite(name: string, append: boolean): Operation {
  const file = append ? 'appended' : 'written';
  return {
    name,
    async prepare(platform) {
      mkdirSync(platform.home(file));
      writeFileSync(platform.home(file, 'x'), 'old');
    },
    async begin(platform) {
      const query = toQuery(platform, `${file}/x`, { append: String(append) });
      const headers = { 'content-type': 'application/octet-stream', 'content-length': String(LARGE_BYTES) };
      const put = { method: 'PUT', path: `/fs/write?${query}`, headers };
      const call = openCall(platform, { ...put, body: content('w').slice(LARGE_BYTES / 2), stays: true });
      const grown = () => (append ? ['x'] : temporaries(platform.home(file)));
      await eventually(() => grown().some((each) => statSync(platform.home(file, each)).size > MEGABYTE));
      return {
        ending: call.ending,
        async left() {
          await eventually(() => readFileSync(platform.home(file, 'x'), 'utf8') === 'old');
          await eventually(() => readdirSync(platform.home(file)).join() === 'x');
        },
        async again() {
          expect(await openCall(platform, { ...put, body: content('w') }).ending()).toBe('whole');
          const old = append ? 'old' : '';
          expect(readFileSync(platform.home(file, 'x'), 'utf8') === old + content('w')).toBe(true);
        },
      };
    },
  };
}

export const write = toWrite('the write of 50 MB', false);
export const append = toWrite('50 MB that are appended', true);

const LISTED = 5_000;

export const list: Operation = {
  name: 'a recursive list of 5,000 files',
  async prepare(platform) {
    // Long names, so that it is more than what waits on the way to a caller who does not read.
    makeFiles(platform.home('many', 'd'.repeat(250)), LISTED, '', 'n'.repeat(240));
  },
  async begin(platform) {
    const path = `/fs/list?${toQuery(platform, 'many', { recursive: 'true' })}`;
    const call = openCall(platform, { method: 'GET', path });
    await call.until(/entries/);
    return {
      ending: call.ending,
      left: async () => undefined,
      async again() {
        const next = openCall(platform, { method: 'GET', path });
        expect([await next.ending(), JSON.parse(next.text()).count]).toEqual(['whole', LISTED + 1]);
      },
    };
  },
};

const COPIED = 1_500;
const FILE_BYTES = 20_000;

export const copy: Operation = {
  name: 'a recursive copy',
  mayBeOver: true,
  async prepare(platform) {
    makeFiles(platform.home('tree'), COPIED, 'c'.repeat(FILE_BYTES));
  },
  async begin(platform) {
    const body = JSON.stringify({ source: 'tree', dest: 'copy', workingDir: platform.home(), recursive: true });
    const ask = { method: 'POST', path: '/fs/copy', headers: { 'content-type': 'application/json' }, body };
    const call = openCall(platform, ask);
    const dest = platform.home('copy');
    await eventually(() => names(dest).length > 20);
    return {
      ending: call.ending,
      async left() {
        await untilStill(dest);
        expect(temporaries(dest)).toEqual([]);
        expect(readdirSync(dest).filter((name) => statSync(join(dest, name)).size !== FILE_BYTES)).toEqual([]);
        expect(readdirSync(platform.home('tree')).length).toBe(COPIED);
      },
      async again() {
        expect(await openCall(platform, ask).ending()).toBe('whole');
        expect(readdirSync(dest).length).toBe(COPIED);
      },
    };
  },
};

const names = (dir: string) => namesIn(dir) ?? [];

/** What has not changed within this time is not being changed. */
const STILL_MS = 500;

async function untilStill(dir: string): Promise<void> {
  await eventually(async () => {
    const before = names(dir).join();
    await new Promise((resolve) => setTimeout(resolve, STILL_MS));
    return names(dir).join() === before;
  });
}

const DELETED = 4_000;

export const remove: Operation = {
  name: 'a recursive delete',
  mayBeOver: true,
  async prepare(platform) {
    makeFiles(platform.home('doomed'), DELETED, 'd');
  },
  async begin(platform) {
    const ask = { method: 'DELETE', path: `/fs/delete?${toQuery(platform, 'doomed', { recursive: 'true' })}` };
    const call = openCall(platform, ask);
    const dir = platform.home('doomed');
    await eventually(() => names(dir).length < DELETED);
    return {
      ending: call.ending,
      async left() {
        await untilStill(dir);
        expect(names(dir).filter((name) => readFileSync(join(dir, name), 'utf8') !== 'd')).toEqual([]);
      },
      async again() {
        const isLeft = existsSync(dir);
        expect(await openCall(platform, ask).ending()).toBe(isLeft ? 'whole' : '404 not_found');
        expect(existsSync(dir)).toBe(false);
      },
    };
  },
};

export const watch: Operation = {
  name: 'a watch',
  async prepare(platform) {
    mkdirSync(platform.home('watched'));
  },
  async begin(platform) {
    const open = async () => {
      const call = await openSocket(platform, '/fs/watch');
      call.socket.send(JSON.stringify({ type: 'subscribe', paths: ['watched'], workingDir: platform.home() }));
      await call.until(/"subscribed"/);
      return call;
    };
    const call = await open();
    return {
      ending: call.ending,
      left: async () => undefined,
      async again() {
        const next = await open();
        writeFileSync(platform.home('watched', 'x'), '');
        await next.until(/"create".*watched\/x/);
      },
    };
  },
};
