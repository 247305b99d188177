// A sprite whose machine serves HTTP, behind the proxy of its platform.
import { request } from 'node:http';
import type { Secret } from '../../src/core/secret.ts';
import { openAgentMachine } from './agent-machine.ts';
import { eventually } from './eventually.ts';
import { openFreePort } from './free-port.ts';
import type { TestPlatformOptions } from './open-platform.ts';

export interface ProxyQuestion {
  readonly host?: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
  readonly token?: Secret;
}

export interface ProxyAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly rawHeaders: readonly string[];
  readonly trailers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the fields of answers are what the tests compare.
  readonly json: any;
}

const webPath = new URL('./web-child.ts', import.meta.url).pathname;
const tcpPath = new URL('./tcp-child.ts', import.meta.url).pathname;
export const SPRITE_HOST = 'dev-1.acme.localhost';

export function askProxy(port: number, question: ProxyQuestion): Promise<ProxyAnswer> {
  const { host = SPRITE_HOST, path = '/', method = 'GET', headers = {}, body, token } = question;
  const credential = token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` };
  return new Promise((resolve, reject) => {
    const call = request({
      host: '127.0.0.1',
      port,
      method,
      path,
      agent: false,
      headers: { host: `${host}:${port}`, ...credential, ...headers } as Record<string, string | string[]>,
    });
    call.once('error', reject);
    call.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('error', reject);
      response.once('end', () => {
        const isJson = (response.headers['content-type'] ?? '').startsWith('application/json');
        const { statusCode: status = 0, headers, rawHeaders, trailers } = response;
        resolve({ status, headers, rawHeaders, trailers, text, json: isJson ? JSON.parse(text) : undefined });
      });
    });
    call.end(body);
  });
}

type Caller = {
  call(call: { method: string; path: string; body: unknown }): Promise<{ status: number; text: string }>;
};

/** Starts a program as a service of a sprite, or of a machine by its id. Throws unless it was started. */
export async function startProgram(platform: Caller, sprite: string, name: string, body: object): Promise<void> {
  const path = `/v1/sprites/${sprite}/services/${name}?duration=0s`;
  const made = await platform.call({ method: 'PUT', path, body: { needs: [], ...body } });
  if (made.status !== 200) throw new Error(made.text);
}

/** Starts the web server of the tests as a service of a sprite. Resolves with its port. */
export async function startWeb(
  platform: Caller,
  {
    sprite = 'dev-1',
    name = 'web',
    isHttp = true,
    port: given,
  }: { sprite?: string; name?: string; isHttp?: boolean; port?: number } = {},
): Promise<number> {
  const port = given ?? (await openFreePort());
  const http = isHttp ? { http_port: port } : {};
  await startProgram(platform, sprite, name, { cmd: process.execPath, args: [webPath, String(port)], ...http });
  return port;
}

/** Starts `tcp-child.ts` in a machine, which serves each of these at its port. */
export async function startTcp(
  platform: Caller,
  machine: string,
  ports: Readonly<Record<string, number>>,
): Promise<void> {
  const words = Object.entries(ports).map(([what, port]) => `${what}:${port}`);
  await startProgram(platform, machine, 'tcp', { cmd: process.execPath, args: [tcpPath, ...words] });
}

/** A platform with a proxy and the sprite `dev-1`, whose URL is public and whose web server answers. */
export async function openProxiedMachine(options: TestPlatformOptions = {}) {
  const machine = await openAgentMachine({
    trustMachines: true,
    proxy: { listen: { host: '127.0.0.1', port: 0 } },
    ...options,
  });
  const { platform } = machine;
  const setUrl = (url_settings: object) =>
    platform.call({ method: 'PUT', path: '/v1/sprites/dev-1', body: { url_settings } });
  const { url } = (await setUrl({ auth: 'public' })).json;
  const proxyPort = Number(new URL(url).port);
  const webPort = await startWeb(platform);
  const ask = (question: ProxyQuestion) => askProxy(proxyPort, question);
  await eventually(async () => (await ask({})).status === 200 || undefined);
  return { machine, platform, url: url as string, proxyPort, webPort, ask, setUrl };
}
