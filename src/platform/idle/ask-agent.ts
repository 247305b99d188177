// Asks the agent of a machine, over its channel, what keeps the machine awake. Root of that machine writes the answer.
import { z } from 'zod';
import { type idleBlocker, idleStatus } from '../../contract/local/tasks.ts';
import type { WakeReason } from '../../contract/machine-idle.ts';
import { ANSWER_LIMITS, parseBoundedJson } from '../../core/bounded-json.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import { withDeadline } from '../../core/with-deadline.ts';
import type { ChannelSession } from '../channels/channel-session.ts';
import type { Channels } from '../channels/channels.ts';

/** `idle_ms`: run time without work, 0 while there is some. `silent`: nobody knows whether there is work. */
export type AgentWord =
  | { readonly type: 'answered'; readonly idle_ms: number; readonly blockers: readonly WakeReason[] }
  | { readonly type: 'silent'; readonly why: string };

/** Never rejects. */
export type AskAgent = (machine_id: string) => Promise<AgentWord>;

const LIMIT_MS = 5_000;
const ANSWER_CAP_BYTES = 256 * 1024;
/** What of an answer is shown. */
const BLOCKERS_SHOWN = 32;
const OWNER_CHARS = 128;
const REASON_CHARS = 256;

/** What is read of an answer; an older agent does not say how long its machine has been idle. */
const word = idleStatus.pick({ idle_ms: true, blockers: true });
const asOlder = z.object({ idle: z.boolean() });

export function createAskAgent(channels: Pick<Channels, 'find' | 'whyRefused'>, limit_ms = LIMIT_MS): AskAgent {
  return async (machine_id) => {
    const channel = channels.find(machine_id);
    if (channel === undefined) {
      const why = channels.whyRefused(machine_id)?.message ?? 'its agent is not connected';
      return { type: 'silent', why: why.slice(0, REASON_CHARS) };
    }
    const gone = new AbortController();
    try {
      return await withDeadline(limit_ms, read(channel, gone.signal));
    } catch (error) {
      return { type: 'silent', why: `its agent does not answer: ${toErrorMessage(error).slice(0, REASON_CHARS)}` };
    } finally {
      gone.abort();
    }
  };
}

async function read({ dispatcher }: ChannelSession, signal: AbortSignal): Promise<AgentWord> {
  const { statusCode, body } = await dispatcher.request({ path: '/v1/idle', method: 'GET', signal });
  let text = '';
  for await (const chunk of body.setEncoding('utf8')) {
    text += chunk;
    if (text.length > ANSWER_CAP_BYTES) throw new Error('the answer is too long');
  }
  if (statusCode === 403 || statusCode === 404) return { type: 'silent', why: 'its agent is older, and does not say' };
  if (statusCode !== 200) throw new Error(`it answered ${statusCode}`);
  const value = parseBoundedJson(text, ANSWER_LIMITS);
  const said = word.safeParse(value);
  if (!said.success && asOlder.safeParse(value).success) {
    return { type: 'silent', why: 'its agent is older, and does not say since when' };
  }
  const { idle_ms, blockers } = said.success ? said.data : word.parse(value);
  return { type: 'answered', idle_ms: blockers.length > 0 ? 0 : idle_ms, blockers: toReasons(blockers) };
}

/** What others are shown of it is bounded. */
export function toReasons(blockers: readonly z.infer<typeof idleBlocker>[]): WakeReason[] {
  return blockers.slice(0, BLOCKERS_SHOWN).map(({ kind, owner, since, reason }) => ({
    kind,
    owner: owner.slice(0, OWNER_CHARS),
    since,
    ...(reason === undefined ? {} : { reason: reason.slice(0, REASON_CHARS) }),
  }));
}
