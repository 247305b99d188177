// Asks the agent of a machine for what concerns the network policy of its sprite.
import { type Client, createClient } from '../../client/client.ts';
import { UpstreamError } from '../../client/upstream-error.ts';
import type { ErrorCode } from '../../contract/errors.ts';
import { ownNetworkOperations } from '../../contract/local/own-network.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { ChannelSession } from '../channels/channel-session.ts';

/** Longer than the agent gives what enforces the rules. */
const LIMIT_MS = 40_000;
const NOT_FOUND = 404;
const passedOn: readonly ErrorCode[] = ['invalid_request', 'not_supported', 'start_failed', 'upstream_timeout'];

/**
 * Resolves as `call` does. Throws what the agent refuses it with (`invalid_request`, `start_failed`, and `not_supported` with what is
 * missing there), `upstream_failed` and `upstream_timeout`.
 */
export async function askPolicy<T>(
  { dispatcher }: Pick<ChannelSession, 'dispatcher'>,
  call: (client: Client<typeof ownNetworkOperations>) => Promise<T>,
): Promise<T> {
  const options = { origin: 'http://agent', dispatcher: () => dispatcher, timeout_ms: LIMIT_MS };
  try {
    return await call(createClient(ownNetworkOperations, options));
  } catch (error) {
    throw toRefusal(error);
  }
}

function toRefusal(error: unknown): unknown {
  if (!(error instanceof UpstreamError)) return error;
  const { code, message, details, status } = error;
  const own = passedOn.find((each) => each === code);
  if (own !== undefined) return new RemoraError(own, message, { details, cause: error });
  if (status === NOT_FOUND) {
    const missing = 'an agent that enforces network policies';
    const old = 'the agent of this machine is too old for a network policy; upgrade it, or restart the sprite';
    return new RemoraError('not_supported', old, { details: { missing } });
  }
  const failed = code === 'timeout' ? 'upstream_timeout' : 'upstream_failed';
  return new RemoraError(failed, `the agent of this machine did not answer for its network policy: ${message}`, {
    cause: error,
  });
}
