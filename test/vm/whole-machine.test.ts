// A machine with a whole Debian under the platform, from the first report of its agent to its end: what runs in it reaches a provider, it is
// suspended and restored, a snapshot that was damaged is a cold start that everybody is told of, and nothing is left.
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readSync, rmSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { openPlatform, type Platform } from '../../src/platform/platform.ts';
import { callPlatform } from '../support/open-platform.ts';
import { runRemora } from '../support/run-remora.ts';
import { silentLog } from '../support/silent-log.ts';
import { emulatorsBelow } from '../support/vm/emulators.ts';
import { isWithoutMachines, makeTestImage } from '../support/vm/vm-image.ts';

const KEY = 'sk-of-the-provider';
const IN_MACHINE = '--unix-socket /run/remora/remora.sock';
const web = { organization: 'acme', sprite: 'web' };

describe.skipIf(isWithoutMachines())('a machine with a whole Debian', () => {
  let dir: string;
  let platform: Platform;
  let token: Secret;
  let id: string;
  /** The credential of each call that reached the provider. */
  const seen: (string | undefined)[] = [];
  const provider = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.end(`you asked for ${request.url}`);
  });

  const call = (method: string, path: string) =>
    callPlatform(platform.url, { method, token, path: `/v1/apps/acme/machines/${id}${path}` });
  /** Runs a script in the machine, as a person would from elsewhere. */
  const inside = async (script: string) => {
    const env = { REMORA_URL: platform.url, REMORA_API_TOKEN: token.reveal(), HOME: '/nonexistent' };
    const { code, stdout, stderr } = await runRemora(['exec', '-s', 'web', '-T', '--', 'sh', '-c', script], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  };
  /** The events of the agent of these types, oldest first. */
  const eventsOf = async (types: string) => {
    const path = `'http://remora/v1/events?since=0&types=${types}'`;
    const lines = (await inside(`curl -sSN --max-time 5 ${IN_MACHINE} ${path} 2> /dev/null || true`))
      .trim()
      .split('\n');
    return lines.map((line) => JSON.parse(line)).filter(({ type }) => type !== 'hello' && type !== 'gap');
  };
  const askProvider = () => inside(`curl -sS ${IN_MACHINE} http://remora/v1/gateway/echo/echo/hello`);
  const suspend = async () => {
    expect((await call('POST', '/suspend')).json).toEqual({ ok: true });
    expect((await call('GET', '/wait?state=suspended&timeout=60')).status).toBe(200);
  };
  const lastEvents = async (count: number) => (await call('GET', '/events')).json.slice(0, count);

  beforeAll(async () => {
    const image = await makeTestImage('6.12');
    dir = mkdtempSync('/var/tmp/remora-whole-');
    await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
    const { port } = provider.address() as AddressInfo;
    platform = await openPlatform({
      dir,
      keys: [new Secret('ab'.repeat(32))],
      listen: { host: '127.0.0.1', port: 0 },
      qemu: { accel: 'tcg', hostMemory_mb: 1_024, imagesDir: dirname(image.dir), image: basename(image.dir) },
      catalogue: [
        {
          provider: 'echo',
          display_name: 'Echo',
          description: 'a provider of a test',
          address: { type: 'fixed', url: `http://127.0.0.1:${port}` },
          injection: { in: 'header', name: 'authorization', prefix: 'Bearer ' },
          allow_http: true,
          sample_path: '/',
        },
      ],
      version: '0.0.0',
      log: silentLog,
    });
    const { admin } = platform;
    await admin.createOrganization('acme');
    await admin.createSprite({ organization: 'acme', name: 'web' });
    await admin.createConnector({
      organization: 'acme',
      id: 'echo',
      provider: 'echo',
      access_policy: { allow_all: true },
      api_key: new Secret(KEY),
    });
    token = await admin.createToken({ organization: 'acme' });
    id = (await admin.readMachine(web)).id;
  });

  afterAll(async () => {
    await platform?.admin.stopMachine(web).catch(() => undefined);
    await platform?.[Symbol.asyncDispose]();
    provider.close();
    if (dir !== undefined) rmSync(dir, { recursive: true, force: true });
  });

  test('is started when its agent has reported', async () => {
    const { status, json } = await call('POST', '/start');
    expect({ status, json }).toEqual({ status: 200, json: { previous_state: 'stopped', migrated: false } });
    expect(await lastEvents(2)).toMatchObject([{ type: 'started', source: 'machine' }, { type: 'start' }]);
    expect(await inside('systemctl is-system-running; systemctl --failed --no-legend')).toBe('running\n');
    const ready = JSON.parse(await inside(`curl -sS ${IN_MACHINE} http://remora/v1/ready`));
    expect(ready).toMatchObject({ warnings: [], parts: { settings: { state: 'ok' } } });
  });

  test('lets what runs in it use its agent, which adds a credential that the machine never has', async () => {
    expect(await inside('id -un; id -Gn; echo kept > note')).toBe('sprite\nsprite remora\n');
    expect(await askProvider()).toBe('you asked for /hello');
    expect(seen).toEqual([`Bearer ${KEY}`]);
    const all = await inside('cat /proc/[0-9]*/environ 2> /dev/null | tr "\\0" "\\n"; cat /proc/cmdline');
    expect(all).not.toContain(KEY);
  });

  test('goes on from its snapshot, notices that for certain, and calls the provider again', async () => {
    const boot = await inside('cat /proc/sys/kernel/random/boot_id');
    await suspend();
    expect(emulatorsBelow(dir)).toEqual([]);
    expect((await call('POST', '/start')).json).toEqual({ previous_state: 'suspended', migrated: false });
    expect(await askProvider()).toBe('you asked for /hello');
    expect(await inside('cat /proc/sys/kernel/random/boot_id')).toBe(boot);
    expect(await eventsOf('resumed')).toMatchObject([{ cause: 'restore', certainty: 'certain', restores: 1 }]);
  });

  test('boots when a bit of its snapshot has flipped, and says so to the caller, in its events and to its agent', async () => {
    await suspend();
    flipBit(join(dir, 'machines', id, 'memory'), 100_000_000);
    expect((await call('POST', '/start')).json).toEqual({
      previous_state: 'suspended',
      migrated: false,
      cold_start: 'corrupted',
    });
    expect(await lastEvents(3)).toMatchObject([
      { type: 'started', source: 'machine' },
      { type: 'start', cause: 'corrupted' },
      { type: 'discard', cause: 'corrupted' },
    ]);
    expect(await eventsOf('cold_start')).toMatchObject([{ cause: 'corrupted' }]);
    expect(await inside('cat note')).toBe('kept\n');
    expect(await askProvider()).toBe('you asked for /hello');
  });

  test('powers itself off when it is stopped, and leaves nothing when it is deleted', async () => {
    expect((await call('POST', '/stop')).json).toEqual({ ok: true });
    expect((await call('GET', '/wait?state=stopped&timeout=60')).status).toBe(200);
    expect(await lastEvents(2)).toMatchObject([
      { type: 'exit', exit: { exit_code: 0, signal: null } },
      { type: 'stop' },
    ]);
    const deleted = await callPlatform(platform.url, { method: 'DELETE', token, path: '/v1/sprites/web' });
    expect(deleted.status).toBe(204);
    expect(emulatorsBelow(dir)).toEqual([]);
    expect(existsSync(join(dir, 'machines', id))).toBe(false);
    expect(readdirSync(join(dir, 'machines'))).toEqual([]);
  });
});

function flipBit(path: string, at: number): void {
  const descriptor = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  readSync(descriptor, byte, 0, 1, at);
  writeSync(descriptor, Buffer.from([byte.readUInt8() ^ 1]), 0, 1, at);
  closeSync(descriptor);
}
