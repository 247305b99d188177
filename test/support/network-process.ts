// `remora network` in the machine of a world: as a user of its own that may change the packet filter and, where this process may, have the kernel run
// its programs, and has no other right.
import type { ChildProcess } from 'node:child_process';
import { chownSync, mkdirSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { findMissing } from '../../src/linux/processes/capabilities.ts';
import { atEnd } from './at-end.ts';
import { eventually } from './eventually.ts';
import { WITH_GROUPS } from './network/attempt-notes.ts';
import { NAME_SERVER, type NetworkWorld } from './network-world.ts';
import { remoraPath } from './run-remora.ts';
import { tempDir } from './temp-dir.ts';

/** A user that nobody else is. */
const UID = 64_242;

export interface NetworkProcess {
  readonly socket: string;
  /** Starts it, and resolves when it serves. */
  start(): Promise<void>;
  /** Resolves when it has ended. */
  end(signal: NodeJS.Signals): Promise<void>;
  ask(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly json: Record<string, unknown> }>;
  /** Enforces these rules. Throws for any answer but 200. */
  enforce(rules: readonly object[], exempt?: object): Promise<Record<string, unknown>>;
  readonly log: () => string;
}

/** @param more further words of its command; without any it asks the name servers of the machine's /etc/resolv.conf. */
export async function openNetworkProcess(
  world: NetworkWorld,
  more: readonly string[] = ['--upstream', NAME_SERVER],
): Promise<NetworkProcess> {
  const dir = tempDir();
  mkdirSync(join(dir, 'run'));
  for (const path of [dir, join(dir, 'run')]) chownSync(path, UID, UID);
  const socket = join(dir, 'run', 'network.sock');
  let child: ChildProcess | undefined;
  let log = '';
  const missing = findMissing(['CAP_PERFMON', 'CAP_BPF']);
  const forNames = [
    ...(missing.includes('CAP_PERFMON') ? [] : ['+cap_38']),
    ...(missing.includes('CAP_BPF') ? [] : ['+cap_39']),
  ];
  const rights = ['-all', '+net_admin', ...forNames].join();
  const asUser = [
    ...WITH_GROUPS,
    'setpriv',
    `--reuid=${UID}`,
    `--regid=${UID}`,
    '--clear-groups',
    `--inh-caps=${rights}`,
    `--ambient-caps=${rights}`,
  ];
  const words = ['network', '--socket', socket, '--state-dir', join(dir, 'state'), ...more];

  async function ask(method: string, path: string, body?: object) {
    return await new Promise<{ status: number; json: Record<string, unknown> }>((resolve, reject) => {
      const headers = body === undefined ? {} : { 'content-type': 'application/json' };
      const call = request({ socketPath: socket, method, path, headers, agent: false }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        answer.once('end', () =>
          resolve({ status: answer.statusCode ?? 0, json: text === '' ? {} : JSON.parse(text) }),
        );
      });
      call.once('error', reject);
      call.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  const opened: NetworkProcess = {
    socket,
    async start() {
      const node = [process.execPath, '--disable-warning=ExperimentalWarning', remoraPath];
      const started = world.start([...asUser, '--no-new-privs', ...node, ...words]);
      child = started;
      for (const stream of [started.stdout, started.stderr]) {
        stream?.setEncoding('utf8').on('data', (text: string) => {
          log += text;
        });
      }
      await eventually(async () => {
        if (started.exitCode !== null) throw new Error(`remora network ended: ${log}`);
        return await ask('GET', '/v1/network').then(
          ({ status }) => status === 200,
          () => false,
        );
      });
    },
    async end(signal) {
      const ended = child;
      if (ended === undefined || ended.exitCode !== null) return;
      const closed = new Promise((resolve) => ended.once('close', resolve));
      ended.kill(signal);
      await closed;
    },
    ask,
    async enforce(rules, exempt = { names: [], networks: [] }) {
      const { status, json } = await ask('PUT', '/v1/network', { rules, exempt }).catch((cause: unknown) => {
        throw new Error(`the rules are not taken: ${log}`, { cause });
      });
      if (status !== 200) throw new Error(`the rules are refused: ${status} ${JSON.stringify(json)}`);
      return json;
    },
    log: () => log,
  };
  atEnd(() => opened.end('SIGTERM'));
  await opened.start();
  return opened;
}
