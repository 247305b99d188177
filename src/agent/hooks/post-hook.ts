// Runs a hook that is a program's socket: a POST of the context as JSON.
import { readText } from '../../client/read-answer.ts';
import { createDial } from '../../http/dial.ts';
import { openOutbound } from '../../http/outbound.ts';
import type { Hook } from './list-hooks.ts';
import { type HookContext, WORDS_KEPT } from './run-hook.ts';

/** Resolves to the reason of the failure; to undefined when the hook succeeded. */
export async function postHook(hook: Hook, context: HookContext, deadline_ms: number): Promise<string | undefined> {
  const outbound = openOutbound({
    dial: (reads) => createDial({ socketPath: hook.path, timeout_ms: deadline_ms, ...reads }),
    headers_ms: deadline_ms,
    idle_ms: deadline_ms,
  });
  try {
    const answer = await outbound.request({
      origin: 'http://hook',
      path: `/${context.phase}`,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(context),
      signal: AbortSignal.timeout(deadline_ms),
      reset: true,
    });
    const words = (await readText(answer.body)).slice(0, WORDS_KEPT).trim();
    if (answer.statusCode >= 200 && answer.statusCode <= 299) return undefined;
    return `answered ${answer.statusCode}${words === '' ? '' : `: ${words}`}`;
  } catch (error) {
    const timedOut = error instanceof Error && error.name === 'TimeoutError';
    return timedOut ? `did not answer within ${deadline_ms} ms` : `cannot be reached: ${String(error)}`;
  } finally {
    await outbound.destroy(new Error('the call is over'));
  }
}
