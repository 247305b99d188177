// The headers that a Connection header declares to belong to this connection only (RFC 9110, section 7.6.1). Pure.
import { foldHeaderName } from './header-name.ts';

const nothing: ReadonlySet<string> = new Set();

/** Their folded names. A sender cannot nominate the framing headers. `headers` is flat. */
export function toNominated(headers: readonly string[]): ReadonlySet<string> {
  let nominated: Set<string> | undefined;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] ?? '';
    if (name.length !== 10 || name.toLowerCase() !== 'connection') continue;
    nominated ??= new Set();
    for (const item of (headers[index + 1] ?? '').split(',')) nominated.add(foldHeaderName(item.trim()));
  }
  nominated?.delete('content-length');
  nominated?.delete('content-type');
  return nominated ?? nothing;
}
