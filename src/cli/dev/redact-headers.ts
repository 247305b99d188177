// The headers that the sample provider received, with credentials shortened: its answer goes to a caller who must not learn them. Pure.

const CREDENTIALS = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'private-token',
]);
/** Enough to tell two keys apart by their prefix; of a shorter value only the length is shown. */
const SHOWN_CHARS = 4;
const SHORT_CHARS = 12;

/** `Bearer sk-s…(32 chars)` for a credential, every other header as it is; a repeated header as one comma-separated value. */
export function redactHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Record<string, string> {
  const shown: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    const text = typeof value === 'string' ? value : value.join(', ');
    shown[name] = CREDENTIALS.has(name) ? redact(text) : text;
  }
  return shown;
}

function redact(text: string): string {
  const scheme = /^[A-Za-z][A-Za-z0-9-]*(?= )/.exec(text)?.[0];
  const secret = scheme === undefined ? text : text.slice(scheme.length + 1);
  const shown = secret.length < SHORT_CHARS ? '' : secret.slice(0, SHOWN_CHARS);
  return `${scheme === undefined ? '' : `${scheme} `}${shown}…(${secret.length} chars)`;
}
