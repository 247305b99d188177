// What enforces a network policy, under systemd itself: the lines of its page as pasted, its rights, and that what it has put into the kernel
// outlasts it, the agent and a boot.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { isWithoutNetworks } from '../support/network-world.ts';
import { isWithoutSystemd, openSystemdContainer, type SystemdContainer } from '../support/systemd-container.ts';

const page = readFileSync(new URL('../../systemd/README.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = '']) => text);
const units = [
  ...['remora.service', 'remora.socket', 'remora-supervisor.socket', 'remora-supervisor.service'],
  ...['remora-network.socket', 'remora-network.path', 'remora-network.service'],
];
const kept = '/var/lib/remora-network/network.json';
const denied = { rules: [{ action: 'deny', domain: '*' }] };
const LATE_MS = 60_000;
const PAUSE_MS = 200;
/** Says what the kernel knows when services that use the network begin. */
const PROBE = `[Unit]
Wants=network.target
After=network.target
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'nft list tables > /root/seen'
[Install]
WantedBy=multi-user.target
`;
/** A way to everywhere, on which nobody answers. */
const CABLE = `ip link add up0 type veth peer name down0 && ip link set up0 up && ip link set down0 up &&
  ip addr add 198.18.0.2/24 dev up0 && ip route add default via 198.18.0.1`;
/** The exit codes of curl. */
const [NOT_RESOLVED, REFUSED] = ['6', '7'];

describe.skipIf(isWithoutSystemd() || isWithoutNetworks())('the units of the network policy', () => {
  let box: SystemdContainer;
  const show = async (property: string) => (await box.run(`systemctl show -P ${property} remora-network`)).trim();
  const write = (path: string, text: string) => writeFileSync(join(box.tree, path), text, { mode: 0o600 });
  const tables = () => box.run('nft list tables');
  const curl = async (url: string) =>
    (await box.run(`curl -sS --max-time 8 -o /dev/null ${url} 2> /dev/null; echo $?`)).trim();
  const network = async () => {
    const call = 'curl -sS --max-time 20 --unix-socket /run/remora/remora.sock http://localhost/v1/policy/network';
    return JSON.parse(await box.run(call));
  };
  /** Resolves with the process that runs in the place of `before`. */
  const restarted = (before: string) =>
    eventually(async () => {
      const [pid, state] = [await show('MainPID'), await show('ActiveState')];
      return pid !== before && pid !== '0' && state === 'active' ? pid : undefined;
    }, LATE_MS);
  const expectRefused = async () => {
    expect(await tables()).toContain('table inet remora_network');
    expect([await curl('http://93.184.0.2/'), await curl('http://a.example/')]).toEqual([REFUSED, NOT_RESOLVED]);
  };

  beforeAll(async () => {
    box = await openSystemdContainer(units);
    const [install = '', ...others] = blocks.filter((text) => text.includes('remora-network.socket'));
    expect(others).toEqual([]);
    // What it installs is here.
    const [packages = '', ...lines] = install.split('\n');
    expect(packages).toBe('apt-get update && apt-get install --yes libnftables1 iproute2 &&');
    await box.run(lines.join('\n'));
    write('etc/remora/agent.env', 'REMORA_BASE_URL=http://127.0.0.1:9\nREMORA_SPRITE=web\n');
    await box.run(`systemctl enable --now remora.socket remora-supervisor.socket remora && ${CABLE}`);
  });
  afterAll(() => box?.[Symbol.asyncDispose]());

  it('run nothing while nothing is restricted', async () => {
    expect(await box.run('stat -c "%a %U" /run/remora/network/network.sock')).toBe('600 root\n');
    expect(await network()).toEqual({ rules: [] });
    expect([await show('ActiveState'), await tables()]).toEqual(['inactive', '']);
  });

  it('enforce what the agent was told before, as a user of its own with few rights', async () => {
    await box.run('systemctl stop remora.socket remora');
    write('var/lib/remora/network-policy.json', JSON.stringify(denied));
    await box.run('systemctl start remora.socket remora');
    expect(await network()).toEqual(denied);
    await expectRefused();
    const pid = await show('MainPID');
    const status = await box.run(`cat /proc/${pid}/status; stat -c %U /proc/${pid}`);
    // CAP_DAC_READ_SEARCH, CAP_NET_ADMIN, CAP_SYS_PTRACE and, where the container has them, CAP_PERFMON and CAP_BPF.
    for (const set of ['CapBnd', 'CapEff', 'CapAmb'])
      expect(status).toMatch(new RegExp(`^${set}:\\t0{6}[048c]000081004$`, 'm'));
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(status).toMatch(/^remora-network$/m);
    expect(await box.run(`stat -c '%a %U' ${kept} /var/cache/remora-network`)).toBe(
      '600 remora-network\n700 remora-network\n',
    );
  });

  it('leave it running when the agent ends', async () => {
    const pid = await show('MainPID');
    await box.run('systemctl stop remora.socket remora');
    expect(await show('MainPID')).toBe(pid);
    await expectRefused();
  });

  it('start it again when it was killed, and when it was stopped, without an agent', async () => {
    const first = await show('MainPID');
    await box.run('systemctl kill --kill-who=main --signal=KILL remora-network');
    const second = await restarted(first);
    await box.run('systemctl stop remora-network');
    await restarted(second);
    await expectRefused();
  });

  it('start it again as the program that is installed, when an agent of another version asks for that', async () => {
    const before = await show('MainPID');
    const ask = (version: string) =>
      box.run(
        `curl -sS --unix-socket /run/remora/network/network.sock -H 'content-type: application/json' -d '{"version":"${version}"}' http://localhost/v1/network/yield`,
      );
    const own = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
    expect(JSON.parse(await ask(own))).toEqual({ ends: false, pid: Number(before) });
    expect(JSON.parse(await ask('0.0.1'))).toEqual({ ends: true, pid: Number(before), dns_port: expect.any(Number) });
    await restarted(before);
    await expectRefused();
  });

  it('leave the rules in the kernel when they are stopped, whose names are not resolved then', async () => {
    await box.run('systemctl stop remora-network.path remora-network.socket remora-network');
    expect([await show('ActiveState'), await box.run('pgrep -u remora-network || true')]).toEqual(['inactive', '']);
    await expectRefused();
  });

  it('do not try all the time what cannot be enforced, and say what is missing', async () => {
    const dropIn = '/run/systemd/system/remora-network.service.d';
    await box.run(
      `mkdir -p ${dropIn} && printf '[Service]\\nAmbientCapabilities=\\nCapabilityBoundingSet=\\n' > ${dropIn}/less.conf && systemctl daemon-reload`,
    );
    await box.run('systemctl start remora-network.socket remora-network.path');
    const said = () => box.run('journalctl -u remora-network -o json --no-pager | grep "needs the right to" || true');
    // It waits before it ends: systemd starts it again a quarter of a second later.
    await eventually(async () => {
      const line = (await said()).split('\n').findLast((text) => text !== '');
      if (line === undefined) return false;
      expect(line).toContain('CAP_NET_ADMIN');
      await sleep(PAUSE_MS);
      return (await show('MainPID')) === JSON.parse(line)._PID;
    }, LATE_MS);
    await expectRefused();
    await box.run(`rm -r ${dropIn} && systemctl daemon-reload && systemctl restart remora-network`);
  });

  it('have the rules in place after a boot before anything uses the network, and no file when nothing is restricted', async () => {
    write('etc/systemd/system/probe.service', PROBE);
    await box.run('systemctl enable probe && systemctl disable remora && nft delete table inet remora_network');
    await box.restart();
    expect(await box.run('cat /root/seen')).toBe('table inet remora_network\n');
    await box.run(CABLE);
    await expectRefused();
    const lift = JSON.stringify({ rules: [], exempt: { names: [], networks: [] } });
    await box.run(
      `curl -sS --unix-socket /run/remora/network/network.sock -X PUT -H 'content-type: application/json' -d '${lift}' http://localhost/v1/network`,
    );
    expect([await tables(), await box.run(`ls ${kept} 2> /dev/null || true`)]).toEqual(['', '']);
  });
});
