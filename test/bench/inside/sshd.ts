// An sshd of its own, beside whose figures the platform's stand: a free port, keys of its own, no other user than this one.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { endProcess } from '../platform/platform.ts';

const SSHD = '/usr/sbin/sshd';
/** sshd looks into it, and Debian makes it only for its own service. */
const PRIVILEGE_SEPARATION = '/run/sshd';
const START_MS = 5_000;

export interface Sshd extends AsyncDisposable {
  /** Options that ssh and scp share. */
  readonly options: readonly string[];
  readonly host: string;
}

/** Undefined where OpenSSH is not installed. */
export async function openSshd(dir: string): Promise<Sshd | undefined> {
  if (!existsSync(SSHD) || !existsSync('/usr/bin/scp')) return undefined;
  const home = join(dir, 'sshd');
  mkdirSync(home, { mode: 0o700 });
  if (process.geteuid?.() === 0) mkdirSync(PRIVILEGE_SEPARATION, { recursive: true });
  for (const name of ['host', 'user'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(home, name)]);
  copyFileSync(join(home, 'user.pub'), join(home, 'authorized'));
  const port = await findFreePort();
  const config = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${join(home, 'host')}`,
    `AuthorizedKeysFile ${join(home, 'authorized')}`,
    'PidFile none',
    'StrictModes no',
    'UsePAM no',
    'PermitRootLogin yes',
    'PasswordAuthentication no',
    'MaxSessions 300',
    'MaxStartups 300',
    'Subsystem sftp internal-sftp',
  ];
  writeFileSync(join(home, 'config'), `${config.join('\n')}\n`);
  const child = spawn(SSHD, ['-D', '-e', '-f', join(home, 'config')], { stdio: 'ignore' });
  await untilAccepts(port);
  const set = { UserKnownHostsFile: '/dev/null', StrictHostKeyChecking: 'no', LogLevel: 'ERROR', BatchMode: 'yes' };
  const options = [
    ...['-F', 'none', '-i', join(home, 'user'), '-o', `Port=${port}`],
    ...Object.entries(set).flatMap(([name, value]) => ['-o', `${name}=${value}`]),
  ];
  return {
    options,
    host: `${userInfo().username}@127.0.0.1`,
    [Symbol.asyncDispose]: () => endProcess(child),
  };
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

async function untilAccepts(port: number): Promise<void> {
  const end_ms = performance.now() + START_MS;
  for (;;) {
    const socket = connect({ host: '127.0.0.1', port });
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
    if (performance.now() > end_ms) throw new Error('the sshd of the benchmark does not start');
    await sleep(20);
  }
}
