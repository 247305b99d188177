// What callers get wrong, and what goes wrong in a machine, at the door of the platform: each is a clear error, and nothing is lost.
import { execFileSync } from 'node:child_process';
import {
  chownSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { openAgentMachine } from '../support/agent-machine.ts';
import { ask } from '../support/ask.ts';
import { openOnce } from '../support/at-end.ts';
import { startChild } from '../support/child-lines.ts';
import { eventually } from '../support/eventually.ts';
import { toExecQuery } from '../support/exec-socket.ts';
import { loudly } from '../support/loudly.ts';
import type { PlatformCall } from '../support/open-platform.ts';

const MEGABYTE = 1024 * 1024;
const isRoot = process.geteuid?.() === 0;

const opened = openOnce(async () => {
  const machine = await openAgentMachine({ trustMachines: true });
  const home = (...names: readonly string[]) => join(machine.dir, 'home', ...names);
  const authorization = `Bearer ${machine.platform.token.reveal()}`;
  return {
    home,
    authorization,
    agentSocket: machine.socket,
    url: `${machine.platform.url}/v1/sprites/dev-1`,
    call: (method: string, path: string, body?: unknown) =>
      machine.platform.call({ method, path: `/v1/sprites/dev-1${path}`, body } satisfies PlatformCall),
    /** `path`: in the home of the machine. */
    query: (path: string, more: Readonly<Record<string, string>> = {}) =>
      new URLSearchParams({ path, workingDir: home(), ...more }).toString(),
  };
});

/** Resolves with the status when the WebSocket is refused. */
function refusalOf(path: string): Promise<number | undefined> {
  const { url, authorization } = opened();
  const socket = new WebSocket(url.replace('http', 'ws') + path, { headers: { authorization } });
  socket.on('error', () => undefined);
  onTestFinished(() => socket.terminate());
  return new Promise((resolve) => {
    socket.once('unexpected-response', (_request, response) => resolve(response.statusCode));
    socket.once('open', () => resolve(undefined));
  });
}

test('what is no host is refused also where nothing is restricted, at the platform and in the machine', async () => {
  const { agentSocket, call } = opened();
  const explain = (host: string) => call('POST', '/policy/network/explain', { host });
  expect(await explain('a b')).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  expect(await explain('[2001:db8::1]')).toMatchObject({ status: 200, json: { decision: 'allow' } });
  const inside = (host: string) =>
    ask(agentSocket, {
      method: 'POST',
      target: '/v1/policy/network/explain',
      body: JSON.stringify({ host }),
      headers: { 'content-type': 'application/json' },
    });
  expect(await inside('a b')).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  expect(await inside('a.example')).toMatchObject({ status: 200, json: { decision: 'allow' } });
});

test('an unknown service is not found, whatever is asked of it', async () => {
  const { call } = opened();
  for (const [method, path, body] of [
    ['GET', '/services/none'],
    ['DELETE', '/services/none'],
    ['POST', '/services/none/start'],
    ['POST', '/services/none/stop'],
    ['POST', '/services/none/restart'],
    ['GET', '/services/none/logs'],
    ['POST', '/services/signal', { name: 'none', signal: 'SIGTERM' }],
  ] as const) {
    const { status, json } = await call(method, path, body);
    expect([path, status, json]).toMatchObject([
      path,
      404,
      { error: 'not_found', message: expect.stringMatching(/none/) },
    ]);
  }
});

test('an unknown session is not found', async () => {
  const { call } = opened();
  const killed = await call('POST', '/exec/none/kill');
  expect([killed.status, killed.json.error]).toEqual([404, 'not_found']);
  expect(await refusalOf('/exec/none')).toBe(404);
});

test('an unknown file is not found, and is named', async () => {
  const { call, query, home } = opened();
  const asked = { workingDir: home(), source: 'none', dest: 'other', path: 'none', mode: '644', uid: 0 };
  for (const [method, path, body] of [
    ['GET', `/fs/read?${query('none')}`],
    ['GET', `/fs/list?${query('none')}`],
    ['DELETE', `/fs/delete?${query('none')}`],
    ['POST', '/fs/rename', asked],
    ['POST', '/fs/copy', asked],
    ['POST', '/fs/chmod', asked],
    ['POST', '/fs/chown', { ...asked, asRoot: isRoot }],
  ] as const) {
    const { status, json } = await call(method, path, body);
    const known = { error: 'not_found', code: 'ENOENT', path: home('none') };
    expect([path, status, json]).toMatchObject([path, 404, known]);
  }
});

test('a cycle is refused and named, and the definitions stay', async () => {
  const { call } = opened();
  const sleeper = (...needs: string[]) => ({ cmd: 'sleep', args: ['600'], needs });
  expect((await call('PUT', '/services/a?duration=0s', sleeper())).status).toBe(200);
  expect((await call('PUT', '/services/b?duration=0s', sleeper('a'))).status).toBe(200);
  const { status, json } = await call('PUT', '/services/a?duration=0s', sleeper('b'));
  expect([status, json]).toMatchObject([
    400,
    { error: 'invalid_request', message: expect.stringMatching(/a → b → a|b → a → b/) },
  ]);
  expect((await call('GET', '/services/a')).json).toMatchObject({ needs: [] });
});

test('a name with a slash is refused, and makes no file', async () => {
  const { call, home } = opened();
  for (const name of ['a%2Fb', '..%2F..%2Fx', '.hidden', '%00']) {
    const { status, json } = await call('PUT', `/services/${name}?duration=0s`, { cmd: 'sleep' });
    expect([name, status, json.error]).toEqual([name, 400, 'invalid_request']);
  }
  expect((await call('PUT', '/services/a/b?duration=0s', { cmd: 'sleep' })).status).toBe(404);
  expect(readdirSync(home('..')).filter((name) => name.startsWith('x'))).toEqual([]);
});

test('a program that does not exist: the stream says so, and the state is failed', async () => {
  const { call } = opened();
  const { status, text } = await call('PUT', '/services/missing?duration=2s', { cmd: 'no-such-program' });
  const events = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect([status, events[0]]).toMatchObject([200, { type: 'error', data: expect.stringContaining('no-such-program') }]);
  const { state } = (await call('GET', '/services/missing')).json;
  expect(state).toMatchObject({ status: 'failed', error: expect.stringContaining('no-such-program') });
  expect((await call('DELETE', '/services/missing')).status).toBe(204);
});

test('a body that is cut short leaves the old file, and nothing beside it', async () => {
  const { url, authorization, query, home, call } = opened();
  mkdirSync(home('short'));
  writeFileSync(home('short', 'x'), 'old');
  for (const append of ['false', 'true']) {
    const headers = { authorization, 'content-length': String(4 * MEGABYTE) };
    const writing = request(`${url}/fs/write?${query('short/x', { append })}`, {
      method: 'PUT',
      headers,
      agent: false,
    });
    writing.on('error', () => undefined);
    writing.write(Buffer.alloc(2 * MEGABYTE));
    const sizes = () => readdirSync(home('short')).map((name) => statSync(home('short', name)).size);
    await eventually(() => sizes().some((size) => size > MEGABYTE));
    writing.destroy();
    await eventually(() => readdirSync(home('short')).join() === 'x' && sizes()[0] === 3);
    expect(readFileSync(home('short', 'x'), 'utf8')).toBe('old');
  }
  expect((await call('GET', `/fs/read?${query('short/x')}`)).text).toBe('old');
});

test.skipIf(loudly(!isRoot, 'a disk that fills up: this is not root'))(
  'a disk that fills up is 507, and the old content is whole',
  async () => {
    const { home, url, authorization, query } = opened();
    mkdirSync(home('small'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', home('small')]);
    onTestFinished(() => void execFileSync('umount', ['-l', home('small')]));
    writeFileSync(home('small', 'x'), 'old');
    for (const append of ['false', 'true']) {
      const answer = await fetch(`${url}/fs/write?${query('small/x', { append })}`, {
        method: 'PUT',
        headers: { authorization },
        body: Buffer.alloc(4 * MEGABYTE),
      });
      const known = { error: 'storage_full', code: 'ENOSPC', path: home('small', 'x') };
      expect([answer.status, await answer.json()]).toMatchObject([507, known]);
      expect([readdirSync(home('small')), readFileSync(home('small', 'x'), 'utf8')]).toEqual([['x'], 'old']);
    }
  },
);

const SWAP_ROUNDS = 40;

test.skipIf(loudly(!isRoot, 'a link of another user: this is not root'))(
  'a directory that becomes a link during the call is not followed as root',
  async () => {
    const { home, query, call } = opened();
    const [nobody, names] = [65_534, ['d', 'other', 'link'].map((name) => home('swap', name))];
    for (const dir of ['swap', 'swap/d', 'victim']) mkdirSync(home(dir));
    for (const [path, content] of [
      ['swap/d/x', 'own'],
      ['victim/x', 'secret'],
    ] as const)
      writeFileSync(home(path), content);
    symlinkSync(home('victim'), home('swap', 'link'));
    lchownSync(home('swap', 'link'), nobody, nobody);
    for (const path of ['swap', 'swap/d', 'swap/d/x']) chownSync(home(path), nobody, nobody);
    const script = new URL('../support/swap-child.ts', import.meta.url).pathname;
    await startChild(process.execPath, [script, ...names]).line(/swapping/);
    const counts = new Map<number, number>();
    for (let round = 0; round < SWAP_ROUNDS; round += 1) {
      const asked = { workingDir: home(), path: 'swap/d/x', mode: '666', asRoot: true };
      const answers = [
        await call('GET', `/fs/read?${query('swap/d/x', { asRoot: 'true' })}`),
        await call('POST', '/fs/chmod', asked),
        await call('DELETE', `/fs/delete?${query(`swap/d/y${round}`, { asRoot: 'true' })}`),
      ];
      for (const { status, text } of answers) {
        counts.set(status, (counts.get(status) ?? 0) + 1);
        expect(text).not.toContain('secret');
      }
    }
    expect([readFileSync(home('victim', 'x'), 'utf8'), statSync(home('victim', 'x')).mode & 0o777]).toEqual([
      'secret',
      0o644,
    ]);
    // It was a race: both sides were met, and none was an error of the server.
    expect(counts.get(200)).toBeGreaterThan(0);
    expect((counts.get(403) ?? 0) + (counts.get(400) ?? 0)).toBeGreaterThan(0);
    expect([...counts.keys()].filter((status) => status >= 500)).toEqual([]);
  },
);

test('10,000 files are listed', async () => {
  const { home, query, call } = opened();
  mkdirSync(home('many'));
  for (let index = 0; index < 10_000; index += 1) writeFileSync(home('many', String(index)), '');
  const { json } = await call('GET', `/fs/list?${query('many')}`);
  expect([json.count, new Set(json.entries.map(({ name }: { name: string }) => name)).size]).toEqual([10_000, 10_000]);
});

const POURED_BYTES = 40 * MEGABYTE;

test('a reader that stops reading holds its process back and nobody else, and loses nothing', async () => {
  const { url, authorization, home, call } = opened();
  const pour = `process.stdout.write(Buffer.alloc(${POURED_BYTES}), () => require('node:fs').writeFileSync('poured', ''))`;
  const target = `/exec?${toExecQuery([process.execPath, '-e', pour], { dir: home() })}`;
  const socket = new WebSocket(url.replace('http', 'ws') + target, { headers: { authorization } });
  onTestFinished(() => socket.terminate());
  let received_bytes = 0;
  let isHeld = false;
  socket.on('message', (frame: Buffer) => {
    if (frame[0] === 1) received_bytes += frame.length - 1;
    if (received_bytes === 0 || isHeld) return;
    isHeld = true;
    socket.pause();
  });
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  await eventually(() => isHeld);
  // What is under way on the way here fills its buffers meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect((await call('GET', '/services')).status).toBe(200);
  expect(readdirSync(home())).not.toContain('poured');
  socket.resume();
  expect([await closed, received_bytes]).toEqual([1000, POURED_BYTES]);
  expect(readdirSync(home())).toContain('poured');
});
