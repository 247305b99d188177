// What the Accept header of a caller means: whether a stream is written as server-sent events, and whether the caller accepts a
// stream only.

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

const STREAMS = ['application/x-ndjson', 'text/event-stream'];
const JSON_RANGES = ['application/json', 'application/*', '*/*'];

/** True when Accept names a stream and no JSON: the caller would read one value as if it were the first of many. */
export function acceptsStreamOnly(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const weights = parseAccept(accept);
  const accepts = (range: string) => (weights.get(range) ?? 0) > 0;
  return STREAMS.some(accepts) && !JSON_RANGES.some(accepts);
}

/** The media ranges without their parameters, each with its weight; a weight that cannot be read counts as 1. */
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
