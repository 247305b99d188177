// The real supervisor as a child process, gone with everything that it started when the test ends.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServiceLogEvent, ServiceResponse } from '../../src/contract/services.ts';
import { signalProcess } from '../../src/linux/processes/signal-process.ts';
import { ask, type HttpAnswer, type Question } from './ask.ts';
import { atEnd } from './at-end.ts';
import { eventually } from './eventually.ts';
import { readIfThere } from './read-if-there.ts';
import { remoraPath } from './run-remora.ts';
import { tempDir } from './temp-dir.ts';

export interface SupervisorProcess {
  readonly child: ChildProcess;
  readonly dir: string;
  readonly socket: string;
  ask(question: Question): Promise<HttpAnswer>;
  put(name: string, request: object, query?: string): Promise<HttpAnswer>;
  post(path: string, body?: object): Promise<HttpAnswer>;
  read(name: string): Promise<ServiceResponse>;
  /** Ends it by SIGKILL; what it started stays. */
  kill(): Promise<void>;
  log(): string;
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

export interface SupervisorStart {
  readonly dir?: string;
  readonly user?: string;
  /** A command that starts it, with the program and its words after it. */
  readonly before?: readonly string[];
}

export function stateDirOf(dir: string): string {
  return join(dir, 'state');
}

export function logFileOf(dir: string, name: string): string {
  return join(stateDirOf(dir), 'logs', 'services', `${name}.log`);
}

/** The log of a service; empty while there is none. */
export function readLogOf(dir: string, name: string): string {
  return readIfThere(logFileOf(dir, name)) ?? '';
}

export async function startSupervisor(start: SupervisorStart = {}): Promise<SupervisorProcess> {
  const { dir = tempDir(), user = String(process.geteuid?.() ?? 0), before = [] } = start;
  const socket = join(dir, 'supervisor.sock');
  const flags = ['--socket', socket, '--state-dir', stateDirOf(dir), '--user', user];
  const [command = process.execPath, ...args] = [...before, process.execPath, remoraPath, 'supervisor', ...flags];
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env.PATH ?? '' } });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  }
  const ended = once(child, 'exit').then(([code, signal]) => code ?? signal);
  atEnd(async () => {
    child.kill('SIGKILL');
    await ended;
    for (const pid of findPids(join(dir, ''))) signalProcess(pid, 'SIGKILL');
  });
  const put = (question: Question) => ask(socket, question);
  const json = { 'content-type': 'application/json' };
  const supervisor: SupervisorProcess = {
    child,
    dir,
    socket,
    ended,
    ask: put,
    put: (name, request, query = '?duration=0s') =>
      put({ method: 'PUT', target: `/v1/services/${name}${query}`, headers: json, body: JSON.stringify(request) }),
    post: (path, body) =>
      put({
        method: 'POST',
        target: `/v1/services/${path}`,
        ...(body === undefined ? {} : { headers: json, body: JSON.stringify(body) }),
      }),
    async read(name) {
      const answer = await put({ target: `/v1/services/${name}` });
      if (answer.status !== 200) throw new Error(answer.text);
      return answer.json as ServiceResponse;
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    log: () => text,
  };
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`it does not serve: ${text}`);
    const answer = await put({ target: '/v1/services' }).catch(() => undefined);
    return answer?.status === 200;
  });
  return supervisor;
}

export function toEvents({ text }: Pick<HttpAnswer, 'text'>): ServiceLogEvent[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** The processes, zombies excepted, whose command line or environment has the text. */
export function findPids(text: string): number[] {
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry) || Number(entry) === process.pid) return [];
    try {
      const state = readFileSync(`/proc/${entry}/stat`, 'latin1').split(') ').at(-1)?.[0];
      const words = readFileSync(`/proc/${entry}/cmdline`, 'latin1') + readFileSync(`/proc/${entry}/environ`, 'latin1');
      return state !== 'Z' && words.includes(text) ? [Number(entry)] : [];
    } catch {
      return [];
    }
  });
}
