// Every row that the platform serves.
import { connectorOperations } from './connectors.ts';
import { gatewayOperations } from './gateway.ts';
import { statusOperations } from './local/status.ts';
import { machineOperations } from './machines.ts';
import { portNoticeOperations } from './port-notices.ts';
import { spriteOperations } from './sprites.ts';

export const platformOperations = {
  health: statusOperations.health,
  openapi: statusOperations.openapi,
  ...spriteOperations,
  ...connectorOperations,
  ...gatewayOperations,
  ...machineOperations,
  ...portNoticeOperations,
} as const;
