// Answers with a list in pieces, so that a long one neither holds the loop nor waits in memory as text.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FileListResponse } from '../../contract/files.ts';
import { sendJson } from '../../http/reply.ts';

const ENTRIES_AT_ONCE = 500;

export async function sendList(response: ServerResponse, { path, entries, count }: FileListResponse): Promise<void> {
  if (entries.length <= ENTRIES_AT_ONCE) {
    sendJson(response, 200, { path, entries, count });
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json' });
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  response.write(`{"path":${JSON.stringify(path)},"count":${count},"entries":[`);
  for (let from = 0; from < entries.length; from += ENTRIES_AT_ONCE) {
    const texts = entries.slice(from, from + ENTRIES_AT_ONCE).map((entry) => JSON.stringify(entry));
    const hasRoom = response.write(`${from === 0 ? '' : ','}${texts.join(',')}`);
    if (hasRoom) await nextTurn();
    else await once(response, 'drain', { signal: gone.signal }).catch(() => undefined);
    if (response.destroyed) return;
  }
  response.end(']}\n');
}
