// The way out of a virtual machine, on a host in a network of its own, whose internet is another network: nothing leaves this machine.
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { loudly } from '../support/loudly.ts';
import { isWithoutMachines } from '../support/vm/vm-image.ts';

const hasWay = spawnSync('which', ['nft']).status === 0 && existsSync('/dev/net/tun');
const isSkipped =
  isWithoutMachines() || loudly(!hasWay, 'no way out of a machine is tried, for want of nftables or /dev/net/tun');

describe.skipIf(isSkipped)('the way out of a virtual machine', () => {
  let found: Record<string, unknown>;

  beforeAll(async () => {
    const dir = mkdtempSync('/var/tmp/remora-egress-');
    const script = new URL('../support/vm/egress-run.ts', import.meta.url).pathname;
    try {
      const { stdout } = await promisify(execFile)('unshare', ['--net', process.execPath, script, dir]);
      found = JSON.parse(stdout);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  test('leads to the public internet with the address of the host, and to the platform', () => {
    expect(found).toMatchObject({ platform: 'open', internet: 'open', seenAs: '45.79.0.1' });
  });

  test('leads to no private range, no metadata, no other machine and no address of the host, which all would answer', () => {
    expect(found.reachedFromHost).not.toContain('nothing');
    expect(found.reached).toBe(',45.79.0.2');
  });

  test('is not open to the emulator itself', () => {
    expect(found.datagrams).toBe('1');
  });

  test('is closed to every source but the address of the machine', () => {
    expect(found).toMatchObject({ spoofed: 'closed', afterSpoof: 'open' });
  });

  test('leads to a private address where the platform listens, from the one that the machine was given, also after a resume', () => {
    expect(found).toMatchObject({ private: ['fdaa::1', 'closed'], privateAfterResume: ['fdaa::1', 'closed'] });
  });

  test('is there again after a suspend, and for the next platform', () => {
    expect(found).toMatchObject({ resumed: 'resumed', internetAfterResume: 'open', cables: 1 });
    expect(found).toMatchObject({ rulesWhileItRuns: true, found: 'running', internetAfterAdoption: 'open' });
    expect(found.platformAfterAdoption).toBe('open');
  });

  test('is none where the configuration says so, and a snapshot with another one is discarded', () => {
    expect(found.internetWithNone).toBe('closed');
    expect(found.resumedWithEgress).toEqual({ outcome: 'discarded', cause: 'maintenance' });
    expect(found.internetAfterColdStart).toBe('open');
  });

  test('leaves no cable and no rule, and those of other platforms alone', () => {
    expect(found.left).toEqual({ cables: [], hasRules: false, other: true });
  });
});
