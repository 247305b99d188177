// The answer of a token endpoint, turned into the answer that RFC 6749 describes: GitHub writes forms and says 200 to an error, Slack
// says 200 with `ok: false` and puts the token of a person in `authed_user`. Pure.

import { z } from 'zod';
import { parseBoundedJson } from '../../../core/bounded-json.ts';

export interface TokenAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

const record = z.record(z.string(), z.unknown());

/** `token_in`: see the catalogue. An answer that cannot be read has an empty body. */
export function toTokenAnswer(
  status: number,
  type: string,
  text: string,
  token_in: 'answer' | 'authed_user',
): TokenAnswer {
  const raw = type.includes('form-urlencoded') ? Object.fromEntries(new URLSearchParams(text)) : parseRecord(text);
  if (isError(raw)) return { status: Math.max(status, 400), body: { ...raw, error: String(raw.error) } };
  const person = token_in === 'authed_user' ? (record.safeParse(raw.authed_user).data ?? {}) : {};
  const { id_token: _, ...answer } = raw;
  // The token at the top is the app's and must not be used as the person's.
  const own = token_in === 'authed_user' ? { access_token: undefined, refresh_token: undefined, scope: undefined } : {};
  const merged: Record<string, unknown> = { ...answer, ...own, ...person, authed_user: raw.authed_user, id: raw.id };
  const seconds = Number(merged.expires_in);
  if (merged.expires_in !== undefined && Number.isFinite(seconds)) merged.expires_in = seconds;
  // `bot`, `user` and nothing at all are sent where RFC 6749 asks for a type; all of them travel as bearer tokens.
  return { status, body: { ...merged, token_type: 'bearer' } };
}

function isError(raw: Readonly<Record<string, unknown>>): boolean {
  return raw.ok === false || (typeof raw.error === 'string' && raw.error !== '');
}

function parseRecord(text: string): Record<string, unknown> {
  try {
    return record.safeParse(parseBoundedJson(text)).data ?? {};
  } catch {
    return {};
  }
}
