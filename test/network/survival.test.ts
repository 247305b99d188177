// What a network policy has to outlive in a machine: its resolver killed, name servers and ways out that come later, and programs behind it.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { atEnd, openOnce } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { openNetworkCapture } from '../support/network/capture.ts';
import { startClient } from '../support/network/line-client.ts';
import { openNetworkProcess } from '../support/network-process.ts';
import { isWithoutNetworks, NAME_SERVER, openNetworkWorld } from '../support/network-world.ts';
import { readPolicy } from '../support/read-policy.ts';
import { tempDir } from '../support/temp-dir.ts';

const CURL = ['curl', '-sS', '-m', '30', '--noproxy', '*'];
const REFUSED = 7;
const NOT_RESOLVED = 6;
/** No name server answers there. */
const SILENT = '93.184.0.1';
const TABLE = ['table', 'inet', 'remora_network'];

const names = ['host-record=a.example,93.184.1.1,60', 'host-record=b.example,93.184.1.3,60'];

describe.skipIf(isWithoutNetworks(['/usr/bin/tcpdump', '/usr/bin/unshare', '/usr/sbin/conntrack']))(
  'in a machine with a network policy',
  () => {
    const opened = openOnce(async () => {
      const world = await openNetworkWorld();
      world.useNameServer();
      await world.setNames(names);
      return { world, network: await openNetworkProcess(world, []) };
    });
    const curl = (...words: string[]) => opened().world.run([...CURL, '-o', '/dev/null', ...words]).status;
    const enforce = (policy: string) => opened().network.enforce(readPolicy(policy));
    const list = (...words: string[]) => opened().world.run(['nft', ...words]).stdout;
    const dnsPort = () => /redirect to :(\d+)/.exec(list('list', 'chain', ...TABLE.slice(1), 'names'))?.[1] ?? '';
    const ip = (...words: string[]) => void execFileSync('ip', words, { stdio: ['ignore', 'ignore', 'pipe'] });

    test('the rules of the kernel are these', async () => {
      const networks = [{ network: '10.20.0.0/16' }, { network: '93.184.0.3', port: 443 }, { network: 'fd00::/8' }];
      await opened().network.enforce(readPolicy('+a.example'), { names: [], networks });
      const found = list('list', ...TABLE);
      const mark = /ct mark set ct mark & 0x[0-9a-f]{8} \| (0x[0-9a-f]{8})/.exec(found)?.[1] ?? '';
      expect(mark).toMatch(/^0x[0-9a-f]{3}00000$/);
      const file = join(tempDir(), 'expected.nft');
      const expected = readFileSync(new URL('expected.nft', import.meta.url), 'utf8');
      writeFileSync(file, expected.replaceAll('DNS_PORT', dnsPort()).replaceAll('MARK', mark));
      // Versions of `nft` write the same rules in several ways: this one shows both.
      const shown = execFileSync('unshare', ['-n', 'sh', '-ec', `nft -f ${file}; nft list ${TABLE.join(' ')}`], {
        encoding: 'utf8',
      });
      expect(found).toBe(shown);
    });

    test('a policy after none opens what is known, and lets no connection from before the pause through', async () => {
      const { network } = opened();
      const generation = () => {
        const [, mark = ''] =
          /ct mark set .* \| 0x([0-9a-f]{3})/.exec(list('list', 'chain', ...TABLE.slice(1), 'output')) ?? [];
        return Number.parseInt(mark, 16);
      };
      await enforce('+a.example');
      expect(curl('http://a.example/')).toBe(0);
      const first = generation();
      await enforce('');
      await enforce('+a.example');
      expect([curl('http://93.184.1.1/'), curl('http://a.example/')]).toEqual([0, 0]);
      expect(generation()).toBe(first + 1);
      await enforce('');
      await network.end('SIGTERM');
      await network.start();
      await enforce('+a.example');
      expect(generation()).toBe(first + 2);
    });

    test('while the resolver is gone nothing is resolved or gets out, and the next one knows what to close', async () => {
      const { world, network } = opened();
      await enforce('+a.example');
      expect(curl('http://a.example/')).toBe(0);
      const port = dnsPort();
      await network.end('SIGKILL');
      const capture = await openNetworkCapture(world);
      const dig = (...words: string[]) => world.run(['dig', '+tries=1', '+time=1', ...words]).status;
      expect([dig('a.example'), dig('b.example', '@8.8.8.8'), dig('b.example', '+tcp')]).not.toContain(0);
      expect([curl('http://b.example/'), curl('http://93.184.1.3/'), curl('http://93.184.1.1/')]).toEqual([
        NOT_RESOLVED,
        REFUSED,
        0,
      ]);
      expect([...new Set((await capture.end()).map(({ what }) => what))]).toEqual(['tcp 93.184.1.1:80']);
      await network.start();
      // Programs that keep the socket of their questions are answered there again.
      expect(dnsPort()).toBe(port);
      expect(curl('http://a.example/')).toBe(0);
      await network.end('SIGKILL');
      await network.start();
      await enforce('-*');
      expect([curl('http://93.184.1.1/'), curl('http://a.example/')]).toEqual([REFUSED, NOT_RESOLVED]);
    });

    test('a program that keeps the socket of its questions is led to the resolver of each moment', async () => {
      const { world, network } = opened();
      await enforce('');
      const script = new URL('../support/network/kept-question.py', import.meta.url).pathname;
      const ask = startClient(world, ['python3', '-u', script, NAME_SERVER, 'b.example']);
      const NOERROR = '0';
      const REFUSED_NAME = '5';
      expect(await ask('')).toBe(NOERROR);
      await enforce('+a.example');
      expect(await ask('')).toBe(REFUSED_NAME);
      await enforce('+b.example');
      expect(await ask('')).toBe(NOERROR);
      await network.end('SIGKILL');
      expect(await ask('')).toBe('ConnectionRefusedError');
      await network.start();
      await enforce('+a.example');
      expect(await ask('')).toBe(REFUSED_NAME);
      await enforce('');
      expect(await ask('')).toBe(NOERROR);
    });

    test('a program may ask from the port from which the resolver has just asked', async () => {
      const { world } = opened();
      await enforce('+a.example');
      // Else the kernel also lists questions of the tests before, one of whose programs still has its port.
      expect(world.run(['conntrack', '-F']).status).toBe(0);
      expect(curl('http://a.example/')).toBe(0);
      const { stdout } = world.run(['conntrack', '-L', '-p', 'udp', '--dst', NAME_SERVER]);
      const own = stdout.split('\n').find((line) => !line.includes('src=127.0.0.1'));
      const port = /sport=(\d+)/.exec(own ?? '')?.[1] ?? '';
      expect(port).not.toBe('');
      const answer = world.run([
        'dig',
        '+tries=1',
        '+time=20',
        '-b',
        `0.0.0.0#${port}`,
        `@${NAME_SERVER}`,
        'a.example',
      ]);
      expect(answer.stdout).toContain('status: NOERROR');
    });

    test('a rule that somebody takes away is put back', async () => {
      const { world } = opened();
      await enforce('+a.example');
      const whole = list('-t', 'list', ...TABLE);
      expect(whole).toContain('reject with tcp reset');
      expect(world.run(['nft', 'flush', 'chain', ...TABLE.slice(1), 'refuse']).status).toBe(0);
      expect(list('-t', 'list', ...TABLE)).not.toBe(whole);
      await eventually(() => list('-t', 'list', ...TABLE) === whole);
    });

    test('a policy may have ten thousand rules', async () => {
      const many = Array.from({ length: 9_999 }, (_, index) => `+*.tenant-${index}.example`).join(' ');
      await enforce(`${many} +a.example`);
      expect([curl('http://a.example/'), curl('http://b.example/')]).toEqual([0, NOT_RESOLVED]);
    });

    test('another program at the place of the resolver keeps it from nothing', async () => {
      const { world, network } = opened();
      await enforce('+a.example');
      const port = dnsPort();
      await network.end('SIGKILL');
      const holder = world.start([
        'python3',
        '-c',
        `import socket,time
held = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
held.bind(('127.0.0.1', ${port}))
print('held', flush=True)
time.sleep(600)`,
      ]);
      await new Promise((resolve) => holder.stdout?.once('data', resolve));
      await network.start();
      expect(dnsPort()).not.toBe(port);
      expect([curl('http://a.example/'), curl('http://b.example/')]).toEqual([0, NOT_RESOLVED]);
      holder.kill('SIGKILL');
    });

    test('name servers that the machine has later are asked, and ways out that it has later are shut', async () => {
      const { world } = opened();
      const putBack = async () => (await opened().network.ask('GET', '/v1/network')).json.put_back;
      await enforce('+a.example');
      const before = await putBack();
      const upstreams = () => list('list', 'set', ...TABLE.slice(1), 'upstream4');
      const forwarded = () => list('list', 'chain', ...TABLE.slice(1), 'forward');
      expect([upstreams().includes(NAME_SERVER), forwarded().includes('later0')]).toEqual([true, false]);
      world.useNameServer(SILENT);
      ip('-n', world.machine, 'link', 'add', 'later0', 'type', 'veth', 'peer', 'name', 'later1');
      ip('-n', world.machine, 'link', 'set', 'later0', 'up');
      ip('-n', world.machine, 'route', 'add', 'default', 'dev', 'later0', 'metric', '500');
      await eventually(() => upstreams().includes(SILENT) && forwarded().includes('later0'));
      await eventually(() => curl('http://a.example/') === NOT_RESOLVED);
      world.useNameServer(NAME_SERVER);
      ip('-n', world.machine, 'link', 'del', 'later0');
      await eventually(() => !upstreams().includes(SILENT) && !forwarded().includes('later0'));
      await eventually(() => curl('http://a.example/') === 0);
      // It is not taken for a change that somebody made.
      expect(await putBack()).toBe(before);
    });

    test('programs in a network behind the machine, as in a container, reach what the machine may reach', async () => {
      const { world } = opened();
      const inner = `${world.machine}i`;
      ip('netns', 'add', inner);
      atEnd(() => ip('netns', 'del', inner));
      ip('link', 'add', 'in0', 'netns', world.machine, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', inner);
      ip('-n', world.machine, 'addr', 'add', '93.181.0.1/24', 'dev', 'in0');
      ip('-n', world.machine, 'link', 'set', 'in0', 'up');
      ip('-n', inner, 'addr', 'add', '93.181.0.2/24', 'dev', 'eth0');
      ip('-n', inner, 'link', 'set', 'eth0', 'up');
      ip('-n', inner, 'route', 'add', 'default', 'via', '93.181.0.1');
      ip('-n', world.world, 'route', 'add', '93.181.0.0/24', 'via', '93.180.0.2');
      world.run(['sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward']);
      const run = (...words: string[]) => {
        try {
          execFileSync('ip', ['netns', 'exec', inner, ...words], { stdio: 'ignore' });
          return 0;
        } catch (error) {
          return (error as { status: number }).status;
        }
      };
      const inside = (url: string) => run(...CURL, url);
      await enforce('');
      expect([inside('http://93.184.1.1/'), inside('http://93.184.1.3/')]).toEqual([0, 0]);
      await enforce('+a.example');
      expect(curl('http://a.example/')).toBe(0);
      const capture = await openNetworkCapture(world);
      expect([inside('http://93.184.1.1/'), inside('http://93.184.1.3/')]).toEqual([0, REFUSED]);
      expect(run('dig', '+tries=1', '+time=1', `@${NAME_SERVER}`, 'b.example')).not.toBe(0);
      expect([...new Set((await capture.end()).map(({ what }) => what))]).toEqual(['tcp 93.184.1.1:80']);
    });
  },
);
