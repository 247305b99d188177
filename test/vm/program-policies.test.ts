// The policies of the programs of a sprite in a machine with a kernel of its own and systemd, set at the platform: what is restricted stays so through
// a suspend and the end of the supervisor, and a limit of memory ends what takes more and nothing else.
import { describe, expect, it } from 'vitest';
import { openOnce } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import type { TestPlatform } from '../support/open-platform.ts';
import { bootGolden } from '../support/vm/golden-guest.ts';
import { isWithoutMachines } from '../support/vm/vm-image.ts';

const BOOT_LIMIT_MS = 600_000;
const LIMIT_MS = 240_000;
/** How long a supervisor may take to start in an emulated machine. */
const START_MS = 150_000;
const SPRITE = '/v1/sprites/web';
const UNIT = '/sys/fs/cgroup/system.slice/remora-supervisor.service';
const minimal = { profile: 'minimal', devices: ['/dev/zero'] };
const memory = { limit_mb: 48 };
const WHOLE = String(120 * 1024 * 1024);
/** `tail` keeps all that it reads, and its reader counts what got there. */
const hog = 'head -c 120m /dev/zero | tail -c 120m | wc -c';

const call = async ({ call: ask }: TestPlatform, method: string, path: string, body?: object) =>
  await eventually(async () => {
    const answer = await ask({ method, path: `${SPRITE}/${path}`, ...(body === undefined ? {} : { body }) });
    return answer.status === 503 ? false : answer;
  }, 60_000);

/** What a command prints, with the bytes around each piece of it. */
async function run(platform: TestPlatform, script: string): Promise<string> {
  const query = new URLSearchParams(['sh', '-c', script].map((word) => ['cmd', word]));
  return (await call(platform, 'POST', `exec?${query}`)).text;
}

describe.skipIf(isWithoutMachines())('the policies of programs in a virtual machine', { timeout: LIMIT_MS }, () => {
  const set: string[] = [];
  const golden = openOnce(
    () =>
      bootGolden('6.12', {
        async prepare({ platform }) {
          for (const [kind, policy] of [
            ['privileges', minimal],
            ['resources', { memory }],
          ] as const) {
            const { status, text } = await call(platform, 'POST', `policy/${kind}`, policy);
            set.push(`${status}${text}`);
          }
          await call(platform, 'PUT', 'services/neighbour?duration=2s', { cmd: 'sleep', args: ['100000'] });
        },
      }),
    BOOT_LIMIT_MS,
  );
  const restored = openOnce(() => golden().restore(), LIMIT_MS);
  const limit = async (file = 'memory.max') =>
    (await restored().guest.run(`cat ${UNIT}/remora-limited/${file}`)).trim();
  const neighbour = async () => (await call(restored().platform, 'GET', 'services/neighbour')).json.state;

  it('hold when they are stored, and through a suspend', async () => {
    const { platform, guest } = restored();
    expect(set).toEqual(['204', '204']);
    expect((await call(platform, 'GET', 'policy/resources')).json).toEqual({ memory });
    const rights = "grep -E '^(NoNewPrivs|CapBnd):' /proc/self/status | tr -s '\\t\\n' ' '";
    expect(await run(platform, rights)).toContain('CapBnd: 0000000000000000 NoNewPrivs: 1');
    expect(await limit()).toBe(String(memory.limit_mb * 1024 * 1024));
    // No driver has this number: a program that may open it learns just that.
    await guest.run('mknod -m 666 /var/tmp/device c 10 1');
    const open = '(: < /var/tmp/device) 2>&1; : < /dev/zero && echo opens';
    expect(await run(platform, open)).toMatch(/Operation not permitted[\s\S]*opens/);
    expect(await guest.run('sh -c "(: < /var/tmp/device) 2>&1" || true')).not.toContain('not permitted');
  });

  it('end a command that takes more memory, and no other', async () => {
    const { platform, guest } = restored();
    const before = [await neighbour(), (await guest.run('systemctl show -P MainPID remora-supervisor')).trim()];
    const printed = await run(platform, `${hog}; echo over`);
    expect(printed).toContain('over');
    expect(printed).not.toContain(WHOLE);
    expect(await limit('memory.events')).toMatch(/^oom_kill [1-9]/m);
    const after = [await neighbour(), (await guest.run('systemctl show -P MainPID remora-supervisor')).trim()];
    expect(after).toEqual(before);
    expect(before[0]).toMatchObject({ status: 'running' });
  });

  it('are what a service is told that has taken more', async () => {
    const { platform } = restored();
    await call(platform, 'PUT', 'services/hog?duration=0s', { cmd: 'sh', args: ['-c', `${hog}; exit 3`] });
    const state = await eventually(async () => {
      const { state: now } = (await call(platform, 'GET', 'services/hog')).json;
      return now.status === 'failed' && now;
    }, 60_000);
    expect(state.error).toBe(
      'it ended with exit code 3, after the kernel had ended a process of it for want of memory',
    );
    expect((await call(platform, 'DELETE', 'services/hog')).status).toBeLessThan(300);
  });

  it('hold with the next supervisor, and can be lifted', async () => {
    const { platform, guest } = restored();
    const { pid } = await neighbour();
    await guest.run('systemctl kill -s KILL remora-supervisor');
    await eventually(async () => {
      const state = await neighbour();
      return state.status === 'running' && state.pid !== pid;
    }, START_MS);
    expect(await run(platform, 'cat /proc/self/cgroup')).toContain('/remora-limited/remora-exec-');
    expect(await limit()).toBe(String(memory.limit_mb * 1024 * 1024));
    expect((await call(platform, 'DELETE', 'policy/resources')).status).toBe(204);
    expect(await limit()).toBe('max');
    expect(await run(platform, hog)).toContain(WHOLE);
    expect((await call(platform, 'DELETE', 'policy/privileges')).status).toBe(204);
    expect(await run(platform, 'grep NoNewPrivs /proc/self/status')).toMatch(/NoNewPrivs:\s*0/);
  });
});
