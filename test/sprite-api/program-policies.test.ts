// The policies of privileges and resources of a sprite, set at the real platform and kept to in a machine that is run elsewhere.
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { SpritesClient } from '@fly/sprites';
import { describe, expect, test } from 'vitest';
import { digestProgramPolicy } from '../../src/core/digest-program-policy.ts';
import { findUser } from '../../src/linux/users.ts';
import { type AgentProcess, startAgent } from '../support/agent-process.ts';
import { atEnd, openOnce } from '../support/at-end.ts';
import { endSupervisor } from '../support/end-supervisor.ts';
import { eventually } from '../support/eventually.ts';
import { loudly } from '../support/loudly.ts';
import { openTestPlatform } from '../support/open-platform.ts';
import { tempDir } from '../support/temp-dir.ts';

const USER = 'nobody';
const cannotBecomeOther = process.geteuid?.() !== 0 || findUser(USER) === undefined;
const path = '/v1/sprites/dev-1/policy';
const minimal = { profile: 'minimal' };

/** A platform with a sprite, and its machine, whose agent may be started several times. */
async function openElsewhere() {
  const platform = await openTestPlatform();
  await platform.admin.createSprite({ organization: 'acme', name: 'dev-1', external: true });
  const own = { organization: 'acme', sprite: 'dev-1' };
  const { id } = await platform.admin.readMachine(own);
  const token = (await platform.admin.createToken(own)).reveal();
  const dir = tempDir();
  chmodSync(dir, 0o755);
  atEnd(async () => endSupervisor(join(dir, 'supervisor.sock')));
  let agent: AgentProcess | undefined;
  /** The one of the test before has ended with that. */
  async function start(env: Record<string, string> = { REMORA_USER: USER }) {
    agent = await startAgent(
      {
        REMORA_BASE_URL: platform.url,
        REMORA_APP: 'acme',
        REMORA_MACHINE: id,
        REMORA_SPRITE: 'dev-1',
        REMORA_TOKEN: token,
        ...env,
      },
      dir,
    );
  }
  /** While the machine is away, its platform cannot tell when it comes. */
  const call = (method: string, kind: string, body?: object) =>
    eventually(async () => {
      const answer = await platform.call({ method, path: `${path}/${kind}`, ...(body === undefined ? {} : { body }) });
      return answer.status === 503 ? false : answer;
    });
  return {
    ...{ platform, dir, start, call },
    // biome-ignore lint/suspicious/noExplicitAny: the fields of answers are what the tests compare.
    inside: async (target: string) => (await agent?.get(target))?.json as any,
    async end() {
      agent?.child.kill('SIGKILL');
      await agent?.ended;
    },
  };
}

const skip = loudly(cannotBecomeOther, `not root, or no user ${USER}: no program is restricted`);
describe.skipIf(skip)('in a machine whose supervisor is of root', () => {
  const opened = openOnce(openElsewhere);
  const fileOf = () => join(opened().dir, 'state', 'supervisor', 'program-policy.json');

  test('a policy holds in the machine when it is stored, and is read at the platform and inside', async () => {
    const { call, inside, platform, start } = opened();
    await start();
    expect((await call('POST', 'privileges', { profile: 'standard', devices: [] })).status).toBe(204);
    expect((await call('GET', 'privileges')).json).toEqual({ profile: 'standard' });
    const client = new SpritesClient(platform.token.reveal(), { baseURL: platform.url });
    await client.sprite('dev-1').updatePrivilegesPolicy({ profile: 'minimal' });
    expect(await client.sprite('dev-1').getPrivilegesPolicy()).toEqual(minimal);
    expect((await call('GET', 'resources')).json).toEqual({});
    expect(await inside('/v1/policy/privileges')).toEqual(minimal);
    expect(await inside('/v1/policy/resources')).toEqual({});
    expect((await inside('/v1/status')).details.program_policy).toEqual({ privileges: minimal, resources: {} });
    const query = new URLSearchParams(['sh', '-c', 'grep NoNewPrivs /proc/self/status'].map((word) => ['cmd', word]));
    const ran = await platform.call({ method: 'POST', path: `/v1/sprites/dev-1/exec?${query}` });
    expect(ran.text).toMatch(/NoNewPrivs:\s*1/);
  });

  test('a machine in which another one holds, or none can be read, gets it again', async () => {
    const { end, start, inside } = opened();
    for (const text of [JSON.stringify({ privileges: {}, resources: {} }), '{']) {
      writeFileSync(fileOf(), text, { mode: 0o600 });
      await start();
      await eventually(async () => isDeepStrictEqual(await inside('/v1/policy/privileges'), minimal));
      await end();
    }
  });

  test('where it cannot be kept to, it is said what is missing, and the one that was stored stays', async () => {
    const { call, inside, start } = opened();
    await start();
    const refused = await call('POST', 'resources', { memory: { limit_mb: 64, autoscale: true } });
    expect(refused).toMatchObject({
      status: 501,
      json: { error: 'not_supported', details: { missing: expect.stringMatching(/memory/) } },
    });
    expect((await call('GET', 'resources')).json).toEqual({});
    expect(await inside('/v1/policy/privileges')).toEqual(minimal);
    expect((await call('DELETE', 'privileges')).status).toBe(204);
    expect((await call('GET', 'privileges')).json).toEqual({});
    expect(existsSync(fileOf())).toBe(false);
  });

  test('a machine on whose disk another one holds is told that there is none', async () => {
    const { start, inside } = opened();
    writeFileSync(fileOf(), JSON.stringify({ privileges: minimal, resources: {} }), { mode: 0o600 });
    await start();
    await eventually(async () => isDeepStrictEqual(await inside('/v1/policy/privileges'), {}));
    expect(existsSync(fileOf())).toBe(false);
  });

  test('with a disk older than its policy a machine starts its services once the platform has brought that, and with it', async () => {
    const { call, dir, end, inside, platform, start } = opened();
    const [said, socket] = [join(dir, 'said'), join(dir, 'supervisor.sock')];
    const service = '/v1/sprites/dev-1/services/probe';
    const clear = () => writeFileSync(said, '');
    clear();
    chmodSync(said, 0o666);
    await start();
    const args = ['-c', `grep NoNewPrivs /proc/self/status >> ${said}; exec sleep 600`];
    const define = () => platform.call({ method: 'PUT', path: `${service}?duration=0`, body: { cmd: 'sh', args } });
    await eventually(async () => (await define()).status < 300);
    await eventually(() => /NoNewPrivs:\s*0\n/.test(readFileSync(said, 'utf8')));
    expect((await call('POST', 'privileges', minimal)).status).toBe(204);
    await end();
    endSupervisor(socket);
    await eventually(() => !existsSync(socket));
    rmSync(fileOf());
    clear();
    const booted = {
      REMORA_USER: USER,
      REMORA_PROGRAM_POLICY: digestProgramPolicy({ privileges: { profile: 'minimal' }, resources: {} }),
    };
    await start({ ...booted, REMORA_BASE_URL: 'http://127.0.0.1:9' });
    const held = async () => (await inside('/v1/status')).details.program_policy.error;
    await eventually(async () => /^nothing runs before the platform/.test(await held()));
    expect([existsSync(socket), readFileSync(said, 'utf8')]).toEqual([false, '']);
    await end();
    await start(booted);
    await eventually(() => readFileSync(said, 'utf8') !== '');
    expect(readFileSync(said, 'utf8')).toMatch(/^NoNewPrivs:\s*1\n$/);
    expect(await held()).toBeUndefined();
    expect(await inside('/v1/policy/privileges')).toEqual(minimal);
    await end();
    // The platform has said since the boot what holds, and may have changed it.
    writeFileSync(fileOf(), JSON.stringify({ privileges: { noNewPrivileges: true }, resources: {} }), { mode: 0o600 });
    await start({ ...booted, REMORA_BASE_URL: 'http://127.0.0.1:9' });
    expect((await inside('/v1/services')).length).toBe(1);
    await end();
    await start();
    expect((await call('DELETE', 'privileges')).status).toBe(204);
    expect((await platform.call({ method: 'DELETE', path: service })).status).toBeLessThan(300);
  });

  test('a machine that cannot keep to it any more is not reached, until nothing is to hold in it', async () => {
    const { dir, end, start, call, inside, platform } = opened();
    await start();
    expect((await call('POST', 'privileges', minimal)).status).toBe(204);
    await end();
    rmSync(join(dir, 'state', 'supervisor'), { recursive: true, force: true });
    await start({});
    const missing = 'the user of this sprite (REMORA_USER)';
    const refusal = { status: 501, json: { error: 'not_supported', details: { missing } } };
    const services = () => platform.call({ path: '/v1/sprites/dev-1/services' });
    expect(await eventually(async () => ((await services()).status === 501 ? await services() : false))).toMatchObject(
      refusal,
    );
    expect(await call('POST', 'privileges', { noNewPrivileges: true })).toMatchObject(refusal);
    expect((await call('DELETE', 'privileges')).status).toBe(204);
    expect((await call('GET', 'privileges')).json).toEqual({});
    expect(await inside('/v1/policy/privileges')).toEqual({});
    // Its agent dials again by itself.
    await eventually(async () => (await services()).status !== 501, 60_000);
    expect(await call('POST', 'privileges', minimal)).toMatchObject(refusal);
    expect((await call('GET', 'privileges')).json).toEqual({});
  });
});
