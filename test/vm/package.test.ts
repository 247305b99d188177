// The Debian package in a minimal Debian under its own systemd: installed, used, upgraded under work, removed, installed again and purged. It is
// not run at every commit because it packs Node several times, and the files of that Debian are fetched.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toOwnArchitecture } from '../../src/cli/package/architecture.ts';
import { makeDeb } from '../../src/cli/package/deb/make-deb.ts';
import { bootOwnTree, type OwnContainer } from '../support/boot-container.ts';
import { copyDebianTree, isWithoutDebian } from '../support/debian-tree.ts';
import { eventually } from '../support/eventually.ts';
import { isWithoutNetworks } from '../support/network-world.ts';

const root = new URL('../../', import.meta.url).pathname;
const TIME_S = 1_700_000_000;
const LATE_MS = 60_000;
const KEY = '/etc/credstore/remora-platform-key';
const curl = 'curl -sS --max-time 50 --unix-socket /run/remora/remora.sock';
const json = "-H 'content-type: application/json'";
const DENIED = '{"rules":[{"action":"deny","domain":"*"}],"exempt":{"names":[],"networks":[]}}';
const isWithoutFilter = isWithoutNetworks();
/** What a machine writes by itself all the time. */
const OF_NO_PACKAGE = ['/proc', '/sys', '/dev', '/run', '/tmp', '/var/tmp', '/var/log', '/root'];

describe.skipIf(isWithoutDebian())('the package', () => {
  let dir: string;
  let old: string;
  let box: OwnContainer;
  const make = (version: string, to = dir) =>
    makeDeb({ root, to, architecture: toOwnArchitecture(), version, time_s: TIME_S });
  const sum = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

  const run = (script: string) => box.run(script);
  const status = async () => JSON.parse(await run(`${curl} http://localhost/v1/status`));
  const web = async () => JSON.parse(await run(`${curl} http://localhost/v1/services/web`)).state;
  const isRunning = () => eventually(async () => ((await web())?.status === 'running' ? web() : undefined), LATE_MS);
  /** The command line of each process. */
  const commands = () => box.pids().map((pid) => readWords(pid));
  const isOfPackage = (words: string) => words.includes('remora') || words.startsWith('sleep 1000');
  const listFiles = async () => {
    const left = OF_NO_PACKAGE.map((path) => `-path ${path} -prune -o`).join(' ');
    return (await run(`find / -xdev ${left} -print | sort`)).split('\n');
  };
  /** Installs with dpkg while one caller after the other comes; what they were answered, each with how often. */
  const installUnderCalls = async (deb: string) => {
    const said = await run(`rm -f /tmp/end
      (until [ -e /tmp/end ]; do ${curl} -o /dev/null -w '%{http_code}\\n' http://localhost/v1/health || echo refused; done) > /tmp/calls & calls=$!
      dpkg -i ${deb}; touch /tmp/end; wait $calls`);
    return { said, answers: new Set((await run('cat /tmp/calls')).trim().split('\n')) };
  };

  beforeAll(async () => {
    dir = mkdtempSync('/var/tmp/remora-package-');
    old = await make('0.1.0');
    const tree = copyDebianTree('trixie');
    for (const deb of [old, await make('0.1.1')]) copyFileSync(deb, join(tree, 'root', basename(deb)));
    if (!isWithoutFilter) copyProgram('nft', tree);
    const env = { HOME: '/root', PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive' };
    box = await bootOwnTree({ tree, words: ['--private-network'], env });
  });
  afterAll(async () => {
    await box?.[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true, force: true });
  });

  it('has the same bytes when it is made again', async () => {
    expect(sum(await make('0.1.0', join(dir, 'again')))).toBe(sum(old));
  });

  it('is installed, used, upgraded under work, removed, installed again, and purged without a trace but a key', async () => {
    await run('useradd --create-home --shell /bin/bash sprite && ldconfig');
    const before = await listFiles();
    const [first, second] = ['./remora_0.1.0_*.deb', './remora_0.1.1_*.deb'];

    await run(`dpkg -i ${first}`);
    expect(await run('dpkg --verify remora')).toBe('');
    expect(await run('systemctl is-active remora.socket remora-supervisor.socket remora')).toBe('active\n'.repeat(3));
    expect(await run('systemctl is-enabled remora.socket remora-supervisor.socket remora')).toBe('enabled\n'.repeat(3));
    const offered = 'remora-readonly.socket remora-network.socket remora-network.path remora-platform';
    expect(await run(`systemctl is-enabled ${offered} || true`)).toBe('disabled\n'.repeat(4));
    expect(await run('stat -c "%a %U %G" /run/remora/remora.sock /etc/credstore')).toBe(
      '660 root remora\n700 root root\n',
    );
    expect(await run('id -nG remora-network && id -nG remora-platform')).toBe('remora-network\nremora-platform\n');
    expect(await run('systemctl show -P NRestarts remora')).toBe('0\n');

    await run(`echo 'user = "sprite"' > /etc/remora/agent.toml && echo secret > /etc/credstore/remora-token`);
    await run('systemctl restart remora');
    expect(await run('remora --version')).toBe('0.1.0\n');
    expect(await run('remora status')).toContain('0.1.0');
    expect(await run("remora hold --name work -- sh -c 'remora tasks --json'")).toContain('"name":"work"');
    expect(await run('remora exec -T -- id -un')).toBe('sprite\n');
    expect(await run(`${curl} http://localhost/v1/health`)).toBe('{"status":"ok"}\n');
    await run(`${curl} -X PUT ${json} -d '{"cmd":"sleep","args":["1000"]}' http://localhost/v1/services/web`);
    await run(`${curl} -X PUT ${json} -d '{"expire":"10m"}' http://localhost/v1/tasks/build`);

    await run(`umask 077 && remora platform key > ${KEY} && systemctl enable --now remora-platform`);
    const platform = async () => (await run('systemctl show -P MainPID remora-platform')).trim();
    const firstPlatform = await platform();

    // A program with a caller is in the way of an upgrade, which leaves both alone.
    const [{ pid }, service] = [await status(), await isRunning()];
    const socket = await run('stat -c %i /run/remora/remora.sock');
    await run(
      `:\n(remora exec -T -- sh -c 'until [ -e /tmp/go-on ]; do sleep 0.1; done; echo all of it' > /root/said 2>&1; echo $? > /root/code) > /dev/null 2>&1 &`,
    );
    await eventually(() => commands().some((words) => words.startsWith('sh -c until')), LATE_MS);
    const held = await installUnderCalls(second);
    expect(held.said).toContain('the agent runs on as it is');
    expect(held.answers).toEqual(new Set(['200']));
    expect(await status()).toMatchObject({ pid, version: '0.1.0' });
    expect(await platform()).not.toBe(firstPlatform);
    expect(await run('curl -sS --max-time 50 http://127.0.0.1:4180/v1/health')).toBe('{"status":"ok"}\n');
    await run('touch /tmp/go-on');
    await eventually(async () => (await run('cat /root/code 2> /dev/null || true')) === '0\n', LATE_MS);
    expect(await run('cat /root/said')).toBe('all of it\n');
    expect(await run('remora upgrade && remora --version')).toContain('0.1.1');
    expect((await status()).version).toBe('0.1.1');

    // The installation itself has the agent replaced at a quiet time, here by the version before.
    const quiet = await installUnderCalls(first);
    expect(quiet.said).not.toContain('the agent runs on as it is');
    expect(quiet.answers).toEqual(new Set(['200']));
    expect((await status()).version).toBe('0.1.0');
    expect(await run('stat -c %i /run/remora/remora.sock')).toBe(socket);
    expect(await web()).toEqual(service);
    expect(await run(`${curl} http://localhost/v1/tasks/build`)).toContain('"name":"build"');

    const restrict = `curl -sS --max-time 50 -o /dev/null -w '%{http_code}' --unix-socket /run/remora/network/network.sock \
      -X PUT ${json} -d '${DENIED}' http://localhost/v1/network`;
    if (!isWithoutFilter) {
      await run('systemctl enable --now remora-network.socket remora-network.path 2> /dev/null');
      expect(await run(restrict)).toBe('200');
      expect(await run('nft list tables')).toContain('remora_network');
    }

    await run('dpkg -r remora');
    if (!isWithoutFilter) expect(await run('nft list tables')).toBe('');
    expect(commands().filter(isOfPackage)).toEqual([]);
    expect(await run('ls -d /opt/remora /run/remora /var/cache/remora 2> /dev/null || true')).toBe('');
    expect(await run('ls /etc/remora')).toBe('agent.env\nagent.toml\nplatform.env\n');
    await run(`dpkg -i ${first}`);
    await isRunning();

    expect(await run('dpkg -P remora 2>&1')).toContain(`${KEY} is kept`);
    expect(commands().filter(isOfPackage)).toEqual([]);
    expect(await run('ls -d /run/remora 2> /dev/null || true')).toBe('');
    expect(await run('getent passwd remora-network remora-platform; getent group remora || true')).toBe('');
    const after = await listFiles();
    expect(after.filter((path) => !before.includes(path))).toEqual([KEY]);
    expect(before.filter((path) => !after.includes(path))).toEqual([]);
  });
});

/** Copies the libraries too that it needs and `tree` has not. */
function copyProgram(name: string, tree: string): void {
  const path = execFileSync('which', [name], { encoding: 'utf8' }).trim();
  const said = execFileSync('ldd', [path], { encoding: 'utf8' });
  const libraries = [...said.matchAll(/=> (\/\S+)/g)].map(([, library = '']) => library);
  for (const file of [path, ...libraries]) {
    const to = join(tree, file);
    if (!existsSync(to)) copyFileSync(file, to);
  }
}

/** Empty for a process that has ended. */
function readWords(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}
