// Continuation tokens of a list: the place where the last page ended, signed, so that a caller can neither change nor invent one. A
// token is good only for the list that it came from. Pure.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

/** The list that a token belongs to, by organization and filter. */
export interface PageScope {
  readonly organization_id: string;
  readonly prefix: string;
}

const VERSION = 1;
const MAC_BYTES = 16;
const position = z.tuple([z.literal(VERSION), z.string()]);

/** `after` is the name that the page ended with. */
export function toPageToken(key: Uint8Array, scope: PageScope, after: string): string {
  const body = Buffer.from(JSON.stringify([VERSION, after]), 'utf8');
  return Buffer.concat([sign(key, scope, body), body]).toString('base64url');
}

/** Undefined for a token that was changed, or that belongs to another list. */
export function parsePageToken(key: Uint8Array, scope: PageScope, token: string): string | undefined {
  const bytes = Buffer.from(token, 'base64url');
  if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== token) return undefined;
  const body = bytes.subarray(MAC_BYTES);
  if (!timingSafeEqual(bytes.subarray(0, MAC_BYTES), sign(key, scope, body))) return undefined;
  return position.parse(JSON.parse(body.toString('utf8')))[1];
}

function sign(key: Uint8Array, scope: PageScope, body: Uint8Array): Buffer {
  const mac = createHmac('sha256', key)
    .update(JSON.stringify([scope.organization_id, scope.prefix]))
    .update('\0');
  return mac.update(body).digest().subarray(0, MAC_BYTES);
}
