// Upgrades an agent over its channel, which ends with the program that serves it: the next program dials again, and is asked what it is
// before the upgrade counts as done.
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '../../client/client.ts';
import { UpstreamError } from '../../client/upstream-error.ts';
import type { ErrorCode } from '../../contract/errors.ts';
import { infoOperations } from '../../contract/local/info.ts';
import { localUpgradeOperations } from '../../contract/local/upgrade.ts';
import { type UpgradeResponse, upgradeErrors } from '../../contract/upgrade.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { ChannelSession } from '../channels/channel-session.ts';
import type { Channels } from '../channels/channels.ts';

const operations = { ...localUpgradeOperations, ...infoOperations } as const;

/** The agent looks at its disk, and waits for calls in flight. */
const ASK_MS = 45_000;
/** The next program starts, reports and dials. */
const RETURN_MS = 40_000;
const LOOK_AGAIN_MS = 100;
const INFO_MS = 5_000;
const NOT_FOUND = 404;

export interface UpgradeAgentDeps {
  readonly channels: Pick<Channels, 'find'>;
  /** Whether the channel of the machine is at another platform process. */
  readonly isElsewhere: (machine_id: string) => Promise<boolean>;
}

/**
 * Undefined when nothing newer is installed. Throws what the agent refuses it with, `not_implemented` for an agent that knows no upgrade, and
 * `upstream_timeout` when it stays away.
 */
export async function upgradeAgent(
  deps: UpgradeAgentDeps,
  channel: ChannelSession,
  force: boolean,
): Promise<UpgradeResponse | undefined> {
  const query = { force: String(force) };
  const asked = toClient(channel).call('upgradeAgent', { query, timeout_ms: ASK_MS });
  const answer = await asked.catch((error: unknown) => {
    throw toRefusal(error);
  });
  if (answer !== undefined) await waitForNext(deps, channel, answer.version_after);
  return answer;
}

/** An agent that has dialled another platform process is not asked: only its next image dials. */
async function waitForNext(
  { channels, isElsewhere }: UpgradeAgentDeps,
  before: ChannelSession,
  version: string,
): Promise<void> {
  const end_ms = performance.now() + RETURN_MS;
  while (performance.now() < end_ms) {
    const next = channels.find(before.machine_id);
    if (next !== undefined && next !== before && (await readVersion(next)) === version) return;
    if (next === undefined && (await isElsewhere(before.machine_id))) return;
    await sleep(LOOK_AGAIN_MS);
  }
  const message = `the agent began the upgrade to ${version} and has not come back with it; look at the log of the machine`;
  throw new RemoraError('upstream_timeout', message);
}

/** Undefined when no answer comes. */
async function readVersion(channel: ChannelSession): Promise<string | undefined> {
  const info = await toClient(channel)
    .call('info', { timeout_ms: INFO_MS })
    .catch(() => undefined);
  return info?.version;
}

function toClient({ dispatcher }: ChannelSession) {
  return createClient(operations, { origin: 'http://agent', dispatcher: () => dispatcher });
}

function toRefusal(error: unknown): unknown {
  if (!(error instanceof UpstreamError)) return error;
  const { code, message, details, retryAfter_ms, status } = error;
  const known: readonly ErrorCode[] = upgradeErrors;
  const own = known.find((each) => each === code);
  if (own !== undefined) {
    return new RemoraError(own, message, { details, ...(retryAfter_ms === undefined ? {} : { retryAfter_ms }) });
  }
  if (status === NOT_FOUND) {
    const missing = 'an agent that can be upgraded';
    const old = 'the agent of this machine is too old to upgrade itself; restart the sprite instead';
    return new RemoraError('not_implemented', old, { details: { missing } });
  }
  const failed = code === 'timeout' ? 'upstream_timeout' : 'upstream_failed';
  return new RemoraError(failed, `the agent was asked for the upgrade, and its answer did not come: ${message}`);
}
