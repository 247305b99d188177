// More servers of the world around a machine: each UDP port given answers what it gets, at each address given, and on port 443 is a name server
// over HTTPS, with the certificate and the key in the two files given, which knows one address for every name.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { isIPv6 } from 'node:net';
import { types } from '../../../src/core/dns/dns-codes.ts';
import { readQuery } from '../../../src/core/dns/read-query.ts';
import { makeAnswer, toQuestion, v4 } from '../dns-messages.ts';

const [cert = '', key = '', known = '', ports = '', ...addresses] = process.argv.slice(2);

for (const address of addresses) {
  for (const port of ports.split(',').map(Number)) {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    socket.on('message', (message, from) => socket.send(message, from.port, from.address));
    socket.bind(port, address);
    await once(socket, 'listening');
  }
}

const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, async (request, response) => {
  const reading = readQuery(Buffer.concat(await request.toArray()));
  if (reading.type !== 'query') return response.writeHead(400).end();
  const { id, name, type } = reading.query;
  const answers = type === types.A ? [v4(toQuestion, known)] : [];
  return response
    .writeHead(200, { 'content-type': 'application/dns-message' })
    .end(makeAnswer({ id, name, type, answers }));
});
server.listen(443, '::', () => process.stdout.write('up\n'));
