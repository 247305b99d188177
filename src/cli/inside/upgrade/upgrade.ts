// `remora upgrade`: replaces the agent of a sprite by the version that is installed.
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { readText } from '../../../client/read-answer.ts';
import { nothingNewer, type UpgradeResponse } from '../../../contract/upgrade.ts';
import type { Invocation } from '../../command.ts';
import { print } from '../../operator/print.ts';
import { toPrintable } from '../../table.ts';
import { askInside, type SpriteDoor } from '../sprite-door.ts';

/** The agent waits for calls in flight, and the platform for the agent. */
const TIMEOUT_MS = 120_000;
/** The next process starts and serves. */
const RETURN_MS = 40_000;
const LOOK_AGAIN_MS = 100;

const status = z.object({ version: z.string() });

export async function run(invocation: Invocation): Promise<number> {
  const query = { force: String(invocation.has('force')) };
  const answer = await askInside(invocation, async (door) => {
    const given = await door.client.call('upgradeAgent', { query, timeout_ms: TIMEOUT_MS });
    // A platform answers when the next agent serves; the agent itself before it ends.
    if (given !== undefined && door.sprite === undefined) await waitForNext(door, given);
    return given;
  });
  const shown = answer ?? { message: nothingNewer };
  return print(invocation, shown, [[toPrintable(shown.message)]]);
}

async function waitForNext(door: SpriteDoor, { version_after }: UpgradeResponse): Promise<void> {
  const end_ms = performance.now() + RETURN_MS;
  while (performance.now() < end_ms) {
    if ((await readVersion(door)) === version_after) return;
    await sleep(LOOK_AGAIN_MS);
  }
  throw new Error(`the agent has ended, and ${version_after} does not serve yet; look at its log`);
}

/** Undefined while nobody serves. */
async function readVersion(door: SpriteDoor): Promise<string | undefined> {
  try {
    const answer = await door.request({ method: 'GET', path: '/status' });
    return status.parse(JSON.parse(await readText(answer.body))).version;
  } catch {
    return undefined;
  }
}
