// A network policy in the kernel, against real programs: a machine in a network namespace of its own, and the world around it in another one.
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { openOnce } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { isWithoutAttempts } from '../support/network/attempt-notes.ts';
import { openNetworkProcess } from '../support/network-process.ts';
import { isWithoutNetworks, openNetworkWorld } from '../support/network-world.ts';
import { soon } from '../support/soon.ts';

const allow = (domain: string) => ({ action: 'allow', domain });
const deny = (domain: string) => ({ action: 'deny', domain });
const CURL = ['curl', '-sS', '-m', '30', '--noproxy', '*'];
const REFUSED = 7;
const NOT_RESOLVED = 6;

const names = [
  'host-record=a.example,93.184.0.1,2606:2800::1,60',
  'host-record=b.example,93.184.0.2,60',
  'host-record=c.example,93.184.0.3,60',
  'host-record=short.example,93.184.0.2,1',
  'cname=alias.example,b.example',
  'host-record=rebind.example,10.20.0.1,60',
  'host-record=metadata.example,169.254.169.254,60',
  'host-record=platform.example,10.20.0.1,60',
];

const cannotNote = await isWithoutAttempts();

describe.skipIf(isWithoutNetworks())('in a machine with a network policy', () => {
  const opened = openOnce(async () => {
    const world = await openNetworkWorld();
    await world.setNames(names);
    return { world, network: await openNetworkProcess(world) };
  });
  const curl = (...words: string[]) => opened().world.run([...CURL, ...words]);
  const enforce = (rules: readonly object[], exempt?: object) => opened().network.enforce(rules, exempt);

  test('nothing is restricted without one', async () => {
    expect(curl('http://93.184.0.3/')).toMatchObject({ status: 0, stdout: '93.184.0.3\n' });
    await enforce([deny('*')]);
    expect(curl('http://93.184.0.3/').status).toBe(REFUSED);
    await enforce([]);
    expect(curl('http://93.184.0.3/')).toMatchObject({ status: 0, stdout: '93.184.0.3\n' });
    expect(opened().world.run(['nft', 'list', 'ruleset']).stdout).toBe('');
  });

  test('an allowed name leads to its addresses, and an address by itself nowhere', async () => {
    await enforce([allow('a.example')]);
    expect(curl('http://93.184.0.1/').status).toBe(REFUSED);
    expect(curl('-4', 'http://A.Example./')).toMatchObject({ status: 0, stdout: '93.184.0.1\n' });
    expect(curl('-6', 'http://a.example/')).toMatchObject({ status: 0, stdout: '2606:2800::1\n' });
    expect(curl('http://93.184.0.1/')).toMatchObject({ status: 0 });
    for (const address of ['93.184.0.2', '10.20.0.1', '169.254.169.254', '[2606:2800::2]']) {
      // A machine with other work may be late by itself, but not each time.
      await soon(() => {
        const begun_ms = performance.now();
        expect(curl(`http://${address}/`)).toMatchObject({ status: REFUSED });
        expect(performance.now() - begun_ms).toBeLessThan(2_000);
      });
    }
  });

  test('a denied name is refused, and nobody is asked for it', async () => {
    const { world } = opened();
    await enforce([allow('a.example')]);
    for (const words of [
      [],
      ['+tcp'],
      ['TXT'],
      ['@8.8.8.8'],
      ['@8.8.8.8', '+tcp'],
      ['@2001:4860:4860::8888'],
      ['@127.0.0.1'],
    ]) {
      const { stdout } = world.run(['dig', '+tries=1', '+time=20', 'secret-data.b.example', ...words]);
      expect(stdout, words.join(' ')).toContain('status: REFUSED');
    }
    expect(curl('http://b.example/').status).toBe(NOT_RESOLVED);
    expect(world.asked().filter((name) => name.endsWith('b.example'))).toEqual([]);
    expect(world.run(['dig', '+short', '+tries=1', '-p', '5300', '@93.184.0.53', 'b.example']).status).not.toBe(0);
  });

  test('an alias opens the addresses of its answer, and not the name that it stands for', async () => {
    await enforce([allow('alias.example')]);
    expect(curl('http://alias.example/')).toMatchObject({ status: 0, stdout: '93.184.0.2\n' });
    expect(curl('http://b.example/').status).toBe(NOT_RESOLVED);
  });

  test('a name never leads to a private address, unless it is exempt', async () => {
    const { world } = opened();
    await enforce([allow('*')]);
    for (const name of ['rebind.example', 'metadata.example']) {
      expect(world.run(['dig', '+short', name]).stdout).toBe('');
      expect(curl(`http://${name}/`).status).toBe(NOT_RESOLVED);
    }
    await enforce([deny('*')], {
      names: [{ name: 'platform.example' }],
      networks: [{ network: '93.184.0.3', port: 80 }],
    });
    expect(curl('http://platform.example/')).toMatchObject({ status: 0, stdout: '10.20.0.1\n' });
    expect(curl('http://93.184.0.3/')).toMatchObject({ status: 0 });
    expect(curl('http://93.184.0.3:81/').status).toBe(REFUSED);
    expect(curl('http://a.example/').status).toBe(NOT_RESOLVED);
  });

  test('a name that is exempt with a port leads to this port, and a rule that allows it opens the others of public addresses alone', async () => {
    const { network } = opened();
    const explain = async (host: string, port: number) =>
      (await network.ask('POST', '/v1/network/explain', { host, port })).json.decision;
    const names = [
      { name: 'platform.example', port: 80 },
      { name: 'c.example', port: 80 },
    ];
    await enforce([deny('*')], { names, networks: [] });
    for (const [name, address] of [
      ['platform.example', '10.20.0.1'],
      ['c.example', '93.184.0.3'],
    ] as const) {
      expect(curl(`http://${name}/`)).toMatchObject({ status: 0, stdout: `${address}\n` });
      for (const host of [name, address]) {
        expect(curl(`http://${host}:8080/`).status).toBe(REFUSED);
        expect([await explain(host, 80), await explain(host, 8080)]).toEqual(['allow', 'deny']);
      }
    }
    await enforce([allow('*')], { names, networks: [] });
    expect(curl('http://c.example:8080/')).toMatchObject({ status: 0 });
    expect(curl('http://platform.example/')).toMatchObject({ status: 0 });
    expect(curl('http://platform.example:8080/').status).toBe(REFUSED);
    await enforce([deny('*')], { names, networks: [] });
    expect(curl('http://93.184.0.3:8080/').status).toBe(REFUSED);
    for (const address of ['93.184.0.3', '10.20.0.1']) expect(curl(`http://${address}/`)).toMatchObject({ status: 0 });
  });

  test('a connection outlives the answer that opened its address; new ones need a new answer', async () => {
    const { world } = opened();
    await enforce([allow('short.example')]);
    const stream = world.start([...CURL, '-N', '-m', '60', 'http://short.example/stream']);
    let received = 0;
    stream.stdout?.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    await eventually(() => received > 0);
    await eventually(async () => {
      await sleep(200);
      return curl('http://93.184.0.2/').status === REFUSED;
    });
    const before = received;
    await eventually(() => received > before + 50);
    expect(curl('http://short.example/')).toMatchObject({ status: 0 });
    stream.kill('SIGKILL');
  });

  test.each(['stream', 'quiet'])('a connection that is not allowed any more ends within a second: %s', async (kind) => {
    const { world } = opened();
    /** How long the connection lasts that is not allowed any more, in milliseconds. The other one goes on. */
    async function measure(): Promise<number> {
      await enforce([allow('a.example'), allow('b.example')]);
      const start = (name: string) => world.start([...CURL, '-4', '-N', '-m', '60', `http://${name}/${kind}`]);
      const [kept, ended] = [start('a.example'), start('b.example')];
      const isConnected = (address: string) =>
        world.run(['ss', '-tnH', 'state', 'established', 'dst', address]).stdout !== '';
      await eventually(() => isConnected('93.184.0.2') && isConnected('93.184.0.1'));
      await enforce([allow('a.example')]);
      const changed_ms = performance.now();
      await new Promise((resolve) => (ended.exitCode === null ? ended.once('close', resolve) : resolve(0)));
      const lasted_ms = performance.now() - changed_ms;
      expect(kept.exitCode).toBe(null);
      kept.kill('SIGKILL');
      return lasted_ms;
    }
    // A machine with other work may be late by itself, but not each time.
    const lasted_ms = [await measure()];
    while (lasted_ms.length < 5 && (lasted_ms.at(-1) ?? 0) >= 1_000) lasted_ms.push(await measure());
    expect(Math.min(...lasted_ms)).toBeLessThan(1_000);
  });

  test('the rules hold on without the process that made them, and with the next one', async () => {
    const { world, network } = opened();
    await enforce([allow('a.example')]);
    const stream = world.start([...CURL, '-4', '-N', '-m', '60', 'http://a.example/stream']);
    let received = 0;
    stream.stdout?.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    await eventually(() => received > 0);
    await network.end('SIGKILL');
    expect(curl('http://93.184.0.2/').status).toBe(REFUSED);
    expect(curl('http://a.example/').status).toBe(NOT_RESOLVED);
    await network.start();
    expect(curl('http://93.184.0.2/').status).toBe(REFUSED);
    expect(curl('http://a.example/')).toMatchObject({ status: 0 });
    const before = received;
    await eventually(() => received > before + 50);
    expect((await network.ask('GET', '/v1/network')).json).toMatchObject({ rules: [allow('a.example')] });
    stream.kill('SIGKILL');
  });

  test('rules that somebody takes away are put back, and it is said', async () => {
    const { world, network } = opened();
    await enforce([allow('a.example')]);
    expect(curl('-4', 'http://a.example/')).toMatchObject({ status: 0 });
    expect(world.run(['nft', 'flush', 'ruleset']).status).toBe(0);
    await eventually(async () => {
      await sleep(200);
      return curl('http://93.184.0.2/').status === REFUSED;
    });
    expect(curl('http://93.184.0.1/')).toMatchObject({ status: 0 });
    expect((await network.ask('GET', '/v1/network')).json.put_back).toBe(1);
    await eventually(() => network.log().includes('somebody had changed the rules of the network policy'));
  });

  test('a program without the right cannot change them', async () => {
    const { world } = opened();
    await enforce([allow('a.example')]);
    const asNobody = ['setpriv', '--reuid=65534', '--clear-groups', '--bounding-set=-net_admin', '--inh-caps=-all'];
    const asRoot = ['setpriv', '--bounding-set=-net_admin', '--inh-caps=-net_admin', 'capsh'];
    expect(world.run([...asNobody, 'nft', 'flush', 'ruleset']).status).not.toBe(0);
    expect(world.run([...asRoot.slice(0, -1), 'nft', 'flush', 'ruleset']).status).not.toBe(0);
    expect(curl('http://93.184.0.2/').status).toBe(REFUSED);
  });

  test('what would happen, and what was refused, is told', async () => {
    const { network } = opened();
    await enforce([allow('*.example'), deny('b.example')]);
    const explain = async (body: object) => (await network.ask('POST', '/v1/network/explain', body)).json;
    curl('-4', 'http://c.example/');
    curl('http://b.example/');
    curl('http://93.184.0.2:8080/');
    expect(await explain({ host: 'B.example.' })).toMatchObject({
      decision: 'deny',
      rule: { index: 1, domain: 'b.example' },
    });
    expect(await explain({ host: 'c.example' })).toMatchObject({
      decision: 'allow',
      rule: { index: 0 },
      addresses: ['93.184.0.3'],
    });
    expect(await explain({ host: '93.184.0.3' })).toMatchObject({ decision: 'allow', names: ['c.example'] });
    expect(await explain({ host: '93.184.9.9', port: 443 })).toMatchObject({ decision: 'deny', names: [] });
    expect((await network.ask('POST', '/v1/network/explain', { host: 'a b' })).status).toBe(400);
    const { refused } = (await network.ask('GET', '/v1/network/refused')).json as {
      refused: Record<string, unknown>[];
    };
    expect(refused.find(({ name }) => name === 'b.example')).toMatchObject({ kind: 'name', count: expect.any(Number) });
    expect(refused.find(({ port }) => port === 8080)).toMatchObject({
      kind: 'address',
      address: '93.184.0.2',
      protocol: 'tcp',
      uid: 0,
    });
  });

  test.skipIf(cannotNote)('the process behind a refused address is told, also when it has ended', async () => {
    const { world, network } = opened();
    await enforce([allow('a.example')]);
    const script = new URL('../support/network/attempts.py', import.meta.url).pathname;
    const tried = [
      ['tcp', '93.184.0.2', 4001],
      ['tcp', '::ffff:93.184.0.2', 4002],
      ['tcp', '2606:2800::2', 4003],
      ['udp', '93.184.0.2', 4004],
      ['udp', '2606:2800::2', 4005],
      ['udp connected', '93.184.0.2', 4006],
    ] as const;
    const words = tried.map(([how, address, port]) => `${how}|${address}|${port}`);
    const users = [0, 65_534];
    const pids = users.map((user) => Number(world.run(['python3', script, `${user}`, ...words]).stdout));
    const { refused } = (await network.ask('GET', '/v1/network/refused')).json as {
      refused: Record<string, unknown>[];
    };
    for (const [how, address, port] of tried) {
      const found = refused.filter((one) => one.port === port);
      const expected = users.map((uid, index) =>
        expect.objectContaining({
          ...{ kind: 'address', address: address.replace('::ffff:', ''), protocol: how.slice(0, 3), uid },
          process: { pid: pids[index], command: 'python3' },
        }),
      );
      expect(found, `${how} ${address}`).toHaveLength(2);
      expect(found).toEqual(expect.arrayContaining(expected));
    }
  });
});
