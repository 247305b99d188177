// Lists of OAuth scopes as callers, providers and records write them. Pure.
import { RemoraError } from '../../../core/remora-error.ts';

/** RFC 6749, section 3.3, without the comma, which separates here. */
const SCOPE = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]{1,256}$/;
const SCOPES_MAX = 100;

/** Reads scopes separated by commas. Throws `invalid_request` naming the query field. */
export function parseScopes(field: string, text: string): string[] {
  const scopes = [...new Set(text.split(',').map((scope) => scope.trim()))].filter((scope) => scope !== '');
  if (scopes.length <= SCOPES_MAX && scopes.every((scope) => SCOPE.test(scope))) return scopes;
  const message = `expected at most ${SCOPES_MAX} scopes with commas between them`;
  throw new RemoraError('invalid_request', `query.${field}: ${message}`, {
    details: { fields: [{ field: `query.${field}`, message }] },
  });
}

/** What a provider says was granted, which some separate by commas and some by spaces; else what was asked for. */
export function toGrantedScopes(answered: string | undefined, asked: string): string {
  const granted = (answered ?? '').split(/[\s,]+/).filter((scope) => scope !== '');
  return granted.length === 0 ? asked : granted.join(',');
}

/** `added` after `base`, each scope once. */
export function joinScopes(base: readonly string[], added: readonly string[]): string[] {
  return [...new Set([...base, ...added])];
}
