// Records every so often that this platform process runs, and where the others reach it.
import type { Log } from '../../core/log.ts';
import type { HostSign, HostStore } from './host-store.ts';

const PERIOD_MS = 10_000;

/** Resolves after the first sign. A later one that cannot be written is logged. */
export async function openHostSigns(
  hosts: Pick<HostStore, 'sign'>,
  /** What it says of itself now. */
  toSign: () => Promise<HostSign>,
  wall_ms: () => number,
  log: Pick<Log, 'warn'>,
): Promise<Disposable> {
  const sign = async () => await hosts.sign(await toSign(), wall_ms());
  await sign();
  const timer = setInterval(() => {
    sign().catch((err: unknown) => log.warn({ err }, 'a sign of life could not be recorded'));
  }, PERIOD_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
