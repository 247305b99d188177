// A platform as far as virtual machines are concerned, that kills itself, or the emulator, at one step of a move. Arguments: the options of
// the driver, the spec of the machine, the move, the step, and whom it kills.
import { readFileSync } from 'node:fs';
import { Secret } from '../../../src/core/secret.ts';
import type { MachineSpec } from '../../../src/platform/machines/drivers/machine-driver.ts';
import { readNote } from '../../../src/platform/machines/drivers/qemu/machine-note.ts';
import { createQemuDriver } from '../../../src/platform/machines/drivers/qemu/qemu-driver.ts';

const [given = '', specText = '', move = '', step = '', victim = ''] = process.argv.slice(2);
const { url, ...options } = JSON.parse(given);
const spec: MachineSpec = JSON.parse(specText);
const ignore = () => undefined;

function atStep(fields: object): void {
  if (!('step' in fields) || fields.step !== step) return;
  if (victim === 'platform') process.kill(process.pid, 'SIGKILL');
  const { pid } = readNote(`${options.dir}/${spec.id}`) ?? {};
  if (pid === undefined) return;
  process.kill(pid, 'SIGKILL');
  // The step meets an emulator that has ended: one that is just ending may still serve it.
  while (isAlive(pid));
}

function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}

const driver = createQemuDriver({
  ...options,
  machinesUrl: () => url,
  createToken: async () => new Secret('remora_tok'),
  log: { debug: atStep, info: ignore, warn: ignore, error: ignore },
});
driver.onExit(async () => undefined);
await driver.findInstances();
const moves: Readonly<Record<string, () => Promise<unknown>>> = {
  start: async () => await driver.start(spec),
  suspend: async () => await driver.suspend(spec.id),
  resume: async () => (await driver.resume(spec)).outcome,
  stop: async () => await driver.stop(spec.id, { signal: 'SIGTERM', timeout_ms: 30_000 }),
  kill: async () => await driver.stop(spec.id, { signal: 'SIGKILL', timeout_ms: 0 }),
  dropSnapshot: async () => await driver.dropSnapshot(spec.id),
  checkpoint: async () =>
    (
      await driver.checkpoints.make(spec.id, {
        is_auto: false,
        signal: new AbortController().signal,
        onProgress: ignore,
        takeTurn: (take) => take(),
      })
    ).id,
  restore: async () => {
    const work = { signal: new AbortController().signal, onProgress: ignore };
    await using prepared = await driver.checkpoints.prepareRestore(
      spec.id,
      (await driver.checkpoints.list(spec.id)).at(-1)?.id ?? '',
      work,
    );
    await prepared.putInPlace();
  },
};
const outcome = await moves[move]?.().then(
  (result) => result ?? 'done',
  () => 'failed',
);
console.log(JSON.stringify({ outcome, state: driver.state(spec.id) }));
await driver[Symbol.asyncDispose]();
