// What is compared: how each is started, and how one sees that it serves. Each is one process with one thread of work.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { agentProgram } from '../../../src/cli/agent-program.ts';
import { NODE_FLAGS } from '../../../src/core/node-flags.ts';

export interface Subject {
  readonly name: string;
  readonly socketPath: string;
  /** Absent for `direct`. */
  readonly pid?: number;
}

const here = (name: string) => new URL(name, import.meta.url).pathname;
const START_MS = 20_000;
const TARGET = '/v1/gateway/openai/conn_1/v1/1k';

/** The path of a Unix socket, or a port of this machine. */
export type Place = string | number;

/** Serves at `place` what comes from `port`, with its files in `dir`. Undefined when the program is not installed. */
export type StartSubject = (dir: string, port: number, place: Place) => ChildProcess | undefined;

export const nodeProxies = ['node:http + undici', 'http-proxy', 'httpxy', 'fast-proxy', '@fastify/http-proxy'] as const;

export const starts: Readonly<Record<string, StartSubject>> = {
  nginx(dir, port, place) {
    const program = findProgram('nginx');
    if (program === undefined) return undefined;
    const config = join(dir, 'nginx.conf');
    writeFileSync(config, toNginxConfig(dir, port, place));
    return start(program, ['-c', config, '-e', join(dir, 'error.log')]);
  },
  haproxy(dir, port, place) {
    const program = findProgram('haproxy');
    if (program === undefined) return undefined;
    const config = join(dir, 'haproxy.cfg');
    writeFileSync(config, toHaproxyConfig(port, place));
    return start(program, ['-db', '-f', config]);
  },
  ...Object.fromEntries(
    nodeProxies.map((name) => [
      name,
      (_dir: string, port: number, place: Place) =>
        start(process.execPath, [here('node-proxy.ts'), name, String(place), String(port)]),
    ]),
  ),
};

/** An agent that serves on `s.sock` in `dir`; `port` is that of its platform. `program`: the path of the command, that of the sources when absent. */
export function startAgent(
  dir: string,
  of: { readonly port: number; readonly sprite: string; readonly token: string; readonly program?: string },
) {
  mkdirSync(join(dir, 'state'));
  const env = {
    PATH: process.env.PATH,
    REMORA_SOCKET: join(dir, 's.sock'),
    REMORA_STATE_DIR: join(dir, 'state'),
    REMORA_BASE_URL: `http://127.0.0.1:${of.port}`,
    REMORA_SPRITE: of.sprite,
    REMORA_TOKEN: of.token,
    REMORA_LOG_LEVEL: 'warn',
    REMORA_GATEWAY_RATE: '1000000',
    REMORA_GATEWAY_IN_FLIGHT: '2000',
  };
  const args = of.program === undefined ? agentProgram.args : [...NODE_FLAGS, of.program, 'agent'];
  return start(agentProgram.command, args, env);
}

/** Resolves when it answers. */
export async function waitFor(child: ChildProcess, place: Place, target = TARGET): Promise<void> {
  const deadline = performance.now() + START_MS;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode}`);
    if ((typeof place === 'number' || existsSync(place)) && (await answers(place, target))) return;
    await sleep(50);
  }
  throw new Error(`${child.spawnfile} does not serve`);
}

function answers(place: Place, target: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = typeof place === 'number' ? connect(place, '127.0.0.1') : connect(place);
    socket.once('error', () => resolve(false));
    socket.once('data', (chunk: Buffer) => {
      socket.destroy();
      resolve(chunk.toString('latin1').startsWith('HTTP/1.1 200'));
    });
    socket.write(`GET ${target} HTTP/1.1\r\nHost: bench\r\n\r\n`);
  });
}

function start(program: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): ChildProcess {
  return spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'], env });
}

function findProgram(name: string): string | undefined {
  const places = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  return places.map((place) => join(place, name)).find((path) => existsSync(path));
}

/** Bodies pass through memory only, and events at once: what an agent has to do. */
function toNginxConfig(dir: string, port: number, place: Place): string {
  return `daemon off;
master_process off;
worker_processes 1;
worker_rlimit_nofile 8192;
pid ${dir}/nginx.pid;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path ${dir}/body;
  proxy_temp_path ${dir}/proxy;
  fastcgi_temp_path ${dir}/fastcgi;
  uwsgi_temp_path ${dir}/uwsgi;
  scgi_temp_path ${dir}/scgi;
  keepalive_requests 100000000;
  upstream up { server 127.0.0.1:${port}; keepalive 1024; keepalive_requests 100000000; }
  server {
    listen ${typeof place === 'number' ? `127.0.0.1:${place}` : `unix:${place}`};
    location / {
      proxy_pass http://up;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_max_temp_file_size 0;
      proxy_read_timeout 600s;
    }
    location ~ /(sse|idle)$ {
      proxy_pass http://up;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 600s;
    }
  }
}
`;
}

function toHaproxyConfig(port: number, place: Place): string {
  return `global
  nbthread 1
  maxconn 4096
defaults
  mode http
  timeout connect 5s
  timeout client 600s
  timeout server 600s
  http-reuse always
frontend in
  bind ${typeof place === 'number' ? `127.0.0.1:${place}` : `unix@${place}`}
  default_backend up
backend up
  server one 127.0.0.1:${port}
`;
}
