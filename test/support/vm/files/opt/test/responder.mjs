// Answers on port 9001 by itself, and on port 9002 by asking the agent's socket for the same: a call that the gate of a resume holds.
// Port 9003 is the agent's socket, byte for byte.
import { createServer, request } from 'node:http';
import { connect, createServer as listen } from 'node:net';

const socketPath = '/run/remora/remora.sock';

createServer((_call, answer) => answer.end('bare\n')).listen(9001);
createServer((call, answer) => {
  const passed = request({ socketPath, path: call.url, method: call.method, agent: false }, (from) => {
    answer.writeHead(from.statusCode ?? 502);
    from.pipe(answer);
  });
  passed.on('error', (error) => answer.writeHead(599).end(String(error)));
  passed.end();
}).listen(9002);
listen({ allowHalfOpen: true }, (near) => {
  const far = connect({ path: socketPath, allowHalfOpen: true });
  near.pipe(far).pipe(near);
  near.on('error', () => far.destroy());
  far.on('error', () => near.destroy());
}).listen(9003);
