// What a policy of privileges does to the programs that a real supervisor starts. Needs root, as a supervisor under systemd has it.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ProgramPolicy } from '../../../src/contract/local/program-policy.ts';
import { findUser } from '../../../src/linux/users.ts';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { runExec } from '../../support/exec-socket.ts';
import { loudly } from '../../support/loudly.ts';
import { setProgramPolicy } from '../../support/set-program-policy.ts';
import { readLogOf, startSupervisor } from '../../support/supervisor-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

const USER = 'nobody';
const cannotBecomeOther = process.geteuid?.() !== 0 || findUser(USER) === undefined;
const NOTHING: ProgramPolicy = { privileges: {}, resources: {} };
const RIGHTS = ['sh', '-c', "grep -E '^(NoNewPrivs|Cap(Inh|Prm|Eff|Bnd|Amb)):' /proc/self/status | tr -s '\\t\\n' ' '"];
const NONE = 'CapInh: 0000000000000000 CapPrm: 0000000000000000 CapEff: 0000000000000000';
/** What containers get. */
const STANDARD = '00000000a80425fb';

function fileOf(dir: string): string {
  return join(dir, 'state', 'supervisor', 'program-policy.json');
}

async function openAs(user: string, before: readonly string[] = []) {
  const dir = tempDir();
  chmodSync(dir, 0o755);
  return await startSupervisor({ dir, user, before });
}

describe.skipIf(loudly(cannotBecomeOther, `not root, or no user ${USER}: no program is restricted`))(
  'under root',
  () => {
    const opened = openOnce(() => openAs(USER));
    const run = async (more = {}) => (await runExec(opened().socket, RIGHTS, more)).stdout.trim();

    test('the minimal profile leaves no right, and no way to another, to commands, terminals and services', async () => {
      const { dir, put, socket } = opened();
      const bound = (await run()).replace(/^.*CapBnd: (\S+) .*$/, '$1');
      expect(await setProgramPolicy(opened(), { privileges: { profile: 'minimal' } })).toMatchObject({
        status: 200,
        json: { privileges: { profile: 'minimal' }, resources: {} },
      });
      const all = `${NONE} CapBnd: 0000000000000000 CapAmb: 0000000000000000 NoNewPrivs: 1`;
      expect(await run()).toBe(all);
      const said = join(dir, 'open', 'said');
      mkdirSync(join(dir, 'open'));
      chmodSync(join(dir, 'open'), 0o777);
      const { code } = await runExec(socket, ['sh', '-c', `${RIGHTS[2]} > ${said}`], { tty: 'true' });
      expect([code, readFileSync(said, 'utf8').trim()]).toEqual([1000, all]);
      await put('web', { cmd: 'sh', args: RIGHTS.slice(1) });
      await eventually(() => readLogOf(dir, 'web').includes(all));
      expect(Number.parseInt(bound, 16)).toBeGreaterThan(0);
    });

    test('the standard profile leaves what sudo may need, and no_new_privs can be had alone or with it', async () => {
      const of = async (privileges: ProgramPolicy['privileges']) => {
        expect((await setProgramPolicy(opened(), { privileges })).status).toBe(200);
        return await run();
      };
      expect(await of({ profile: 'standard' })).toBe(
        `${NONE} CapBnd: ${STANDARD} CapAmb: 0000000000000000 NoNewPrivs: 0`,
      );
      expect(await of({ profile: 'standard', noNewPrivileges: true })).toContain(`CapBnd: ${STANDARD}`);
      expect(await run()).toContain('NoNewPrivs: 1');
      const alone = await of({ noNewPrivileges: true });
      expect(alone).toContain('NoNewPrivs: 1');
      expect(alone).not.toContain(STANDARD);
      const free = await of({ profile: 'privileged' });
      expect(free).toBe(alone.replace('NoNewPrivs: 1', 'NoNewPrivs: 0'));
    });

    test('what runs keeps its rights, and what starts from now on has the new ones', async () => {
      const { put, read, post } = opened();
      await setProgramPolicy(opened(), { privileges: {} });
      await put('old', { cmd: 'sleep', args: ['60'] });
      const noNew = async () => {
        const { state } = await read('old');
        return /^NoNewPrivs:\s*(\d)$/m.exec(readFileSync(`/proc/${state?.pid}/status`, 'utf8'))?.[1];
      };
      await expect.poll(noNew).toBe('0');
      await setProgramPolicy(opened(), { privileges: { noNewPrivileges: true } });
      expect(await noNew()).toBe('0');
      await post('old/restart?duration=0s');
      await expect.poll(async () => await noNew().catch(() => '?')).toBe('1');
      expect((await post('old/stop')).status).toBe(200);
    });

    test('it holds with the next supervisor; a damaged file lets nothing start until it is set again', async () => {
      const first = await openAs(USER);
      await setProgramPolicy(first, { privileges: { profile: 'minimal' } });
      await first.kill();
      const second = await startSupervisor({ dir: first.dir, user: USER });
      expect((await runExec(second.socket, RIGHTS)).stdout).toContain('CapBnd: 0000000000000000');
      writeFileSync(fileOf(first.dir), '{"privileges":');
      expect(await runExec(second.socket, ['true'])).toMatchObject({
        exit_code: 126,
        stderr: expect.stringContaining('program-policy.json is damaged'),
      });
      const failed = await second.put('web', { cmd: 'sleep', args: ['60'] }, '?duration=500ms');
      expect(failed.text).toContain('program-policy.json is damaged');
      expect((await setProgramPolicy(second, { privileges: {} })).json).toEqual(NOTHING);
      expect(existsSync(fileOf(first.dir))).toBe(false);
      expect((await runExec(second.socket, ['true'])).exit_code).toBe(0);
    });

    test.each([
      ['root', [], 'a user of the sprite that is not root (REMORA_USER)'],
      [USER, ['setpriv', '--bounding-set=-setpcap'], 'a supervisor with CAP_SETPCAP'],
    ])('as %s, %j, it is said what is missing, and nothing is kept', async (user, before, missing) => {
      const supervisor = await openAs(user, before);
      expect(await setProgramPolicy(supervisor, { privileges: { noNewPrivileges: true } })).toMatchObject({
        status: 501,
        json: { error: 'not_supported', details: { missing } },
      });
      expect(existsSync(fileOf(supervisor.dir))).toBe(false);
      expect(await setProgramPolicy(supervisor, { privileges: { profile: 'privileged' } })).toMatchObject({
        status: 200,
      });
      expect((await runExec(supervisor.socket, ['true'])).exit_code).toBe(0);
    });
  },
);
