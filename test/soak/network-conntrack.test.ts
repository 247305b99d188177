// The kernel of a machine follows as many connections as it can: nothing gets out that a network policy does not allow, and what it allows gets
// out again as soon as there is room.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { openNetworkCapture } from '../support/network/capture.ts';
import { openNetworkProcess } from '../support/network-process.ts';
import { isWithoutNetworks, openNetworkWorld } from '../support/network-world.ts';
import { tempDir } from '../support/temp-dir.ts';

const NAMES = ['host-record=a.example,93.184.1.1,600', 'host-record=b.example,93.184.1.3,600'];

/** One that the kernel does not give up for another. */
function toConnection(index: number): string {
  const address = `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`;
  const ways = `-s ${address} -d 10.200.0.1 -r 10.200.0.1 -q ${address}`;
  return `-I -t 600 -u ASSURED,SEEN_REPLY ${ways} -p udp --sport 1 --dport 1 --reply-port-src 1 --reply-port-dst 1`;
}

test.skipIf(isWithoutNetworks(['/usr/bin/tcpdump', '/usr/sbin/conntrack']))(
  'a full table of connections opens nothing',
  async () => {
    const world = await openNetworkWorld();
    await world.setNames(NAMES);
    const network = await openNetworkProcess(world);
    const curl = (url: string) => world.run(['curl', '-sS', '-m', '2', '-o', '/dev/null', url]).status;
    await network.enforce([{ action: 'allow', domain: 'a.example' }]);
    expect(curl('http://a.example/')).toBe(0);

    const most = Number(readFileSync('/proc/sys/net/netfilter/nf_conntrack_max', 'utf8'));
    const file = join(tempDir(), 'connections');
    writeFileSync(file, `${Array.from({ length: most }, (_, index) => toConnection(index)).join('\n')}\n`);
    // It ends with an error when nothing more fits.
    world.run(['conntrack', '-R', file]);
    const followed = () => Number(world.run(['cat', '/proc/sys/net/netfilter/nf_conntrack_count']).stdout);
    expect(followed()).toBeGreaterThan(most - 100);

    const capture = await openNetworkCapture(world);
    for (const url of ['http://93.184.1.1/', 'http://93.184.1.3/', 'http://a.example/', 'http://b.example/']) {
      expect(curl(url), url).not.toBe(0);
    }
    expect(await capture.end()).toEqual([]);
    expect((await network.ask('GET', '/v1/network')).json).toMatchObject({ put_back: 0 });

    expect(world.run(['conntrack', '-F']).status).toBe(0);
    await eventually(() => curl('http://a.example/') === 0);
    expect(curl('http://93.184.1.3/')).not.toBe(0);
  },
  120_000,
);
