// A program that serves TCP in a machine, for tests: `tcp-child.ts WHAT:PORT ...`. What each port does is below.
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

const HEAD_BYTES = 600;
const PIECE = Buffer.alloc(64 * 1024, 'p');
const FLOOD_BYTES = 32 * 1024 * 1024;

const heard: string[] = [];
const paused = new Set<Socket>();
let flooded = 0;

/** Says how much came and how it began, once the caller has ended its side. */
function count(socket: Socket): void {
  let bytes = 0;
  let head = Buffer.alloc(0);
  socket.on('data', (part: Buffer) => {
    bytes += part.length;
    if (head.length < HEAD_BYTES) head = Buffer.concat([head, part.subarray(0, HEAD_BYTES - head.length)]);
  });
  socket.once('end', () => socket.end(JSON.stringify({ bytes, head: head.toString('base64') })));
}

const programs: Readonly<Record<string, (socket: Socket) => unknown>> = {
  count,
  /** Ends its side first, and remembers what comes then. */
  greet(socket) {
    let text = '';
    socket.end('greeting');
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    socket.once('end', () => heard.push(text));
  },
  /** What `greet` has heard, and how much `flood` has sent. */
  told: (socket) => socket.end(JSON.stringify({ heard, flooded })),
  /** Reads nothing until somebody connects to `go`. */
  slow: (socket) => paused.add(socket.pause()),
  go(socket) {
    for (const each of paused) count(each);
    for (const each of paused) each.resume();
    paused.clear();
    socket.end('gone on');
  },
  /** Sends 32 MB as fast as they are taken. */
  flood(socket) {
    let sent = 0;
    const write = () => {
      while (sent < FLOOD_BYTES) {
        sent += PIECE.length;
        flooded += PIECE.length;
        if (!socket.write(PIECE)) return void socket.once('drain', write);
      }
      socket.end();
    };
    write();
  },
  break(socket) {
    socket.write('part');
    socket.once('data', () => socket.resetAndDestroy());
  },
  hold(socket) {
    socket.write('here');
    socket.resume().once('end', () => socket.end());
  },
};

for (const word of process.argv.slice(2)) {
  const [what = '', port] = word.split(':');
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    programs[what]?.(socket.on('error', () => undefined));
  });
  // One after the other: who reaches the last reaches all.
  await once(server.listen(Number(port), '127.0.0.1'), 'listening');
}
