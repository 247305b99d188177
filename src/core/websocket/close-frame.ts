// A WebSocket close frame of Remora's own (RFC 6455, sections 5.5.1 and 7.4), and the close code for each of its errors. Pure.
import type { ErrorCode } from '../../contract/errors.ts';

export const GOING_AWAY = 1001;
export const POLICY_VIOLATION = 1008;
export const TRY_AGAIN_LATER = 1013;

/** A control frame holds at most 125 bytes, two of which are the code. */
const REASON_CAP_BYTES = 123;

/** `mask`: four random bytes for a frame that goes to a server; a frame to a client has none. */
export function toCloseFrame(code: number, reason: string, mask?: Uint8Array): Buffer {
  const text = cutText(reason);
  const payload = Buffer.allocUnsafe(2 + text.length);
  payload.writeUInt16BE(code, 0);
  text.copy(payload, 2);
  const head = Buffer.from([0x88, payload.length | (mask === undefined ? 0 : 0x80)]);
  if (mask === undefined) return Buffer.concat([head, payload]);
  for (let index = 0; index < payload.length; index += 1) {
    payload[index] = (payload[index] ?? 0) ^ (mask[index % 4] ?? 0);
  }
  return Buffer.concat([head, mask, payload]);
}

/** 1001 when this side goes away, 1013 when there is too much to serve, 1008 for a call that is not, or no longer, allowed. */
export function toCloseCode(code: ErrorCode): number {
  switch (code) {
    case 'shutting_down':
    case 'suspending':
    case 'resuming':
    case 'timeout':
      return GOING_AWAY;
    case 'too_many_requests':
      return TRY_AGAIN_LATER;
    default:
      return POLICY_VIOLATION;
  }
}

/** Cuts between characters: half of one would make the frame invalid. */
function cutText(text: string): Buffer {
  let kept = Buffer.from(text, 'utf8');
  for (let length = text.length; kept.length > REASON_CAP_BYTES; length -= 1) {
    kept = Buffer.from(text.slice(0, length - 1).toWellFormed(), 'utf8');
  }
  return kept;
}
