// Has the agent of a machine prepare for its sleep, over its channel. The consent lasts until the platform hangs up, or the agent withdraws it.
import { errorBody } from '../../contract/errors.ts';
import { type SleepLine, type SleepRequest, sleepLine } from '../../contract/local/sleep.ts';
import { parseBoundedJson } from '../../core/bounded-json.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import { createLineFramer } from '../../core/ndjson.ts';
import type { ChannelSession } from '../channels/channel-session.ts';

export interface Consent extends Disposable {
  /** Why the machine must stay awake after all; undefined while the consent is good. */
  readonly withdrawn: string | undefined;
}

export interface ConsentOptions {
  /** Aborting it ends the wait for an answer. */
  readonly signal: AbortSignal;
  readonly limit_ms?: number;
}

/** `refused`: what the agent says. */
export type Consenting = { readonly consent: Consent } | { readonly refused: string };

/** The agent runs hooks first, for at most 10 s, and holds may put it off by 5 s. */
const LIMIT_MS = 20_000;
const CAP_BYTES = 64 * 1024;
const REASON_CHARS = 256;

/** An agent that does not know the call. */
const OLDER = [403, 404, 405];
const HUNG_UP = 'its agent has hung up';

/** Never rejects. */
export async function openConsent(
  { dispatcher }: Pick<ChannelSession, 'dispatcher'>,
  asked: SleepRequest,
  { signal, limit_ms = LIMIT_MS }: ConsentOptions,
): Promise<Consenting> {
  const ending = new AbortController();
  const onAbort = () => ending.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  const late = setTimeout(() => ending.abort(new Error(`no answer within ${limit_ms / 1_000} s`)), limit_ms);
  try {
    const { statusCode, body } = await dispatcher.request({
      path: '/v1/idle/consent',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(asked),
      signal: ending.signal,
    });
    if (statusCode !== 200) return { refused: await readRefusal(body, statusCode) };
    const lines = readLines(body);
    const first = await lines.next();
    if (first.value?.type === 'agreed') return { consent: follow(lines, ending) };
    ending.abort();
    return { refused: first.value?.reason.slice(0, REASON_CHARS) ?? HUNG_UP };
  } catch (error) {
    const reason = ending.signal.aborted ? ending.signal.reason : error;
    return { refused: `its agent does not answer: ${toErrorMessage(reason).slice(0, REASON_CHARS)}` };
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', onAbort);
  }
}

function follow(lines: AsyncIterator<SleepLine, undefined>, ending: AbortController): Consent {
  const consent = {
    withdrawn: undefined as string | undefined,
    [Symbol.dispose]: () => ending.abort(),
  };
  const next = async () => {
    const { value } = await lines.next();
    consent.withdrawn ??= value?.type === 'withdrawn' ? value.reason.slice(0, REASON_CHARS) : HUNG_UP;
  };
  next().catch(() => {
    consent.withdrawn ??= HUNG_UP;
  });
  return consent;
}

/** The lines of which anything is known. Throws when there is more than an agent sends. */
async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<SleepLine, undefined> {
  const framer = createLineFramer(CAP_BYTES);
  let left_bytes = CAP_BYTES;
  for await (const chunk of body) {
    left_bytes -= chunk.length;
    if (left_bytes < 0) throw new Error('it sends too much');
    const lines: string[] = [];
    framer.push(chunk, (line) => lines.push(line));
    for (const line of lines) {
      const known = sleepLine.safeParse(toValue(line));
      if (known.success) yield known.data;
    }
  }
}

async function readRefusal(body: AsyncIterable<Uint8Array>, status: number): Promise<string> {
  if (OLDER.includes(status)) return 'its agent is older, and cannot consent';
  const chunks: Uint8Array[] = [];
  let left_bytes = CAP_BYTES;
  for await (const chunk of body) {
    left_bytes -= chunk.length;
    if (left_bytes < 0) throw new Error('it sends too much');
    chunks.push(chunk);
  }
  const said = errorBody.safeParse(toValue(Buffer.concat(chunks).toString()));
  return said.success ? said.data.message.slice(0, REASON_CHARS) : `its agent answered ${status}`;
}

function toValue(text: string): unknown {
  try {
    return parseBoundedJson(text);
  } catch {
    return undefined;
  }
}
