// Whether a stream is written as server-sent events: the caller names them in Accept and does not like lines better.

/**
 * @param accept the Accept header.
 * @param plain the content type of the plain form of this stream.
 * @returns true when `text/event-stream` is named with a weight above zero and no lower than that of the plain form.
 */
export function acceptsEventStream(accept: string | undefined, plain: string): boolean {
  if (accept === undefined) return false;
  const weights = parseAccept(accept);
  const events = weights.get('text/event-stream') ?? 0;
  const lines = weights.get(plain) ?? weights.get(`${plain.split('/')[0]}/*`) ?? weights.get('*/*') ?? 0;
  return events > 0 && events >= lines;
}

/** Each media range, without its parameters, and its weight; one that cannot be read counts as 1. */
function parseAccept(accept: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const part of accept.split(',')) {
    const [range = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const q = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    const weight = q !== undefined && /^[01](?:\.\d{0,3})?$/.test(q) ? Math.min(1, Number(q)) : 1;
    if (range !== '') weights.set(range, Math.max(weight, weights.get(range) ?? 0));
  }
  return weights;
}
