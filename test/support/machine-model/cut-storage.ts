// A storage as a platform process that may die between any two of its steps has it. A transaction in which it dies is rolled back.
import type { Sql, Storage } from '../../../src/platform/storage/storage.ts';
import type { CutGate } from './cut-gate.ts';

export function cutStorage(storage: Storage, gate: CutGate): Storage {
  return {
    all: (text, values) => gate.pass(toName(text), () => storage.all(text, values)),
    one: (text, values) => gate.pass(toName(text), () => storage.one(text, values)),
    run: (text, values) => gate.pass(toName(text), () => storage.run(text, values)),
    transaction: (work, turn) =>
      gate.pass('transaction', () =>
        storage.transaction(async (sql) => {
          const result = await work(inside(sql, gate));
          gate.check('commit');
          return result;
        }, turn),
      ),
    exclusively: (name, work) => storage.exclusively(name, work),
    size_bytes: () => storage.size_bytes(),
    look: () => storage.look(),
    get version() {
      return storage.version;
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}

function inside(sql: Sql, gate: CutGate): Sql {
  const checked = async <T>(text: string, ask: () => Promise<T>): Promise<T> => {
    gate.check(toName(text));
    return await ask();
  };
  return {
    all: (text, values) => checked(text, () => sql.all(text, values)),
    one: (text, values) => checked(text, () => sql.one(text, values)),
    run: (text, values) => checked(text, () => sql.run(text, values)),
  };
}

function toName(text: string): string {
  return text.trim().split(/\s+/).slice(0, 3).join(' ');
}
