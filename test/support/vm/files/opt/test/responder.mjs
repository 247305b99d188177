// Answers on port 9001 by itself, and on port 9002 by asking the agent's socket for the same: a call that the gate of a resume holds.
import { createServer, request } from 'node:http';

createServer((_call, answer) => answer.end('bare\n')).listen(9001);
createServer((call, answer) => {
  const passed = request(
    { socketPath: '/run/remora/remora.sock', path: call.url, method: call.method, agent: false },
    (from) => {
      answer.writeHead(from.statusCode ?? 502);
      from.pipe(answer);
    },
  );
  passed.on('error', (error) => answer.writeHead(599).end(String(error)));
  passed.end();
}).listen(9002);
