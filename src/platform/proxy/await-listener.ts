// Waits for a program of a machine that has just been started: the machine is up before what runs in it listens.
import { setTimeout as sleep } from 'node:timers/promises';
import { RemoraError } from '../../core/remora-error.ts';
import { connectTo } from './machine-calls.ts';
import type { MachineReach } from './machine-reach.ts';

const LIMIT_MS = 10_000;
const POLL_MS = 100;

/** Resolves when somebody listens, and when nobody does for so long: the request then finds out why. */
export async function awaitListener(channel: MachineReach, port: number | undefined): Promise<void> {
  const end_ms = performance.now() + LIMIT_MS;
  while (performance.now() < end_ms) {
    try {
      (await connectTo({ channel, port })).destroy();
      return;
    } catch (error) {
      const isEmpty = error instanceof RemoraError && error.code === 'upstream_failed' && error.details === undefined;
      if (!isEmpty) return;
    }
    await sleep(POLL_MS);
  }
}
