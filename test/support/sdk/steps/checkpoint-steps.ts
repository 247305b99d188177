// What `Sprite` does with checkpoints.
import type { CheckpointStream, RestoreStream, Sprite } from '@fly/sprites';
import { expect } from 'vitest';
import { eventually } from '../../eventually.ts';
import { drain, type Steps } from '../sdk-stack.ts';

/** One that was left goes on, and the next has to wait for its end. */
async function whenFree<T>(open: () => Promise<T>): Promise<T> {
  return await eventually(() =>
    open().catch((error: Error) => {
      if (error.message.includes('conflict')) return undefined;
      throw error;
    }),
  );
}

const create = async (sprite: Sprite) => await drain(await whenFree(() => sprite.createCheckpoint('of a test')));

async function firstId(sprite: Sprite): Promise<string> {
  await create(sprite);
  const [first] = await sprite.listCheckpoints();
  if (first === undefined) throw new Error('there is no checkpoint');
  return first.id;
}

async function restore(sprite: Sprite): Promise<RestoreStream> {
  const id = await firstId(sprite);
  return await whenFree(() => sprite.restoreCheckpoint(id));
}

/** Drives each method of a stream of either kind. */
function streamSteps(name: string, open: (sprite: Sprite) => Promise<CheckpointStream | RestoreStream>): Steps {
  return {
    [`${name}.next`]: async ({ sprite }) => {
      const stream = await open(sprite);
      expect(await stream.next()).toMatchObject({ type: expect.any(String) });
      await drain(stream);
    },
    [`${name}.processAll`]: async ({ sprite }) => {
      const types: string[] = [];
      await (await open(sprite)).processAll(({ type }) => void types.push(type));
      expect(types.at(-1)).toBe('complete');
    },
    [`${name}.close`]: async ({ sprite }) => {
      const stream = await open(sprite);
      await stream.next();
      stream.close();
      expect(await stream.next()).toBeNull();
    },
    [`${name}.@@asyncIterator`]: async ({ sprite }) => {
      const types = (await drain(await open(sprite))).map(({ type }) => String(type));
      expect(types.at(-1)).toBe('complete');
    },
  };
}

export const checkpointSteps: Steps = {
  'Sprite.createCheckpoint': async ({ sprite }) => {
    expect((await create(sprite)).map(({ type }) => String(type))).toContain('complete');
  },
  'Sprite.listCheckpoints': async ({ sprite }) => {
    const [first] = await sprite.listCheckpoints();
    expect(first).toMatchObject({ id: expect.stringMatching(/^v\d+$/), createTime: expect.any(Date) });
  },
  'Sprite.getCheckpoint': async ({ sprite }) => {
    const id = await firstId(sprite);
    expect((await sprite.getCheckpoint(id)).id).toBe(id);
    await expect(sprite.getCheckpoint('v999999')).rejects.toThrow('Checkpoint not found');
  },
  'Sprite.restoreCheckpoint': async ({ sprite }) => {
    const events = await drain(await restore(sprite));
    expect(String(events.at(-1)?.type)).toBe('complete');
    await eventually(async () => (await sprite.execFile('true')).exitCode === 0);
  },
  ...streamSteps('CheckpointStream', (sprite) => whenFree(() => sprite.createCheckpoint())),
  ...streamSteps('RestoreStream', restore),
};
