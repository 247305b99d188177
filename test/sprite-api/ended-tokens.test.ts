// What callers of the Sprites API have open in a real machine ends with their token; what runs in the machine goes on.
import { existsSync, statSync } from 'node:fs';
import { type ClientRequest, request } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { execFrame } from '../../src/contract/processes.ts';
import { type Clock, systemClock } from '../../src/core/clock.ts';
import type { Secret } from '../../src/core/secret.ts';
import { openAgentMachine } from '../support/agent-machine.ts';
import { eventually } from '../support/eventually.ts';
import { openFreePort } from '../support/free-port.ts';
import { startTcp } from '../support/proxied-machine.ts';
import { tempDir } from '../support/temp-dir.ts';

const SPRITE = '/v1/sprites/dev-1';
const HOUR_MS = 3_600_000;
const policyEnd = { code: 1008, reason: 'unauthorized: the token is not valid any more' };

/** A clock that a test can set forward. */
function createClock(): Clock & { ahead_ms: number } {
  return {
    ...systemClock,
    ahead_ms: 0,
    wall_ms() {
      return systemClock.wall_ms() + this.ahead_ms;
    },
  };
}

const toHeaders = (token: Secret) => ({ authorization: `Bearer ${token.reveal()}` });

async function openSocket(url: string, target: string, token: Secret) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}${SPRITE}${target}`, { headers: toHeaders(token) });
  onTestFinished(() => socket.terminate());
  let text = '';
  socket.on('message', (data: Buffer) => {
    text += data.toString();
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.once('close', (code, reason) => resolve({ code, reason: String(reason) }));
  });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const type = (line: string) => socket.send(Buffer.concat([Buffer.from([execFrame.stdin]), Buffer.from(`${line}\n`)]));
  return { socket, closed, type, text: () => text };
}

/** A call over plain HTTP: `begun` when the first byte of its answer has come, `broken` when it ended without its end. */
function openCall(url: string, token: Secret, method: string, target: string, send?: (call: ClientRequest) => void) {
  const call = request(`${url}${target}`, { method, headers: toHeaders(token), agent: false });
  const begun = Promise.withResolvers<number>();
  const over = Promise.withResolvers<'broken' | 'whole'>();
  let text = '';
  call.on('error', () => over.resolve('broken'));
  call.once('response', (answer) => {
    begun.resolve(answer.statusCode ?? 0);
    answer.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    answer.once('error', () => over.resolve('broken')).once('end', () => over.resolve('whole'));
  });
  if (send === undefined) call.end();
  else send(call);
  onTestFinished(() => void call.destroy());
  return { call, begun: begun.promise, over: over.promise, text: () => text };
}

async function openMachine(clock: Clock) {
  const machine = await openAgentMachine({ trustMachines: true, clock });
  await machine.channel();
  return machine;
}

test('WebSockets and tunnels are closed with 1008, and what can be attached to goes on', {
  timeout: 120_000,
}, async () => {
  const clock = createClock();
  const { platform } = await openMachine(clock);
  const { url, admin } = platform;
  const dir = tempDir();
  const port = await openFreePort();
  await startTcp(platform, 'dev-1', { count: port });
  const revoked = await admin.createToken({ organization: 'acme', name: 'revoked' });
  const expiring = await admin.createToken({ organization: 'acme', expires_at: clock.wall_ms() + HOUR_MS });
  const kept = await admin.createToken({ organization: 'acme', expires_at: clock.wall_ms() + 3 * HOUR_MS });

  const open = async (token: Secret) => {
    const shell = await openSocket(url, '/exec?cmd=sh&stdin=true', token);
    shell.type('echo ready');
    await eventually(() => shell.text().includes('ready'));
    const terminal = await openSocket(url, '/exec?cmd=sh&tty=true&detachable=true', token);
    const session = () => /"session_id":"([^"]+)"/.exec(terminal.text())?.[1];
    const id = await eventually(session);
    const attached = await openSocket(url, `/exec/${id}`, token);
    const control = await openSocket(url, '/control', token);
    const watching = await openSocket(url, '/fs/watch', token);
    const tunnel = await eventually(async () => {
      const asked = await openSocket(url, '/proxy', token);
      asked.socket.send(JSON.stringify({ port }));
      await eventually(() => asked.text() !== '');
      return asked.text().includes('"connected"') && asked;
    });
    const unnamed = await openSocket(url, '/proxy', token);
    return { id, shell, sockets: { shell, terminal, attached, control, watching, tunnel, unnamed } };
  };
  const expectEnded = async ({ id, shell, sockets }: Awaited<ReturnType<typeof open>>) => {
    for (const [name, { closed }] of Object.entries(sockets))
      expect({ name, ...(await closed) }).toEqual({ name, ...policyEnd });
    const listed = await platform.call({ path: `${SPRITE}/exec` });
    expect(listed.text).toContain(`"${id}"`);
    expect(shell.socket.readyState).toBe(WebSocket.CLOSED);
  };

  const [first, second, third] = [await open(revoked), await open(expiring), await open(kept)];
  const { id: token_id = '' } = (await admin.listTokens('acme')).find(({ name }) => name === 'revoked') ?? {};
  await admin.revokeToken('acme', token_id);
  await expectEnded(first);
  expect(second.shell.socket.readyState).toBe(WebSocket.OPEN);
  clock.ahead_ms = 2 * HOUR_MS;
  await expectEnded(second);
  third.shell.type(`touch ${join(dir, 'kept')}`);
  await eventually(() => existsSync(join(dir, 'kept')));
  expect(Object.values(third.sockets).map(({ socket }) => socket.readyState)).not.toContain(WebSocket.CLOSED);
});

test('calls over plain HTTP break off, streams of the platform say why, and a process goes on', {
  timeout: 120_000,
}, async () => {
  const clock = createClock();
  const { platform, id } = await openMachine(clock);
  const { url, admin } = platform;
  const dir = tempDir();
  const expires_at = clock.wall_ms() + HOUR_MS;
  const token = await admin.createToken({ organization: 'acme', expires_at });
  const ofSprite = await admin.createToken({ organization: 'acme', sprite: 'dev-1', expires_at });
  const program = `setInterval(() => require('node:fs').appendFileSync(${JSON.stringify(join(dir, 'beats'))}, 'a'), 50)`;
  const body = JSON.stringify({ cmd: process.execPath, args: ['-e', program], needs: [] });
  const calls = {
    service: openCall(url, token, 'PUT', `${SPRITE}/services/beat?duration=100s`, (call) =>
      call.setHeader('content-type', 'application/json').end(body),
    ),
    process: openCall(url, token, 'POST', `${SPRITE}/exec?cmd=cat`, (call) => call.write('input')),
  };
  for (const { begun } of Object.values(calls)) expect(await begun).toBe(200);
  await eventually(() => existsSync(join(dir, 'beats')));
  const logs = openCall(url, token, 'GET', `${SPRITE}/services/beat/logs?duration=100s`);
  expect(await logs.begun).toBe(200);
  const file = `${SPRITE}/fs/write?${new URLSearchParams({ path: 'upload', workingDir: dir })}`;
  const upload = openCall(url, token, 'PUT', file, (call) => call.write('first bytes'));
  const streams = {
    log: openCall(url, token, 'GET', `/v1/apps/acme/machines/${id}/log?follow=true`),
    changes: openCall(url, ofSprite, 'GET', '/v1/gateway/changes'),
  };
  for (const { begun } of Object.values(streams)) expect(await begun).toBe(200);
  clock.ahead_ms = 2 * HOUR_MS;
  for (const [name, { over }] of Object.entries({ ...calls, logs, upload })) {
    expect({ name, over: await over }).toEqual({ name, over: 'broken' });
  }
  for (const { over, text } of Object.values(streams)) {
    expect(await over).toBe('whole');
    expect(text().trimEnd().split('\n').at(-1)).toContain('{"type":"error","error":"unauthorized"');
  }
  const beats = statSync(join(dir, 'beats')).size;
  await eventually(() => statSync(join(dir, 'beats')).size > beats);
});
