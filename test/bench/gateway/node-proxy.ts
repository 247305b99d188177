// One of the proxies of the Node world, with kept-alive connections to the upstream. Arguments: its name, the socket or port to serve
// on, the port of the upstream.
import { Agent, createServer, type IncomingMessage, type ServerResponse } from 'node:http';

const [name = '', place = '', port = ''] = process.argv.slice(2);
const target = `http://127.0.0.1:${port}`;
const agent = new Agent({ keepAlive: true, maxSockets: 4_096 });

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** Headers of one connection: the next one has its own. */
const ofConnection = new Set(['connection', 'host', 'keep-alive', 'transfer-encoding']);

function withoutConnection(headers: readonly string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const [name = '', value = ''] = [headers[index], headers[index + 1]];
    if (!ofConnection.has(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}

const proxies: Readonly<Record<string, () => Promise<Serve>>> = {
  async 'http-proxy'() {
    const { default: httpProxy } = await import('http-proxy');
    const proxy = httpProxy.createProxyServer({ target, agent });
    proxy.on('error', (_error, _request, response) => response.destroy());
    return (request, response) => proxy.web(request, response);
  },
  async httpxy() {
    const { createProxyServer } = await import('httpxy');
    const proxy = createProxyServer({ target, agent });
    return (request, response) => void proxy.web(request, response).catch(() => response.destroy());
  },
  async 'fast-proxy'() {
    const { default: fastProxy } = await import('fast-proxy');
    const { proxy } = fastProxy({ base: target, undici: { connections: 4_096, pipelining: 1, bodyTimeout: 0 } });
    return (request, response) => proxy(request, response, request.url ?? '/', {});
  },
  /** The two that the agent is built on, and nothing else: what no code of ours can undercut. */
  async 'node:http + undici'() {
    const { Pool } = await import('undici');
    const pool = new Pool(target, { connections: 4_096, pipelining: 1, bodyTimeout: 0, allowH2: false });
    return (request, response) => {
      const { method = 'GET', url: path = '/' } = request;
      const headers = withoutConnection(request.rawHeaders);
      let resume: (() => void) | undefined;
      response.on('drain', () => resume?.());
      pool.dispatch(
        { method, path, headers, body: null },
        {
          onRequestStart: () => undefined,
          onResponseStart({ rawHeaders }, status) {
            const texts = Array.isArray(rawHeaders) ? rawHeaders.map((item) => item.toString('latin1')) : [];
            response.writeHead(status, withoutConnection(texts));
          },
          onResponseData(controller, chunk) {
            resume = () => controller.resume();
            if (!response.write(chunk)) controller.pause();
          },
          onResponseEnd: () => void response.end(),
          onResponseError: () => void response.destroy(),
        },
      );
    };
  },
  async '@fastify/http-proxy'() {
    const { default: fastify } = await import('fastify');
    const { default: httpProxy } = await import('@fastify/http-proxy');
    const server = fastify();
    await server.register(httpProxy, {
      upstream: target,
      undici: { connections: 4_096, pipelining: 1, bodyTimeout: 0 },
    });
    await server.ready();
    return (request, response) => server.routing(request, response);
  },
};

const serve = await proxies[name]?.();
if (serve === undefined) throw new Error(`there is no proxy ${name}`);
createServer({ keepAliveTimeout: 60_000 }, serve).listen({
  ...(/^\d+$/.test(place) ? { host: '127.0.0.1', port: Number(place) } : { path: place }),
  backlog: 4_096,
});
