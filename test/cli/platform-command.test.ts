// `remora platform` as a process: its keys, its flags, and what it keeps to itself.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { openFreePort } from '../support/free-port.ts';
import { runHere } from '../support/run-here.ts';
import { remoraPath, runRemora } from '../support/run-remora.ts';
import { tempDir } from '../support/temp-dir.ts';

async function openPlatformProcess(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [remoraPath, 'platform', '--port', '0', ...words], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  for await (const line of createInterface(child.stdout)) {
    const entry: unknown = JSON.parse(line);
    if (typeof entry !== 'object' || entry === null || !('url' in entry)) continue;
    return { url: String(entry.url), child };
  }
  throw new Error('the platform ended before it served');
}

async function newKey(): Promise<string> {
  return (await runHere(['platform', 'key'])).out;
}

it('prints a new key each time', async () => {
  const [one, other] = await Promise.all([runRemora(['platform', 'key']), runRemora(['platform', 'key'])]);
  expect(one.stdout).toMatch(/^[0-9a-f]{64}\n$/);
  expect(one.stdout).not.toBe(other.stdout);
});

it('does not start without a key', async () => {
  const dir = join(tempDir(), 'p');
  const run = await runHere(['platform', '--dir', dir, '--port', '0']);
  expect(run.code).toBe(1);
  expect(run.err).toMatch(/vault key/);
  expect(existsSync(join(dir, 'platform.db'))).toBe(false);
});

it('serves with a key from a file, gives an organization its token, and ends on SIGTERM with 0', async () => {
  const dir = tempDir();
  const keyFile = join(dir, 'key');
  const tokenFile = join(dir, 'token');
  writeFileSync(keyFile, await newKey(), { mode: 0o600 });
  const words = ['--dir', join(dir, 'p'), '--key-file', keyFile, '--organization', 'acme', '--token-file', tokenFile];
  const first = await openPlatformProcess(words);
  expect(statSync(tokenFile).mode & 0o777).toBe(0o600);
  const token = readFileSync(tokenFile, 'utf8').trim();
  const list = (url: string) => fetch(`${url}/v1/sprites`, { headers: { authorization: `Bearer ${token}` } });
  expect((await list(first.url)).status).toBe(200);
  first.child.kill('SIGTERM');
  expect(await once(first.child, 'exit')).toEqual([0, null]);

  const second = await openPlatformProcess(words);
  expect(readFileSync(tokenFile, 'utf8').trim()).toBe(token);
  expect((await list(second.url)).status).toBe(200);
  second.child.kill('SIGINT');
  expect(await once(second.child, 'exit')).toEqual([0, null]);
});

it('takes a key from a systemd credential and from a variable', async () => {
  const dir = tempDir();
  const key = await newKey();
  writeFileSync(join(dir, 'remora-platform-key'), key);
  const byCredential = await openPlatformProcess(['--dir', join(dir, 'p')], { CREDENTIALS_DIRECTORY: dir });
  byCredential.child.kill('SIGTERM');
  await once(byCredential.child, 'exit');
  const byVariable = await openPlatformProcess(['--dir', join(dir, 'p')], { REMORA_PLATFORM_KEY: key });
  byVariable.child.kill('SIGTERM');
  expect(await once(byVariable.child, 'exit')).toEqual([0, null]);
});

it('leaves neither a key nor the password of a database for other processes to read', async () => {
  const sockets: Socket[] = [];
  const database = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    database.close();
  });
  await once(database, 'listening');
  const { port } = database.address() as AddressInfo;
  const key = await newKey();
  const url = `postgres://remora:canary-password@127.0.0.1:${port}/remora`;
  const child = spawn(process.execPath, [remoraPath, 'platform', '--port', '0', '--dir', join(tempDir(), 'p')], {
    env: { ...process.env, REMORA_PLATFORM_KEY: key, REMORA_DATABASE_URL: url },
    stdio: 'inherit',
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const environment = () => readFileSync(`/proc/${child.pid}/environ`, 'latin1');
  await Promise.race([
    once(database, 'connection'),
    once(child, 'exit').then(() => Promise.reject(new Error('it ended before it asked its database'))),
  ]);
  expect(environment()).toContain('REMORA_PLATFORM_KEY=**');
  expect(environment()).not.toContain(key);
  expect(environment()).not.toContain('canary-password');
});

it('describes itself under its public address', async () => {
  const port = await openFreePort();
  const key = await newKey();
  const words = ['--dir', join(tempDir(), 'p'), '--port', `${port}`, '--public-url', 'https://remora.example'];
  await openPlatformProcess(words, { REMORA_PLATFORM_KEY: key });
  const openapi = await (await fetch(`http://127.0.0.1:${port}/openapi.json`)).json();
  expect(openapi).toMatchObject({ servers: [{ url: 'https://remora.example' }] });
});

/** A provider at a port where nobody listens. */
const away = `[[providers]]
provider = "away"
display_name = "Away"
description = "a provider of a test"
address = { type = "fixed", url = "http://127.0.0.1:1" }
injection = { in = "header", name = "authorization", prefix = "Bearer " }
allow_http = true
sample_path = "/"
`;

it('takes limits and the version of the environment from flags', async () => {
  const dir = tempDir();
  const keyFile = join(dir, 'key');
  writeFileSync(keyFile, await newKey(), { mode: 0o600 });
  const providers = join(dir, 'providers.toml');
  writeFileSync(providers, away);
  const place = ['--dir', join(dir, 'p'), '--key-file', keyFile, '--providers', providers];
  const tokenFile = join(dir, 'token');
  const flags = ['--organization', 'acme', '--token-file', tokenFile, '--sprite-rate', '1', '--token-rate', '1'];
  const { url } = await openPlatformProcess([...place, ...flags, '--environment-version', 'v7']);
  expect((await runHere(['platform', 'sprite', 'create', 'acme', 'web', ...place])).code).toBe(0);
  const apiKey = join(dir, 'api-key');
  writeFileSync(apiKey, 'k');
  const connector = ['platform', 'connector', 'create', 'acme', 'away'];
  const made = await runHere([...connector, '--api-key-file', apiKey, '--policy', '{"allow_all":true}', ...place]);
  const token = await runHere(['platform', 'token', 'create', 'acme', '--sprite', 'web', ...place]);
  const call = (path: string, bearer: string) =>
    fetch(url + path, { headers: { authorization: `Bearer ${bearer.trim()}` } });
  const through = () => call(`/v1/gateway/away/${made.out.split(' ')[0]}/x`, token.out);
  expect((await through()).status).toBe(502);
  // Several at once: on a busy machine a second passes between two that are made one after the other.
  const more = await Promise.all(Array.from({ length: 8 }, through));
  expect(more.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
  const bearer = readFileSync(tokenFile, 'utf8');
  const first = await call('/v1/sprites/web', bearer);
  expect([first.status, await first.json()]).toMatchObject([200, { environment_version: 'v7', version: null }]);
  const others = await Promise.all(Array.from({ length: 8 }, () => call('/v1/sprites/web', bearer)));
  expect(others.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
});

it.each([
  [['platform', 'keys'], /nothing called keys/],
  [['platform', '--organization', 'acme'], /belong together/],
  [['platform', '--port', '70000'], /--port takes/],
  [['platform', '--reconnect-spread', '10m'], /--reconnect-spread takes/],
  [['platform', '--reconnect-spread', 'soon'], /--reconnect-spread takes/],
  [['platform', '--sprite-rate', '0'], /--sprite-rate takes/],
])('%j is a usage error', async (words, message) => {
  const run = await runHere(words);
  expect(run.code).toBe(2);
  expect(run.err).toMatch(message);
});
