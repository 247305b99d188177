// The network policy of a sprite in a virtual machine with a whole Debian: what gets out of it, on a host in a network of its own, whose internet is
// another network: nothing leaves this machine.
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { loudly } from '../support/loudly.ts';
import { isWithoutMachines, makeTestImage } from '../support/vm/vm-image.ts';

const missing = ['nft', 'dnsmasq'].filter((tool) => spawnSync('which', [tool]).status !== 0);
if (!existsSync('/dev/net/tun')) missing.push('/dev/net/tun');
const isSkipped =
  isWithoutMachines() ||
  loudly(missing.length > 0, `no policy is tried in a machine, for want of ${missing.join(', ')}`);

/** Exit codes of curl: a name that is not resolved, and a connection that is refused at once. */
const [OPEN, NOT_RESOLVED, REFUSED] = ['0', '6', '7'];
const gateway = 'known /hello';
/** Two boots, and perhaps an image. */
const LIMIT_MS = 20 * 60_000;
const onlyA = { a: OPEN, b: NOT_RESOLVED, raw: REFUSED, gateway };

describe.skipIf(isSkipped)('the network policy of a sprite in a virtual machine', () => {
  // biome-ignore lint/suspicious/noExplicitAny: what was found is compared.
  let found: any;

  beforeAll(async () => {
    const image = await makeTestImage('6.12');
    const dir = mkdtempSync('/var/tmp/remora-policy-');
    const script = new URL('../support/vm/network-policy-run.ts', import.meta.url).pathname;
    try {
      const own = ['--net', '--mount', '--propagation', 'private', process.execPath, script, dir, image.dir];
      const { stdout } = await promisify(execFile)('unshare', own);
      found = JSON.parse(stdout);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
    expect(found).not.toHaveProperty('error');
  }, LIMIT_MS);

  test('costs nothing while nothing is restricted', () => {
    expect(found.status.state).toBe('ok');
    expect(found.before).toEqual({ a: OPEN, b: OPEN, raw: OPEN, gateway });
    expect(found.without[0]).toBe('inactive');
    expect(found.without.join()).not.toContain('remora_network');
  });

  test('is set from the platform and holds: by name, by address, at other name servers, over IPv6 and for datagrams', () => {
    expect([found.set, found.restricted]).toEqual([204, onlyA]);
    expect(found.asked).toEqual(['45.79.0.2', 'EREFUSED', 'EREFUSED', 'EREFUSED', '45.79.0.2']);
    expect([found.ipv6, found.datagram]).toEqual([[REFUSED], 'refused\n']);
    expect(found.processes).toBe('remora-network\nrunning\n');
    expect([found.knocked, found.leaked]).toEqual([[REFUSED], [0, 0]]);
  });

  test('tells the process behind a refused address', () => {
    expect(found.refused).toMatchObject({ address: '45.79.0.3', process: { command: 'curl' } });
  });

  test('is answered by the agent with REFUSED while what resolves names is away', () => {
    expect([found.away, found.back]).toEqual([['EREFUSED', 'EREFUSED'], ['45.79.0.2']]);
  });

  test('can be read by the user of the sprite, and not be changed', () => {
    const [flush, remove, call, write, ...shown] = found.unprivileged;
    expect([flush, remove, write]).toEqual(['1', '1', '1']);
    expect(call).toBe(REFUSED);
    expect(JSON.parse(shown.join())).toEqual({ rules: [{ action: 'allow', domain: 'a.example' }] });
    expect(found.afterThat).toEqual(onlyA);
  });

  test('is put back within five seconds when root has thrown the rules away, which is said', () => {
    expect(found.putBack_s).toBeLessThanOrEqual(5);
    expect([found.told, found.afterFlush]).toEqual(['1\n', onlyA]);
  });

  test('holds through a suspend: what tries all the time gets nothing out', () => {
    expect(found.resumed).toEqual(onlyA);
    expect([found.knockedLater, found.leakedLater]).toEqual([[REFUSED], 0]);
  });

  test('ends a connection that lies idle when it denies its address', () => {
    expect([found.setOther, found.idleEnded]).toEqual([204, 1]);
  });

  test('is that of the platform after a checkpoint older than any policy was restored, also for its services', () => {
    expect(found.restored).toEqual({ a: NOT_RESOLVED, b: OPEN, raw: OPEN, gateway });
    expect([found.service, found.leakedOther]).toEqual(['running', 0]);
    const [rules, supervisor] = found.order;
    expect(rules).toBeGreaterThan(0);
    expect(rules).toBeLessThan(supervisor);
  });

  test('denies everything but the gateway where it denies everything, and leaves nothing when it is lifted', () => {
    expect([found.setNothing, found.denied]).toEqual([
      204,
      { a: NOT_RESOLVED, b: NOT_RESOLVED, raw: REFUSED, gateway },
    ]);
    expect([found.lift, found.lifted, found.left]).toEqual([204, found.before, ['']]);
  });
});
