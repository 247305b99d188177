// The user and the group that services run as, and that all of a group ends. Needs root, as a supervisor under systemd has it.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createCgroup } from '../../../src/linux/processes/cgroup.ts';
import { findUser } from '../../../src/linux/users.ts';
import { eventually } from '../../support/eventually.ts';
import { readIfThere } from '../../support/read-if-there.ts';
import { findPids, readLogOf, startSupervisor, toEvents } from '../../support/supervisor-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

const USER = 'nobody';
const isRoot = process.geteuid?.() === 0;
const linesOf = (text: string) =>
  toEvents({ text }).flatMap((event) => (event.type === 'stdout' || event.type === 'stderr' ? [event.data] : []));

describe.skipIf(!isRoot || findUser(USER) === undefined)('under root', () => {
  test('a service has the rights, the groups, the mask and the variables of its user', async () => {
    const dir = tempDir();
    chmodSync(dir, 0o755);
    const supervisor = await startSupervisor({ dir, user: USER });
    const script =
      'id -u; id -g; id -G; umask; echo "$USER|$TEXT"; env | grep -c LD_NONE; echo again > /dev/stdout; echo error > /dev/stderr; sleep 60';
    const env = { TEXT: `a'b "c"\nd $HOME`, LD_NONE: '1' };
    await supervisor.put('web', { cmd: 'sh', args: ['-c', script], env });
    const shown = async (name: string, ...last: readonly RegExp[]) =>
      await eventually(async () => {
        const lines = linesOf((await supervisor.ask({ target: `/v1/services/${name}/logs` })).text);
        return last.every((each) => lines.some((line) => each.test(line))) && lines;
      });
    const id = (flag: string) => execFileSync('id', [flag, USER], { encoding: 'utf8' }).trim();
    const printed = await shown('web', /^again$/, /^error$/);
    // The two outputs are read apart.
    expect(printed.filter((line) => line !== 'error')).toEqual([
      id('-u'),
      id('-g'),
      id('-G'),
      '0022',
      `${USER}|a'b "c"`,
      'd $HOME',
      '1',
      'again',
    ]);
    expect(existsSync(join(dir, 'state', 'supervisor', 'services.json'))).toBe(true);
    const steal = `cat ${join(dir, 'state', 'supervisor', 'services.json')}; kill -9 ${supervisor.child.pid}`;
    await supervisor.put('thief', { cmd: 'sh', args: ['-c', `${steal}; sleep 60`] });
    expect((await shown('thief', /not permitted/i)).join()).toMatch(/Permission denied.*not permitted/i);
    expect((await supervisor.post('web/stop')).status).toBe(200);
  });

  test('variables of a request load no code into a program that root runs', async () => {
    const dir = tempDir();
    chmodSync(dir, 0o755);
    const supervisor = await startSupervisor({ dir, user: USER });
    // The loader of each program complains of a library that it does not find.
    const env = { LD_PRELOAD: '/no/such/library.so' };
    await supervisor.put('web', { cmd: 'sleep', args: ['60'], env });
    // Those that start it have complained by then.
    await eventually(async () => {
      const { state } = await supervisor.read('web');
      return state?.pid !== undefined && readIfThere(`/proc/${state.pid}/comm`) === 'sleep\n';
    });
    const complaints = () =>
      readLogOf(dir, 'web')
        .split('\n')
        .filter((line) => line.includes('/no/such/library.so'));
    await eventually(() => complaints().length > 0);
    expect(complaints()).toHaveLength(1);
  });
});

const GROUPS = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup'].find((path) =>
  existsSync(join(path, 'cgroup.controllers')),
);

describe.skipIf(!isRoot || GROUPS === undefined)('in a control group', () => {
  test('each service has a group inside, of which nothing is left after a stop', async () => {
    const path = join(GROUPS ?? '', `remora-test-${process.pid}-svc`);
    mkdirSync(path);
    onTestFinished(async () => {
      createCgroup(path).kill();
      await eventually(() => createCgroup(path).pids().length === 0);
      createCgroup(path).remove();
      if (existsSync(path)) rmdirSync(path);
    });
    const before = ['sh', '-c', 'echo 0 > "$0/cgroup.procs"; exec "$@"', path];
    const supervisor = await startSupervisor({ before });
    const inner = () => readdirSync(path).filter((name) => name.startsWith('remora-service-'));
    const mark = `svc-group-${process.pid}`;
    // Its grandchild has neither its session nor its environment.
    const script = `setsid setsid env -i /bin/sh -c 'trap "" TERM; while :; do sleep 0.2; done' ${mark} & sleep 60`;
    await supervisor.put('tree', { cmd: 'sh', args: ['-c', script] }, '?duration=500ms');
    const [group] = await eventually(() => inner().length === 1 && inner());
    await eventually(() => findPids(`${mark}\0`).length > 0);
    await eventually(() => createCgroup(join(path, group ?? '')).pids().length >= 3);
    await supervisor.post('tree/stop?timeout=200ms');
    expect(findPids(mark)).toEqual([]);
    expect(inner()).toEqual([]);
  });
});
