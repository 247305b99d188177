// `remora upgrade`: replaces the agent of a sprite by the version that is installed.
import { nothingNewer } from '../../../contract/upgrade.ts';
import type { Invocation } from '../../command.ts';
import { print } from '../../operator/print.ts';
import { toPrintable } from '../../table.ts';
import { askInside } from '../sprite-door.ts';

/** The agent waits for calls in flight, and the platform for the agent. */
const TIMEOUT_MS = 120_000;

export async function run(invocation: Invocation): Promise<number> {
  const query = { force: String(invocation.has('force')) };
  const answer = await askInside(invocation, ({ client }) =>
    client.call('upgradeAgent', { query, timeout_ms: TIMEOUT_MS }),
  );
  const shown = answer ?? { message: nothingNewer };
  return print(invocation, shown, [[toPrintable(shown.message)]]);
}
