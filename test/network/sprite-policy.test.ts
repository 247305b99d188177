// The network policy of a sprite, set at the real platform and enforced by the real agent.
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { openOnce } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { isWithoutAttempts } from '../support/network/attempt-notes.ts';
import { killEnforcers, openAgentWorld } from '../support/network-agent-world.ts';
import { isWithoutNetworks } from '../support/network-world.ts';
import { runHere } from '../support/run-here.ts';

const PATH = '/v1/sprites/dev-1/policy/network';
const rules = [{ action: 'allow', domain: 'a.example' }];
const NOTHING = { rules: [] };
const isRefusal = ({ type }: { readonly type: string }) => type === 'policy_refused';

const cannotNote = await isWithoutAttempts();

describe.skipIf(isWithoutNetworks())('at a platform whose machine enforces', () => {
  const opened = openOnce(async () => {
    const world = await openAgentWorld('platform');
    await world.start();
    return world;
  });
  const curl = (url: string) =>
    opened().world.run(['curl', '-sS', '-m', '30', '-o', '/dev/null', '--noproxy', '*', url]).status;
  /** Keeps rules as on a disk that comes from another machine. */
  const keepRules = () => {
    const kept = { rules: [{ action: 'allow', domain: 'b.example' }] };
    writeFileSync(join(opened().dir, 'state', 'network-policy.json'), JSON.stringify(kept), { mode: 0o600 });
  };
  /** While the machine is away, its platform cannot tell when it comes. */
  const set = (body: object) =>
    eventually(async () => {
      const answer = await opened().outside('POST', PATH, body);
      return answer.status === 503 ? false : answer;
    });

  test('a policy holds in the machine when it is stored', async () => {
    const { outside, get } = opened();
    expect((await outside('GET', PATH)).json).toEqual(NOTHING);
    expect((await set({ rules })).status).toBe(204);
    expect((await outside('GET', PATH)).json).toEqual({ rules });
    expect((await get('/v1/policy/network')).json).toEqual({ rules });
    expect(curl('http://a.example/')).toBe(0);
    expect(curl('http://b.example/')).not.toBe(0);
    expect(await outside('POST', PATH, { rules: [{ action: 'deny', domain: 'a.*.b' }] })).toMatchObject({
      status: 400,
    });
    expect((await outside('GET', PATH)).json).toEqual({ rules });
  });

  test('what it does is explained, and what it has refused is listed, in the machine and at the platform', async () => {
    const { outside, dir, platformDir } = opened();
    const PID = expect.any(Number);
    const by = cannotNote ? {} : { process: { pid: PID, command: 'curl' } };
    expect(curl('http://93.184.0.3/')).not.toBe(0);
    expect(await outside('POST', `${PATH}/explain`, { host: 'A.example.', port: 80 })).toMatchObject({
      status: 200,
      json: { decision: 'allow', rule: { index: 0, domain: 'a.example' }, addresses: ['93.184.0.1'] },
    });
    expect(await outside('POST', `${PATH}/explain`, { host: '93.184.0.1' })).toMatchObject({
      json: { decision: 'allow', names: ['a.example'] },
    });
    expect(await outside('POST', `${PATH}/explain`, { host: 'a b' })).toMatchObject({
      status: 400,
      json: { error: 'invalid_request' },
    });
    const list = await outside('GET', `${PATH}/refused`);
    expect(list.json.refused).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'name', name: 'b.example', process: { pid: PID, command: 'curl' } }),
        expect.objectContaining({ kind: 'address', address: '93.184.0.3', port: 80, uid: 0, ...by }),
      ]),
    );
    for (const where of [
      ['--socket', join(dir, 'run', 'agent.sock')],
      ['-s', 'dev-1', '--dir', platformDir, '--organization', 'acme'],
    ]) {
      const explain = (...words: string[]) =>
        runHere(['explain-network', ...words, ...where], { HOME: '/nonexistent' });
      expect(await explain('a.example:80')).toEqual({
        code: 0,
        err: '',
        out: [
          'decision   allow',
          'because    rule 0 allows a.example',
          'rule       0: allow a.example',
          'addresses  93.184.0.1',
        ].join('\n'),
      });
      expect(await explain('[2606:2800::1]:443')).toMatchObject({
        code: 1,
        out: expect.stringMatching(/^decision +deny\nbecause +no allowed name has led to it\n/),
      });
      expect(JSON.parse((await explain('b.example', '--json')).out)).toMatchObject({ decision: 'deny' });
      const { code, out } = await explain('--refused');
      expect([code, out]).toEqual([0, expect.stringMatching(/^REFUSED +KIND +COUNT +LAST +BY\n/)]);
      expect(out).toMatch(/^b\.example +name +\d+ .* curl \(pid \d+\)$/m);
      const address = /^93\.184\.0\.3:80\/tcp +address +\d+ .* (.+ .+)$/m.exec(out);
      expect(address?.[0]).toMatch(cannotNote ? / user 0$/ : / curl \(pid \d+\)$/);
      expect(JSON.parse((await explain('--refused', '--json')).out)).toMatchObject({ refused: expect.any(Array) });
    }
  });

  test('what allows nothing of the platform keeps its agent from nothing, also when the platform moves', async () => {
    const { outside, get, post, movePlatform } = opened();
    const model = async () => (await get('/v1/gateway/sample/conn_1/x')).status;
    const isConnected = async () => (await outside('GET', '/v1/sprites/dev-1/services')).status === 200;
    for (const denied of [{ rules: [{ action: 'deny', domain: '*' }] }, { rules }]) {
      expect((await set(denied)).status).toBe(204);
      expect([await model(), await isConnected()]).toEqual([200, true]);
      expect([curl('http://b.example/'), curl('http://93.184.0.2/'), curl('http://169.254.169.254/')]).not.toContain(0);
    }
    const before = (await get('/v1/status')).json.generation;
    expect((await post('/v1/machine/resumed', {})).status).toBe(202);
    // It reports, and opens its channel and its connections again.
    await eventually(async () => (await get('/v1/status')).json.generation > before && (await model()) === 200);
    await eventually(isConnected);
    expect((await set({ rules: [{ action: 'deny', domain: '*' }] })).status).toBe(204);
    await movePlatform('10.20.0.2');
    await eventually(async () => (await model()) === 200);
    await eventually(isConnected);
    expect([curl('http://b.example/'), curl('http://93.184.0.2/')]).not.toContain(0);
    expect((await set({ rules })).status).toBe(204);
  });

  test('a machine that enforces another one gets it again', async () => {
    const { end, start, get } = opened();
    await end();
    keepRules();
    await start();
    // What enforced before the agent ended still says its rules, until the agent that starts has it enforce the others.
    await eventually(
      async () =>
        isDeepStrictEqual((await get('/v1/policy/network')).json, { rules }) && curl('http://b.example/') !== 0,
    );
  });

  test('a machine that enforces one, of whose sprite none is stored, is told so', async () => {
    const { dir, end, start, get } = opened();
    expect((await set(NOTHING)).status).toBe(204);
    await end();
    keepRules();
    await start();
    await eventually(
      async () =>
        !existsSync(join(dir, 'state', 'network-policy.json')) &&
        isDeepStrictEqual((await get('/v1/policy/network')).json, NOTHING) &&
        curl('http://93.184.0.2/') === 0,
    );
  });

  test('a machine that cannot enforce what is stored is not reached, and everybody is told why', async () => {
    const { dir, id, world, end, start, get, outside } = opened();
    expect((await set({ rules })).status).toBe(204);
    await end();
    await killEnforcers(world);
    // The state is that after a boot from another image.
    expect(world.run(['nft', 'flush', 'ruleset']).status).toBe(0);
    for (const path of ['run/network', 'run/network-policy.json', 'state/network', 'state/network-policy.json']) {
      rmSync(join(dir, path), { recursive: true, force: true });
    }
    await start({});
    const missing = expect.stringContaining('REMORA_NETWORK_POLICY');
    const services = '/v1/sprites/dev-1/services';
    const refused = await eventually(async () => {
      const answer = await outside('GET', services);
      return answer.status === 503 ? false : answer;
    });
    expect(refused).toMatchObject({ status: 501, json: { error: 'not_supported', details: { missing } } });
    expect(await set({ rules: [{ action: 'deny', domain: '*' }] })).toMatchObject({ status: 501 });
    expect((await outside('GET', PATH)).json).toEqual({ rules });
    expect((await get('/v1/status')).json.parts.network).toMatchObject({ state: 'failed', reason: missing });
    expect(await get('/v1/services')).toMatchObject({ status: 504, json: { error: 'start_failed', message: missing } });
    expect((await outside('GET', '/v1/sprites/dev-1/check')).json).toMatchObject({ reason: 'policy_refused' });
    const ofMachine = async () => (await outside('GET', `/v1/apps/acme/machines/${id}/events`)).json;
    expect((await eventually(async () => (await ofMachine()).find(isRefusal) ?? false)).message).toEqual(missing);
    // It dials again and again, and says the same.
    expect((await ofMachine()).filter(isRefusal)).toHaveLength(1);
    expect((await set(NOTHING)).status).toBe(204);
    await eventually(async () => (await outside('GET', services)).status === 200);
    expect((await get('/v1/status')).json.parts.network).toMatchObject({ state: 'off' });
  });

  test('where none can be enforced none is stored, and it is said what is missing', async () => {
    const { dir, world, end, start, outside } = opened();
    await end();
    keepRules();
    rmSync(join(dir, 'run', 'network-policy.json'), { force: true });
    await killEnforcers(world);
    rmSync(join(dir, 'run', 'network'), { recursive: true, force: true });
    await start({});
    expect(await set({ rules })).toMatchObject({
      status: 501,
      json: { error: 'not_supported', details: { missing: expect.stringContaining('REMORA_NETWORK_POLICY') } },
    });
    expect((await outside('GET', PATH)).json).toEqual(NOTHING);
    // What the disk brought along is forgotten, so that programs run.
    expect((await outside('GET', '/v1/sprites/dev-1/services')).json).toEqual([]);
  });
});
