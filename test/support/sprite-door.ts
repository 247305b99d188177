// Stands for the platform: serves the operations of one sprite on TCP, with the paths of the Sprites API, from a local socket.
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** The base URL for a client; any token and any name of a sprite will do. */
export async function openSpriteDoor(socketPath: string): Promise<string> {
  const pass = ({ method = 'GET', url = '', headers }: IncomingMessage) =>
    request({ socketPath, method, path: url.replace(/^\/v1\/sprites\/[^/]+/, '/v1'), headers, agent: false });
  const server = createServer((incoming, response) => {
    const onward = pass(incoming);
    onward.once('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.once('error', () => response.destroy());
    incoming.pipe(onward);
  });
  server.on('upgrade', (incoming, socket) => {
    const onward = pass(incoming);
    onward.once('upgrade', (answer, upstream) => {
      const lines = answer.rawHeaders.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`));
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`);
      upstream.pipe(socket).pipe(upstream);
      upstream.on('error', () => socket.destroy());
      socket.on('error', () => upstream.destroy());
    });
    onward.once('error', () => socket.destroy());
    onward.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
