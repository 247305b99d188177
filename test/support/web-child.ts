// A web server in a machine, for tests: it does what real programs do with HTTP, and remembers what came. `web-child.ts PORT`.
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { WebSocketServer } from 'ws';

const port = Number(process.argv[2]);
const arrivals: { method: string; url: string; rawHeaders: string[] }[] = [];
const broken: string[] = [];
/** Answers that are held back. */
const held = new Set<ServerResponse>();
/** Breaks off the answers that were begun for that. */
const breaking = new Set<() => unknown>();
const open = { events: 0 };
const PIECE = Buffer.alloc(256 * 1024, 'x');

async function describe(request: IncomingMessage) {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of request) {
    bytes += piece.length;
    hash.update(piece);
  }
  const { method, url, rawHeaders, rawTrailers } = request;
  return { method, url, rawHeaders, rawTrailers, bytes, sha256: hash.digest('hex'), pid: process.pid };
}

/** Writes as much as is taken. */
function sendBytes(response: ServerResponse, size: number): void {
  let left = size;
  const write = () => {
    while (left > 0) {
      const piece = PIECE.subarray(0, Math.min(left, PIECE.length));
      left -= piece.length;
      if (!response.write(piece)) return void response.once('drain', write);
    }
    response.end();
  };
  write();
}

const routes: Readonly<
  Record<string, (request: IncomingMessage, response: ServerResponse, query: URLSearchParams) => unknown>
> = {
  async '/describe'(request, response) {
    const text = JSON.stringify(await describe(request));
    response.writeHead(200, { 'content-type': 'application/json' }).end(text);
  },
  '/arrivals': (_request, response) =>
    response.end(JSON.stringify({ pid: process.pid, arrivals, broken, open: { ...open, held: held.size } })),
  '/bytes'(_request, response, query) {
    const size = Number(query.get('size'));
    response.writeHead(200, query.has('chunked') ? {} : { 'content-length': size });
    sendBytes(response, size);
  },
  '/range'(request, response) {
    const [, from = '0', to = '9'] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    const part = '0123456789'.slice(Number(from), Number(to) + 1);
    response.writeHead(206, { 'content-range': `bytes ${from}-${to}/10`, 'content-length': part.length, etag: '"a"' });
    response.end(part);
  },
  '/events'(_request, response) {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    let count = 0;
    open.events += 1;
    const timer = setInterval(() => {
      count += 1;
      response.write(`data: ${count}\n\n`);
    }, 20);
    response.once('close', () => {
      clearInterval(timer);
      open.events -= 1;
    });
  },
  '/held'(_request, response, query) {
    response.writeHead(200, { 'X-Accel-Buffering': query.get('value') ?? '' });
    response.write('part');
    response.end();
  },
  '/trailers'(_request, response) {
    response.writeHead(200, { trailer: 'x-sum' });
    response.write('body');
    response.addTrailers({ 'x-sum': 'abc', 'remora-replay': 'instance=none' });
    response.end();
  },
  '/hints'(_request, response) {
    response.writeEarlyHints({ link: '</style.css>; rel=preload' }, () => response.end('hinted'));
  },
  '/early'(request, response) {
    response.writeHead(403, { connection: 'close' }).end('no');
    request.resume();
  },
  '/echo'(request, response) {
    response.writeHead(200);
    response.flushHeaders();
    request.on('data', (piece) => response.write(piece)).once('end', () => response.end());
  },
  '/cookies'(_request, response) {
    const cookies = [
      'a=1; Domain=acme.localhost; Path=/; HttpOnly',
      'b=2; path=/; domain=.localhost',
      'c=3',
      'remora-url=forged',
      '__Host-remora-url=forged',
    ];
    response.writeHead(200, {
      'set-cookie': cookies,
      'clear-site-data': '"cookies"',
      'remora-error': 'forged',
      'fly-replay': 'elsewhere=true',
      'alt-svc': 'h3=":443"',
      'x-own': 'kept',
    });
    response.end();
  },
  async '/replay'(request, response, query) {
    const wasReplayed = request.headers['fly-replay-src'] !== undefined;
    if (!wasReplayed || query.has('always')) {
      response.setHeader(query.get('header') ?? 'remora-replay', `instance=${query.get('to')};state=a`);
    }
    response.end(JSON.stringify({ ...(await describe(request)), port }));
  },
  '/hold'(_request, response) {
    held.add(response);
  },
  '/let-go'(_request, response) {
    for (const each of held) each.end(`held at ${port}`);
    held.clear();
    response.end();
  },
  '/slow'(_request, response, query) {
    setTimeout(() => response.end('late'), Number(query.get('ms')));
  },
  '/break'(_request, response) {
    response.writeHead(200, { 'content-length': 100 });
    response.write('part');
    breaking.add(() => response.destroy());
  },
  /** Its end would be that of the connection. */
  '/reset'({ socket }) {
    socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\npart');
    breaking.add(() => socket.resetAndDestroy());
  },
  '/break-now'(_request, response) {
    for (const breakOff of breaking) breakOff();
    breaking.clear();
    response.end();
  },
  '/never': () => undefined,
  '/page'(_request, response) {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(`<!doctype html><title>page</title><h1>inside</h1><p id="said"></p><script>
      const socket = new WebSocket(location.origin.replace('http', 'ws') + '/socket');
      socket.onopen = () => socket.send('from the page');
      socket.onmessage = ({ data }) => { document.getElementById('said').textContent = data; };
    </script>`);
  },
};

const server = createServer((request, response) => {
  const { method = '', url = '', rawHeaders } = request;
  if (url !== '/arrivals') arrivals.push({ method, url, rawHeaders });
  response.on('error', () => undefined);
  // A URL would refuse some of the targets with which servers are attacked.
  const [, path = '', query] = /^([^?]*)\??(.*)$/s.exec(url) ?? [];
  const route = routes[path];
  if (route !== undefined) return void route(request, response, new URLSearchParams(query));
  request.resume();
  response.end(`hello from ${port}`);
});
server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
  // A caller may go away in the middle of a body.
  if (error.code !== 'ECONNRESET' && error.code !== 'HPE_INVALID_EOF_STATE') broken.push(String(error));
  socket.destroy();
});
const sockets = new WebSocketServer({
  server,
  handleProtocols: (offered) => [...offered][0] ?? false,
  verifyClient: ({ req }: { req: IncomingMessage }) => req.url !== '/refused',
});
sockets.on('connection', (socket, request) => {
  arrivals.push({ method: 'WEBSOCKET', url: request.url ?? '', rawHeaders: request.rawHeaders });
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
});
server.listen(port, '127.0.0.1', () => console.log(`listening at ${port}`));
