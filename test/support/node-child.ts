// A database node in a process of its own, so that it can be stopped without a FIN: prints its port, sends init, says nothing.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

let streams = 0;
const server = createServer((_request, response) => {
  streams += 1;
  console.log(`stream ${streams}`);
  response.writeHead(200, { 'content-type': 'application/json', 'litefs-id': '0123456789ABCDEF' });
  response.write('{"type":"init","data":{"isPrimary":true}}\n');
});
server.requestTimeout = 0;
server.listen(0, '127.0.0.1', () => console.log(`port ${(server.address() as AddressInfo).port}`));
