// What `systemctl status` shows of the agent in one line. Pure.
import type { PartBoard } from '../parts.ts';

/** `serving on fd:3`, or what is not as it should be: `degraded (gateway: …), serving on fd:3`. */
export function toStatusLine(
  board: Pick<PartBoard, 'overall' | 'statuses'>,
  addresses: readonly string[],
  state: string,
): string {
  const serving = `serving on ${addresses.join(', ')}`;
  const told = state === 'awake' ? '' : `${state}, `;
  const troubled = Object.entries(board.statuses()).filter(([, part]) => part.state !== 'ok' && part.state !== 'off');
  if (troubled.length === 0) return told + serving;
  const reasons = troubled.map(([name, part]) => `${name}: ${part.reason ?? part.state}`);
  return `${told}${board.overall === 'not_ready' ? 'not ready' : 'degraded'} (${reasons.join('; ')}), ${serving}`;
}
