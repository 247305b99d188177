// Every operation that the agent serves on its socket.
import { checkOperations } from './local/check.ts';
import { eventOperations } from './local/events.ts';
import { gatewayOperations } from './local/gateway.ts';
import { infoOperations } from './local/info.ts';
import { insideOperations } from './local/inside.ts';
import { machineOperations } from './local/machine.ts';
import { ownNetworkOperations } from './local/own-network.ts';
import { ownSpriteOperations } from './local/own-sprite.ts';
import { portOperations } from './local/ports.ts';
import { ownProgramPolicyOperations } from './local/program-policy.ts';
import { replicationOperations } from './local/replication.ts';
import { resumeOperations } from './local/resume.ts';
import { sleepOperations } from './local/sleep.ts';
import { statusOperations } from './local/status.ts';
import { taskOperations } from './local/tasks.ts';
import { localUpgradeOperations } from './local/upgrade.ts';
import type { LocalOperations } from './operation.ts';

export const agentOperations = {
  ...statusOperations,
  ...checkOperations,
  ...infoOperations,
  ...eventOperations,
  ...machineOperations,
  ...resumeOperations,
  ...taskOperations,
  ...sleepOperations,
  ...gatewayOperations,
  ...portOperations,
  ...replicationOperations,
  ...insideOperations,
  ...ownSpriteOperations,
  ...ownNetworkOperations,
  ...ownProgramPolicyOperations,
  ...localUpgradeOperations,
} as const satisfies LocalOperations;
