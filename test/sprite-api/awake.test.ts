// What keeps the machine of a sprite awake, and what does not: real calls over the channel, and the agent's own word of why.
import { once } from 'node:events';
import { type SpriteCommand, SpritesClient } from '@fly/sprites';
import { expect, onTestFinished, test } from 'vitest';
import WebSocket from 'ws';
import { type IdleStatus, idleStatus } from '../../src/contract/local/tasks.ts';
import { openAgentMachine } from '../support/agent-machine.ts';
import { ask } from '../support/ask.ts';
import { eventually } from '../support/eventually.ts';
import { tempDir } from '../support/temp-dir.ts';

async function openSprite() {
  const machine = await openAgentMachine({ trustMachines: true });
  const { platform, socket } = machine;
  const client = new SpritesClient(platform.token.reveal(), { baseURL: platform.url });
  const idle = async (): Promise<IdleStatus> => idleStatus.parse((await ask(socket, { target: '/v1/idle' })).json);
  const owners = async () =>
    (await idle()).blockers.filter(({ kind }) => kind !== 'suspend_state').map(({ kind, owner }) => `${kind} ${owner}`);
  const openSocket = async (path: string) => {
    const ws = new WebSocket(`${platform.url.replace('http', 'ws')}/v1/sprites/dev-1${path}`, {
      headers: { authorization: `Bearer ${platform.token.reveal()}` },
    });
    onTestFinished(() => ws.terminate());
    await once(ws, 'open');
    return ws;
  };
  await machine.channel();
  return { machine, socket, platform, sprite: client.sprite('dev-1'), idle, owners, openSocket };
}

const untilPrinted = (command: SpriteCommand) => once(command.stdout, 'data');

test('a process with a caller, and not a silent one that was left, unless it prints', async () => {
  const { sprite, idle, owners } = await openSprite();
  const quiet = sprite.spawn('sh', ['-c', 'echo secret-word; exec sleep 60'], { detachable: true });
  await untilPrinted(quiet);
  const [session] = await sprite.listSessions();
  await eventually(async () => (await owners()).length === 2);
  expect(await owners()).toEqual(['call exec', `session sh (${session?.id})`]);
  expect(JSON.stringify(await idle())).not.toContain('secret-word');
  Reflect.get(quiet, 'wsCmd').close();
  // It has just printed.
  await eventually(async () => (await owners()).join() === `session sh (${session?.id})`);
  expect((await idle()).blockers).toMatchObject([{ reason: 'it printed within 30 s' }]);
  const silent = sprite.spawn('sleep', ['60'], { detachable: true });
  await once(silent, 'spawn');
  await eventually(async () => (await owners()).some((owner) => owner.startsWith('session sleep')));
  Reflect.get(silent, 'wsCmd').close();
  await eventually(async () => (await owners()).every((owner) => !owner.startsWith('session sleep')));
});

test('a process of a control connection, and not the connection', async () => {
  const { owners, openSocket, idle } = await openSprite();
  const control = await openSocket('/control');
  expect(await owners()).toEqual([]);
  control.send('control:{"type":"op.start","op":"exec","args":{"cmd":["cat"],"stdin":true}}');
  await eventually(async () => (await owners()).length === 1);
  expect((await idle()).blockers).toMatchObject([{ kind: 'session', reason: 'a caller is connected' }]);
  control.send(Buffer.from([4]));
  await eventually(async () => (await owners()).length === 0);
});

test('a file that is being written and a connection to a port, and not those who look on', async () => {
  const { owners, openSocket, sprite, platform } = await openSprite();
  const watcher = await openSocket('/fs/watch');
  watcher.send(JSON.stringify({ type: 'subscribe', paths: [tempDir()], recursive: false, workingDir: '/' }));
  await once(watcher, 'message');
  const port =
    'const s = require("node:net").createServer(); s.listen(0, () => console.log("port " + s.address().port))';
  for await (const _ of await sprite.createService('server', { cmd: process.execPath, args: ['-e', port] }, '0s'));
  const number = await eventually(async () => {
    const logs = await sprite.getServiceLogs('server', { lines: 10, duration: '0s' });
    const printed: string[] = [];
    for await (const { data } of logs) printed.push(data ?? '');
    const found = /port (\d+)/.exec(printed.join('\n'))?.[1];
    return found !== undefined && Number(found);
  });
  const follower = await fetch(`${platform.url}/v1/sprites/dev-1/services/server/logs?duration=1h`, {
    headers: { authorization: `Bearer ${platform.token.reveal()}` },
  });
  onTestFinished(() => follower.body?.cancel());
  await eventually(async () => (await owners()).length === 0);
  const { body, write } = toSlowBody();
  const path = new URLSearchParams({ path: 'f', workingDir: tempDir() });
  const writing = fetch(`${platform.url}/v1/sprites/dev-1/fs/write?${path}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${platform.token.reveal()}`, 'content-type': 'application/octet-stream' },
    body,
    duplex: 'half',
  } as RequestInit);
  await eventually(async () => (await owners()).join() === 'call writeFile');
  write();
  expect((await writing).status).toBe(200);
  const proxy = await eventually(async () => {
    const ws = await openSocket('/proxy');
    ws.send(JSON.stringify({ port: number }));
    const [answer] = await once(ws, 'message');
    return JSON.parse(String(answer)).status === 'connected' ? ws : undefined;
  });
  await eventually(async () => (await owners()).join() === `call port ${number}`);
  proxy.close();
  await eventually(async () => (await owners()).length === 0);
});

/** A body that has begun, and ends when it is asked to. */
function toSlowBody() {
  let write = () => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new Uint8Array(10));
      write = () => controller.close();
    },
  });
  return { body, write: () => write() };
}

test('a suspend that is asked for inside is refused while a process runs, and names it', async () => {
  const { sprite, socket } = await openSprite();
  const running = sprite.spawn('sh', ['-c', 'echo up; sleep 60']);
  await untilPrinted(running);
  const refused = await ask(socket, { method: 'POST', target: '/v1/machine/suspend' });
  expect([refused.status, refused.json]).toMatchObject([409, { error: 'held' }]);
  expect(refused.text).toContain('exec (1 in flight)');
  expect(refused.text).toMatch(/sh \([0-9a-f]+\) \(a caller is connected\)/);
});

test('a process is still there after a suspend, and its caller can attach again', async () => {
  const { machine, sprite } = await openSprite();
  const first = sprite.spawn('sh', ['-c', 'echo up; read line; echo "got $line"'], { detachable: true });
  first.on('error', () => undefined);
  await untilPrinted(first);
  const [session] = await sprite.listSessions();
  expect((await machine.post('suspend')).status).toBe(200);
  expect((await machine.wait('state=suspended')).status).toBe(200);
  expect((await machine.post('start')).status).toBe(200);
  const second = sprite.attachSession(session?.id ?? '');
  let seen = '';
  second.stdout.on('data', (part: Buffer) => {
    seen += part;
  });
  await eventually(() => seen === 'up\n');
  second.stdin.write('words\n');
  expect(await new Promise((resolve) => second.once('exit', resolve))).toBe(0);
  expect(seen).toBe('up\ngot words\n');
});
