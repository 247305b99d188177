// Every row that the platform serves. A row without `access` would be open to the tokens of an organization only.
import { connectorOperations } from './connectors.ts';
import { gatewayOperations } from './gateway.ts';
import { gatewayDiscoveryOperations } from './gateway-discovery.ts';
import { gatewayUsageOperations } from './gateway-usage.ts';
import { statusOperations } from './local/status.ts';
import { machineOperations } from './machines.ts';
import { oauthOperations } from './oauth.ts';
import { portNoticeOperations } from './port-notices.ts';
import { resumeReportOperations } from './resume-reports.ts';
import { spriteOperations } from './sprites.ts';

export const platformOperations = {
  health: { ...statusOperations.health, access: 'none' },
  metrics: {
    ...statusOperations.metrics,
    summary: 'Calls, machines, connectors and renewals in numbers, as Prometheus text',
    access: 'none',
  },
  openapi: { ...statusOperations.openapi, access: 'none' },
  ...spriteOperations,
  ...connectorOperations,
  ...oauthOperations,
  ...gatewayOperations,
  ...gatewayDiscoveryOperations,
  ...gatewayUsageOperations,
  ...machineOperations,
  ...resumeReportOperations,
  ...portNoticeOperations,
} as const;
