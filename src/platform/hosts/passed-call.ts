// The proof with which one platform process passes a call on to another: who calls, signed with a key that both derive from a vault key.
// The token of the caller stays where it came in.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

const payload = z.object({
  /** The process that it is for, and no other. */
  to: z.string(),
  /** Unix milliseconds. */
  at: z.int(),
  /** Good once. */
  once: z.string().max(64),
  token: z.string(),
  organization: z.string(),
});
export type PassedCall = z.infer<typeof payload>;

/** The call that a proof is for: it is good for no other. */
export interface PassedTarget {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
}

/** The value of the header. `key` is derived from the vault key with this id. */
export function toPassedHeader(key_id: string, key: Uint8Array, call: PassedCall, target: PassedTarget): string {
  const text = Buffer.from(JSON.stringify(call)).toString('base64url');
  return `${key_id}.${text}.${sign(key, text, target).toString('base64url')}`;
}

/** Undefined for a proof that is malformed, of another call, or of a key that `keyOf` does not know. Time and use are not looked at. */
export function parsePassedHeader(
  value: string,
  target: PassedTarget,
  keyOf: (key_id: string) => Uint8Array | undefined,
): PassedCall | undefined {
  const [key_id = '', text = '', mac = '', ...more] = value.split('.');
  const key = keyOf(key_id);
  if (key === undefined || more.length > 0) return undefined;
  const given = Buffer.from(mac, 'base64url');
  const expected = sign(key, text, target);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  return payload.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))).data;
}

function sign(key: Uint8Array, text: string, { method, target }: PassedTarget): Buffer {
  return createHmac('sha256', key).update(`${text}\n${method}\n${target}`).digest();
}
