import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { notifySystemd, toNotifyWords } from '../../src/linux/sd-notify.ts';
import { loudly } from '../support/loudly.ts';
import { tempDir } from '../support/temp-dir.ts';

const python = spawnSync('python3', ['--version']).status === 0;
const notifier = spawnSync('systemd-notify', ['--version']).status === 0;
const missing = loudly(!python || !notifier, 'python3 or systemd-notify is missing: sd_notify is not tried');

/** A real datagram socket that prints each message as one JSON line, where the protocol's newlines are visible. */
async function openListener() {
  const path = join(tempDir(), 'notify.sock');
  const script = `
import json, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print(json.dumps("bound"), flush=True)
while True: print(json.dumps(s.recv(4096).decode()), flush=True)`;
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

it.skipIf(missing)('says that it is ready, with a status, and that it stops', async () => {
  const listener = await openListener();
  const env = { ...process.env, NOTIFY_SOCKET: listener.path, REMORA_TOKEN: 'not for children' };
  expect(await notifySystemd(env, { ready: true, status: 'serving on\n/run/remora' })).toBeUndefined();
  expect(
    String(await listener.next())
      .trim()
      .split('\n'),
  ).toEqual(['READY=1', 'STATUS=serving on /run/remora']);
  expect(await listener.next()).toBe('BARRIER=1');
  expect(await notifySystemd(env, { stopping: true })).toBeUndefined();
  expect(String(await listener.next()).trim()).toBe('STOPPING=1');
});

it.skipIf(missing)('reports a socket that nobody reads, and does not throw', async () => {
  const env = { PATH: process.env.PATH, NOTIFY_SOCKET: join(tempDir(), 'gone.sock') };
  expect(await notifySystemd(env, { ready: true })).toMatch(/^systemd was not notified: /);
});

it('reports that the program is missing, and does not throw', async () => {
  const env = { PATH: tempDir(), NOTIFY_SOCKET: '/nowhere' };
  expect(await notifySystemd(env, { ready: true })).toMatch(/ENOENT/);
});

it('does nothing when systemd is not there', async () => {
  expect(await notifySystemd({ PATH: '' }, { ready: true })).toBeUndefined();
});

it.each([
  [{ ready: true }, ['READY=1']],
  [{ stopping: true, status: 'bye' }, ['STOPPING=1', 'STATUS=bye']],
  [{ status: 'a\nREADY=1' }, ['STATUS=a READY=1']],
  [{}, []],
])('writes %j as %j', (notice, words) => {
  expect(toNotifyWords(notice)).toEqual(words);
});
