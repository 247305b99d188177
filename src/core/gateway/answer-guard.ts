// Keeps a credential out of the head and the trailers of an answer: a server may repeat the request that brought it. Bodies pass as
// they are. Pure.

import type { Secret } from '../secret.ts';
import { holdsEncoded } from './percent-decoding.ts';

/** Judges the head and the trailers of an answer. */
export interface AnswerGuard {
  /**
   * Input and result are flat: name, value. A header with the credential is rewritten where that makes sense, else left out.
   */
  headers(headers: string[]): string[];
  /** Whether a text holds the credential, plainly or percent-encoded. */
  holds(text: string): boolean;
}

/** A shorter text occurs in many a header by chance. */
const LENGTH_MIN = 4;

/** `rewriteUrl` gives the caller's address for an address of the upstream; undefined where there is none. */
export function createAnswerGuard(
  credential: Secret,
  rewriteUrl: (url: string) => string | undefined = () => undefined,
): AnswerGuard {
  const secret = credential.reveal();
  // Encoded it is longer, so that no shorter text holds it.
  const shortest = Math.max(secret.length, LENGTH_MIN);
  const holds = (text: string) => text.length >= shortest && secret.length >= LENGTH_MIN && holdsEncoded(text, secret);

  function rewrite(value: string): string | undefined {
    // The header is a list of links: each address is in angle brackets.
    const isList = value.trimStart().startsWith('<');
    const safe = isList ? value.replaceAll(/<([^<>]*)>/g, (link, url) => toLink(link, url)) : rewriteUrl(value);
    return safe === undefined || holds(safe) ? undefined : safe;
  }

  function toLink(link: string, url: string): string {
    const safe = holds(url) ? rewriteUrl(url) : undefined;
    return safe === undefined ? link : `<${safe}>`;
  }

  return {
    holds,
    headers(headers) {
      if (!headers.some(holds)) return headers;
      const kept: string[] = [];
      for (let index = 0; index + 1 < headers.length; index += 2) {
        const name = headers[index] ?? '';
        const value = headers[index + 1] ?? '';
        const safe = holds(value) ? rewrite(value) : value;
        if (safe !== undefined && !holds(name)) kept.push(name, safe);
      }
      return kept;
    },
  };
}
