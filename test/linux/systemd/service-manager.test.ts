import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { type Notice, toNotifyWords } from '../../../src/linux/systemd/notice.ts';
import { runNotifyCommand } from '../../../src/linux/systemd/notify-command.ts';
import { openNotifySocket, toSocketAddress } from '../../../src/linux/systemd/notify-socket.ts';
import { openServiceManager, toWatchdog } from '../../../src/linux/systemd/service-manager.ts';
import { loudly } from '../../support/loudly.ts';
import { tempDir } from '../../support/temp-dir.ts';

const python = spawnSync('python3', ['--version']).status === 0;
const notifier = spawnSync('systemd-notify', ['--version']).status === 0;
const withoutPython = loudly(!python, 'python3 is missing: what is sent to systemd is not read');
const withoutNotifier = loudly(!python || !notifier, 'python3 or systemd-notify is missing: the command is not tried');

/** A real datagram socket that prints the sender and the text of each message as one JSON line. */
async function openListener(path = join(tempDir(), 'notify.sock')) {
  const script = `
import json, os, socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
s.bind(sys.argv[1].replace("@", "\\0"))
print(json.dumps("bound"), flush=True)
while True:
    text, extra, _, _ = s.recvmsg(4096, 4096)
    # systemd-notify waits until what it hands over is closed.
    for _, kind, data in extra:
        if kind == socket.SCM_RIGHTS: os.close(struct.unpack("i", data)[0])
    pid = [struct.unpack("3i", data)[0] for _, kind, data in extra if kind == socket.SCM_CREDENTIALS]
    print(json.dumps([pid[0], text.decode()]), flush=True)`;
  const child = spawn('python3', ['-c', script, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => JSON.parse((await lines.next()).value ?? 'null');
  expect(await next()).toBe('bound');
  return { path, next };
}

it.skipIf(withoutPython).each([undefined, `@remora-test-${process.pid}`])(
  'tells from this very process, over a path or an abstract name (%s)',
  async (name) => {
    const { path, next } = await openListener(name);
    const env = { NOTIFY_SOCKET: path, WATCHDOG_USEC: '20000000', WATCHDOG_PID: `${process.pid}`, PATH: '/nowhere' };
    const manager = await openServiceManager(env, process.pid);
    expect(manager?.watchdog_ms).toBe(20_000);
    const notices: readonly [Notice, string][] = [
      [{ ready: true, status: 'serving on\n/run/remora' }, 'READY=1\nSTATUS=serving on /run/remora'],
      [{ alive: true }, 'WATCHDOG=1'],
      [{ stopping: true }, 'STOPPING=1'],
    ];
    for (const [notice, text] of notices) {
      expect(await manager?.tell(notice)).toBeUndefined();
      expect(await next()).toEqual([process.pid, text]);
    }
  },
);

it.skipIf(withoutPython)('waits for a reader that is busy, and loses nothing', async () => {
  const script = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("bound", flush=True)
sys.stdin.readline()
count = 0
while s.recv(100) != b"READY=1": count += 1
print(count, flush=True)`;
  const path = join(tempDir(), 'notify.sock');
  const child = spawn('python3', ['-c', script, path], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('bound');
  const socket = await openNotifySocket(path);
  let taken = 0;
  while (socket?.send('STATUS=x') === true) taken += 1;
  expect(taken).toBeGreaterThan(0);
  const manager = await openServiceManager({ NOTIFY_SOCKET: path, PATH: '/nowhere' }, process.pid);
  const told = manager?.tell({ ready: true });
  child.stdin.end('\n');
  expect(await told).toBeUndefined();
  expect((await lines.next()).value).toBe(`${taken}`);
});

it.skipIf(withoutNotifier)('can tell through the program of systemd', async () => {
  const { path, next } = await openListener();
  expect(await runNotifyCommand(path, ['READY=1', 'STATUS=x'], process.env.PATH)).toBeUndefined();
  expect(await next()).toEqual([expect.any(Number), expect.stringMatching(/^READY=1\nSTATUS=x\n?$/)]);
});

it('reports a socket that nobody reads, and does not throw', async () => {
  const env = { PATH: tempDir(), NOTIFY_SOCKET: join(tempDir(), 'gone.sock') };
  const manager = await openServiceManager(env, process.pid);
  expect(await manager?.tell({ ready: true })).toMatch(/^systemd was not notified: .*ENOENT/);
});

it.each([{}, { NOTIFY_SOCKET: '' }])('is not there where nobody wants to be told: %j', async (env) => {
  expect(await openServiceManager(env, process.pid)).toBeUndefined();
});

it.each([
  [{ ready: true }, ['READY=1']],
  [{ stopping: true, status: 'bye' }, ['STOPPING=1', 'STATUS=bye']],
  [{ reloading_us: 12n }, ['RELOADING=1', 'MONOTONIC_USEC=12']],
  [{ status: 'a\nREADY=1\0\u001b[1m' }, ['STATUS=a READY=1 [1m']],
  [{ status: 'x'.repeat(600) }, [`STATUS=${'x'.repeat(500)}…`]],
  [{}, []],
])('writes %o as %j', (notice, words) => {
  expect(toNotifyWords(notice)).toEqual(words);
});

it.each([
  [{ WATCHDOG_USEC: '60000000' }, 60_000],
  [{ WATCHDOG_USEC: '60000000', WATCHDOG_PID: '7' }, 60_000],
  [{ WATCHDOG_USEC: '60000000', WATCHDOG_PID: '8' }, undefined],
  [{ WATCHDOG_USEC: '0' }, undefined],
  [{ WATCHDOG_USEC: 'soon' }, undefined],
  [{}, undefined],
])('is watched by %j of process 7: %s', (env, limit_ms) => {
  expect(toWatchdog(env, 7)).toBe(limit_ms);
});

it.each(['', '/', 'relative', 'vsock:2:1234', `/${'x'.repeat(107)}`])('takes %j for no address', (path) => {
  expect(toSocketAddress(path)).toBeUndefined();
});
