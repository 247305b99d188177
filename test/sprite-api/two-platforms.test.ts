// Two platform processes on one PostgreSQL database: a sprite is reached through the one to which its machine is not connected.
import { writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { SpritesClient } from '@fly/sprites';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openConnectedPair, openDoorPair, portOf } from '../support/connected-pair.ts';
import { eventually } from '../support/eventually.ts';
import { callPlatform } from '../support/open-platform.ts';
import type { PairedPlatform } from '../support/platform-pair.ts';
import { openPlayedAgent } from '../support/played-agent.ts';
import { isWithoutPostgres, openPostgresServer, type PostgresServer } from '../support/postgres-server.ts';

const clientOf = (platform: PairedPlatform) =>
  new SpritesClient(platform.token.reveal(), { baseURL: platform.url }).sprite('dev-1');

const NETWORK = '/v1/policy/network';

/** The operations of the network policy as an agent has them, without a kernel. */
function openPolicyAgent() {
  let rules: unknown[] = [];
  let isRefusing = false;
  const missing = { error: 'not_supported', message: 'it needs nft', details: { missing: 'nft' } };
  const answer: RequestListener = async (request, response) => {
    const { host, ...body } = JSON.parse((await text(request)) || '{}');
    const say = (status: number, value: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    const { method, url = '' } = request;
    if (url.endsWith('/explain')) return say(200, { decision: 'deny', reason: host, addresses: [], names: [] });
    if (url.endsWith('/refused')) return say(200, { refused: [] });
    if (method === 'PUT' && url === NETWORK && isRefusing && body.rules.length > 0) return say(501, missing);
    if (method === 'PUT' && url === NETWORK) rules = body.rules;
    return say(200, url === NETWORK ? { rules } : {});
  };
  return {
    answer,
    held: () => rules,
    refuse() {
      isRefusing = true;
    },
  };
}

describe.skipIf(isWithoutPostgres())(
  'two platforms behind one address',
  () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await openPostgresServer();
    });
    afterAll(async () => {
      await server[Symbol.asyncDispose]();
    });

    const openConnected = async () => await openConnectedPair(await server.createDatabase());

    test('programs and files of a machine that is connected to the other one', async () => {
      const { ofHosts, other, dir } = await openConnected();
      const sprite = clientOf(other);
      await eventually(async () => (await other.call({ path: '/v1/sprites/dev-1/services' })).status === 200);
      expect(await sprite.exec('echo hello')).toMatchObject({ stdout: 'hello\n', exitCode: 0 });
      const input = 'in '.repeat(30_000);
      expect(await sprite.execFileHTTP('cat', [], { input })).toMatchObject({ stdout: input, exitCode: 0 });
      const path = `/v1/sprites/dev-1/fs/read?workingDir=/&path=${encodeURIComponent(join(dir, 'plain'))}`;
      writeFileSync(join(dir, 'plain'), 'of a file');
      expect((await other.call({ path })).text).toBe('of a file');
      const none = await other.call({ path: `${path}-none` });
      expect([none.status, none.json.error]).toEqual([404, 'not_found']);
      const sent = ofHosts.sent();
      expect(sent).toContain('remora-passed: ');
      expect(sent).not.toMatch(/remora_(org|sprite|machine)_|^authorization:/im);
    });

    test('the network policy of a machine that is connected to the other one', async () => {
      const { one, other } = await openDoorPair(await server.createDatabase());
      const body = { name: 'dev-1', external: true };
      const { machine_id } = (await one.call({ method: 'POST', path: '/v1/sprites', body })).json;
      const { token } = (await one.call({ method: 'POST', path: '/v1/tokens', body: { sprite: 'dev-1' } })).json;
      const agent = openPolicyAgent();
      await openPlayedAgent(one.url, { sprite: 'dev-1', app: 'acme', id: machine_id, token }, agent.answer);
      const path = '/v1/sprites/dev-1/policy/network';
      const post = (platform: PairedPlatform, given: object, target = path) =>
        platform.call({ method: 'POST', path: target, body: given });
      const rules = [{ action: 'allow', domain: 'a.example' }];
      // The record of the channel comes to the other one a moment later.
      expect(await eventually(async () => ((await post(other, { rules })).status === 204 ? 204 : false))).toBe(204);
      expect(agent.held()).toEqual(rules);
      for (const platform of [one, other]) expect((await platform.call({ path })).json).toEqual({ rules });
      expect((await post(other, { host: 'b.example' }, `${path}/explain`)).json).toMatchObject({ reason: 'b.example' });
      expect((await other.call({ path: `${path}/refused` })).json).toEqual({ refused: [] });
      const changes = await Promise.all([one, other].map((platform) => post(platform, { rules: [] })));
      expect(changes.map(({ status }) => status)).toEqual([204, 204]);
      expect([(await other.call({ path })).json, agent.held()]).toEqual([{ rules: [] }, []]);
      agent.refuse();
      expect(await post(other, { rules })).toMatchObject({
        status: 501,
        json: { error: 'not_supported', details: { missing: 'nft' } },
      });
      expect((await one.call({ path })).json).toEqual({ rules: [] });
    });

    test('a proof is good once, for its call, at the process that it is for', async () => {
      const { ofHosts, one, other } = await openConnected();
      const path = '/v1/sprites/dev-1/services';
      await eventually(async () => (await other.call({ path })).status === 200);
      const proof = /remora-passed: (\S+)/.exec(ofHosts.sent())?.[1] ?? '';
      const [key, text, mac] = proof.split('.');
      const at = async (platform: PairedPlatform, target: string, value: string) => {
        const headers = { 'remora-passed': value };
        const { status, json } = await callPlatform(platform.url, { path: target, headers });
        return [status, json.error];
      };
      const refused = [401, 'unauthorized'];
      expect(await at(one, path, proof)).toEqual(refused);
      expect(await at(other, path, proof)).toEqual([421, 'other_host']);
      expect(await at(other, '/v1/sprites', proof)).toEqual(refused);
      for (const forged of ['', 'x', '..', `${key}.${text}.`, `${key}.${text}x.${mac}`, `00000000.${text}.${mac}`]) {
        expect([forged, await at(one, path, forged)]).toEqual([forged, refused]);
      }
      const headers = { 'remora-passed': 'x' };
      expect((await one.call({ path: '/v1/sprites', headers })).status).toBe(401);
    });

    test('when the one that is connected is killed, the other says so, and serves when the machine has found it', async () => {
      const { front, one, other, connected } = await openConnected();
      const list = () => other.call({ path: '/v1/sprites/dev-1/services' });
      await eventually(async () => (await list()).status === 200);
      one.child.process.kill('SIGKILL');
      await one.child.ended;
      const refused = await eventually(async () => {
        const answer = await list();
        return answer.status === 200 ? undefined : answer;
      });
      expect([refused.status, refused.json.error]).toEqual([503, 'not_reachable']);
      expect(refused.json.message).toContain('does not answer');
      expect(refused.headers.get('retry-after')).toBe('1');
      front.lead(portOf(other));
      await connected(2);
      expect(await clientOf(other).exec('echo again')).toMatchObject({ stdout: 'again\n' });
    });

    test('a call is passed on once: a record that is out of date ends at the other one', async () => {
      const { ofHosts, one, other } = await openConnected();
      await eventually(async () => (await other.call({ path: '/v1/sprites/dev-1/services' })).status === 200);
      const passes = () => ofHosts.sent().split('remora-passed: ').length - 1;
      const before = passes();
      // The way to the first one leads back to the second.
      ofHosts.lead(portOf(other));
      const headers = { authorization: `Bearer ${other.token.reveal()}` };
      // Not by fetch, which asks again after a 421.
      const back = await request(`${other.url}/v1/sprites/dev-1/services`, { headers });
      expect([back.statusCode, await back.body.json()]).toEqual([
        421,
        expect.objectContaining({ error: 'other_host' }),
      ]);
      expect(passes()).toBe(before + 1);
      expect((await one.call({ path: '/v1/sprites/dev-1/services' })).status).toBe(200);
    });

    test('hosts are listed with their addresses, versions and signs of life', async () => {
      const { ofHosts, pair } = await openDoorPair(await server.createDatabase());
      await using offline = await pair.openAdmin();
      const hosts = await offline.listHosts();
      expect(hosts.map(({ address }) => address).sort()).toEqual([ofHosts.url, null].sort());
      for (const { version, seen_at } of hosts) {
        expect(version).toMatch(/^\d+\.\d+/);
        expect(Date.now() - Number(seen_at)).toBeLessThan(120_000);
      }
    });
  },
  120_000,
);
