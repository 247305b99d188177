// Processes of a sprite from the platform, through the channel, the agent and the supervisor, by the client of the Sprites API.
import { type SpriteCommand, SpritesClient } from '@fly/sprites';
import { expect, test } from 'vitest';
import { openAgentMachine } from '../support/agent-machine.ts';
import { ask } from '../support/ask.ts';
import { openOnce } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';

const openMachine = () => openAgentMachine({ trustMachines: true });
/** Serves the tests that do not count what runs in it. */
const shared = openOnce(openMachine);

async function openSprite(machine?: Awaited<ReturnType<typeof openMachine>>, options: { controlMode?: boolean } = {}) {
  const opened = machine ?? (await openMachine());
  const client = new SpritesClient(opened.platform.token.reveal(), { baseURL: opened.platform.url, ...options });
  return { machine: opened, sprite: client.sprite('dev-1') };
}

function textOf(command: SpriteCommand): () => string {
  const parts: Buffer[] = [];
  command.stdout.on('data', (part: Buffer) => parts.push(part));
  return () => Buffer.concat(parts).toString();
}

const untilExit = (command: SpriteCommand) => new Promise<number>((resolve) => command.once('exit', resolve));

test('spawn, exec and execFile of the client', async () => {
  const { sprite } = await openSprite(shared());
  expect(await sprite.exec('echo hello')).toMatchObject({ stdout: 'hello\n', exitCode: 0 });
  const failing = sprite.execFile('sh', ['-c', 'echo out; echo "$A" >&2; exit 7'], { env: { A: 'x=y' }, cwd: '/usr' });
  await expect(failing).rejects.toMatchObject({ result: { stdout: 'out\n', stderr: 'x=y\n', exitCode: 7 } });
  await expect(sprite.execFile('no-such-program')).rejects.toMatchObject({
    result: { exitCode: 127, stderr: 'there is no program no-such-program in PATH\n' },
  });
  const cat = sprite.spawn('cat');
  const text = textOf(cat);
  await new Promise((resolve) => cat.once('spawn', resolve));
  cat.stdin.end('over the wire');
  expect(await untilExit(cat)).toBe(0);
  await eventually(() => text() === 'over the wire');
  const sleeping = sprite.spawn('sleep', ['60']);
  await new Promise((resolve) => sleeping.once('spawn', resolve));
  sleeping.kill('SIGTERM');
  expect(await untilExit(sleeping)).toBe(143);
});

test('a process over plain HTTP has the body as its input, and each chunk is a frame', async () => {
  const { machine, sprite } = await openSprite(shared());
  const answer = await sprite.execFileHTTP('sh', ['-c', 'cat; echo err >&2'], { input: 'in '.repeat(1_000) });
  expect(answer).toEqual({ stdout: 'in '.repeat(1_000), stderr: 'err\n', exitCode: 0 });
  const long = await sprite.execFileHTTP('head', ['-c', '60000', '/dev/zero']);
  expect(long.stdout).toBe('\0'.repeat(60_000));
  await expect(sprite.execFileHTTP('sh', ['-c', 'exit 3'])).rejects.toMatchObject({ result: { exitCode: 3 } });
  await expect(sprite.execFileHTTP('sh', ['-c', 'exit 3'], { cwd: '/none' })).rejects.toMatchObject({
    result: { exitCode: 126 },
  });
  const refused = await machine.platform.call({ method: 'POST', path: '/v1/sprites/dev-1/exec' });
  expect([refused.status, refused.json.error]).toEqual([400, 'invalid_request']);
  const streamed = await machine.platform.call({ method: 'POST', path: '/v1/sprites/dev-1/exec?cmd=true' });
  expect([streamed.status, streamed.headers.get('x-accel-buffering')]).toEqual([200, 'no']);
  const local = await ask(machine.socket, { method: 'POST', target: '/v1/exec?cmd=cat', body: 'socket' });
  expect(local.text).toBe('\x01socket\x03\x00');
});

test('the log has the token, the program and the exit code of a process, and nothing else of what was asked', async () => {
  const { machine, sprite } = await openSprite();
  const options = { env: { SECRET: 'hunter2' }, cwd: '/usr' };
  await sprite.execFile('/bin/echo', ['hunter2'], options);
  await expect(sprite.execFileHTTP('sh', ['-c', 'exit 4 # hunter2'], options)).rejects.toThrow('4');
  const terminal = sprite.spawn('sh', ['-c', "printf '\\003x'; stty -echo; exit 5 # hunter2"], {
    ...options,
    tty: true,
  });
  await untilExit(terminal);
  const { url, token } = machine.platform;
  const controlled = new SpritesClient(token.reveal(), { baseURL: url, controlMode: true }).sprite('dev-1');
  const connection = await controlled.getControlConnection();
  const failing = await connection.startOp('exec', { cmd: ['/bin/sh', '-c', 'exit 9 # hunter2'] });
  expect(await failing.wait()).toBe(9);
  const fine = await connection.startOp('exec', { cmd: ['true'] });
  expect(await fine.wait()).toBe(0);
  await connection.startOp('exec', { cmd: ['/bin/sleep', '60'] });
  const lines = (audit: string) => machine.platform.log.filter((line) => line.audit === audit);
  await eventually(() => lines('exec_begun').length === 6);
  controlled.closeControlConnection();
  await eventually(() => lines('exec').length === 6);
  const known = { sprite: 'dev-1', token: expect.stringMatching(/./) };
  const ran = [
    { operation: 'exec', command: 'echo' },
    { operation: 'execOverHttp', command: 'sh' },
    { operation: 'exec', command: 'sh' },
    { operation: 'control', command: 'sh' },
    { operation: 'control', command: 'true' },
    { operation: 'control', command: 'sleep' },
  ];
  expect(lines('exec_begun')).toMatchObject(ran.map((line) => ({ ...line, ...known })));
  const codes = [0, 4, 5, 9, 0, undefined];
  expect(lines('exec').map(({ exit_code }) => exit_code)).toEqual(codes);
  expect(lines('exec')).toMatchObject(ran.map((line) => ({ ...line, ...known })));
  expect(JSON.stringify(machine.platform.log)).not.toContain('hunter2');
});

test('a session is listed, attached to and killed; then it is gone, and one that never was is not found', async () => {
  const { machine, sprite } = await openSprite();
  const first = sprite.spawn('sh', ['-c', 'echo begun; read line; echo "got $line"; exec sleep 60'], {
    detachable: true,
  });
  const text = textOf(first);
  await eventually(() => text() === 'begun\n');
  const [session, ...others] = await sprite.listSessions();
  expect(others).toEqual([]);
  expect(session).toMatchObject({ isActive: true, tty: false });
  const id = session?.id ?? '';
  const second = sprite.attachSession(id);
  const seen = textOf(second);
  const infos: unknown[] = [];
  second.on('message', (message) => infos.push(message));
  await eventually(() => seen() === 'begun\n');
  expect(infos).toContainEqual(expect.objectContaining({ type: 'session_info', session_id: id, tty: false }));
  second.stdin.write('words\n');
  await eventually(() => text().endsWith('got words\n') && seen().endsWith('got words\n'));
  const ends = [untilExit(first), untilExit(second)];
  const events = [];
  for await (const event of await sprite.killSession(id, 'SIGINT', '5s')) events.push(event);
  expect(events.map(({ type }) => type)).toEqual(['signal', 'exited', 'complete']);
  expect(events.at(-1)).toMatchObject({ exitCode: 130 });
  expect(await Promise.all(ends)).toEqual([130, 130]);
  expect(await sprite.listSessions()).toEqual([]);
  await expect(sprite.killSession(id)).rejects.toMatchObject({ statusCode: 410 });
  const none = await machine.platform.call({ method: 'POST', path: '/v1/sprites/dev-1/exec/none/kill' });
  expect(none.status).toBe(404);
});

test('a session that ignores its signal is killed after the timeout', async () => {
  const { sprite } = await openSprite();
  const stubborn = sprite.spawn('sh', ['-c', 'trap "" TERM; echo up; sleep 60; sleep 60']);
  const text = textOf(stubborn);
  await eventually(() => text() === 'up\n');
  const [session] = await sprite.listSessions();
  const events = [];
  for await (const event of await sprite.killSession(session?.id ?? '', 'SIGTERM', '200ms')) events.push(event);
  expect(events.map(({ type }) => type)).toEqual(['signal', 'timeout', 'killed', 'complete']);
  expect(events.at(-1)).toMatchObject({ exitCode: 137 });
});

test('control connections run one process after the other', async () => {
  const { sprite } = await openSprite(shared(), { controlMode: true });
  expect(await sprite.execFile('echo', ['one'])).toMatchObject({ stdout: 'one\n' });
  expect(await sprite.execFile('cat')).toMatchObject({ stdout: '', exitCode: 0 });
  await expect(sprite.execFile('sh', ['-c', 'exit 9'])).rejects.toMatchObject({ result: { exitCode: 9 } });
  const connection = await sprite.getControlConnection();
  const op = await connection.startOp('exec', { cmd: ['cat'], stdin: true });
  const parts: Buffer[] = [];
  op.on('stdout', (part: Buffer) => parts.push(part));
  op.write(Buffer.from('words'));
  op.sendEOF();
  expect(await op.wait()).toBe(0);
  expect(Buffer.concat(parts).toString()).toBe('words');
  const sleeping = await connection.startOp('exec', { cmd: ['sleep', '60'] });
  sleeping.signal('KILL');
  expect(await sleeping.wait()).toBe(137);
  const failing = await connection.startOp('exec', { cmd: [] });
  const failure = new Promise<Error>((resolve) => failing.once('error', resolve));
  expect((await failure).message).toContain('cmd');
  sprite.closeControlConnection();
});

test('a terminal session is made, left, found and attached to again', async () => {
  const { sprite } = await openSprite();
  const first = sprite.createSession('sh', ['-i'], { rows: 30, cols: 100 });
  const text = textOf(first);
  await new Promise((resolve) => first.once('spawn', resolve));
  first.stdin.write('stty size; A=kept\n');
  await eventually(() => text().includes('30 100\r\n'));
  first.resize(90, 25);
  const [session] = await sprite.listSessions();
  expect(session).toMatchObject({ isActive: true, tty: true, command: 'sh -i' });
  first.signal('WINCH');
  const left = untilExit(first);
  Reflect.get(first, 'wsCmd').close();
  await left;
  const second = sprite.attachSession(session?.id ?? '');
  const seen = textOf(second);
  await new Promise((resolve) => second.once('spawn', resolve));
  await eventually(() => seen().includes('30 100'));
  const end = untilExit(second);
  second.stdin.write('echo "$A"; stty size; exit 0\n');
  await eventually(() => seen().includes('kept\r\n25 90\r\n'));
  expect(await end).toBe(0);
});
