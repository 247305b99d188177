// The raw path of a request, without its query.
import type { IncomingMessage } from 'node:http';
import { withoutQuery } from '../core/without-query.ts';

export function targetPath(request: IncomingMessage): string {
  return withoutQuery(request.url ?? '');
}
