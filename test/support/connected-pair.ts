// Two platform processes on one database, and the agent of a machine that is run elsewhere, connected to the first of them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Secret } from '../../src/core/secret.ts';
import { atEnd } from './at-end.ts';
import { endSupervisor } from './end-supervisor.ts';
import { eventually } from './eventually.ts';
import { openPlatformPair, type PairedPlatform, type PlatformPair } from './platform-pair.ts';
import { startRestartedAgent } from './restarted-agent.ts';
import { openTcpDoor, type TcpDoor } from './tcp-door.ts';
import { tempDir } from './temp-dir.ts';

export interface DoorPair {
  /** What the machine takes for the platform; leads to the first. */
  readonly front: TcpDoor;
  /** The way from the second platform to the first. */
  readonly ofHosts: TcpDoor;
  readonly one: PairedPlatform;
  readonly other: PairedPlatform;
  readonly pair: PlatformPair;
}

export interface ConnectedPair extends DoorPair {
  /** The directory of the agent. */
  readonly dir: string;
  /** Resolves once the agent has opened its channel so many times. */
  connected(times: number): Promise<unknown>;
}

export const portOf = (platform: PairedPlatform): number => Number(new URL(platform.url).port);

/** `hasAddress`: the second one knows where the first one is reached. */
export async function openDoorPair(database: Secret, hasAddress = true): Promise<DoorPair> {
  const [front, ofHosts] = await Promise.all([openTcpDoor(), openTcpDoor()]);
  const words = hasAddress ? ['--host-address', ofHosts.url] : [];
  const pair = await openPlatformPair(database, [], [words, []]);
  const [one, other] = pair.platforms;
  front.lead(portOf(one));
  ofHosts.lead(portOf(one));
  return { front, ofHosts, one, other, pair };
}

/** `program`: what the agent is started from. */
export async function openConnectedPair(database: Secret, hasAddress = true, program?: string): Promise<ConnectedPair> {
  const opened = await openDoorPair(database, hasAddress);
  const { one, front } = opened;
  const body = { name: 'dev-1', external: true };
  const { machine_id } = (await one.call({ method: 'POST', path: '/v1/sprites', body })).json;
  const made = await one.call({ method: 'POST', path: '/v1/tokens', body: { sprite: 'dev-1' } });
  const dir = tempDir();
  mkdirSync(join(dir, 'state'), { mode: 0o700 });
  writeFileSync(join(dir, 'token'), made.json.token, { mode: 0o600 });
  const agent = await startRestartedAgent(
    {
      REMORA_BASE_URL: front.url,
      REMORA_TOKEN_FILE: join(dir, 'token'),
      REMORA_SPRITE: 'dev-1',
      REMORA_APP: 'acme',
      REMORA_MACHINE: machine_id,
      ...(process.getuid?.() === 0 ? { REMORA_USER: 'root' } : {}),
    },
    dir,
    program,
  );
  atEnd(async () => endSupervisor(join(dir, 'supervisor.sock')));
  const connected = (times: number) =>
    eventually(async () => {
      // Nobody answers while it is started again.
      const status = await agent.get('/v1/status').catch(() => undefined);
      if (status?.status !== 200) return false;
      const { channel } = JSON.parse(status.text).details;
      return channel.state === 'open' && channel.opened >= times;
    });
  await connected(1);
  return { ...opened, dir, connected };
}
