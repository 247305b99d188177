// Listening: which starter gets a path, which files are never deleted, that no client connects too early, and descriptors that
// are handed over.
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { takeInheritedSockets } from '../../src/http/inherited-sockets.ts';
import { isLoopback } from '../../src/http/is-loopback.ts';
import { listenOnDescriptor } from '../../src/http/listen-on-descriptor.ts';
import { listenOnPath } from '../../src/http/listen-on-path.ts';
import { listenOnLoopback } from '../../src/http/listen-on-tcp.ts';
import { ask } from '../support/ask.ts';
import { startChild } from '../support/child-lines.ts';
import { signalRunning } from '../support/signal-running.ts';
import { tempDir } from '../support/temp-dir.ts';

const support = (name: string) => new URL(`../support/${name}`, import.meta.url).pathname;

function createNamed(name: string): Server {
  const server = createServer((_request, response) => {
    response.end(name);
  });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return server;
}

const textAt = async (path: string) => (await ask(path, { target: '/' })).text;

/** The socket file of a process that was killed. */
async function leaveStale(path: string): Promise<void> {
  const child = startChild(process.execPath, [support('listen-child.ts'), path]);
  await child.line(/^serving/);
  child.process.kill('SIGKILL');
  await child.ended;
  expect(lstatSync(path).isSocket()).toBe(true);
}

describe('a path', () => {
  test('below directories that are made for it may be reached by others, whatever the mask is', async () => {
    const root = tempDir();
    const mask = process.umask(0o077);
    onTestFinished(() => void process.umask(mask));
    await listenOnPath(createNamed('new'), { path: join(root, 'a/b/c.sock'), mode: 0o666 });
    const modes = ['a', 'a/b', 'a/b/c.sock'].map((name) => (statSync(join(root, name)).mode & 0o777).toString(8));
    expect(modes).toEqual(['755', '755', '666']);
  });

  test('whose server was killed is taken over', async () => {
    const path = join(tempDir(), 'a.sock');
    await leaveStale(path);
    await listenOnPath(createNamed('new'), { path, mode: 0o600 });
    expect(await textAt(path)).toBe('new');
  });

  test('that somebody serves is refused, and the first keeps serving', async () => {
    const path = join(tempDir(), 'a.sock');
    await listenOnPath(createNamed('first'), { path, mode: 0o600 });
    await expect(listenOnPath(createNamed('second'), { path, mode: 0o600 })).rejects.toMatchObject({
      name: 'ListenError',
      code: 'socket_in_use',
      message: expect.stringContaining(path),
    });
    expect(await textAt(path)).toBe('first');
    expect(readdirSync(dirname(path))).toEqual(['a.sock']);
  });

  test('with a file, a directory or a link is refused and left as it is', async () => {
    const directory = tempDir();
    const live = join(directory, 'live.sock');
    await listenOnPath(createNamed('live'), { path: live, mode: 0o600 });
    const file = join(directory, 'file');
    writeFileSync(file, 'precious');
    mkdirSync(join(directory, 'dir'));
    symlinkSync(file, join(directory, 'to-file'));
    symlinkSync(live, join(directory, 'to-live'));
    symlinkSync(join(directory, 'nothing'), join(directory, 'to-nothing'));
    const before = readdirSync(directory).sort();
    for (const name of ['file', 'dir', 'to-file', 'to-live', 'to-nothing']) {
      const listening = listenOnPath(createNamed('new'), { path: join(directory, name), mode: 0o600 });
      await expect(listening, name).rejects.toMatchObject({ code: 'not_a_socket' });
    }
    expect(readdirSync(directory).sort()).toEqual(before);
    expect(readFileSync(file, 'utf8')).toBe('precious');
    expect(await textAt(live)).toBe('live');
  });

  test('that is too long says so', async () => {
    const path = join(tempDir(), 'a'.repeat(108));
    await expect(listenOnPath(createNamed('x'), { path, mode: 0o600 })).rejects.toMatchObject({
      code: 'path_too_long',
    });
  });

  test('gets its directory made', async () => {
    const path = join(tempDir(), 'run', 'remora', 'a.sock');
    await listenOnPath(createNamed('made'), { path, mode: 0o600 });
    expect(await textAt(path)).toBe('made');
  });

  test.each([0o600, 0o660, 0o666])('gets mode %o whatever the umask, which stays as it is', async (mode) => {
    const umask = process.umask(0o077);
    onTestFinished(() => {
      process.umask(umask);
    });
    const path = join(tempDir(), 'a.sock');
    await listenOnPath(createNamed('x'), { path, mode });
    expect(statSync(path).mode & 0o777).toBe(mode);
    expect(process.umask()).toBe(0o077);
  });

  test('cannot be reached by anybody before it has its mode: until then it lies in a directory of our own', async () => {
    const umask = process.umask(0);
    onTestFinished(() => {
      process.umask(umask);
    });
    const path = join(tempDir(), 'a.sock');
    const server = createNamed('x');
    let seen: unknown;
    server.prependOnceListener('listening', () => {
      const bound = String(server.address());
      const cradle = statSync(dirname(bound));
      seen = { mode: cradle.mode & 0o777, own: cradle.uid === process.getuid?.(), named: existsSync(path), bound };
    });
    await listenOnPath(server, { path, mode: 0o600 });
    expect(seen).toEqual({ mode: 0o700, own: true, named: false, bound: expect.stringContaining(dirname(path)) });
    expect(readdirSync(dirname(path))).toEqual(['a.sock']);
  });

  test('gets its group, by number or by name; an unknown one stops the start', async () => {
    const gid = process.getgid?.() ?? 0;
    const name = /^([^:]+):[^:]*:(\d+):/m;
    const entry = readFileSync('/etc/group', 'utf8')
      .split('\n')
      .find((line) => line.split(':')[2] === String(gid));
    const groups = [String(gid), ...(entry === undefined ? [] : [name.exec(entry)?.[1] ?? ''])];
    for (const group of groups) {
      const path = join(tempDir(), 'a.sock');
      await listenOnPath(createNamed('x'), { path, mode: 0o660, group });
      expect(statSync(path).gid).toBe(gid);
    }
    const path = join(tempDir(), 'a.sock');
    const unknown = listenOnPath(createNamed('x'), { path, mode: 0o660, group: 'no-such-group' });
    await expect(unknown).rejects.toMatchObject({ code: 'unknown_group' });
    expect(readdirSync(dirname(path))).toEqual([]);
  });

  test('is removed at the end, unless it is somebody else’s by then', async () => {
    const path = join(tempDir(), 'a.sock');
    const first = await listenOnPath(createNamed('first'), { path, mode: 0o600 });
    first[Symbol.dispose]();
    expect(existsSync(path)).toBe(false);
    first[Symbol.dispose]();
    const second = await listenOnPath(createNamed('second'), { path, mode: 0o600 });
    renameSync(path, `${path}.moved`);
    await listenOnPath(createNamed('third'), { path, mode: 0o600 });
    second[Symbol.dispose]();
    first[Symbol.dispose]();
    expect(await textAt(path)).toBe('third');
  });

  test('of a server that closes while another starts stays the other’s', async () => {
    const path = join(tempDir(), 'a.sock');
    const old = createNamed('old');
    const listening = await listenOnPath(old, { path, mode: 0o600 });
    await new Promise((resolve) => old.close(resolve));
    await listenOnPath(createNamed('new'), { path, mode: 0o600 });
    listening[Symbol.dispose]();
    expect(await textAt(path)).toBe('new');
  });

  test('whose server is too busy to accept is in use', async (context) => {
    if (!hasPython()) context.skip('python3 is missing: nothing here can hold a listener without accepting');
    const path = join(tempDir(), 'a.sock');
    const holder = startChild('python3', [support('socket-holder.py'), path, '0', process.execPath]);
    await holder.line(/^bound$/);
    for (const _ of [1, 2, 3]) {
      const socket = connect(path);
      socket.on('error', () => undefined);
      onTestFinished(() => {
        socket.destroy();
      });
    }
    await expect(listenOnPath(createNamed('x'), { path, mode: 0o600 })).rejects.toMatchObject({
      code: 'socket_in_use',
    });
  });
});

describe('several starters on one stale path', () => {
  test('of one process: exactly one wins, each time', async () => {
    const path = join(tempDir(), 'a.sock');
    await leaveStale(path);
    const stale = `${path}.stale`;
    renameSync(path, stale);
    for (let round = 0; round < 10; round += 1) {
      linkSync(stale, path);
      const names = ['a', 'b', 'c', 'd', 'e'];
      const servers = names.map(createNamed);
      const results = await Promise.allSettled(servers.map((server) => listenOnPath(server, { path, mode: 0o600 })));
      const winners = names.filter((_, index) => results[index]?.status === 'fulfilled');
      expect(winners).toHaveLength(1);
      expect(await textAt(path)).toBe(winners[0]);
      for (const result of results) {
        if (result.status === 'fulfilled') result.value[Symbol.dispose]();
        else expect(result.reason).toMatchObject({ code: 'socket_in_use' });
      }
      expect(readdirSync(dirname(path))).toEqual(['a.sock.stale']);
    }
  });

  test('of several processes: exactly one wins', async () => {
    const path = join(tempDir(), 'a.sock');
    await leaveStale(path);
    const children = [1, 2, 3, 4].map(() => startChild(process.execPath, [support('listen-child.ts'), path]));
    const results = await Promise.all(children.map((child) => child.line(/^(serving|refused)/)));
    const winners = results.filter((line) => line.startsWith('serving'));
    expect(winners).toHaveLength(1);
    expect(results.filter((line) => line === 'refused socket_in_use')).toHaveLength(3);
    expect(await textAt(path)).toBe(winners[0]?.replace('serving', 'pid'));
  });
});

describe('a loopback listener', () => {
  test.each([
    ['127.0.0.1', true],
    ['127.8.9.10', true],
    ['127.999.1.1', false],
    ['127.0.0.256', false],
    ['127.0.0.1.', false],
    ['::1', true],
    ['[::1]', true],
    ['localhost', true],
    ['LOCALHOST', true],
    ['', false],
    ['0.0.0.0', false],
    ['::', false],
    ['10.0.0.1', false],
    ['1270.0.0.1', false],
    ['127.0.0.1.evil.example', false],
    ['localhost.evil.example', false],
    ['::ffff:127.0.0.1', false],
  ])('%s is loopback: %s', (host, expected) => {
    expect(isLoopback(host)).toBe(expected);
  });

  test('serves on 127.0.0.1 and takes a free port', async () => {
    const address = await listenOnLoopback(createNamed('x'), '127.0.0.1', 0);
    expect(address).toMatchObject({ address: '127.0.0.1', port: expect.any(Number) });
    expect(address.port).toBeGreaterThan(0);
  });

  test('is refused on any other address', async () => {
    const server = createNamed('x');
    await expect(listenOnLoopback(server, '0.0.0.0', 0)).rejects.toMatchObject({ code: 'not_loopback' });
    expect(server.listening).toBe(false);
  });

  test('says when the port is taken', async () => {
    const { port } = await listenOnLoopback(createNamed('first'), '127.0.0.1', 0);
    await expect(listenOnLoopback(createNamed('second'), '127.0.0.1', port)).rejects.toMatchObject({
      code: 'address_in_use',
    });
  });
});

describe('an inherited socket', () => {
  test.each([
    [{}, []],
    [{ LISTEN_FDS: '1' }, [{ fd: 3, name: '' }]],
    [{ LISTEN_FDS: '1', LISTEN_PID: '42' }, [{ fd: 3, name: '' }]],
    [{ LISTEN_FDS: '1', LISTEN_PID: '43' }, []],
    [{ LISTEN_FDS: '1', LISTEN_PID: 'x' }, []],
    [
      { LISTEN_FDS: '2', LISTEN_PID: '42', LISTEN_FDNAMES: 'main:readonly' },
      [
        { fd: 3, name: 'main' },
        { fd: 4, name: 'readonly' },
      ],
    ],
    [{ LISTEN_FDS: '0' }, []],
    [{ LISTEN_FDS: '-1' }, []],
    [{ LISTEN_FDS: '1.5' }, []],
    [{ LISTEN_FDS: 'many' }, []],
    [{ LISTEN_FDS: '' }, []],
  ])('%j', (env: NodeJS.ProcessEnv, expected) => {
    const given = { ...env, OTHER: 'kept' };
    expect(takeInheritedSockets(given, 42)).toEqual(expected);
    expect(given).toEqual({ OTHER: 'kept' });
  });

  test('that counts a million descriptors is not believed', () => {
    expect(takeInheritedSockets({ LISTEN_FDS: '1000000' }, 1)).toHaveLength(16);
  });

  test('that is no listening socket says so', async () => {
    const file = openSync(import.meta.filename, 'r');
    await expect(listenOnDescriptor(createNamed('x'), file)).rejects.toMatchObject({ code: 'bad_descriptor' });
  });

  test.for(['right', 'unset'])(
    'answers callers that connected before the daemon was up, and during a restart: LISTEN_PID %s',
    async (pid, context) => {
      if (!hasPython()) context.skip('python3 is missing: nothing here can hand a socket over');
      const path = join(tempDir(), 'a.sock');
      const holder = startChild('python3', [
        support('socket-holder.py'),
        path,
        '64',
        process.execPath,
        support('listen-child.ts'),
      ]);
      await holder.line(/^bound$/);
      for (let run = 0; run < 2; run += 1) {
        const early = [1, 2, 3].map(() => textAt(path));
        await new Promise<void>((resolve) => {
          const probe = connect(path, () => {
            probe.destroy();
            resolve();
          });
        });
        holder.say(pid);
        const daemon = Number((await holder.line(/^started/)).split(' ')[1]);
        const serving = JSON.parse((await holder.line(/^serving/)).slice('serving '.length));
        expect(serving).toEqual({
          inherited: [{ fd: 3, name: 'remora.socket' }],
          left: null,
          grandchild: expect.not.stringContaining('socket'),
        });
        expect(await Promise.all(early)).toEqual(Array(3).fill(`pid ${daemon}`));
        signalRunning(daemon, 'SIGKILL');
        await holder.line(/^ended/);
        expect(lstatSync(path).isSocket()).toBe(true);
      }
    },
  );

  test('that was meant for another process is not taken', async (context) => {
    if (!hasPython()) context.skip('python3 is missing: nothing here can hand a socket over');
    const path = join(tempDir(), 'a.sock');
    const holder = startChild('python3', [
      support('socket-holder.py'),
      path,
      '64',
      process.execPath,
      support('listen-child.ts'),
    ]);
    holder.say('wrong');
    expect(await holder.line(/inherited|serving/)).toBe('nothing inherited');
  });
});

function hasPython(): boolean {
  return spawnSync('python3', ['--version']).status === 0;
}
