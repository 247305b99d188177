// Readers of the stream in a process of their own: `readers.ts SOCKET COUNT`. Any message makes it say how many lines they got.
import { connect } from 'node:net';

const [path = '', count = '0'] = process.argv.slice(2);
const LF = 0x0a;
const BRACE = 0x7d;
let lines = 0;
let before: number | undefined;
let open = 0;
let begun = 0;

for (let n = 0; n < Number(count); n += 1) {
  const socket = connect(path);
  socket.write('GET /events HTTP/1.1\r\nHost: x\r\n\r\n');
  open += 1;
  socket.once('data', () => {
    begun += 1;
    if (begun === Number(count)) process.send?.({ type: 'ready' });
  });
  // Only the first one is counted line by line: all of them are to be quick.
  if (n === 0) {
    socket.on('data', (chunk: Buffer) => {
      // Only a line feed after an object ends a line; the others are those of the chunks.
      for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, at + 1)) {
        if ((at === 0 ? before : chunk[at - 1]) === BRACE) lines += 1;
      }
      before = chunk.at(-1);
    });
  } else socket.resume();
  socket.on('error', () => undefined);
  socket.once('close', () => {
    open -= 1;
  });
}
process.on('message', () => process.send?.({ type: 'received', lines, open }));
process.once('disconnect', () => process.exit(0));
