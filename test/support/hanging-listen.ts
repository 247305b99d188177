// Loaded into a process before its program: every server that it opens goes on opening for ever, and says so in one line.
import { Server } from 'node:net';

Server.prototype.listen = function (this: Server) {
  process.stderr.write('a server hangs\n');
  setInterval(() => undefined, 60_000);
  return this;
};
