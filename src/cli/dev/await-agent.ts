// Waits until the agent of a machine answers on its socket.
import { createAgentClient } from '../agent-client.ts';

const POLL_MS = 50;

/**
 * Resolves once the agent answers and none of its parts is starting, or at the latest `settle_ms` after its first answer. Throws when it
 * has not answered within `limit_ms`.
 */
export async function awaitAgent(
  socketPath: string,
  options: { readonly limit_ms: number; readonly settle_ms: number; readonly signal: AbortSignal },
): Promise<void> {
  await using agent = createAgentClient(socketPath);
  const began_ms = performance.now();
  const elapsed_ms = () => performance.now() - began_ms;
  for (;;) {
    options.signal.throwIfAborted();
    const status = await agent.client.call('ready', { timeout_ms: options.limit_ms }).then(
      (answer) => answer.status,
      () => undefined,
    );
    if (status === 'ready' || status === 'degraded') return;
    if (status !== undefined && elapsed_ms() > options.settle_ms) return;
    if (elapsed_ms() > options.limit_ms) throw new Error(`the agent does not answer on ${socketPath}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
