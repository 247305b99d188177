// What the platform reaches through a channel: the operations of this agent, the supervisor's over connections of their own, and the
// ports of this machine.
import { AGENT_AUTHORITY } from '../contract/channel.ts';
import type { Edge } from '../http/edge.ts';
import type { AgentParts } from './agent-parts.ts';
import { createBelongsToMachine } from './channel/belongs-to-machine.ts';
import { type ChannelTarget, toServerTarget } from './channel/channel-target.ts';
import { createLaneTarget } from './channel/lane-target.ts';
import { createPortTarget } from './channel/port-target.ts';

export function createChannelTargets(
  edge: Edge,
  { channel, ports, supervisor }: Pick<AgentParts, 'channel' | 'ports' | 'supervisor'>,
  env: NodeJS.ProcessEnv,
): readonly ChannelTarget[] {
  return [
    toServerTarget(AGENT_AUTHORITY, edge.createServer('channel')),
    createLaneTarget({
      dial: (lane_id, signal) => channel.dialLane(lane_id, signal),
      connect: () => supervisor.connect(),
      begin: (operation) => supervisor.beginLane(operation),
      mayHurry: () => !supervisor.isCalled,
    }),
    createPortTarget({
      find: (port) => ports.listening().get(port),
      isOwn: createBelongsToMachine(env),
      begin: (port) => supervisor.beginPort(port),
      waitForService: (port) => supervisor.waitForService(port, ports),
      findHttpPort: () => supervisor.findHttpPort(),
    }),
  ];
}
