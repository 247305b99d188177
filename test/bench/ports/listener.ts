// Opens one listener and closes it again, as it is told over IPC, and says when it did so.
import { createServer, type Server } from 'node:net';
import { type Moment, now_ms } from './moment.ts';

let server: Server | undefined;

process.on('message', (word) => {
  if (word === 'open') {
    const opened = createServer();
    server = opened;
    const at_ms = now_ms();
    opened.listen(0, '127.0.0.1', () => {
      const address = opened.address();
      const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
      process.send?.({ port, at_ms } satisfies Moment);
    });
  } else {
    const at_ms = now_ms();
    server?.close(() => process.send?.({ port: 0, at_ms } satisfies Moment));
  }
});
process.on('disconnect', () => process.exit(0));
