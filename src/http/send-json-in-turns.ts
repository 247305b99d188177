// Sends a JSON answer. One with a long list is written in several turns of the event loop, so that other calls do not wait for it.
import type { ServerResponse } from 'node:http';
import { createTurns } from '../core/turns.ts';
import type { Reply } from './handler.ts';
import { holdsLongList, toJsonPieces } from './json-pieces.ts';
import { sendJson } from './reply.ts';

/** How many characters of JSON are as much work as one of text that is parsed. */
const CHEAPER = 4;
/** What a piece costs beside its characters. */
const PIECE_COST = 16;

/**
 * `onTurn` runs at the begin of each turn but the first. Nothing is sent before the whole text is made, so that an answer has its
 * length and a value that cannot be written is still an error.
 */
export async function sendJsonInTurns(
  response: ServerResponse,
  { status, body, headers }: Reply<unknown>,
  onTurn: () => void,
): Promise<void> {
  if (!holdsLongList(body)) return sendJson(response, status, body, headers);
  const turns = createTurns(onTurn);
  const parts: Buffer[] = [];
  let text = '';
  for (const piece of toJsonPieces(body)) {
    text += piece;
    const turn = turns.spend(PIECE_COST + piece.length / CHEAPER);
    if (turn === undefined) continue;
    parts.push(Buffer.from(text));
    text = '';
    await turn;
    if (response.destroyed) return;
  }
  parts.push(Buffer.from(`${text}\n`));
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes, ...headers });
  for (const part of parts) response.write(part);
  response.end();
}
