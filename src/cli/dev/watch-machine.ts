// Prints a message when the machine of a `remora dev` stops by itself: its agent no longer answers then, and the user should know why.
import type { Client } from '../../client/client.ts';
import { UpstreamError } from '../../client/upstream-error.ts';
import type { platformOperations } from '../../contract/platform-operations.ts';

export interface WatchMachineOptions {
  readonly client: Client<typeof platformOperations>;
  readonly app_name: string;
  readonly machine_id: string;
  readonly signal: AbortSignal;
  readonly onStop: () => void;
  readonly onRun: () => void;
}

const WAIT_S = 60;
const LIMIT_MS = 65_000;
const PAUSE_MS = 1_000;

/** Resolves when `signal` is aborted. The platform answers each wait at the next change, so nothing is polled. */
export async function watchMachine(options: WatchMachineOptions): Promise<void> {
  const { client, signal, app_name, machine_id } = options;
  const params = { app_name, machine_id };
  let wanted: 'stopped' | 'running' = 'stopped';
  while (!signal.aborted) {
    try {
      const query = { state: wanted, timeout: WAIT_S };
      await client.call('waitMachine', { params, query, signal, timeout_ms: LIMIT_MS });
    } catch (error) {
      const isLimit = error instanceof UpstreamError && error.code === 'timeout';
      if (!isLimit && !signal.aborted) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      continue;
    }
    if (wanted === 'stopped') options.onStop();
    else options.onRun();
    wanted = wanted === 'stopped' ? 'running' : 'stopped';
  }
}
