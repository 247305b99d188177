// A guest that is booted once, saved with its agent ready and quiet, and comes back for each test into a world of its own.
import { cpSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { atEnd } from '../at-end.ts';
import type { NodeConnection } from '../scripted-node.ts';
import { tempDir } from '../temp-dir.ts';
import { type AgentDoor, openAgentDoor } from './agent-door.ts';
import { type Guest, type Snapshot, startGuest } from './guest.ts';
import { createGuestSprite, type Doors, type GuestWorld, openDoors, openGuestWorld, SPRITE } from './guest-world.ts';
import { type KernelSeries, makeTestImage } from './vm-image.ts';

export interface RunningGuest extends GuestWorld {
  readonly guest: Guest;
  readonly agent: AgentDoor;
  /** How long it was away before. */
  readonly away_ms: number;
}

export interface GoldenGuest {
  readonly doors: Doors;
  /** What the agent said of itself before it was saved. */
  readonly generation: number;
  readonly incarnation: string;
  readonly boot_id: string;
  /** Comes back, once for each call, from a copy. */
  restore(): Promise<RunningGuest>;
  /** Suspends a guest and brings it back; its world goes on. */
  again(running: RunningGuest): Promise<RunningGuest>;
  /** The same without its memory: it boots from its disk. Resolves when its agent answers. */
  bootAgain(running: RunningGuest): Promise<RunningGuest>;
}

export interface GoldenOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** What is done in the guest before it is saved, and given time. */
  readonly prepare?: (running: RunningGuest, stream: NodeConnection) => Promise<void>;
  /** Right before it is saved. */
  readonly beforeSave?: (running: RunningGuest, doors: Doors) => Promise<void>;
}

/** The agent has work of its own for a while after its start: it fetches, looks for ports, and keeps compiled code. */
const SETTLE_MS = 8_000;
const BOOT_LIMIT_MS = 300_000;
const AWAY_MS = 6_000;

export async function bootGolden(series: KernelSeries, options: GoldenOptions = {}): Promise<GoldenGuest> {
  const image = await makeTestImage(series);
  const doors = await openDoors();
  const world = await openGuestWorld(doors);
  const { token, app, machine } = await createGuestSprite(world);
  const environment = {
    REMORA_SPRITE: SPRITE,
    REMORA_APP: app,
    REMORA_MACHINE: machine,
    REMORA_BASE_URL: doors.platform.url,
    REMORA_NODE_URL: doors.node.url,
    ...options.environment,
  };
  const running = toRunning(world, await startGuest({ dir: tempDir(), atEnd, image, token, environment }));
  const { agent, guest } = running;
  const stream = await world.node.next(BOOT_LIMIT_MS);
  stream.open();
  await agent.get('/v1/ready');
  await options.prepare?.(running, stream);
  await sleep(SETTLE_MS);
  await options.beforeSave?.(running, doors);
  const { json: status } = await agent.get('/v1/status');
  const saved = await guest.suspend();
  const saved_ms = Date.now();
  await world.platform[Symbol.asyncDispose]();
  const records = tempDir();
  cpSync(world.platform.dir, records, { recursive: true });
  doors.close();

  /** So long that a clock of whole seconds shows it for sure. */
  async function comeBack(around: GuestWorld, from: Snapshot, since_ms: number): Promise<RunningGuest> {
    await sleep(Math.max(0, AWAY_MS - (Date.now() - since_ms)));
    const restored = await startGuest({ dir: tempDir(), atEnd, image, from });
    return { ...toRunning(around, restored), away_ms: Date.now() - since_ms };
  }

  return {
    doors,
    generation: status.generation,
    incarnation: status.incarnation,
    boot_id: status.details.resume.boot_id,
    restore: async () => comeBack(await openGuestWorld(doors, records), saved, saved_ms),
    async again({ guest: before, ...around }) {
      const from = await before.suspend();
      const since_ms = Date.now();
      doors.open(around);
      return comeBack(around, from, since_ms);
    },
    async bootAgain({ guest: before, ...around }) {
      const disk = await before.suspend();
      doors.open(around);
      const booted = toRunning(around, await startGuest({ dir: tempDir(), atEnd, image, disk }));
      await booted.agent.get('/v1/ready');
      return booted;
    },
  };
}

function toRunning(world: GuestWorld, guest: Guest): RunningGuest {
  return { ...world, guest, agent: openAgentDoor(guest.ports.socket), away_ms: 0 };
}
