// Two platform processes on one PostgreSQL database, each with a proxy: a request reaches its machine wherever it comes in.
import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { PASSED_HEADER } from '../../../src/contract/hosts.ts';
import { PIPE_PROTOCOL } from '../../../src/contract/pipes.ts';
import { openPostgresStorage } from '../../../src/platform/storage/postgres-storage.ts';
import { forgetRunningKeys } from '../../../src/platform/vault/running-keys.ts';
import { atEnd, openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { openFreePort } from '../../support/free-port.ts';
import { openPlatformPair, type PairedPlatform } from '../../support/platform-pair.ts';
import { isWithoutPostgres, openPostgresServer } from '../../support/postgres-server.ts';
import { askProxy, type ProxyQuestion, SPRITE_HOST, startTcp, startWeb } from '../../support/proxied-machine.ts';
import { openRaw } from '../../support/raw-http.ts';

const TCP_HOST = '127.0.0.9';

async function openPair() {
  const server = await openPostgresServer();
  atEnd(() => server[Symbol.asyncDispose]());
  const ports = [await openFreePort(), await openFreePort()] as const;
  const toWords = (port: number) => [
    ...['--port', String(port), '--host-address', `http://127.0.0.1:${port}`],
    ...['--proxy-listen', '127.0.0.1:0', '--trust-machines'],
  ];
  const database = await server.createDatabase();
  const guestWords = [...toWords(ports[1]), '--proxy-tcp', `tcp=${TCP_HOST}`];
  const pair = await openPlatformPair(database, [], [toWords(ports[0]), guestWords]);
  const [owner, guest] = pair.platforms;
  // Both end with their machines, which a kill would leave.
  for (const { child } of pair.platforms) {
    atEnd(async () => {
      child.process.kill('SIGTERM');
      await child.ended;
    });
  }
  const body = { name: 'dev-1', url_settings: { auth: 'public' } };
  const { machine_id: id } = (await owner.call({ method: 'POST', path: '/v1/sprites', body })).json;
  const path = `/v1/apps/acme/machines/${id}`;
  await owner.call({ method: 'POST', path: `${path}/start` });
  const webPort = await startWeb(owner);
  const proxyPort = async (platform: PairedPlatform) =>
    Number(new URL((await platform.call({ path: '/v1/sprites/dev-1' })).json.url).port);
  const [ownerProxy, guestProxy] = [await proxyPort(owner), await proxyPort(guest)];
  const ask = (question: ProxyQuestion) => askProxy(guestProxy, question);
  await eventually(async () => (await ask({})).status === 200);
  return { database, owner, guest, id: id as string, path, webPort, ownerProxy, guestProxy, ask };
}

/** Asks for a pipe to the machine by hand. Resolves with the status. */
function dialPipe(platform: PairedPlatform, target: string, headers: Readonly<Record<string, string>>) {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const asking = request(platform.url + target, {
    headers: { connection: 'Upgrade', upgrade: PIPE_PROTOCOL, ...headers },
  });
  asking.once('upgrade', (response, socket) => {
    socket.destroy();
    resolve(response.statusCode);
  });
  asking.once('response', (response) => {
    response.resume();
    resolve(response.statusCode);
  });
  asking.once('error', reject);
  asking.end();
  return promise;
}

describe.skipIf(isWithoutPostgres())('a request that comes in at another platform process', () => {
  const opened = openOnce(openPair);
  const head = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: ${SPRITE_HOST}\r\n${more}\r\n`;

  test('reaches the machine, and the server there sees who called and where', async () => {
    const { ask, guestProxy, ownerProxy, webPort } = opened();
    expect(guestProxy).not.toBe(ownerProxy);
    const answer = await ask({ path: '/describe?a=1', headers: { 'x-forwarded-for': '6.6.6.6', 'x-custom': 'kept' } });
    const { url, rawHeaders } = answer.json;
    const seen = Object.fromEntries(
      rawHeaders.flatMap((name: string, index: number) =>
        index % 2 === 0 ? [[name.toLowerCase(), rawHeaders[index + 1]]] : [],
      ),
    );
    expect(url).toBe('/describe?a=1');
    expect(seen).toMatchObject({
      host: `${SPRITE_HOST}:${guestProxy}`,
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': `${SPRITE_HOST}:${guestProxy}`,
      'x-forwarded-port': String(guestProxy),
      'x-custom': 'kept',
    });
    expect(seen['x-request-id']).toMatch(/^[0-9a-f]{24}$/);
    expect(Object.keys(seen).filter((name) => name.startsWith('remora-'))).toEqual([]);
    expect((await ask({ host: `${webPort}--${SPRITE_HOST}` })).text).toBe(`hello from ${webPort}`);
    const empty = await ask({ host: `1--${SPRITE_HOST}` });
    expect([empty.status, empty.json.message]).toEqual([502, expect.stringContaining('nothing listens')]);
  });

  test('bodies, trailers, streams, and what breaks off pass as they are', async () => {
    const { ask, guestProxy } = opened();
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }, { expect: '100-continue' }]) {
      const body = Buffer.alloc(3_000_000, 'b');
      const { json } = await ask({ path: '/describe', method: 'POST', body, headers });
      expect(json.bytes).toBe(body.length);
    }
    expect((await ask({ path: '/bytes?size=20000000&chunked' })).text.length).toBe(20_000_000);
    expect((await ask({ path: '/trailers' })).trailers).toEqual({ 'x-sum': 'abc' });

    const events = openRaw(guestProxy, head('/events'));
    await events.until(/data: 1\n.*data: 3\n/s);
    events.socket.destroy();
    await eventually(async () => JSON.parse((await ask({ path: '/arrivals' })).text).open.events === 0);

    for (const path of ['/break', '/reset']) {
      const broken = openRaw(guestProxy, head(path));
      await broken.until(/part/);
      await ask({ path: '/break-now' });
      expect(await broken.ended).toMatch(/part(?:\r\n)?$/);
    }
  });

  test('a WebSocket passes, with its close', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${opened().guestProxy}/socket`, { headers: { host: SPRITE_HOST } });
    onTestFinished(() => socket.on('error', () => undefined).terminate());
    const heard: Buffer[] = [];
    socket.on('message', (data: Buffer) => heard.push(data));
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    socket.send(Buffer.alloc(1_000_000, 'b'));
    await eventually(() => heard.length === 1);
    expect(heard[0]?.length).toBe(1_000_000);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.close(4_001, 'bye');
    expect(await closed).toBe(4_001);
  });

  test('keeps the machine awake at its own platform while it is there', async () => {
    const { ask, owner, path } = opened();
    const isAwake = async () => {
      const { status, json } = await owner.call({ path: `${path}/idle` });
      // One who asks too often has to wait.
      if (status !== 200) return undefined;
      return json.kept_awake_by.some(({ kind }: { kind: string }) => kind === 'traffic') ? 'awake' : 'idle';
    };
    const held = ask({ path: '/hold' });
    await eventually(async () => JSON.parse((await ask({ path: '/arrivals' })).text).open.held === 1);
    expect(await eventually(isAwake)).toBe('awake');
    await ask({ path: '/let-go' });
    expect((await held).status).toBe(200);
    await eventually(async () => (await isAwake()) === 'idle');
  });

  test('starts a machine that is suspended, once for all who wait', async () => {
    const { ask, owner, path } = opened();
    expect((await owner.call({ method: 'POST', path: `${path}/suspend` })).status).toBe(200);
    expect((await owner.call({ path: `${path}/wait?state=suspended` })).status).toBe(200);
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask({ path: '/describe' })));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const events = (await owner.call({ path: `${path}/events` })).json;
    expect(events.filter(({ type }: { type: string }) => type === 'resume')).toHaveLength(1);
  });

  test('is judged where it comes in', async () => {
    const { ask, owner, guest } = opened();
    const set = (auth: string) =>
      owner.call({ method: 'PUT', path: '/v1/sprites/dev-1', body: { url_settings: { auth } } });
    await set('sprite');
    await eventually(async () => (await ask({})).status === 401);
    expect((await ask({ token: guest.token })).status).toBe(200);
    await set('public');
    await eventually(async () => (await ask({})).status === 200);
  });

  test('a pipe is for platform processes only, and for the request that it was signed for', async () => {
    const { owner, path } = opened();
    const authorization = `Bearer ${owner.token.reveal()}`;
    const target = `${path}/pipe?to=web`;
    expect(await dialPipe(owner, target, {})).toBe(401);
    expect(await dialPipe(owner, target, { authorization })).toBe(403);
    expect(await dialPipe(owner, target, { authorization, [PASSED_HEADER]: 'a.b.c' })).toBe(401);
    expect(await dialPipe(owner, `${path}/pipe?to=agent`, { authorization })).toBe(400);
    expect((await owner.call({ path: target })).status).toBe(426);
  });

  test('an app has machines at both, and each proxy leads to all of them', async () => {
    const { owner, guest, guestProxy, ownerProxy } = opened();
    await owner.call({ method: 'POST', path: '/v1/apps', body: { name: 'shop', organization: 'acme' } });
    async function make(platform: PairedPlatform) {
      const port = await openFreePort();
      const config = { http_service: { internal_port: port } };
      const { id } = (await platform.call({ method: 'POST', path: '/v1/apps/shop/machines', body: { config } })).json;
      const started = () => startWeb(platform, { sprite: id, port, isHttp: false }).catch(() => undefined);
      await eventually(async () => (await started()) !== undefined);
      await eventually(async () => (await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined))?.ok === true);
      return port;
    }
    const ports = [await make(owner), await make(guest)];
    const shop = (proxy: number, path: string) => askProxy(proxy, { host: 'shop.apps.localhost', path });
    const heldAt = async (port: number) =>
      JSON.parse(await (await fetch(`http://127.0.0.1:${port}/arrivals`)).text()).open.held as number;
    for (const proxy of [guestProxy, ownerProxy]) {
      // What was kept of the app may be from before its machines.
      await eventually(async () => (await shop(proxy, '/')).status === 200);
      const held: ReturnType<typeof shop>[] = [];
      await eventually(async () => {
        const counts = await Promise.all(ports.map(heldAt));
        if (counts.every((count) => count > 0)) return true;
        const before = counts.reduce((sum, count) => sum + count, 0);
        held.push(shop(proxy, '/hold'));
        await eventually(
          async () => (await Promise.all(ports.map(heldAt))).reduce((sum, count) => sum + count, 0) > before,
        );
        return false;
      });
      for (const port of ports) await fetch(`http://127.0.0.1:${port}/let-go`);
      expect((await Promise.all(held)).map(({ status }) => status)).toEqual(held.map(() => 200));
    }
  });

  test('a connection to a TCP service reaches the machine, which learns who has connected', async () => {
    const { owner } = opened();
    const [inside, at] = [await openFreePort(), await openFreePort(TCP_HOST)];
    const service = { internal_port: inside, ports: [{ port: at, handlers: ['proxy_proto'] }] };
    await owner.call({ method: 'POST', path: '/v1/apps', body: { name: 'tcp', organization: 'acme' } });
    const body = { config: { services: [service] } };
    const { id } = (await owner.call({ method: 'POST', path: '/v1/apps/tcp/machines', body })).json;
    await eventually(() =>
      startTcp(owner, id, { count: inside }).then(
        () => true,
        () => false,
      ),
    );
    const said = await eventually(async () => {
      const socket = connect({ host: TCP_HOST, port: at, localAddress: '127.0.0.5', allowHalfOpen: true });
      socket.end('b'.repeat(3_000_000));
      // The port is not open at once, and the agent sees the program a moment later.
      return (await text(socket).catch(() => '')) || undefined;
    });
    const { bytes, head } = JSON.parse(said);
    const [line = ''] = Buffer.from(head, 'base64').toString('latin1').split('\r\n');
    expect(line).toMatch(new RegExp(`^PROXY TCP4 127\\.0\\.0\\.5 ${TCP_HOST} \\d+ ${at}$`));
    expect(bytes).toBe(3_000_000 + line.length + 2);
  });

  test('a process that is gone is 503, and is named to no visitor', async () => {
    const { ask, owner, database, id } = opened();
    for (const app of ['acme', 'shop', 'tcp']) {
      const list = `/v1/apps/${app}/machines`;
      for (const { id } of (await owner.call({ path: list })).json) {
        await owner.call({ method: 'POST', path: `${list}/${id}/stop` });
        expect((await owner.call({ path: `${list}/${id}/wait?state=stopped` })).status).toBe(200);
      }
    }
    owner.child.process.kill('SIGKILL');
    await owner.child.ended;
    const isAway = async () => {
      const answer = await eventually(async () => {
        const got = await ask({});
        return got.status === 503 ? got : undefined;
      });
      expect([answer.json.error, answer.json.details]).toEqual(['not_reachable', undefined]);
      expect(answer.headers['retry-after']).toBe('5');
    };
    await isAway();
    // One that ends well does this last.
    await using storage = await openPostgresStorage(database);
    const [{ host } = { host: '' }] = await storage.all<{ host: string }>(
      'SELECT DISTINCT host FROM machines WHERE id = $1',
      [id],
    );
    await forgetRunningKeys(storage, host);
    await isAway();
  });
});
