// A database node in a process of its own: `node.ts RATE` sends so many transactions a second, 0 as fast as they are taken, from
// one message to the next.
import { createServer, type ServerResponse } from 'node:http';

const rate = Number(process.argv[2] ?? 0);
const BLOCK_LINES = 256;
const TICK_MS = 5;
const toHex = (n: number) => n.toString(16).padStart(16, '0');

let follower: ServerResponse | undefined;
let isSending = false;
let id = 0;
let begun_ms = 0;
let begun_id = 0;

function toBlock(lines: number): string {
  let block = '';
  for (let line = 0; line < lines; line += 1) {
    id += 1;
    const hex = toHex(id);
    block += `{"type":"tx","db":"app.db","data":{"txID":"${hex}","postApplyChecksum":"c${hex.slice(1)}","pageSize":4096,"commit":${id & 0xffff},"timestamp":"2026-11-21T13:11:22.025Z"}}\n`;
  }
  return block;
}

function send(): void {
  while (isSending && follower !== undefined) {
    if (!follower.write(toBlock(BLOCK_LINES))) return;
  }
}

function sendInTime(): void {
  if (!isSending) return;
  const due = begun_id + Math.floor(((performance.now() - begun_ms) / 1_000) * rate) - id;
  if (due > 0) follower?.write(toBlock(due));
  setTimeout(sendInTime, TICK_MS);
}

const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'litefs-id': '0123456789ABCDEF' });
  response.write('{"type":"init","data":{"isPrimary":true}}\n');
  if (rate === 0) response.on('drain', send);
  response.once('close', () => {
    if (follower === response) follower = undefined;
  });
  follower = response;
});

process.on('message', () => {
  isSending = !isSending;
  begun_ms = performance.now();
  begun_id = id;
  if (isSending) (rate === 0 ? send : sendInTime)();
  else process.send?.({ type: 'sent', transactions: id });
});
process.once('disconnect', () => process.exit(0));
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  process.send?.({ type: 'ready', url: `http://127.0.0.1:${port}` });
});
