// Asks the machines API to suspend this machine: once, on a fresh connection, within ten seconds. It never retries, because the
// answer to a suspend that works is mostly lost in the snapshot.
import { readText } from '../../client/read-answer.ts';
import { errorCode } from '../../core/error-code.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { withoutLastSlashes } from '../../core/without-last-slashes.ts';
import { createDial } from '../../http/dial.ts';
import { openOutbound } from '../../http/outbound.ts';
import type { MachinesApiAddress } from './machines-api.ts';
import { ASK_LIMIT_MS } from './suspender.ts';

const CONNECT_MS = 3_000;
const late: ReadonlySet<string | undefined> = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

/**
 * Resolves when the platform accepted (any 2xx). Throws `upstream_refused` with the platform's status and message when it refused,
 * `upstream_failed` when it could not be reached, and `upstream_timeout` when it did not answer: then the outcome is unknown.
 */
export async function askSuspend(api: MachinesApiAddress, path: string, limit_ms = ASK_LIMIT_MS): Promise<void> {
  const { socketPath } = api;
  const { origin, pathname } = new URL(api.origin);
  const timeout_ms = Math.min(CONNECT_MS, limit_ms);
  const outbound = openOutbound({
    dial: (reads) => createDial({ socketPath, timeout_ms, ...reads }),
    headers_ms: limit_ms,
    idle_ms: limit_ms,
  });
  const deadline = AbortSignal.timeout(limit_ms);
  try {
    const answer = await outbound.request({
      origin,
      path: withoutLastSlashes(pathname) + path,
      method: 'POST',
      headers: api.headers(),
      signal: deadline,
      bodyTimeout: limit_ms,
      reset: true,
    });
    const text = await readText(answer.body);
    if (answer.statusCode < 200 || answer.statusCode > 299) throw refusal(answer.statusCode, text);
  } catch (error) {
    if (error instanceof RemoraError) throw error;
    throw toFailure(error, deadline.aborted, limit_ms);
  } finally {
    await outbound.destroy(new Error('the call is over'));
  }
}

function refusal(status: number, text: string): RemoraError {
  const platform = text.slice(0, 500).trim();
  const message = `the platform refused the suspend with ${status}${platform === '' ? '' : `: ${platform}`}; the machine stays awake`;
  return new RemoraError('upstream_refused', message, { details: { status } });
}

function toFailure(error: unknown, isLate: boolean, limit_ms: number): RemoraError {
  const reason = toErrorMessage(error);
  if (isLate || late.has(errorCode(error))) {
    const message = `the platform did not answer within ${limit_ms} ms; whether it took the suspend shows in what happens next`;
    return new RemoraError('upstream_timeout', message, { cause: error });
  }
  const message = `the machines API could not be reached (${reason}); the machine stays awake`;
  return new RemoraError('upstream_failed', message, { cause: error });
}
