// The unit of the agent under systemd as the first process of a virtual machine: its rights, its credentials, its sockets and its watchdog.
import { describe, expect, it } from 'vitest';
import { openOnce } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { bootGolden } from '../support/vm/golden-guest.ts';
import { isWithoutMachines } from '../support/vm/vm-image.ts';
import { awaitResumed, ofType } from '../support/vm/watch-restores.ts';

const BOOT_LIMIT_MS = 600_000;
const LIMIT_MS = 120_000;
/** The rating of systemd, from 0 to 10: below 3 is called OK, and what the agent has to see of other processes costs the rest. */
const MOST_EXPOSED = 2.6;
const CALLERS = 10;

describe.skipIf(isWithoutMachines())('the unit of the agent', { timeout: LIMIT_MS }, () => {
  const golden = openOnce(() => bootGolden('6.12'), BOOT_LIMIT_MS);
  const restored = openOnce(async () => {
    const running = await golden().restore();
    running.node.onRequest((stream) => stream.open());
    await awaitResumed(running);
    return running;
  }, LIMIT_MS);
  const show = async (property: string) => (await restored().guest.run(`systemctl show -P ${property} remora`)).trim();
  const readStatus = async () => (await restored().agent.get('/v1/status')).json;

  it('is started once by systemd, the first process, and no unit has failed', async () => {
    const { guest } = restored();
    expect(
      await guest.run('cat /proc/1/comm; systemctl is-system-running; systemctl --failed --plain --no-legend'),
    ).toBe('systemd\nrunning\n');
    expect([await show('Result'), await show('NRestarts'), await show('ActiveState')]).toEqual([
      'success',
      '0',
      'active',
    ]);
    expect(Number(await show('MainPID'))).toBe((await readStatus()).pid);
  });

  it('has the rights that it needs to find listeners, and no others', async () => {
    const { guest } = restored();
    const said = await guest.run('systemd-analyze security --no-pager remora.service | tail -1');
    expect(Number(/level for remora.service: ([\d.]+)/.exec(said)?.[1])).toBeLessThan(MOST_EXPOSED);
    const pid = await show('MainPID');
    const lines = await guest.run(`grep -E '^(CapBnd|CapEff|NoNewPrivs|Seccomp):' /proc/${pid}/status | tr -d '\\t '`);
    const fields = Object.fromEntries(
      lines
        .trim()
        .split('\n')
        .map((line) => line.split(':')),
    );
    // CAP_DAC_READ_SEARCH is bit 2, CAP_SYS_PTRACE bit 19.
    expect(fields).toEqual({ CapBnd: '0000000000080004', CapEff: '0000000000080004', NoNewPrivs: '1', Seccomp: '2' });
    const { json } = await restored().agent.get('/v1/ports');
    expect(json.ports).toContainEqual(expect.objectContaining({ port: 9000, pid: 1 }));
    const write = `nsenter -t ${pid} -m sh -c 'for dir in /etc /root /sys; do touch $dir/x && echo $dir; done' 2>&1`;
    expect(await guest.run(`${write} | grep -vc 'Read-only file system'`)).toBe('0\n');
  });

  it('has its token in a file of its own, and nowhere else', async () => {
    const { guest } = restored();
    const pid = await show('MainPID');
    const file = `/proc/${pid}/root/run/credentials/remora.service/remora-token`;
    expect(await guest.run(`stat -c '%a %U' ${file}; wc -c < ${file}`)).toMatch(/^400 root\n\d\d+\n$/);
    const elsewhere = '/proc/[0-9]*/environ /proc/[0-9]*/cmdline /etc/remora/* /run/remora/generation';
    expect(await guest.run(`grep -slaFf ${file} ${elsewhere}; journalctl --no-pager | grep -cFf ${file}`)).toBe('0\n');
    expect((await readStatus()).identity.sprite).toBe('web');
  });

  it('tells its generation to every user', async () => {
    const { guest } = restored();
    const asNobody = 'setpriv --reuid nobody --regid nogroup --clear-groups';
    expect(await guest.run(`stat -c '%a %U' /run/remora/generation; ${asNobody} cat /run/remora/generation`)).toBe(
      '644 root\n1\n',
    );
    expect(await guest.run(`stat -c '%a %G' /run/remora/remora.sock /run/remora/supervisor.sock`)).toBe(
      '660 remora\n600 root\n',
    );
  });

  it('feeds its watchdog after a restore and after a day that the clock has jumped, and is not ended', async () => {
    const { guest, agent } = restored();
    const { pid } = await readStatus();
    const fed = async () => Number(await show('WatchdogTimestampMonotonic'));
    const untilFed = async () => {
      const last = await fed();
      await eventually(async () => (await fed()) > last, LIMIT_MS / 2);
    };
    expect(await show('WatchdogUSec')).toBe('1min');
    await untilFed();
    await guest.run(`date -s '+1 day'`);
    await agent.events(
      0,
      (events) => ofType(events, 'clock_corrected').length + ofType(events, 'clock_stepped').length > 0,
    );
    await untilFed();
    expect([await show('NRestarts'), Number(await show('MainPID'))]).toEqual(['0', pid]);
  });

  it('keeps its callers when it is killed and started again', async () => {
    const { guest, agent } = restored();
    const { pid, incarnation } = await readStatus();
    await guest.run('systemctl kill --kill-who=main --signal=KILL remora');
    const answers = await Promise.all(Array.from({ length: CALLERS }, () => agent.ask('/v1/health')));
    expect(answers.map(({ text }) => text)).toEqual(Array(CALLERS).fill('{"status":"ok"}\n'));
    expect([await show('NRestarts'), (await readStatus()).pid === pid]).toEqual(['1', false]);
    const status = await readStatus();
    expect([status.generation, status.incarnation]).toEqual([1, incarnation]);
  });
});
