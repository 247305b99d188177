// Records that are kept while nothing changes, and how a PostgreSQL server is asked whether anything has.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { KeptRecords } from '../../src/platform/storage/kept-records.ts';
import { createPostgresVersion } from '../../src/platform/storage/postgres-version.ts';
import { eventually } from '../support/eventually.ts';

describe('a record', () => {
  const open = () => {
    const storage: { version: number | undefined } = { version: 1 };
    const kept = new KeptRecords<string>(storage, { max: 100, sizeOf: () => 1 });
    const read = (value: string | undefined) =>
      kept.read(
        async () => value,
        () => ({ owner: 'o', key: 'k' }),
      );
    return { storage, kept, read };
  };

  test('is kept for as long as the version stays', async () => {
    const { storage, kept, read } = open();
    expect(await read('a')).toBe('a');
    expect(kept.get('k')).toBe('a');
    storage.version = 2;
    expect(kept.get('k')).toBeUndefined();
    storage.version = 1;
    expect(kept.get('k')).toBeUndefined();
  });

  test('is not kept when something has changed while it was read', async () => {
    const { storage, kept, read } = open();
    const reading = read('from before');
    storage.version = 2;
    expect(await reading).toBe('from before');
    expect(kept.get('k')).toBeUndefined();
  });

  test('is neither kept nor answered while there is no version', async () => {
    const { storage, kept, read } = open();
    await read('a');
    storage.version = undefined;
    expect(kept.get('k')).toBeUndefined();
    await read('b');
    storage.version = 1;
    expect(kept.get('k')).toBeUndefined();
  });

  test('that is not there is not kept', async () => {
    const { kept, read } = open();
    expect(await read(undefined)).toBeUndefined();
    expect(kept.get('k')).toBeUndefined();
  });
});

describe('a PostgreSQL server', () => {
  const open = () => {
    const questions: PromiseWithResolvers<unknown>[] = [];
    const version = createPostgresVersion({
      async one<T>() {
        const question = Promise.withResolvers<unknown>();
        questions.push(question);
        return (await question.promise) as T;
      },
    });
    const answer = (index: number, seen: string) => questions[index]?.resolve({ seen });
    return { questions, version, answer };
  };

  test('is asked once for all who look in a turn, and again for those who come while it is asked', async () => {
    const { questions, version, answer } = open();
    expect(version.current).toBeUndefined();
    const early = [version.look(), version.look(), version.look()];
    await eventually(() => questions.length === 1);
    let isLate = false;
    const late = [version.look(), version.look()];
    void late[0]?.then(() => {
      isLate = true;
    });
    answer(0, 'a');
    await Promise.all(early);
    const first = version.current;
    expect(first).toBeDefined();
    await eventually(() => questions.length === 2);
    expect(isLate).toBe(false);
    answer(1, 'a');
    await Promise.all(late);
    expect(version.current).toBe(first);
    await nextTurn();
    expect(questions.length).toBe(2);
  });

  test('is asked again only after a while where many look', async () => {
    const times_ms: number[] = [];
    const version = createPostgresVersion({
      async one<T>() {
        times_ms.push(performance.now());
        return { seen: 'a' } as T;
      },
    });
    for (let round = 0; round < 5; round += 1) await Promise.all(Array.from({ length: 10 }, () => version.look()));
    expect(times_ms.length).toBe(5);
    // All together: a process that stands still between a question and its time makes the pause after it short.
    expect((times_ms.at(-1) ?? 0) - (times_ms[0] ?? 0)).toBeGreaterThan(4);
  });

  test('has another version with each other answer, and after what this process has written', async () => {
    const { questions, version, answer } = open();
    const seen: (number | undefined)[] = [];
    for (const [index, text] of ['a', 'b', 'b', 'a'].entries()) {
      const looked = version.look();
      await eventually(() => questions.length === index + 1);
      answer(index, text);
      await looked;
      seen.push(version.current);
    }
    expect(seen[1]).toBe(seen[2]);
    expect(new Set(seen).size).toBe(3);
    version.bump();
    expect(seen).not.toContain(version.current);
  });

  test('that cannot be asked fails those who look, and none who looks later', async () => {
    const { questions, version, answer } = open();
    const failed = Promise.all([version.look(), version.look()]);
    await eventually(() => questions.length === 1);
    questions[0]?.reject(new Error('gone'));
    await expect(failed).rejects.toThrow('gone');
    const looked = version.look();
    await eventually(() => questions.length === 2);
    answer(1, 'a');
    await looked;
  });

  test('that does not answer holds up nobody who looks later', async () => {
    const { questions, version, answer } = open();
    const held = version.look();
    await eventually(() => questions.length === 1);
    const looked = version.look();
    await eventually(() => questions.length === 2);
    answer(1, 'a');
    await looked;
    answer(0, 'a');
    await held;
  });
});
