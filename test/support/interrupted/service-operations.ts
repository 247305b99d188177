// Services whose callers are interrupted: what was asked for goes on without them.
import { existsSync } from 'node:fs';
import { expect } from 'vitest';
import { eventually } from '../eventually.ts';
import type { KillablePlatform } from '../killable-platform.ts';
import { isGone } from '../left-machines.ts';
import { openCall } from './open-call.ts';
import { openSocket } from './open-socket.ts';
import type { Operation } from './operation.ts';

const JSON_BODY = { 'content-type': 'application/json' };

function define(platform: KillablePlatform, name: string, cmd: readonly string[], duration: string) {
  const [program, ...args] = cmd;
  const body = JSON.stringify({ cmd: program, args });
  return openCall(platform, {
    method: 'PUT',
    path: `/services/${name}?duration=${duration}`,
    headers: JSON_BODY,
    body,
  });
}

async function makeService(platform: KillablePlatform, name: string, cmd: readonly string[]): Promise<void> {
  expect(await define(platform, name, cmd, '0s').ending()).toBe('whole');
}

/** The state that its own machine tells. */
async function stateOf(platform: KillablePlatform, name: string): Promise<{ status: string; pid?: number }> {
  return (await platform.inside(`/v1/services/${name}`)).state;
}

async function runningPid(platform: KillablePlatform, name: string): Promise<number> {
  return await eventually(async () => {
    const { status, pid } = await stateOf(platform, name);
    return status === 'running' ? pid : undefined;
  });
}

export const start: Operation = {
  name: 'the start of a service',
  async begin(platform) {
    const call = define(platform, 'web', ['sh', '-c', 'echo up; exec sleep 600'], '60s');
    await call.until(/"data":"up/);
    const pid = await runningPid(platform, 'web');
    return {
      ending: call.ending,
      async left() {
        expect([await runningPid(platform, 'web'), isGone(pid)]).toEqual([pid, false]);
      },
      async again() {
        const next = openCall(platform, { method: 'POST', path: '/services/web/start?duration=0s' });
        expect(await next.ending()).toBe('whole');
        expect(await runningPid(platform, 'web')).toBe(pid);
      },
    };
  },
};

export const stop: Operation = {
  name: 'the stop of a service that ignores SIGTERM',
  mayBeOver: true,
  prepare: (platform) => makeService(platform, 'stubborn', ['sh', '-c', 'trap "" TERM; while :; do sleep 1; done']),
  async begin(platform) {
    const pid = await runningPid(platform, 'stubborn');
    const call = openCall(platform, { method: 'POST', path: '/services/stubborn/stop?timeout=3s' });
    await call.until(/"stopping"/);
    return {
      ending: call.ending,
      async left() {
        await eventually(async () => (await stateOf(platform, 'stubborn')).status === 'stopped');
        expect(isGone(pid)).toBe(true);
      },
      async again() {
        const asked = (move: string) => openCall(platform, { method: 'POST', path: `/services/stubborn/${move}` });
        expect(await asked('start?duration=0s').ending()).toBe('whole');
        await runningPid(platform, 'stubborn');
        const next = asked('stop?timeout=1s');
        expect([await next.ending(), next.text()]).toEqual(['whole', expect.stringContaining('"stopped"')]);
      },
    };
  },
};

export const logs: Operation = {
  name: 'a follower of a log',
  prepare: (platform) => makeService(platform, 'talker', ['sh', '-c', 'while :; do echo tick; sleep 0.1; done']),
  async begin(platform) {
    const pid = await runningPid(platform, 'talker');
    const call = openCall(platform, { method: 'GET', path: '/services/talker/logs?duration=60s' });
    await call.until(/tick/);
    return {
      ending: call.ending,
      async left() {
        expect(await runningPid(platform, 'talker')).toBe(pid);
      },
      async again() {
        const next = openCall(platform, { method: 'GET', path: '/services/talker/logs?lines=5&duration=0s' });
        expect([await next.ending(), next.text().split('tick').length]).toEqual(['whole', 6]);
      },
    };
  },
};

const echo = `
const { writeFileSync } = require('node:fs');
const server = require('node:net').createServer((socket) => {
  socket.pipe(socket);
  socket.on('error', () => undefined);
  socket.on('close', () => writeFileSync('echo-closed', ''));
});
server.listen(0, '127.0.0.1', () => console.log('port ' + server.address().port + '.'));`;

/** A connection over which a word has gone there and back. Undefined while the listener is not seen yet. */
async function tryEcho(platform: KillablePlatform, port: number) {
  const call = await openSocket(platform, '/proxy');
  call.socket.send(JSON.stringify({ port }));
  if (!(await call.until(/"status".*\}/)).includes('connected')) return undefined;
  call.socket.send(Buffer.from('-a word'));
  await call.until(/a word/);
  return call;
}

export const proxy: Operation = {
  name: 'a connection to a port',
  prepare: (platform) => makeService(platform, 'echo', [process.execPath, '-e', echo]),
  async begin(platform) {
    const logs = openCall(platform, { method: 'GET', path: '/services/echo/logs?duration=60s' });
    const port = Number(/port (\d+)\./.exec(await logs.until(/port \d+\./))?.[1]);
    const call = await eventually(() => tryEcho(platform, port));
    return {
      ending: call.ending,
      left: async () => void (await eventually(() => existsSync(platform.home('echo-closed')))),
      async again() {
        const next = await eventually(() => tryEcho(platform, port));
        next.socket.close();
      },
    };
  },
};
