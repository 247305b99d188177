// Checkpoints whose callers are interrupted: the files are the former ones or those of the checkpoint, and never a mix of both.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { eventually } from '../eventually.ts';
import type { KillablePlatform } from '../killable-platform.ts';
import { openCall } from './open-call.ts';
import type { Operation } from './operation.ts';

const FILES = 500;

/** The same word in every file of the machine. */
function fill(platform: KillablePlatform, word: string): void {
  mkdirSync(platform.home('files'), { recursive: true });
  for (let index = 0; index < FILES; index += 1) writeFileSync(platform.home('files', String(index)), word);
}

function wordsOf(platform: KillablePlatform): readonly string[] {
  const names = readdirSync(platform.home('files'));
  expect(names.length).toBe(FILES);
  return [...new Set(names.map((name) => readFileSync(platform.home('files', name), 'utf8')))];
}

const post = (platform: KillablePlatform, path: string) => openCall(platform, { method: 'POST', path });

async function finish(call: ReturnType<typeof post>): Promise<void> {
  expect([await call.ending(), call.text()]).toEqual(['whole', expect.stringContaining('"complete"')]);
}

async function idsOf(platform: KillablePlatform): Promise<readonly string[]> {
  const { json } = await platform.call({ path: '/v1/sprites/dev-1/checkpoints' });
  return json.map(({ id, health }: { id: string; health: string }) => `${id}${health}`);
}

async function untilRunning(platform: KillablePlatform): Promise<void> {
  await eventually(async () => (await platform.machine('GET')).json.state === 'running', 60_000);
}

export const makeCheckpoint: Operation = {
  name: 'a checkpoint that is made',
  mayBeOver: true,
  prepare: async (platform) => fill(platform, 'one'),
  async begin(platform) {
    const call = post(platform, '/checkpoint');
    await call.until(/"info"/);
    return {
      ending: call.ending,
      async left() {
        expect(wordsOf(platform)).toEqual(['one']);
      },
      async again() {
        await untilRunning(platform);
        // The one that was interrupted, whole, or none.
        expect([[], ['v0']]).toContainEqual(await idsOf(platform));
        await finish(post(platform, '/checkpoint'));
        const [id] = (await idsOf(platform)).toReversed();
        fill(platform, 'two');
        await finish(post(platform, `/checkpoints/${id}/restore`));
        expect(wordsOf(platform)).toEqual(['one']);
      },
    };
  },
};

export const restoreCheckpoint: Operation = {
  name: 'a checkpoint that is restored',
  mayBeOver: true,
  async prepare(platform) {
    fill(platform, 'one');
    await finish(post(platform, '/checkpoint'));
    fill(platform, 'two');
  },
  async begin(platform) {
    const call = post(platform, '/checkpoints/v0/restore');
    await call.until(/services and sessions are ended/);
    return {
      ending: call.ending,
      async left() {
        expect([['one'], ['two']]).toContainEqual(wordsOf(platform));
      },
      async again() {
        await untilRunning(platform);
        fill(platform, 'three');
        await finish(post(platform, '/checkpoints/v0/restore'));
        expect(wordsOf(platform)).toEqual(['one']);
        await untilRunning(platform);
      },
    };
  },
};
