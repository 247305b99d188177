// The agents of played machines, in the process of the test: each reports to the platform, dials its channel, and serves there what the
// test says. All of it goes over real connections.
import type { ServerHttp2Stream } from 'node:http2';
import type { ChannelTarget } from '../../../src/agent/channel/channel-target.ts';
import { type ServedChannel, serveChannel } from '../../../src/agent/channel/serve-channel.ts';
import { toErrorMessage } from '../../../src/core/error-message.ts';
import { dialAs, reportMachine } from '../dial-as.ts';
import type { PlayedSpec, PlayedWorld } from './played-driver.ts';

export interface PlayedAgents extends PlayedWorld, Disposable {
  /** How often each machine was booted or thawed, by the name of its sprite. */
  readonly starts: ReadonlyMap<string, number>;
  /** Why an agent could not connect. */
  readonly troubles: readonly string[];
  /** Cuts the channel of a sprite, as the end of its machine does. */
  cut(sprite: string): void;
  /** Every connected machine, by the name of its sprite. */
  readonly connected: ReadonlyMap<string, ServedChannel>;
}

export interface PlayedAgentsOptions {
  readonly url: () => string;
  /** Takes a CONNECT to a target of the machine of a sprite; false refuses it. */
  readonly serve: (sprite: string, authority: string, stream: ServerHttp2Stream) => boolean;
  /** What a machine takes to boot or to thaw; nothing when absent. */
  readonly rising?: (sprite: string) => Promise<void>;
  /** Whether the agent of a sprite reports and connects. */
  readonly comesUp?: (sprite: string) => boolean;
}

interface Machine extends PlayedSpec {
  generation: number;
  /** The number of the present boot or thaw. */
  turn: number;
}

const TRIES = 5;

export function createPlayedAgents(options: PlayedAgentsOptions): PlayedAgents {
  const { serve, rising = async () => undefined, comesUp = () => true } = options;
  const machines = new Map<string, Machine>();
  const connected = new Map<string, ServedChannel>();
  const starts = new Map<string, number>();
  const troubles: string[] = [];
  let isOver = false;

  async function connect(machine: Machine, turn: number): Promise<void> {
    machine.generation += 1;
    const identity = await reportMachine(options.url(), machine, machine.generation);
    const socket = await dialAs(options.url(), machine, identity);
    if (isOver || machine.turn !== turn) return void socket.destroy();
    const target: ChannelTarget = (authority, stream) => serve(machine.sprite, authority, stream);
    const channel = serveChannel(socket, {
      targets: [target],
      onClose() {
        if (connected.get(machine.sprite) === channel) connected.delete(machine.sprite);
      },
    });
    connected.set(machine.sprite, channel);
  }

  /** Tries again, as agents do. */
  async function comeUp(machine: Machine, turn: number): Promise<void> {
    for (let tries = 1; !isOver && machine.turn === turn; tries += 1) {
      try {
        return await connect(machine, turn);
      } catch (error) {
        if (tries < TRIES) continue;
        troubles.push(`${machine.sprite}: ${toErrorMessage(error)}`);
        return;
      }
    }
  }

  async function rise(machine: Machine): Promise<void> {
    machine.turn += 1;
    const { turn, sprite } = machine;
    starts.set(sprite, (starts.get(sprite) ?? 0) + 1);
    await rising(sprite);
    if (!comesUp(sprite)) return;
    void comeUp(machine, turn);
  }

  function cut(sprite: string): void {
    connected.get(sprite)?.destroy();
    connected.delete(sprite);
  }

  async function fall(id: string): Promise<void> {
    const machine = machines.get(id);
    if (machine === undefined) return;
    machine.turn += 1;
    cut(machine.sprite);
  }

  return {
    starts,
    troubles,
    connected,
    cut,
    async boot(spec) {
      const machine = { ...spec, generation: machines.get(spec.id)?.generation ?? 0, turn: 0 };
      machines.set(spec.id, machine);
      await rise(machine);
    },
    async thaw(id) {
      const machine = machines.get(id);
      if (machine !== undefined) await rise(machine);
    },
    freeze: fall,
    end: fall,
    [Symbol.dispose]() {
      isOver = true;
      for (const channel of connected.values()) channel.destroy();
    },
  };
}
