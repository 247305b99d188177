// Which devices the programs of a real supervisor may open. Needs root, control groups of version 2, and a kernel that filters devices.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createCgroup } from '../../../src/linux/processes/cgroup.ts';
import { findDevice, openDeviceFilters, usualDevices } from '../../../src/linux/processes/device-filter.ts';
import { findUser } from '../../../src/linux/users.ts';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { runExec } from '../../support/exec-socket.ts';
import { loudly } from '../../support/loudly.ts';
import { GROUPS, openOwnGroup } from '../../support/own-group.ts';
import { setProgramPolicy } from '../../support/set-program-policy.ts';
import { readLogOf, startSupervisor } from '../../support/supervisor-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

const USER = 'nobody';
const TRY = '(: < "$0") 2> /dev/null && echo "$0 opens" || echo "$0 is refused"';

/** A device that everybody may open and that is none of the usual ones. */
function findOther(): string | undefined {
  const unusual = readdirSync('/dev')
    .map((name) => join('/dev', name))
    .filter((path) => {
      const device = findDevice(path);
      const isUsual = usualDevices.some(
        ({ major, minor }) => device?.major === major && (minor ?? device.minor) === device.minor,
      );
      return device?.kind === 'character' && !isUsual;
    });
  const script = 'for each do if (: < "$each") 2> /dev/null; then echo "$each"; break; fi; done';
  const words = ['--reuid=65534', '--regid=65534', '--clear-groups', 'timeout', '10', 'sh', '-c', script, 'sh'];
  return execFileSync('setpriv', [...words, ...unusual], { encoding: 'utf8' }).split('\n')[0] || undefined;
}

async function whyNot(): Promise<string | undefined> {
  if (process.geteuid?.() !== 0 || findUser(USER) === undefined) return `not root, or no user ${USER}`;
  if (GROUPS === undefined) return 'no control groups of version 2';
  if (findOther() === undefined) return 'no device that everybody may open, but for the usual ones';
  const path = join(GROUPS, `remora-probe-${process.pid}`);
  mkdirSync(path);
  try {
    (await openDeviceFilters()).set(path, usualDevices);
    return undefined;
  } catch (error) {
    return String(error);
  } finally {
    createCgroup(path).remove();
  }
}

/** The group at the top is not the host's own where this is a container with groups of its own. */
const isDivisible = existsSync(join(GROUPS ?? '', 'cgroup.kill'));

const why = await whyNot();
describe.skipIf(loudly(why !== undefined, `${why}: no device is refused`))('in a control group of its own', () => {
  const opened = openOnce(async () => {
    const dir = tempDir();
    chmodSync(dir, 0o755);
    const other = findOther() ?? '';
    const { before } = openOwnGroup('devices');
    return { ...(await startSupervisor({ dir, user: USER, before })), other };
  });
  const run = async (path: string) => (await runExec(opened().socket, ['sh', '-c', TRY, path])).stdout.trim();

  test('programs open the usual devices and those of the list, and no others', async () => {
    const { other, dir, put } = opened();
    expect(await run(other)).toBe(`${other} opens`);
    expect(await setProgramPolicy(opened(), { privileges: { devices: ['/dev/zero'] } })).toMatchObject({ status: 200 });
    expect(await run(other)).toBe(`${other} is refused`);
    for (const path of ['/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom'])
      expect(await run(path)).toBe(`${path} opens`);
    const terminal = await runExec(opened().socket, ['sh', '-c', ': < /dev/tty'], { tty: 'true' });
    expect(terminal.code).toBe(1000);
    await put('web', { cmd: 'sh', args: ['-c', TRY, other] });
    await eventually(() => readLogOf(dir, 'web').includes(`${other} is refused`));
    expect(await setProgramPolicy(opened(), { privileges: { devices: [other] } })).toMatchObject({ status: 200 });
    expect([await run(other), await run('/dev/null')]).toEqual([`${other} opens`, '/dev/null opens']);
    expect(await setProgramPolicy(opened(), {})).toMatchObject({ status: 200 });
    expect(await run(other)).toBe(`${other} opens`);
  });

  test('a device that is not there is refused with its field, and nothing is changed', async () => {
    const { other } = opened();
    await setProgramPolicy(opened(), { privileges: { devices: ['/dev/null'] } });
    const devices = ['/dev/null', '/dev/no-such-device', '/etc/passwd'];
    expect(await setProgramPolicy(opened(), { privileges: { devices } })).toMatchObject({
      status: 400,
      json: {
        error: 'invalid_request',
        details: { fields: [{ field: 'body.devices.1' }, { field: 'body.devices.2' }] },
      },
    });
    expect(await run(other)).toBe(`${other} is refused`);
  });

  test.skipIf(isDivisible)('without a control group that may be divided, it is said what is missing', async () => {
    const dir = tempDir();
    chmodSync(dir, 0o755);
    const supervisor = await startSupervisor({
      dir,
      user: USER,
      before: ['sh', '-c', `echo 0 > ${GROUPS}/cgroup.procs; exec "$@"`, 'sh'],
    });
    for (const policy of [{ privileges: { devices: ['/dev/null'] } }, { resources: { memory: { limit_mb: 64 } } }]) {
      expect(await setProgramPolicy(supervisor, policy)).toMatchObject({
        status: 501,
        json: { error: 'not_supported', details: { missing: expect.stringContaining('a control group of version 2') } },
      });
    }
  });
});
