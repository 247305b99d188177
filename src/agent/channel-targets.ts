// What the platform reaches through a channel: the operations of this agent, the supervisor's over connections of their own, and the
// ports of this machine, over connections of their own where they are busy.
import { AGENT_AUTHORITY } from '../contract/channel.ts';
import type { Edge } from '../http/edge.ts';
import type { AgentParts } from './agent-parts.ts';
import { createBelongsToMachine } from './channel/belongs-to-machine.ts';
import { type ChannelTarget, toServerTarget } from './channel/channel-target.ts';
import { createLaneTarget } from './channel/lane-target.ts';
import { createPortLaneTarget } from './channel/port-lane-target.ts';
import { createPortTarget } from './channel/port-target.ts';

export function createChannelTargets(
  edge: Edge,
  { channel, ports, supervisor }: Pick<AgentParts, 'channel' | 'ports' | 'supervisor'>,
  env: NodeJS.ProcessEnv,
): readonly ChannelTarget[] {
  const toPorts = {
    find: (port: number) => ports.listening().get(port),
    isOwn: createBelongsToMachine(env),
    begin: (port: number) => supervisor.beginPort(port),
    findHttpPort: () => supervisor.findHttpPort(),
  };
  const lanes = {
    dial: (lane_id: string, signal: AbortSignal) => channel.dialLane(lane_id, signal),
    mayHurry: () => !supervisor.isCalled,
  };
  return [
    toServerTarget(AGENT_AUTHORITY, edge.createServer('channel')),
    createLaneTarget({
      ...lanes,
      connect: () => supervisor.connect(),
      begin: (operation) => supervisor.beginLane(operation),
    }),
    createPortLaneTarget({ ...lanes, ...toPorts }),
    createPortTarget({ ...toPorts, waitForService: (port) => supervisor.waitForService(port, ports) }),
  ];
}
