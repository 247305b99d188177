// A sprite whose machine runs, as an operator has it: a platform process, and a machine of the process driver with the agent in it.
import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SpritesClient } from '@fly/sprites';
import { runPlatform, startPlatform } from '../platform/platform.ts';
import { commandLine, findPids } from './processes.ts';

export interface BenchSprite extends AsyncDisposable {
  /** `http://…/v1/sprites/bench` of the platform. */
  readonly url: string;
  readonly token: string;
  readonly client: SpritesClient;
  /** The agent's own socket. */
  readonly socket: string;
  readonly platform_pid: number;
  /** Agent and platform; the supervisor and its helpers once they run. */
  pids(): ReadonlyMap<string, number>;
}

const NAME = 'bench';
const READY_MS = 30_000;

/** `more` are further words for the platform. */
export async function openBenchSprite(dir: string, more: readonly string[] = []): Promise<BenchSprite> {
  const home = join(dir, 'p');
  const keyFile = join(dir, 'key');
  const tokenFile = join(dir, 'token');
  writeFileSync(keyFile, await runPlatform(['key']), { mode: 0o600 });
  const words = ['--dir', home, '--key-file', keyFile, '--organization', 'acme', '--token-file', tokenFile];
  const platform = await startPlatform([
    ...words,
    '--trust-machines',
    '--end-machines',
    '--log-level',
    'info',
    ...more,
  ]);
  const token = (await readFile(tokenFile, 'utf8')).trim();
  const client = new SpritesClient(token, { baseURL: platform.url });
  const url = `${platform.url}/v1/sprites/${NAME}`;
  await client.createSprite(NAME);
  const pids = () => {
    const found = new Map([['platform', platform.pid]]);
    for (const pid of findPids(join(home, ''))) {
      const line = commandLine(pid);
      if (line.includes('user-process')) found.set('file process', pid);
      else if (/remora\.js\0supervisor/.test(line)) found.set('supervisor', pid);
      else if (/remora\.js\0agent/.test(line)) found.set('agent', pid);
    }
    return found;
  };
  await untilReached(url, token);
  const agent = pids().get('agent') ?? 0;
  const socket = /REMORA_SOCKET=([^\0]+)/.exec(await readFile(`/proc/${agent}/environ`, 'latin1'))?.[1] ?? '';
  return {
    url,
    token,
    client,
    socket,
    platform_pid: platform.pid,
    pids,
    [Symbol.asyncDispose]: () => platform.end(),
  };
}

/** The machine boots, its agent dials the channel, and the supervisor starts. */
async function untilReached(url: string, token: string): Promise<void> {
  const end_ms = performance.now() + READY_MS;
  for (;;) {
    const answer = await fetch(`${url}/services`, { headers: { authorization: `Bearer ${token}` } });
    const text = await answer.text();
    if (answer.ok) return;
    if (performance.now() > end_ms) throw new Error(`the sprite cannot be reached: ${answer.status} ${text}`);
    await sleep(100);
  }
}
