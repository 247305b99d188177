// Runs a hook that is a program's socket: a POST of the context as JSON.
import { Client } from '../../http/undici.ts';
import type { Hook } from './list-hooks.ts';
import { type HookContext, WORDS_KEPT } from './run-hook.ts';

/** Resolves to the reason of the failure; to undefined when the hook succeeded. */
export async function postHook(hook: Hook, context: HookContext, deadline_ms: number): Promise<string | undefined> {
  const client = new Client('http://hook', { connect: { socketPath: hook.path, timeout: deadline_ms } });
  try {
    const answer = await client.request({
      method: 'POST',
      path: `/${context.phase}`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(context),
      signal: AbortSignal.timeout(deadline_ms),
    });
    const words = (await answer.body.text()).slice(0, WORDS_KEPT).trim();
    if (answer.statusCode >= 200 && answer.statusCode <= 299) return undefined;
    return `answered ${answer.statusCode}${words === '' ? '' : `: ${words}`}`;
  } catch (error) {
    const timedOut = error instanceof Error && error.name === 'TimeoutError';
    return timedOut ? `did not answer within ${deadline_ms} ms` : `cannot be reached: ${String(error)}`;
  } finally {
    await client.destroy();
  }
}
