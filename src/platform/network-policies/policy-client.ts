// Asks the agent of a machine for what concerns the network policy of its sprite.
import { type Client, createClient } from '../../client/client.ts';
import { type RefusalWords, toRefusal } from '../../client/to-refusal.ts';
import { ownNetworkOperations } from '../../contract/local/own-network.ts';
import type { ChannelSession } from '../channels/channel-session.ts';

/** Longer than the agent gives what enforces the rules. */
const LIMIT_MS = 40_000;
const words: RefusalWords = {
  passedOn: ['invalid_request', 'not_supported', 'start_failed', 'upstream_timeout'],
  tooOld: {
    message: 'the agent of this machine is too old for a network policy; upgrade it, or restart the sprite',
    missing: 'an agent that enforces network policies',
  },
  failed: 'the agent of this machine did not answer for its network policy',
};

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
    throw toRefusal(error, words);
  }
}
