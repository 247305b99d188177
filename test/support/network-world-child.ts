// The servers of the world around a machine: on port 80 one that answers with the address at which it was reached, or with a line every
// 50 ms for `/stream`, or with nothing for `/quiet`.
import { createServer } from 'node:http';

const server = createServer((request, response) => {
  response.writeHead(200, { 'content-type': 'text/plain' });
  if (request.url === '/quiet') return response.flushHeaders();
  if (request.url !== '/stream') return response.end(`${request.socket.localAddress?.replace('::ffff:', '')}\n`);
  const timer = setInterval(() => response.write('line\n'), 50);
  return response.once('close', () => clearInterval(timer));
});
server.listen(80, '::', () => process.stdout.write('up\n'));
