// The path of a request target, or a URL up to its query. Pure.

/** The text before the first `?`, byte for byte. A query may hold a secret of the caller, and no rule looks at it. */
export function withoutQuery(target: string): string {
  const question = target.indexOf('?');
  return question < 0 ? target : target.slice(0, question);
}
