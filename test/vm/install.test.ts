// The lines of the pages, pasted into a minimal Debian under systemd: installing the package, the agent's second socket, and the unit that
// gives the kernel new seeds after a resume.
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toOwnArchitecture } from '../../src/cli/package/architecture.ts';
import { makeDeb } from '../../src/cli/package/deb/make-deb.ts';
import { toNativeParts } from '../../src/cli/package/native-parts.ts';
import { Secret } from '../../src/core/secret.ts';
import { openPlatform, type Platform } from '../../src/platform/platform.ts';
import { isWithoutDebian } from '../support/debian-tree.ts';
import { eventually } from '../support/eventually.ts';
import { openSystemdMachine, type SystemdMachine } from '../support/systemd-machine.ts';

const top = new URL('../../', import.meta.url).pathname;
const ignore = () => undefined;
const units = 'remora.socket remora-supervisor.socket remora';
/** Prints who runs it, and leaves a process that only its control group shows to belong to it. */
const web = { cmd: 'sh', args: ['-c', 'id -un; (env -i setsid sleep 1001 &) ; exec sleep 1000'] };
const json = `-H 'content-type: application/json'`;

/** The commands of a page under a heading, by a text that they hold. */
function linesWith(page: string, text: string): string {
  const blocks = [...readFileSync(join(top, page), 'utf8').matchAll(/^```sh\n(.*?)^```$/gms)].map(
    ([, lines = '']) => lines,
  );
  const found = blocks.filter((lines) => lines.includes(text));
  expect(found).toHaveLength(1);
  return found[0] ?? '';
}

describe.skipIf(isWithoutDebian())('the install lines, in a minimal Debian', () => {
  let machine: SystemdMachine;
  let platform: Platform;

  const pasted = (lines: string) => machine.run(`{ ${lines}\n}`);
  const ask = (path: string, options = '') =>
    machine.run(`curl -sS --max-time 10 ${options} --unix-socket /run/remora/remora.sock 'http://localhost${path}'`);
  const readStatus = async () => JSON.parse(await ask('/v1/status'));
  const findRng = async () =>
    (await readStatus()).details.resume.blind_spots.find((text: string) => text.startsWith('rng: '));
  /** The second of two resumes in a row counts only when the first is over. */
  const resume = () =>
    eventually(async () => {
      const answer = JSON.parse(await ask('/v1/machine/resumed', '-X POST'));
      return answer.new ? Number(answer.generation) : undefined;
    });
  const logOf = (unit: string) => machine.run(`journalctl --no-pager --output=cat -u ${unit}`);

  beforeAll(async () => {
    machine = await openSystemdMachine();
    const dir = join(machine.tree, '../platform');
    mkdirSync(dir);
    platform = await openPlatform({
      dir,
      keys: [new Secret('ab'.repeat(32))],
      listen: { host: '127.0.0.1', port: 0 },
      version: '0.0.0',
      log: { debug: ignore, info: ignore, warn: ignore, error: ignore, fatal: ignore },
    });
    const { admin } = platform;
    await admin.createOrganization('acme');
    await admin.createSprite({ organization: 'acme', name: 'web', external: true });
    const token = await admin.createToken({ organization: 'acme', sprite: 'web', name: 'agent' });
    const to = join(machine.tree, 'root');
    await makeDeb({ root: top, to, architecture: toOwnArchitecture(), time_s: Math.floor(Date.now() / 1000) });
    cpSync(join(top, 'node_modules/ws'), join(to, 'ws'), { recursive: true });
    await machine.run(`umask 077 && echo ${token.reveal()} > web.token`);
    const lines = linesWith('README.md', '/etc/credstore/remora-token');
    expect(lines).toContain('https://remora.example');
    const said = await pasted(lines.replace('https://remora.example', platform.url));
    expect(said).toMatch(/\{"status":"ready"/);
  });

  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]();
    await platform?.[Symbol.asyncDispose]();
  });

  it('bring the product and its Node, and nothing that only tests', async () => {
    const { version, dependencies } = {
      version: await machine.run('/opt/remora/node_modules/.bin/node --version'),
      dependencies: JSON.parse(readFileSync(join(top, 'package.json'), 'utf8')).dependencies,
    };
    expect(version).toBe(`v${dependencies.node}\n`);
    const found = await machine.run('cd /opt/remora/node_modules && ls -d * @*/*');
    const native = toNativeParts(toOwnArchitecture()).map(({ name }) => name);
    expect(
      found
        .split('\n')
        .filter((name) => name !== '' && name !== '@lydell')
        .sort(),
    ).toEqual(native.sort());
    expect(await machine.run('remora --version')).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('leave a running agent that has its token and tells its generation to every user', async () => {
    expect(await readStatus()).toMatchObject({ identity: { sprite: 'web' }, parts: { gateway: { state: 'ok' } } });
    expect(await machine.run('stat -c "%a %U" /etc/credstore/remora-token /run/remora/generation')).toBe(
      '600 root\n644 root\n',
    );
    expect(await machine.run('stat -c "%a %G" /run/remora/remora.sock')).toBe('660 remora\n');
    expect(await machine.run('systemctl show -p NRestarts --value remora')).toBe('0\n');
  });

  it('leave a unit that restarts without refusing a call, and stops', async () => {
    const { pid } = await readStatus();
    const restarted = machine.run('systemctl restart remora');
    expect(await ask('/v1/health')).toBe('{"status":"ok"}\n');
    await restarted;
    expect((await readStatus()).pid).not.toBe(pid);
    await machine.run(`systemctl stop ${units}`);
    expect(await machine.run('ls /run/remora')).toBe('');
    await machine.run(`systemctl start ${units}`);
    expect(await readStatus()).toMatchObject({ identity: { sprite: 'web' } });
  });

  const service = async () => JSON.parse(await ask('/v1/services/web')).state;
  const running = () => eventually(async () => ((await service())?.status === 'running' ? service() : undefined));
  /** The processes of the service, without those that have just been killed. */
  const pids = async () => {
    const said = await machine.run(
      `for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline 2> /dev/null | grep -q '^sleep 100[01] ' && echo \${p#/proc/}; done || true`,
    );
    return said.split('\n').filter((pid) => pid !== '');
  };

  it('run services, commands and file operations as the user of the sprite, in groups of their own', async () => {
    expect(await machine.run('stat -c "%a %U" /run/remora/supervisor.sock')).toBe('600 root\n');
    expect(await machine.run('systemctl is-active remora-supervisor || true')).toBe('inactive\n');
    const said = await ask(
      '/v1/services/web?duration=2s',
      `-X PUT ${json} -d '${JSON.stringify(web).replaceAll("'", "'\\''")}'`,
    );
    expect(said).toContain('"data":"sprite"');
    const { pid } = await running();
    expect(await machine.run(`cat /proc/${pid}/cgroup`)).toMatch(/remora-supervisor\.service\/remora-service-/);
    expect(await machine.run(`stat -c %U /proc/${pid}`)).toBe('sprite\n');
    expect(await ask('/v1/exec?cmd=sh&cmd=-c&cmd=echo+$(id+-un)+$(pwd)', '-X POST --output -')).toContain(
      'sprite /home/sprite\n',
    );
    const octets = `-X PUT -H 'content-type: application/octet-stream' -d hello`;
    const written = await ask('/v1/fs/write?path=a/b&workingDir=/home/sprite&mkdirParents=true', octets);
    expect(JSON.parse(written)).toMatchObject({ path: '/home/sprite/a/b', size: 5 });
    expect(await machine.run('stat -c "%U %n" /home/sprite/a/b')).toBe('sprite /home/sprite/a/b\n');
    const terminal = `
      const { WebSocket } = require('/root/ws');
      const socket = new WebSocket('ws+unix:/run/remora/remora.sock:/v1/exec?cmd=tty&tty=true');
      socket.on('message', (data) => process.stdout.write(data));`;
    expect(await machine.run(`/opt/remora/node_modules/.bin/node -e "${terminal}"`)).toMatch(/\/dev\/pts\/\d/);
  });

  it('keep a service through restarts of the agent, and run it once after those of the supervisor', async () => {
    const before = await running();
    const old = await pids();
    expect(old).toHaveLength(2);
    await machine.run('systemctl restart remora');
    expect(await running()).toEqual(before);
    expect(await pids()).toEqual(old);
    for (const how of ['restart remora-supervisor', 'kill --kill-who=main --signal=KILL remora-supervisor']) {
      const last = await pids();
      await machine.run(`systemctl ${how}`);
      await eventually(async () => (await pids()).every((pid) => !last.includes(pid)));
      await running();
      expect(await pids()).toHaveLength(2);
    }
  });

  it('end with a service what it has let go', async () => {
    expect(await pids()).toHaveLength(2);
    await ask('/v1/services/web/stop', '-X POST');
    expect(await pids()).toEqual([]);
    await ask('/v1/services/web/start?duration=0', '-X POST');
    await running();
    expect(await pids()).toHaveLength(2);
  });

  it('end everything with the supervisor', async () => {
    await ask('/v1/exec?cmd=sh&cmd=-c&cmd=setsid+sleep+1000+%26', '-X POST --output -');
    const before = await pids();
    expect(before).toHaveLength(3);
    // The agent dials the supervisor again at its next look at the sessions, which would start it: its socket is stopped as well.
    const groups = await machine.run(
      'systemctl stop remora-supervisor.socket remora-supervisor && ls /sys/fs/cgroup/system.slice',
    );
    expect(groups).not.toContain('remora-supervisor.service');
    expect((await pids()).filter((pid) => before.includes(pid))).toEqual([]);
    await machine.run('systemctl start remora-supervisor.socket');
    await running();
    expect(await pids()).toHaveLength(2);
  });

  it('start services at the boot, without a call', async () => {
    await machine.restart();
    await eventually(async () => (await pids()).length === 2, 60_000);
    expect((await running()).restart_count).toBe(0);
  });

  it('say what is missing', async () => {
    await machine.run('systemctl stop remora-supervisor.socket remora-supervisor');
    expect(JSON.parse(await ask('/v1/services'))).toMatchObject({
      error: 'start_failed',
      message: expect.stringContaining('systemctl enable --now remora-supervisor.socket'),
    });
    expect(await pids()).toEqual([]);
    const doctor = () => machine.run('remora doctor || true');
    expect(await doctor()).toMatch(/supervisor: nothing serves at .*systemctl enable --now remora-supervisor.socket/);
    const withUser = async (line: string) => {
      await machine.run(`sed -i 's/^user = .*/${line}/' /etc/remora/agent.toml && systemctl restart remora`);
      return JSON.parse(await ask('/v1/services'));
    };
    expect(await withUser('')).toMatchObject({
      error: 'not_configured',
      message: expect.stringContaining('set REMORA_USER'),
    });
    expect(await doctor()).toMatch(/supervisor: .*set REMORA_USER to the user of this sprite/);
    await machine.run(`echo 'user = "nobody-here"' >> /etc/remora/agent.toml && systemctl restart remora`);
    expect(JSON.parse(await ask('/v1/services')).message).toContain('there is no such user');
    expect(await withUser('user = "sprite"')).toMatchObject([{ name: 'web' }]);
    await eventually(async () => (await pids()).length === 2, 60_000);
    await ask('/v1/services/web', '-X DELETE');
  });

  it('add the socket that only reads', async () => {
    await pasted(linesWith('systemd/README.md', 'remora-readonly.socket'));
    const asNobody =
      'setpriv --reuid nobody --regid nogroup --clear-groups curl -sS --max-time 10 --unix-socket /run/remora';
    expect(await machine.run(`${asNobody}/readonly.sock http://localhost/v1/health`)).toBe('{"status":"ok"}\n');
    await expect(machine.run(`${asNobody}/remora.sock http://localhost/v1/health`)).rejects.toThrow(/status 7/);
  });

  it('give the kernel new seeds after a resume, with one right', async () => {
    // The machine, which can be restored, looks like one whose kernel lacks the driver.
    await machine.run(
      'for driver in /sys/bus/*/drivers/vmgenid; do [ ! -d $driver ] || mount -t tmpfs tmpfs $driver; done; sed "s/^flags.*/& hypervisor/" /proc/cpuinfo > cpuinfo && mount --bind cpuinfo /proc/cpuinfo && systemctl restart remora',
    );
    expect(await findRng()).toContain('enable remora-reseed.path');
    await pasted(linesWith('systemd/README.md', 'remora-reseed.path'));
    await eventually(async () => (await findRng()) === undefined);

    const generation = await resume();
    await eventually(async () => (await logOf('remora-reseed')).includes(`new seed for generation ${generation}\n`));
    expect(await findRng()).toBeUndefined();
    expect(await machine.run('systemctl show -p CapabilityBoundingSet --value remora-reseed')).toBe('cap_sys_admin\n');
  });

  it('say so where the right is missing', async () => {
    await machine.run(
      'mkdir /etc/systemd/system/remora-reseed.service.d && printf "[Service]\\nCapabilityBoundingSet=\\n" > /etc/systemd/system/remora-reseed.service.d/none.conf && systemctl daemon-reload',
    );
    const generation = await resume();
    await eventually(async () => (await logOf('remora-reseed')).includes('the kernel does not reseed: '));
    expect(await findRng()).toContain('enable remora-reseed.path');
    expect(await logOf('remora-reseed')).not.toContain(`generation ${generation}\n`);
  });
});
