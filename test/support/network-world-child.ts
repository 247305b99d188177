// The servers of the world around a machine: on the ports 80 and 8080 one that answers with the address at which it was reached, or with a line
// every 50 ms for `/stream`, or with nothing for `/quiet`; on port 7 one that sends back what it gets.
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer } from 'node:net';

const answer: RequestListener = (request, response) => {
  const isOver = request.url !== '/quiet' && request.url !== '/stream';
  // The server ends the connection: nothing of the program is on its way after that.
  response.writeHead(200, { 'content-type': 'text/plain', ...(isOver && { connection: 'close' }) });
  if (request.url === '/quiet') return response.flushHeaders();
  if (isOver) return response.end(`${request.socket.localAddress?.replace('::ffff:', '')}\n`);
  const timer = setInterval(() => response.write('line\n'), 50);
  return response.once('close', () => clearInterval(timer));
};
createTcpServer((socket) => socket.on('error', () => undefined).pipe(socket)).listen(7, '::');
createServer(answer).listen(8080, '::', () => {
  createServer(answer).listen(80, '::', () => process.stdout.write('up\n'));
});
