// Renews the process that enforces the network policy: after an upgrade it is still the one before, which makes way for that of this version.
import { setTimeout as sleep } from 'node:timers/promises';
import { toErrorMessage } from '../../core/error-message.ts';
import type { Log } from '../../core/log.ts';
import { isAlive, readIdentity } from '../../linux/processes/process-identity.ts';
import type { NetworkLink } from './network-link.ts';

const LIMIT_MS = 10_000;
const POLL_MS = 25;

/**
 * Resolves when the process that serves may go on: it is of `version`, or it has ended, and the next call starts another one. Its rules stay in the
 * kernel meanwhile: the port to which they lead questions is what it resolves with then, where something is restricted. Never rejects: a process that
 * does not make way goes on as it is.
 */
export async function renewNetwork(
  { client }: Pick<NetworkLink, 'client'>,
  version: string,
  log: Log,
): Promise<number | undefined> {
  try {
    const { ends, pid, dns_port } = await client.call('yieldNetwork', { body: { version } });
    if (!ends) return undefined;
    const before = readIdentity(pid);
    const end_ms = performance.now() + LIMIT_MS;
    while (before !== undefined && isAlive(before)) {
      if (performance.now() >= end_ms) throw new Error(`process ${pid} does not end`);
      await sleep(POLL_MS);
    }
    log.info({}, 'the process that enforces the network policy is started again, as the version of this agent');
    return dns_port;
  } catch (error) {
    log.warn({ err: error }, `what enforces the network policy may be of another version: ${toErrorMessage(error)}`);
    return undefined;
  }
}
