// Processes whose callers are interrupted: one without another caller ends with everything that it has started, a session runs on.
import { expect } from 'vitest';
import { eventually } from '../eventually.ts';
import { toExecQuery } from '../exec-socket.ts';
import type { KillablePlatform } from '../killable-platform.ts';
import { isGone } from '../left-machines.ts';
import { openCall } from './open-call.ts';
import { openSocket } from './open-socket.ts';
import type { Operation } from './operation.ts';

const sleeper = ['sh', '-c', 'echo "pid $$."; exec sleep 600'];
const SAID_PID = /pid (\d+)\./;

async function pidOf({ until }: { until(pattern: RegExp): Promise<string> }): Promise<number> {
  return Number(SAID_PID.exec(await until(SAID_PID))?.[1]);
}

const untilGone = async (pid: number) => void (await eventually(() => isGone(pid)));

export const exec: Operation = {
  name: 'exec over a WebSocket',
  async begin(platform) {
    const call = await openSocket(platform, `/exec?${toExecQuery(sleeper)}`);
    const pid = await pidOf(call);
    return {
      ending: call.ending,
      left: () => untilGone(pid),
      async again() {
        const next = await openSocket(platform, `/exec?${toExecQuery(['echo', 'again'])}`);
        expect(await next.ending()).toBe('closed 1000');
        expect(await next.until(/again/)).toContain('again\n');
      },
    };
  },
};

export const execOverHttp: Operation = {
  name: 'exec over HTTP',
  async begin(platform) {
    const path = (cmd: readonly string[]) => `/exec?${toExecQuery(cmd)}`;
    const feeding = { method: 'POST', path: path(['sh', '-c', 'echo "pid $$."; exec cat']), body: 'x', stays: true };
    const call = openCall(platform, feeding);
    const pid = await pidOf(call);
    return {
      ending: call.ending,
      left: () => untilGone(pid),
      async again() {
        const next = openCall(platform, { method: 'POST', path: path(['cat']), body: 'again' });
        expect([await next.ending(), next.text()]).toEqual(['whole', '\x01again\x03\0']);
      },
    };
  },
};

export const control: Operation = {
  name: 'exec over a control connection',
  async begin(platform) {
    const start = async (cmd: readonly string[]) => {
      const call = await openSocket(platform, '/control');
      call.socket.send(`control:${JSON.stringify({ type: 'op.start', op: 'exec', args: { cmd } })}`);
      return call;
    };
    const call = await start(sleeper);
    const pid = await pidOf(call);
    return {
      ending: call.ending,
      left: () => untilGone(pid),
      async again() {
        expect(await (await start(['echo', 'again'])).until(/op\.complete.*\}/)).toContain('again\n');
      },
    };
  },
};

const isActive = async (platform: KillablePlatform, id: string) =>
  (await platform.inside('/v1/exec')).sessions.some((session: { id: string }) => session.id === id);

export const attach: Operation = {
  name: 'a caller of a session',
  async begin(platform) {
    const loop = ['sh', '-c', 'echo "pid $$."; while read line; do echo "got $line."; done'];
    const first = await openSocket(platform, `/exec?${toExecQuery(loop, { detachable: 'true', stdin: 'true' })}`);
    const [, id = ''] = /"session_id":"(\w+)"/.exec(await first.until(/session_id[\s\S]*pid/)) ?? [];
    first.socket.close();
    const call = await openSocket(platform, `/exec/${id}`);
    const pid = await pidOf(call);
    return {
      ending: call.ending,
      async left() {
        // Longer than one that has no caller any more would live.
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        expect([isGone(pid), await isActive(platform, id)]).toEqual([false, true]);
      },
      async again() {
        const next = await openSocket(platform, `/exec/${id}`);
        expect(await pidOf(next)).toBe(pid);
        next.socket.send(Buffer.from('\0words\n'));
        await next.until(/got words\./);
        const kill = openCall(platform, { method: 'POST', path: `/exec/${id}/kill?timeout=1s` });
        expect(await kill.ending()).toBe('whole');
        await untilGone(pid);
      },
    };
  },
};
