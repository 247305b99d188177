// The headers that a Connection header declares to belong to this connection only (RFC 9110, section 7.6.1). Pure.
import { foldHeaderName } from './header-name.ts';

const nothing: ReadonlySet<string> = new Set();
/** What nearly every sender nominates, made once. */
const keepAlive: ReadonlySet<string> = new Set(['keep-alive']);
const close: ReadonlySet<string> = new Set(['close']);

/** Their folded names. A sender cannot nominate the framing headers. `headers` is flat. */
export function toNominated(headers: readonly string[]): ReadonlySet<string> {
  let list: string | undefined;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] ?? '';
    if (name.length !== 10 || name.toLowerCase() !== 'connection') continue;
    const value = headers[index + 1] ?? '';
    list = list === undefined ? value : `${list},${value}`;
  }
  if (list === undefined) return nothing;
  if (list === 'keep-alive') return keepAlive;
  if (list === 'close') return close;
  const nominated = new Set<string>();
  for (const item of list.split(',')) nominated.add(foldHeaderName(item.trim()));
  nominated.delete('content-length');
  nominated.delete('content-type');
  return nominated;
}
