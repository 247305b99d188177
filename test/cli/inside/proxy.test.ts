// `remora proxy` against a real machine: a real listener in it, real connections to a port here.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { parseProxyPorts } from '../../../src/cli/inside/proxy/proxy-ports.ts';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { openInsideMachine } from '../../support/inside-machine.ts';
import { runHere } from '../../support/run-here.ts';
import { remoraPath } from '../../support/run-remora.ts';

const inside = openOnce(openInsideMachine);

const echo = `require('node:net').createServer((socket) => socket.on('error', () => 0).pipe(socket))
  .listen(0, '127.0.0.1', function () { console.log('port ' + this.address().port); });`;

/** The port of a listener in the machine that sends back what it gets. */
async function startEcho(env: Readonly<Record<string, string>>): Promise<number> {
  const words = ['services', 'create', 'echo', '--duration', '0s', '--', process.execPath, '-e', echo];
  expect(await runHere(words, env)).toMatchObject({ code: 0 });
  const logs = () => runHere(['services', 'logs', 'echo'], env);
  return Number(await eventually(async () => /port (\d+)/.exec((await logs()).out)?.[1]));
}

function startProxy(env: Readonly<Record<string, string>>, ...ports: string[]) {
  const child = spawn(process.execPath, [remoraPath, 'proxy', ...ports], {
    env: { PATH: process.env.PATH ?? '', ...env },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (part: Buffer) => {
    stdout += String(part);
  });
  child.stderr.on('data', (part: Buffer) => {
    stderr += String(part);
  });
  const ended = once(child, 'close');
  const locals = () => [...stdout.matchAll(/^127\.0\.0\.1:(\d+) leads to/gm)].map((match) => Number(match[1]));
  return { child, ended, stdout: () => stdout, stderr: () => stderr, locals };
}

/** What comes back for these bytes until there are as many, or until the connection ends. */
async function exchange(port: number, bytes: Buffer): Promise<Buffer> {
  const socket = connect({ host: '127.0.0.1', port });
  const parts: Buffer[] = [];
  socket
    .on('error', () => undefined)
    .on('data', (part: Buffer) => {
      parts.push(part);
      if (Buffer.concat(parts).length >= bytes.length) socket.destroy();
    });
  socket.write(bytes);
  await once(socket, 'close');
  return Buffer.concat(parts);
}

it('carries several connections to several ports at once, and ends with Ctrl-C', async () => {
  const { elsewhere } = inside();
  const port = await startEcho(elsewhere);
  const proxy = startProxy(elsewhere, `0:${port}`, `0:${port}`, '0:1');
  await eventually(() => proxy.locals().length === 3);
  expect(proxy.stdout()).toContain(` leads to port ${port} of dev-1\n`);
  const [one = 0, other = 0, none = 0] = proxy.locals();
  const calls = Array.from({ length: 20 }, (_, index) => Buffer.from(`call ${index}`));
  const answers = await Promise.all(calls.map((call, index) => exchange(index % 2 === 0 ? one : other, call)));
  expect(answers.map(String)).toEqual(calls.map(String));
  const large = Buffer.alloc(3 * 1024 * 1024, 'remora');
  expect((await exchange(one, large)).equals(large)).toBe(true);
  expect((await exchange(none, Buffer.from('x'))).length).toBe(0);
  await eventually(() => proxy.stderr().startsWith('error: port 1 of dev-1: '));
  const held = connect({ host: '127.0.0.1', port: one });
  held.on('error', () => undefined).write('x');
  await once(held, 'data');
  proxy.child.kill('SIGINT');
  await once(held, 'close');
  expect((await proxy.ended)[0]).toBe(0);
});

it('says before it listens what is wrong', async () => {
  const { elsewhere, within } = inside();
  const run = async (words: string[], env: Readonly<Record<string, string>>) => {
    const { code, err } = await runHere(['proxy', ...words], env);
    return [code, err];
  };
  expect(await run(['5432'], within)).toEqual([2, expect.stringContaining('is here already')]);
  expect(await run(['0:5432', '-s', 'nobody'], elsewhere)).toEqual([1, expect.stringContaining('(not_found)')]);
  expect(await run(['0:5432'], { ...elsewhere, REMORA_API_TOKEN: 'x' })).toEqual([
    1,
    expect.stringMatching(/^error: /),
  ]);
  expect(await run(['0:5432'], { ...elsewhere, REMORA_URL: 'http://127.0.0.1:1' })).toEqual([
    3,
    expect.stringContaining('no platform answers'),
  ]);
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void taken.close());
  const address = taken.address();
  const port = typeof address === 'object' ? address?.port : 0;
  expect(await run([`${port}:1`], elsewhere)).toEqual([1, expect.stringContaining(`EADDRINUSE`)]);
});

it.each([
  ['5432', { local: 5432, remote: 5432 }],
  ['8080:80', { local: 8080, remote: 80 }],
  ['0:80', { local: 0, remote: 80 }],
])('%s is %j', (text, ports) => {
  expect(parseProxyPorts(text)).toEqual(ports);
});

it.each(['', '0', 'http', '1:', ':1', '80:0', '65536', '1:2:3'])('%j is no pair of ports', (text) => {
  expect(() => parseProxyPorts(text)).toThrow('expected PORT or LOCAL:REMOTE');
});
