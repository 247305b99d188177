// A machine and the world around it: two network namespaces with a cable between them. In the world are a name server, which is told what it
// knows and notes what it is asked, and servers at public addresses. Needs root.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { atEnd } from './at-end.ts';
import { eventually } from './eventually.ts';
import { loudly } from './loudly.ts';
import { signalRunning } from './signal-running.ts';
import { tempDir } from './temp-dir.ts';

export const NAME_SERVER = '93.184.0.53';
/** Others know the same names. */
const OTHER_NAME_SERVERS = ['8.8.8.8', '2001:4860:4860::8888'] as const;
/** A server answers at each of them on port 80, with its address. */
export const ADDRESSES = ['93.184.0.1', '93.184.0.2', '93.184.0.3', '10.20.0.1', '169.254.169.254'] as const;
export const ADDRESSES_6 = ['2606:2800::1', '2606:2800::2'] as const;
/** The same server answers at each address that begins like this. */
export const MANY_ADDRESSES = '93.184.1.';
const tools = ['/usr/sbin/nft', '/usr/sbin/dnsmasq', '/usr/bin/curl', '/usr/bin/dig', '/usr/bin/setpriv'];
const ips = ['/usr/sbin/ip', '/sbin/ip', '/usr/bin/ip'];

/** Says for `describe.skipIf` what is missing. `more`: paths of further programs. */
export function isWithoutNetworks(more: readonly string[] = []): boolean {
  const isRoot = process.getuid?.() === 0;
  const missing = [
    ...[...tools, ...more].filter((path) => !existsSync(path)),
    ...(ips.some((path) => existsSync(path)) ? [] : ['ip']),
  ];
  if (!isRoot) return loudly(true, 'not root: no network namespace can be made, and no network policy is enforced');
  if (missing.length > 0) return loudly(true, `no ${missing.join(', ')}: no network policy is enforced`);
  const name = `rnp${process.pid}`;
  const probe = `ip netns add ${name}; trap "ip netns del ${name}" EXIT
    ip netns exec ${name} nft add table inet remora_probe; ip -n ${name} link add a0 type veth peer name b0`;
  const made = spawnSync('sh', ['-ec', probe]);
  return loudly(
    made.status !== 0,
    'no network namespace with nftables can be made here: no network policy is enforced',
  );
}

export interface NetworkWorld {
  /** The name of the machine's network namespace. */
  readonly machine: string;
  readonly world: string;
  /** Starts a program in the machine, until the end of the file or its own. */
  start(words: readonly string[], options?: { readonly env?: Record<string, string> }): ChildProcess;
  /** Starts a program in the world, until the end of the file or its own. */
  startOutside(words: readonly string[]): ChildProcess;
  /** Programs of the machine find this name server in their /etc/resolv.conf: those that start after the first call. */
  useNameServer(address?: string): void;
  /** What a program in the machine printed, and with which status it ended. */
  run(words: readonly string[]): { readonly status: number; readonly stdout: string; readonly stderr: string };
  /** The name server knows these, by a line of its own settings each. */
  setNames(lines: readonly string[]): Promise<void>;
  /** The names that the name server was asked for. */
  asked(): string[];
}

/** The processes of a network namespace. */
export function listPids(name: string): number[] {
  const lines = execFileSync('ip', ['netns', 'pids', name], { encoding: 'utf8' }).split('\n');
  return lines.filter((line) => line !== '').map(Number);
}

/** It may end by itself at the same moment. */
function killLeft(pid: number): void {
  try {
    signalRunning(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

let made = 0;

export async function openNetworkWorld(): Promise<NetworkWorld> {
  made += 1;
  const [machine, world] = ['m', 'w'].map((letter) => `rn${letter}${process.pid}x${made}`) as [string, string];
  const dir = tempDir();
  const log = join(dir, 'asked.log');
  const children = new Set<ChildProcess>();
  const ip = (...words: string[]) => execFileSync('ip', words, { stdio: ['ignore', 'ignore', 'pipe'] });
  for (const name of [machine, world]) {
    ip('netns', 'add', name);
    atEnd(() => void ip('netns', 'del', name));
    ip('-n', name, 'link', 'set', 'lo', 'up');
  }
  ip('link', 'add', 'up0', 'netns', machine, 'type', 'veth', 'peer', 'name', 'down0', 'netns', world);
  ip('-n', machine, 'addr', 'add', '93.180.0.2/24', 'dev', 'up0');
  ip('-n', machine, 'addr', 'add', '2606:2801::2/64', 'dev', 'up0', 'nodad');
  ip('-n', world, 'addr', 'add', '93.180.0.1/24', 'dev', 'down0');
  ip('-n', world, 'addr', 'add', '2606:2801::1/64', 'dev', 'down0', 'nodad');
  ip('-n', machine, 'link', 'set', 'up0', 'up');
  ip('-n', world, 'link', 'set', 'down0', 'up');
  ip('-n', machine, 'route', 'add', 'default', 'via', '93.180.0.1');
  ip('-n', machine, '-6', 'route', 'add', 'default', 'via', '2606:2801::1');
  for (const address of [...ADDRESSES, ...ADDRESSES_6, NAME_SERVER, ...OTHER_NAME_SERVERS])
    ip('-n', world, 'addr', 'add', address, 'dev', 'lo', ...(isIPv6(address) ? ['nodad'] : []));
  ip('-n', world, 'addr', 'add', `${MANY_ADDRESSES}1/24`, 'dev', 'lo');

  function startIn(name: string, words: readonly string[], env: Record<string, string> = {}): ChildProcess {
    const child = spawn('ip', ['netns', 'exec', name, ...words], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH ?? '', ...env },
    });
    children.add(child);
    child.once('close', () => children.delete(child));
    return child;
  }
  async function end(child: ChildProcess): Promise<void> {
    if (!children.has(child)) return;
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGKILL');
    await ended;
  }
  /** What those have started runs on without them. */
  function endLeft(): void {
    for (const pid of [machine, world].flatMap(listPids)) killLeft(pid);
  }
  atEnd(async () => {
    await Promise.all([...children].map(end));
    endLeft();
  });

  const servers = new URL('network-world-child.ts', import.meta.url).pathname;
  const serving = startIn(world, [process.execPath, servers]);
  await eventually(() => new Promise<boolean>((resolve) => serving.stdout?.once('data', () => resolve(true))));

  let nameServer: ChildProcess | undefined;
  const isUp = () => {
    const answer = execFileSync('ip', [
      'netns',
      'exec',
      world,
      'dig',
      '+short',
      '+time=1',
      '+tries=1',
      'up.test',
      `@${NAME_SERVER}`,
    ]);
    return answer.toString().trim() === '93.184.0.1';
  };
  const opened: NetworkWorld = {
    machine,
    world,
    start: (words, { env = {} } = {}) => startIn(machine, words, env),
    startOutside: (words) => startIn(world, words),
    useNameServer(address = NAME_SERVER) {
      const own = join('/etc/netns', machine);
      if (!existsSync(own)) atEnd(() => rmSync(own, { recursive: true }));
      mkdirSync(own, { recursive: true });
      writeFileSync(join(own, 'resolv.conf'), `nameserver ${address}\n`);
    },
    run(words) {
      try {
        const stdout = execFileSync('ip', ['netns', 'exec', machine, ...words], {
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        return { status: 0, stdout, stderr: '' };
      } catch (error) {
        const { status, stdout, stderr } = error as { status: number | null; stdout: string; stderr: string };
        return { status: status ?? -1, stdout: String(stdout), stderr: String(stderr) };
      }
    },
    async setNames(lines) {
      if (nameServer !== undefined) await end(nameServer);
      const settings = [
        '--no-resolv',
        '--no-hosts',
        '--no-daemon',
        '--bind-interfaces',
        `--listen-address=${[NAME_SERVER, ...OTHER_NAME_SERVERS].join()}`,
      ];
      const noting = ['--log-queries', `--log-facility=${log}`, '--conf-file=/dev/null', '--user=root'];
      const known = [...lines, 'host-record=up.test,93.184.0.1'].map((line) => `--${line}`);
      nameServer = startIn(world, ['dnsmasq', ...settings, ...noting, ...known]);
      // It says there too what it notes, and waits for whom it says it to.
      for (const stream of [nameServer.stdout, nameServer.stderr]) stream?.resume();
      await eventually(() => {
        try {
          return isUp();
        } catch {
          return false;
        }
      });
    },
    asked() {
      const text = existsSync(log) ? readFileSync(log, 'utf8') : '';
      return [...text.matchAll(/ query\[\S+\] (\S+) from (?:93\.180|2606:2801)/g)].map(([, name = '']) => name);
    },
  };
  await opened.setNames([]);
  return opened;
}
