// The agent's unit under systemd itself: its log, its credential, its rights, its sockets while it restarts, its end, its settings.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { isWithoutSystemd, openSystemdContainer, type SystemdContainer } from '../support/systemd-container.ts';

const TOKEN = 'remora_token-that-nobody-sees';
const units = ['remora.service', 'remora.socket', 'remora-supervisor.socket', 'remora-supervisor.service'];
const curl = 'curl -sS --max-time 20 --unix-socket /run/remora/remora.sock';

interface Line {
  readonly priority: number;
  readonly identifier: string;
  readonly fields: { readonly level: number; readonly msg: string; readonly [name: string]: unknown };
}

describe.skipIf(isWithoutSystemd())('the unit of the agent', () => {
  let box: SystemdContainer;

  const write = (path: string, text: string, mode = 0o644) => writeFileSync(join(box.tree, path), text, { mode });
  const show = async (property: string) => (await box.run(`systemctl show -P ${property} remora`)).trim();
  const status = async () => JSON.parse(await box.run(`${curl} http://localhost/v1/status`));
  /** The agent's own lines since the time that `mark` gave. */
  const linesSince = async (mark: string): Promise<Line[]> => {
    const said = await box.run(`journalctl --sync && journalctl -u remora -o json --no-pager --since=@${mark}`);
    const records = said.split('\n').filter((line) => line.startsWith('{'));
    return records
      .map((line) => JSON.parse(line))
      .filter(({ MESSAGE, _PID }) => _PID !== '1' && MESSAGE.startsWith('{'))
      .map((record) => ({
        priority: Number(record.PRIORITY),
        identifier: record.SYSLOG_IDENTIFIER,
        fields: JSON.parse(record.MESSAGE),
      }));
  };
  /** `systemctl reload` waits for a while until the agent has said that it reads them, and no longer. */
  const settled = () => eventually(async () => (await status()).parts.settings.state === 'ok');
  const mark = async () => (await box.run('date +%s.%N')).trim();

  beforeAll(async () => {
    box = await openSystemdContainer(units);
    write('etc/credstore/remora-token', `${TOKEN}\n`, 0o600);
    write('etc/remora/agent.env', 'REMORA_BASE_URL=http://127.0.0.1:9\nREMORA_SPRITE=web\n');
    await box.run('systemctl enable --now remora.socket remora-supervisor.socket remora.service');
  });
  afterAll(() => box?.[Symbol.asyncDispose]());
  beforeEach(() => box.run('systemctl reset-failed && systemctl start remora.socket remora'));

  it('writes its log with the priority of each line, its own name, and one time', async () => {
    const before = await mark();
    const hasLevel = (level: number) => async () =>
      (await linesSince(before)).some(({ fields }) => fields.level === level);
    write('etc/remora/agent.env', 'REMORA_BASE_URL=http://127.0.0.1:9\nREMORA_SPRITE=other\nREMORA_LOG_LEVEL=debug\n');
    await box.run('systemctl reload remora');
    await eventually(hasLevel(40));
    await box.run('echo "REMORA_LOG_LEVEL=loud" >> /etc/remora/agent.env && systemctl reload remora');
    await eventually(hasLevel(50));
    write('etc/remora/agent.env', 'REMORA_BASE_URL=http://127.0.0.1:9\nREMORA_SPRITE=web\n');
    await box.run('systemctl reload remora');
    await settled();
    const lines = await linesSince(before);
    expect(new Set(lines.map(({ identifier }) => identifier))).toEqual(new Set(['remora']));
    const priorities = new Map([
      [20, 7],
      [30, 6],
      [40, 4],
      [50, 3],
    ]);
    for (const { priority, fields } of lines) expect(priority, fields.msg).toBe(priorities.get(fields.level));
    expect(lines.map(({ priority }) => priority)).toEqual(expect.arrayContaining([6, 4, 3]));
    for (const { fields } of lines) expect(fields).not.toHaveProperty('time');
  });

  it('takes at a reload what can be changed, names what needs a restart, and keeps its settings when they cannot be used', async () => {
    const { pid } = await status();
    const before = await mark();
    write(
      'etc/remora/agent.env',
      'REMORA_BASE_URL=http://127.0.0.1:9\nREMORA_SPRITE=other\nREMORA_GATEWAY_RATE=7\nREMORA_SHUTDOWN_TIMEOUT=3s\n',
    );
    await box.run('systemctl reload remora');
    const said = await eventually(async () => {
      const fields = (await linesSince(before)).map((line) => line.fields);
      return fields.some(({ level }) => level === 40) && fields.some(({ changed }) => changed !== undefined) && fields;
    });
    expect(said).toContainEqual(
      expect.objectContaining({ level: 30, changed: expect.arrayContaining(['gateway.rate', 'shutdown_timeout']) }),
    );
    expect(said).toContainEqual(expect.objectContaining({ level: 40, settings: ['sprite'] }));
    expect(await status()).toMatchObject({ pid, identity: { sprite: 'web' }, parts: { settings: { state: 'ok' } } });

    await box.run('echo "REMORA_GATEWAY_RATE=none" >> /etc/remora/agent.env && systemctl reload remora');
    await eventually(async () => (await status()).parts.settings.state === 'degraded');
    expect((await status()).parts.settings.reason).toContain('REMORA_GATEWAY_RATE');
    await eventually(async () =>
      (await show('StatusText')).includes('settings: the settings were read again and cannot be used'),
    );
    expect(await show('ActiveState')).toBe('active');

    write('etc/remora/agent.env', 'REMORA_BASE_URL=http://127.0.0.1:9\nREMORA_SPRITE=web\n');
    await box.run('systemctl reload remora');
    await settled();
    await eventually(async () => !(await show('StatusText')).includes('settings'));
    expect(await show('NRestarts')).toBe('0');
  });

  it('has its token from a file that only it can read, and nothing else has it', async () => {
    const pid = await show('MainPID');
    expect(await box.run(`stat -c '%a %U' /run/credentials/remora.service/remora-token`)).toBe('400 root\n');
    expect((await status()).parts.gateway.reason ?? '').not.toContain('token');
    const said = await box.run(
      `for p in $(cat /sys/fs/cgroup/system.slice/remora.service/cgroup.procs 2>/dev/null || echo ${pid}); do
         tr '\\0' '\\n' < /proc/$p/environ; tr '\\0' ' ' < /proc/$p/cmdline; done;
       systemctl show remora; journalctl --no-pager -o export; cat /var/lib/remora/* 2> /dev/null || true`,
    );
    expect(said).toContain('CREDENTIALS_DIRECTORY=');
    expect(said).not.toContain(TOKEN);
  });

  it('has the two rights to read what belongs to others, no way to more, and writes nowhere else', async () => {
    const pid = await show('MainPID');
    const rights = await box.run(`cat /proc/${pid}/status`);
    const [CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE] = [1n << 2n, 1n << 19n];
    const all = (CAP_DAC_READ_SEARCH | CAP_SYS_PTRACE).toString(16).padStart(16, '0');
    for (const set of ['CapBnd', 'CapEff', 'CapPrm']) expect(rights).toMatch(new RegExp(`^${set}:\\t${all}$`, 'm'));
    expect(rights).toMatch(/^NoNewPrivs:\t1$/m);
    expect(rights).toMatch(/^Seccomp:\t2$/m);
    const inside = (script: string) => box.run(`nsenter -t ${pid} -m sh -c '${script}'`);
    for (const path of ['/etc', '/usr', '/root', '/home', '/opt/remora', '/var/log'])
      await expect(inside(`touch ${path}/x`), path).rejects.toThrow(/Read-only|Permission denied|No such/);
    expect(await inside('touch /var/lib/remora/x /run/remora/x && rm /var/lib/remora/x /run/remora/x')).toBe('');
  });

  it('refuses nobody while it restarts: callers wait, and streams end as streams do', async () => {
    const { pid } = await status();
    const said = await box.run(`rm -f /tmp/stream
      ${curl} -N http://localhost/v1/events > /tmp/stream & stream=$!
      until [ -s /tmp/stream ]; do sleep 0.05; done
      (for i in $(seq 60); do ${curl} -o /dev/null -w '%{http_code}\\n' http://localhost/v1/health || echo refused; done) > /tmp/calls & calls=$!
      systemctl restart remora
      wait $stream; echo "stream $?"
      wait $calls; sort /tmp/calls | uniq -c`);
    expect(said).toMatch(/^stream 0$/m);
    expect(said.replaceAll(/stream 0\n/g, '').trim()).toBe('60 200');
    expect((await status()).pid).not.toBe(pid);
  });

  it('refuses nobody while it ends by itself to be started again, and finishes the recovery', async () => {
    write('etc/remora/agent.env', 'REMORA_SPRITE=web\nREMORA_RESUME_RNG=restart\n');
    await box.run('systemctl restart remora');
    const [before, begun] = [Number(await show('NRestarts')), await mark()];
    const { pid, generation } = await status();
    const said = await box.run(`
      (for i in $(seq 60); do ${curl} -o /dev/null -w '%{http_code}\\n' http://localhost/v1/health || echo refused; done) > /tmp/calls & calls=$!
      ${curl} -X POST http://localhost/v1/machine/resumed > /dev/null
      wait $calls; sort /tmp/calls | uniq -c`);
    expect(said.trim()).toBe('60 200');
    await eventually(async () => (await status()).pid !== pid);
    expect((await status()).generation).toBe(generation + 1);
    const resumed = () => box.run(`journalctl -u remora -o cat --no-pager | grep '"name":"restart"'`);
    expect(await eventually(() => resumed().catch(() => undefined))).toContain('"msg":"resumed"');
    const failures = `journalctl -u remora -o cat --no-pager --since=@${begun} | grep -iE 'failed with|exit-code' || true`;
    expect(await box.run(failures)).toBe('');
    expect(Number(await show('NRestarts'))).toBe(before + 1);
    write('etc/remora/agent.env', 'REMORA_BASE_URL=http://127.0.0.1:9\nREMORA_SPRITE=web\n');
    await box.run('systemctl restart remora');
  });

  it('is asked by a caller to start, when only its socket is there', async () => {
    await box.run('systemctl stop remora');
    expect(await show('ActiveState')).toBe('inactive');
    expect(await box.run(`${curl} http://localhost/v1/health`)).toBe('{"status":"ok"}\n');
    await eventually(async () => (await show('ActiveState')) === 'active');
  });

  it('stops in its time, with callers connected, and with nothing left', async () => {
    const said = await box.run(`rm -f /tmp/stream
      ${curl} -N http://localhost/v1/events > /tmp/stream & stream=$!
      until [ -s /tmp/stream ]; do sleep 0.05; done
      systemctl stop remora.socket remora; wait $stream; echo "stream $?"; ls /run/remora; pgrep node || true`);
    expect(said).toBe('stream 0\nsupervisor.sock\n');
    expect([await show('Result'), await show('ExecMainStatus'), await show('ActiveState')]).toEqual([
      'success',
      '0',
      'inactive',
    ]);
  });

  it('is started again as often as it ends, however soon', async () => {
    const before = Number(await show('NRestarts'));
    for (let count = 1; count <= 7; count += 1) {
      await box.run('systemctl kill --kill-who=main --signal=KILL remora');
      await eventually(
        async () => Number(await show('NRestarts')) === before + count && (await show('MainPID')) !== '0',
      );
    }
    expect(await box.run(`${curl} http://localhost/v1/health`)).toBe('{"status":"ok"}\n');
    expect(await show('StartLimitIntervalUSec')).toBe('0');
    expect(await show('OOMPolicy')).toBe('continue');
  });
});
