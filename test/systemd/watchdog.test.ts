// systemd watches the agent: one that hangs is started again, one that is well never, and one that slept a long time loses nothing.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorCode } from '../../src/core/error-code.ts';
import { eventually } from '../support/eventually.ts';
import { isWithoutSystemd, openSystemdContainer, type SystemdContainer } from '../support/systemd-container.ts';

const units = ['remora.service', 'remora.socket', 'remora-supervisor.socket', 'remora-supervisor.service'];
const curl = 'curl -sS --max-time 50 --unix-socket /run/remora/remora.sock';
const LIMIT_MS = 4_000;
const LATE_MS = 50_000;
/** A machine that keeps the agent waiting for seconds has systemd take it for one that hangs, and rightly so. Not each time. */
const onSlow = { retry: 2 };

/** Runs a loop without an end in the process that listens for a debugger. */
const HANG = `
  const { webSocketDebuggerUrl } = (await (await fetch('http://127.0.0.1:9229/json')).json())[0];
  const socket = new WebSocket(webSocketDebuggerUrl);
  socket.onopen = () => {
    socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression: 'for (;;);' } }));
    setTimeout(() => process.exit(), 200);
  };`;

describe.skipIf(isWithoutSystemd())('an agent that systemd watches', () => {
  let box: SystemdContainer;

  const show = async (property: string) => (await box.run(`systemctl show -P ${property} remora`)).trim();
  const restarts = async () => Number(await show('NRestarts'));
  const journal = () => box.run('journalctl --sync && journalctl -u remora -o cat --no-pager');
  const alarms = async () => (await journal()).split('Watchdog timeout').length - 1;
  const kills = async () => (await journal()).split('status=9/KILL').length - 1;
  const resumes = async () => (await journal()).match(/"cause":"process_stopped".*"msg":"resumed"/g)?.length ?? 0;
  const health = () => box.run(`${curl} http://localhost/v1/health`);
  const send = (signal: NodeJS.Signals, pids: readonly number[]) => {
    for (const pid of pids) {
      try {
        process.kill(pid, signal);
      } catch (error) {
        // It has ended meanwhile.
        if (errorCode(error) !== 'ESRCH') throw error;
      }
    }
  };
  /** The unit has a minute. `abort`: how long an agent that hangs may take to end. */
  const setLimits = async (abort: string) => {
    const file = join(box.tree, 'etc/systemd/system/remora.service.d/soon.conf');
    writeFileSync(file, `[Service]\nWatchdogSec=${LIMIT_MS}ms\n${abort}\n`);
    await box.run('systemctl daemon-reload');
  };
  const isRestarted = async (before: number) => (await restarts()) > before && (await show('ActiveState')) === 'active';

  beforeAll(async () => {
    box = await openSystemdContainer(units);
    mkdirSync(join(box.tree, 'etc/systemd/system/remora.service.d'));
    await setLimits('TimeoutAbortSec=1s');
    await box.run('systemctl enable --now remora.socket remora.service');
  });
  afterAll(() => box?.[Symbol.asyncDispose]());

  it('says that it is well again and again, and is left alone', onSlow, async () => {
    const before = [await restarts(), await alarms()];
    const told = () => show('WatchdogTimestampMonotonic').then(Number);
    const first = await told();
    const second = await eventually(async () => ((await told()) > first ? told() : undefined), LATE_MS);
    await eventually(async () => (await told()) > second, LATE_MS);
    expect([await restarts(), await alarms()]).toEqual(before);
  });

  it('goes on being watched after it has ended by itself to be started again', onSlow, async () => {
    writeFileSync(join(box.tree, 'etc/remora/agent.env'), 'REMORA_RESUME_RNG=restart\n');
    await box.run('systemctl restart remora');
    const [pid, before, alarmsBefore] = [await show('MainPID'), await restarts(), await alarms()];
    await box.run(`${curl} -X POST http://localhost/v1/machine/resumed`);
    await eventually(() => isRestarted(before), LATE_MS);
    expect(await show('MainPID')).not.toBe(pid);
    const told = () => show('WatchdogTimestampMonotonic').then(Number);
    const first = await told();
    await eventually(async () => (await told()) > first + LIMIT_MS * 1_000, LATE_MS);
    expect([await restarts(), await alarms(), await show('Result')]).toEqual([before + 1, alarmsBefore, 'success']);
    writeFileSync(join(box.tree, 'etc/remora/agent.env'), '');
    await box.run('systemctl restart remora');
  });

  it('may take longer to start than it may be silent later', onSlow, async () => {
    const before = [await restarts(), await alarms()];
    // One script does it: on a machine with much other work it would be up before this process knew of it.
    const pid = await box.run(`systemctl stop remora 2> /dev/null && systemctl start --no-block remora
      while pid=$(systemctl show -P MainPID remora); [ "$pid" = 0 ]; do :; done
      kill -STOP "$pid"; echo "$pid"`);
    await sleep(LIMIT_MS * 1.5);
    expect(await show('ActiveState')).toBe('activating');
    await box.run(`kill -CONT ${pid.trim()}`);
    expect(await health()).toBe('{"status":"ok"}\n');
    await eventually(async () => (await show('ActiveState')) === 'active', LATE_MS);
    expect([await restarts(), await alarms()]).toEqual(before);
  });

  it('is started again when its event loop hangs, and callers wait for that', onSlow, async () => {
    const [before, alarmsBefore] = [await restarts(), await alarms()];
    writeFileSync(join(box.tree, 'root/hang.mjs'), HANG);
    const pid = await show('MainPID');
    await box.run(`kill -USR1 ${pid}; until curl -s -o /dev/null http://127.0.0.1:9229/json; do sleep 0.1; done
      /opt/remora/node_modules/.bin/node /root/hang.mjs`);
    expect(await health()).toBe('{"status":"ok"}\n');
    await eventually(() => isRestarted(before), LATE_MS);
    expect([await restarts(), await alarms()]).toEqual([before + 1, alarmsBefore + 1]);
    expect(await show('MainPID')).not.toBe(pid);
  });

  it('loses nothing when the whole machine stood still and its clocks ran on', async () => {
    await setLimits('TimeoutAbortSec=30s');
    await box.run(
      `${curl} -X PUT -H 'content-type: application/json' -d '{"expire":"10m"}' http://localhost/v1/tasks/build`,
    );
    const [before, killsBefore, resumesBefore] = [await restarts(), await kills(), await resumes()];
    const pids = box.pids();
    send('SIGSTOP', pids);
    try {
      await sleep(LIMIT_MS * 1.5);
    } finally {
      send('SIGCONT', pids);
    }
    // systemd may look at its clock before the agent has turned once; then the agent drains and is started again, and has nothing to notice.
    const answers = await Promise.all(Array.from({ length: 5 }, health));
    expect(new Set(answers)).toEqual(new Set(['{"status":"ok"}\n']));
    expect(await box.run(`${curl} http://localhost/v1/tasks/build`)).toContain('"name":"build"');
    await eventually(async () => (await restarts()) > before || (await resumes()) > resumesBefore, LATE_MS);
    expect(await restarts()).toBeLessThanOrEqual(before + 1);
    expect(await kills()).toBe(killsBefore);
  });
});
