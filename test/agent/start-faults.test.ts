// Whatever cannot be had at the start: a listener or a setting ends the process with a code and one line; a file that the agent can
// do without costs a part, which says so, and the agent serves and stops as ever.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readdirSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { spawnAgent, startAgent } from '../support/agent-process.ts';
import { loudly } from '../support/loudly.ts';
import { remoraPath } from '../support/run-remora.ts';
import { tempDir } from '../support/temp-dir.ts';

const END_MS = 45_000;

async function take(listen: (server: Server) => void): Promise<Server> {
  const server = createServer();
  listen(server);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return server;
}

function write(path: string, text: string): string {
  writeFileSync(path, text);
  return path;
}

interface Fault {
  readonly name: string;
  /** The environment in which the start fails. */
  make(dir: string): Promise<Record<string, string>> | Record<string, string>;
  readonly said: RegExp;
}

const faults: readonly Fault[] = [
  {
    name: 'the socket is served by another process',
    async make(dir) {
      const path = join(dir, 'taken.sock');
      await take((server) => server.listen(path));
      return { REMORA_SOCKET: path };
    },
    said: /another process is serving on .*taken\.sock; .*\(socket_in_use\)/,
  },
  {
    name: 'the socket is a file of somebody',
    make: (dir) => ({ REMORA_SOCKET: write(join(dir, 'file'), 'precious') }),
    said: /exists and is not a socket.*\(not_a_socket\)/,
  },
  {
    name: 'the path of the socket is too long',
    make: (dir) => ({ REMORA_SOCKET: join(dir, 'x'.repeat(120)) }),
    said: /too long for a Unix socket.*\(path_too_long\)/,
  },
  {
    name: 'the directory of the socket is a file',
    make: (dir) => ({ REMORA_SOCKET: join(write(join(dir, 'file'), ''), 'a.sock') }),
    said: /the socket .*a\.sock cannot be made: (not a directory|file already exists).*\(cannot_listen\)/,
  },
  {
    name: 'the directory of the socket cannot be made',
    make: () => ({ REMORA_SOCKET: '/proc/remora/a.sock' }),
    said: /the socket .*a\.sock cannot be made: no such file.*\(cannot_listen\)/,
  },
  {
    name: 'the directory of the socket may not be written',
    make: () => ({ REMORA_SOCKET: '/sys/kernel/a.sock' }),
    said: /the socket .*a\.sock cannot be made: .*(permitted|denied|read-only).*\(cannot_listen\)/,
  },
  {
    name: 'the group of the socket is unknown',
    make: () => ({ REMORA_SOCKET_GROUP: 'nobody-has-this-group' }),
    said: /there is no group nobody-has-this-group/,
  },
  {
    name: 'the loopback address is taken',
    async make() {
      const server = await take((made) => made.listen(0, '127.0.0.1'));
      return { REMORA_LISTEN: `127.0.0.1:${(server.address() as AddressInfo).port}` };
    },
    said: /cannot listen on 127\.0\.0\.1:\d+: another process listens there; .*\(address_in_use\)/,
  },
  {
    name: 'the loopback address is not of loopback',
    make: () => ({ REMORA_LISTEN: '192.0.2.1:80' }),
    said: /192\.0\.2\.1 is not a loopback address/,
  },
  {
    name: 'the read-only socket is served by another process',
    async make(dir) {
      const path = join(dir, 'taken.sock');
      await take((server) => server.listen(path));
      return { REMORA_READONLY_SOCKET: path };
    },
    said: /another process is serving on .*taken\.sock/,
  },
  {
    name: 'the read-only socket is the main one',
    make: (dir) => ({ REMORA_READONLY_SOCKET: join(dir, 'agent.sock') }),
    said: /agent\.sock/,
  },
  {
    name: 'the read-only socket is a directory',
    make: (dir) => ({ REMORA_READONLY_SOCKET: dir }),
    said: /exists and is not a socket/,
  },
  {
    name: 'the config file is missing',
    make: (dir) => ({ REMORA_CONFIG: join(dir, 'none.toml') }),
    said: /none\.toml/,
  },
  {
    name: 'the config file is no TOML',
    make: (dir) => ({ REMORA_CONFIG: write(join(dir, 'bad.toml'), 'socket = = 3\n') }),
    said: /bad\.toml/,
  },
  { name: 'a setting has no such value', make: () => ({ REMORA_SOCKET_MODE: 'rw' }), said: /REMORA_SOCKET_MODE/ },
];

describe('a start that cannot work ends with a code and one line: ', () => {
  it.each(faults)('$name', async ({ make, said }) => {
    const dir = tempDir();
    const agent = spawnAgent({ REMORA_LOG_LEVEL: 'info', ...(await make(dir)) }, dir);
    const late = setTimeout(() => agent.child.kill('SIGKILL'), END_MS);
    const code = await agent.ended;
    clearTimeout(late);
    expect(code, agent.log()).toBe(1);
    const lines = agent.log().trim().split('\n');
    // The TOML parser shows the place with the line above and below.
    if (!/bad\.toml/.test(agent.log())) expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^error: /);
    expect(agent.log()).toMatch(said);
    expect(agent.log()).not.toMatch(/^ +at |node:|\\n +at /m);
    expect(existsSync(join(dir, 'agent.sock'))).toBe(false);
  });

  it('a descriptor that systemd handed over is not a socket', async () => {
    const dir = tempDir();
    const file = openSync(write(join(dir, 'file'), ''), 'r');
    const env = { PATH: process.env.PATH ?? '', REMORA_STATE_DIR: join(dir, 'state'), LISTEN_FDS: '1' };
    const child = spawn(process.execPath, [remoraPath, 'agent'], { stdio: ['ignore', 'ignore', 'pipe', file], env });
    onTestFinished(() => void child.kill('SIGKILL'));
    let text = '';
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    const [code] = await once(child, 'close');
    closeSync(file);
    expect(code).toBe(1);
    expect(text).toMatch(/^error: descriptor 3 was handed over but is not a listening socket.*\n$/);
  });
});

describe('a start that lacks files serves, says so, and stops at SIGTERM', () => {
  it('directories, the token and the hooks', async () => {
    const dir = tempDir();
    const open = join(dir, 'open');
    mkdirSync(open);
    chmodSync(open, 0o777);
    const agent = await startAgent(
      {
        REMORA_STATE_DIR: write(join(dir, 'state-is-a-file'), ''),
        REMORA_TOKEN_FILE: join(dir, 'no-token'),
        REMORA_HOOKS_DIR: write(join(dir, 'hooks-is-a-file'), ''),
        REMORA_GENERATION_FILE: join(open, 'generation'),
        REMORA_NODE_URL: 'http://127.0.0.1:9',
        REMORA_POSITIONS_DIR: join(write(join(dir, 'positions-in-a-file'), ''), 'positions'),
      },
      dir,
    );
    await expect
      .poll(async () => (await agent.get('/v1/ready')).json)
      .toMatchObject({
        parts: {
          settings: { state: 'degraded', reason: expect.stringMatching(/token.*no-token/) },
          store: { state: 'degraded', reason: expect.stringMatching(/state-is-a-file.*cannot be used/) },
          hooks: { state: 'degraded', reason: expect.stringMatching(/hooks-is-a-file/) },
          replication: { state: expect.stringMatching(/degraded|failed/) },
        },
      });
    expect((await agent.get('/v1/status')).json).toMatchObject({
      details: { generation_file: { problem: expect.stringMatching(/others may write/) } },
    });
    expect((await agent.get('/v1/health')).status).toBe(200);
    agent.child.kill('SIGTERM');
    expect(await agent.ended).toBe(0);
  });

  it('a state directory that cannot be made', async () => {
    const agent = await startAgent({ REMORA_STATE_DIR: '/proc/remora/state', REMORA_NODE_URL: 'http://127.0.0.1:9' });
    expect((await agent.get('/v1/ready')).json).toMatchObject({ parts: { store: { state: 'degraded' } } });
    agent.child.kill('SIGTERM');
    expect(await agent.ended).toBe(0);
  });

  it.each([0o644, 0o600])('a token in a file of mode %o', async (mode) => {
    const dir = tempDir();
    const token = write(join(dir, 'token'), 'secret-token');
    chmodSync(token, mode);
    const agent = await startAgent({ REMORA_TOKEN_FILE: token }, dir);
    const reason = expect.stringMatching(/^token_file: others may read .*token; it is used; chmod 600 .*token$/);
    const settings = mode === 0o600 ? { state: 'ok' } : { state: 'degraded', reason };
    expect((await agent.get('/v1/ready')).json).toMatchObject({ parts: { settings } });
    expect(agent.log()).not.toContain('secret-token');
  });

  it('a state directory that others may write, in which it leaves nothing', async () => {
    const dir = tempDir();
    const state = join(dir, 'state');
    mkdirSync(state);
    chmodSync(state, 0o777);
    const agent = await startAgent({}, dir);
    expect((await agent.get('/v1/ready')).json).toMatchObject({
      parts: { store: { state: 'degraded', reason: expect.stringMatching(/others may write to .*chmod go-w/) } },
    });
    agent.child.kill('SIGTERM');
    expect(await agent.ended).toBe(0);
    expect(readdirSync(state)).toEqual([]);
  });

  it('files of the state', async () => {
    const dir = tempDir();
    const state = join(dir, 'state');
    mkdirSync(state);
    write(join(state, 'agent.db'), 'x'.repeat(10_000));
    mkdirSync(join(state, 'gateway-log.db'));
    const newer = new Database(join(state, 'replication.db'));
    newer.pragma('user_version = 999');
    newer.close();
    const agent = await startAgent({ REMORA_NODE_URL: 'http://127.0.0.1:9' }, dir);
    await expect
      .poll(async () => (await agent.get('/v1/ready')).json)
      .toMatchObject({
        parts: {
          store: { state: 'degraded', reason: expect.stringMatching(/was damaged/) },
          replication: { state: expect.stringMatching(/degraded|failed/) },
        },
      });
    await expect
      .poll(async () => (await agent.get('/v1/replication')).json)
      .toMatchObject({ cache: { state: 'memory' } });
    agent.child.kill('SIGTERM');
    expect(await agent.ended).toBe(0);
  });

  it.skipIf(loudly(!existsSync('/dev/full'), 'there is no /dev/full'))('a disk that is full', async () => {
    const dir = tempDir();
    // A file size limit of zero makes every write of a file fail, as a full disk does.
    const env = {
      PATH: process.env.PATH ?? '',
      REMORA_SOCKET: join(dir, 'a.sock'),
      REMORA_STATE_DIR: join(dir, 'state'),
    };
    const command = `trap '' XFSZ; ulimit -f 0; exec "${process.execPath}" "${remoraPath}" agent`;
    const child = spawn('/bin/sh', ['-c', command], { stdio: 'ignore', env });
    onTestFinished(() => void child.kill('SIGKILL'));
    const ended = once(child, 'close');
    await expect.poll(() => existsSync(join(dir, 'a.sock')), { timeout: END_MS }).toBe(true);
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });
});
