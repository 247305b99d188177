// The target of the WebSocket that carries a process of plain HTTP. Pure.
import type { IncomingMessage } from 'node:http';
import { RemoraError } from '../core/remora-error.ts';

/** The query as it came, with the standard input open when there is a body. Throws `invalid_request` for a terminal. */
export function toExecTarget({ url = '', headers }: Pick<IncomingMessage, 'url' | 'headers'>, path: string): string {
  const start = url.indexOf('?');
  const query = new URLSearchParams(start < 0 ? '' : url.slice(start + 1));
  if (['true', '1'].includes(query.get('tty') ?? '')) {
    throw new RemoraError(
      'invalid_request',
      'a terminal needs a WebSocket: plain HTTP cannot carry its input and output',
    );
  }
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (hasBody) query.set('stdin', 'true');
  return `${path}?${query}`;
}
