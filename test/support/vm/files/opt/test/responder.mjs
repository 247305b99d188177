// A bare responder on a socket of its own, as the agent has one. With a header `pass-to` it passes the call on to that address, over
// connections that it keeps.
import { rmSync } from 'node:fs';
import { Agent, createServer, request } from 'node:http';

const socketPath = '/run/responder.sock';
const agent = new Agent({ keepAlive: true });

rmSync(socketPath, { force: true });
createServer((call, answer) => {
  const address = call.headers['pass-to'];
  if (typeof address !== 'string') return answer.end('bare\n');
  const passed = request(address, { agent, method: call.method }, (from) => {
    answer.writeHead(from.statusCode ?? 502);
    from.pipe(answer);
  });
  passed.on('error', (error) => answer.writeHead(502).end(String(error)));
  call.pipe(passed);
}).listen(socketPath);
