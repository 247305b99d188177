// The platform's unit under systemd itself: the lines of its page as pasted, its rights, its keys, its watch, and its machines.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { isWithoutSystemd, openSystemdContainer, type SystemdContainer } from '../support/systemd-container.ts';

const page = readFileSync(new URL('../../systemd/README.md', import.meta.url), 'utf8');
const lines = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = '']) => text);
const url = 'http://127.0.0.1:4180';
const remora = '/opt/remora/bin/remora';
const own = '--dir /var/lib/remora-platform';
const LATE_MS = 50_000;

describe.skipIf(isWithoutSystemd())('the unit of the platform', () => {
  let box: SystemdContainer;
  const show = async (property: string) => (await box.run(`systemctl show -P ${property} remora-platform`)).trim();
  const auth = '-H "authorization: Bearer $(cat /var/lib/remora-platform/acme.token)"';
  const ask = async (path: string, words = '') =>
    JSON.parse(await box.run(`curl -sS --max-time 40 ${auth} ${words} ${url}${path}`));

  beforeAll(async () => {
    box = await openSystemdContainer(['remora-platform.service']);
    const [install = '', ...others] = lines.filter((text) => text.includes('enable --now remora-platform'));
    expect(others).toEqual([]);
    expect(await box.run(install)).toContain('{"status":"ok"}');
  });
  afterAll(() => box?.[Symbol.asyncDispose]());

  it('serves as a user without rights, and its token opens its organization', async () => {
    expect(await ask('/v1/sprites')).toMatchObject({ sprites: [] });
    const pid = await show('MainPID');
    const status = await box.run(`cat /proc/${pid}/status; stat -c %U /proc/${pid}`);
    for (const set of ['CapBnd', 'CapEff', 'CapPrm', 'CapAmb'])
      expect(status).toMatch(new RegExp(`^${set}:\\t0{16}$`, 'm'));
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(status).toMatch(/^Seccomp:\t2$/m);
    expect(status).toMatch(/^remora-platform$/m);
    expect(await box.run('stat -c "%a %U" /var/lib/remora-platform /var/lib/remora-platform/acme.token')).toBe(
      '700 remora-platform\n600 remora-platform\n',
    );
    expect(
      Number(await box.run(`grep 'Max open files' /proc/${pid}/limits | tr -s ' ' | cut -d ' ' -f 4`)),
    ).toBeGreaterThan(1_024);
    expect(await show('StatusText')).toBe(`serving at ${url}`);
    expect(Number(await show('WatchdogTimestampMonotonic'))).toBeGreaterThan(0);
  });

  it('shows its vault key to nobody', async () => {
    const key = readFileSync(join(box.tree, 'etc/credstore/remora-platform-key'), 'utf8').trim();
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    const pid = await show('MainPID');
    const said = await box.run(
      `tr '\\0' '\\n' < /proc/${pid}/environ; cat /proc/${pid}/cmdline; systemctl show remora-platform; journalctl --no-pager -o export`,
    );
    expect(said).toContain('CREDENTIALS_DIRECTORY=');
    expect(said).not.toContain(key);
    await expect(
      box.run('setpriv --reuid nobody --clear-groups cat /run/credentials/remora-platform.service/remora-platform-key'),
    ).rejects.toThrow(/Permission denied/);
  });

  it('takes a new token for the figures at a reload, and keeps the old one when the new one is none', async () => {
    const file = '/var/lib/remora-platform/metrics.token';
    writeFileSync(
      join(box.tree, 'etc/remora/platform.env'),
      `REMORA_PLATFORM_FLAGS="--metrics-token-file ${file} --trust-machines"\n`,
    );
    const give = (token: string) => box.run(`umask 077; echo ${token} > ${file} && chown remora-platform ${file}`);
    const figures = async (token: string) =>
      (
        await box.run(`curl -sS -o /dev/null -w '%{http_code}' -H 'authorization: Bearer ${token}' ${url}/metrics`)
      ).trim();
    await give('first-token-of-the-figures');
    await box.run('systemctl restart remora-platform');
    const pid = await show('MainPID');
    expect([await figures('first-token-of-the-figures'), await figures('other')]).toEqual(['200', '401']);
    await give('second-token-of-the-figures');
    await box.run('systemctl reload remora-platform');
    // A reload waits for a while until the platform has said that it reads it, and no longer.
    await eventually(async () => (await figures('second-token-of-the-figures')) === '200', LATE_MS);
    expect(await figures('first-token-of-the-figures')).toBe('401');
    await give('short');
    await box.run('systemctl reload remora-platform');
    const errors = () => box.run('journalctl --sync && journalctl -u remora-platform -p err -o cat --no-pager');
    await eventually(async () => /"msg":"the token for .metrics cannot be used/.test(await errors()), LATE_MS);
    expect([await figures('second-token-of-the-figures'), await figures('short')]).toEqual(['200', '401']);
    expect([await show('MainPID'), await show('ActiveState')]).toEqual([pid, 'active']);
    await give('second-token-of-the-figures');
  });

  it('leaves its machines running, and finds them again', async () => {
    await ask('/v1/sprites', `-X POST -H 'content-type: application/json' -d '{"name":"web"}'`);
    const [machine] = JSON.parse(await box.run(`${remora} machine list ${own} --organization acme --json`));
    await box.run(`${remora} machine start ${own} --organization acme ${machine.id}`);
    const pids = async () => (await box.run('pgrep -u remora-platform -f "remora.cjs agent"')).trim();
    const before = await pids();
    expect(before).toMatch(/^\d+$/);
    expect(await box.run(`cat /proc/${before}/cgroup`)).toMatch(/remora-platform\.service\/.+/);
    const platform = await show('MainPID');
    await box.run('systemctl restart remora-platform');
    expect(await show('MainPID')).not.toBe(platform);
    expect(await pids()).toBe(before);
    const found = async () => {
      const said = JSON.parse(await box.run(`${remora} machine list ${own} --organization acme --json`));
      return said.find(({ id }: { id: string }) => id === machine.id)?.state === 'running';
    };
    await eventually(found, LATE_MS);
    await box.run(`${remora} machine stop ${own} --organization acme ${machine.id}`);
    const left = () => box.run('pgrep -u remora-platform -f "remora.cjs agent" || true');
    await eventually(async () => (await left()) === '', LATE_MS);
  });

  it('comes back after its end, and stops in its time', async () => {
    const before = Number(await show('NRestarts'));
    await box.run('systemctl kill --kill-who=main --signal=KILL remora-platform');
    await eventually(
      async () => Number(await show('NRestarts')) === before + 1 && (await show('ActiveState')) === 'active',
      LATE_MS,
    );
    expect(await ask('/v1/sprites')).toMatchObject({ sprites: [{ name: 'web' }] });
    await box.run('systemctl stop remora-platform');
    expect([await show('Result'), await show('ExecMainStatus')]).toEqual(['success', '0']);
  });
});
