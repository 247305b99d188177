// How the machine of a sprite is: its agent is asked over its channel, with a deadline. Nothing is woken, and of a machine that does not
// run the record answers.
import { type AgentCheck, agentCheck } from '../../contract/local/check.ts';
import type { SpriteCheck } from '../../contract/sprite-machine.ts';
import { ANSWER_LIMITS, parseBoundedJson } from '../../core/bounded-json.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import { withDeadline } from '../../core/with-deadline.ts';
import type { ChannelSession } from '../channels/channel-session.ts';
import type { Channels } from '../channels/channels.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { SpriteRow } from '../sprites/sprite-store.ts';

export interface CheckSpriteDeps {
  readonly channels: Pick<Channels, 'wait' | 'whyRefused'>;
  readonly clock: Clock;
  /** How long the agent may take, its look at the disk included. */
  readonly limit_ms?: number;
}

type Finding = Pick<SpriteCheck, 'status' | 'reason'>;

const LIMIT_MS = 5_000;
/** An agent that has just started, or whose connection was cut, is back by then. */
const CONNECT_MS = 3_000;
const ANSWER_CAP_BYTES = 4_096;

export async function checkSprite(deps: CheckSpriteDeps, sprite: SpriteRow, machine: MachineRow): Promise<SpriteCheck> {
  const { clock } = deps;
  const begun_ms = clock.mono_ms();
  const finding = await find(deps, machine);
  const elapsed = Math.round(clock.mono_ms() - begun_ms);
  const checked_at = toDateTime(clock.wall_ms());
  return { sprite_name: sprite.name, sprite_id: sprite.id, ...finding, checked_at, elapsed };
}

async function find({ channels, limit_ms = LIMIT_MS }: CheckSpriteDeps, machine: MachineRow): Promise<Finding> {
  const { id, state, config } = machine;
  if (state !== 'running' && config.external !== true) return { status: 'asleep', reason: state };
  const channel = await channels.wait(id, CONNECT_MS).catch(() => undefined);
  if (channel === undefined) {
    return {
      status: 'unhealthy',
      reason: channels.whyRefused(id) === undefined ? 'agent_unreachable' : 'policy_refused',
    };
  }
  const answer = await ask(channel, limit_ms).catch(() => undefined);
  if (answer === undefined) return { status: 'unhealthy', reason: 'agent_silent' };
  if (answer.disk === 'ok') return { status: 'healthy', reason: null };
  return { status: 'unhealthy', reason: `disk_${answer.disk}` };
}

/** Rejects when no answer comes in time, or one that cannot be read. */
async function ask(channel: ChannelSession, limit_ms: number): Promise<AgentCheck> {
  const gone = new AbortController();
  try {
    return await withDeadline(limit_ms, read(channel, gone.signal));
  } finally {
    gone.abort();
  }
}

async function read({ dispatcher }: ChannelSession, signal: AbortSignal): Promise<AgentCheck> {
  const { statusCode, body } = await dispatcher.request({ path: '/v1/check', method: 'GET', signal });
  let text = '';
  for await (const chunk of body.setEncoding('utf8')) {
    text += chunk;
    if (text.length > ANSWER_CAP_BYTES) throw new Error('the answer is too long');
  }
  if (statusCode !== 200) throw new Error(`the agent answered ${statusCode}`);
  return agentCheck.parse(parseBoundedJson(text, ANSWER_LIMITS));
}
