// The states of an emulator, and what its moves are called in the control protocol.
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { RemoraError } from '../../../../../core/remora-error.ts';
import type { QmpClient } from './qmp-client.ts';

const status = z.object({ status: z.string() });
const migration = z.object({ status: z.string().optional(), 'error-desc': z.string().optional() });

/** Such as `running`, `paused`, `inmigrate`, `postmigrate`, `io-error` or `shutdown`. */
export type RunState = string;

const SAVE_MS = 60_000;
const LOOK_MS = 5;

export async function readRunState(qmp: QmpClient): Promise<RunState> {
  return status.parse(await qmp.execute('query-status')).status;
}

/** Sends the state of a paused machine to `uri`. Throws `internal` when the emulator cannot. */
export async function sendState(qmp: QmpClient, uri: string): Promise<void> {
  await qmp.execute('migrate', { uri });
  const end = performance.now() + SAVE_MS;
  for (;;) {
    const now = migration.parse(await qmp.execute('query-migrate'));
    if (now.status === 'completed') return;
    if (now.status === 'failed' || now.status === 'cancelled') {
      throw new RemoraError('internal', `the emulator cannot save its state: ${now['error-desc'] ?? now.status}`);
    }
    if (performance.now() > end) {
      await qmp.execute('migrate_cancel');
      throw new RemoraError('internal', 'the emulator does not save its state in time');
    }
    await sleep(LOOK_MS);
  }
}
