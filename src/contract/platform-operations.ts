// Every operation that the platform serves. An operation without `access` would be open to the tokens of an organization only.
import { appSecretOperations, machineSecretOperations } from './app-secrets.ts';
import { appOperations } from './apps.ts';
import { channelOperations } from './channel.ts';
import { checkpointOperations } from './checkpoints.ts';
import { connectorOperations } from './connectors.ts';
import { costFetchOperations, extensionCostOperations } from './extension-cost-totals.ts';
import { extensionProviderOperations } from './extension-providers.ts';
import { extensionOperations } from './extension-records.ts';
import { extensionHookOperations } from './extension-webhooks.ts';
import { fileOperations } from './files.ts';
import { gatewayOperations } from './gateway.ts';
import { gatewayDiscoveryOperations } from './gateway-discovery.ts';
import { gatewayUsageOperations } from './gateway-usage.ts';
import { hostOperations } from './hosts.ts';
import { statusOperations } from './local/status.ts';
import { machineChangeOperations } from './machine-changes.ts';
import { machineHistoryOperations } from './machine-history.ts';
import { machineIdleOperations } from './machine-idle.ts';
import { machineLeaseOperations } from './machine-leases.ts';
import { machineMetadataOperations } from './machine-metadata.ts';
import { machineUsageOperations } from './machine-usage.ts';
import { machineOperations } from './machines.ts';
import { networkExplanationOperations } from './network-explanations.ts';
import { networkPolicyOperations } from './network-policy.ts';
import { oauthOperations } from './oauth.ts';
import { definePlatformOperation, type PlatformOperations } from './operation.ts';
import { organizationOperations } from './organizations.ts';
import { pipeOperations } from './pipes.ts';
import { portNoticeOperations } from './port-notices.ts';
import { processOperations } from './processes.ts';
import { proxyOperations } from './proxy.ts';
import { resumeReportOperations } from './resume-reports.ts';
import { serviceOperations } from './services.ts';
import { signOnOperations } from './sign-on.ts';
import { spriteMachineOperations } from './sprite-machine.ts';
import { spritePolicyOperations } from './sprite-policies.ts';
import { spriteWatchOperations } from './sprite-watch.ts';
import { spriteOperations } from './sprites.ts';
import { tokenOperations } from './tokens.ts';
import { upgradeOperations } from './upgrade.ts';
import { userOperations } from './users.ts';
import { volumeOperations } from './volumes.ts';

export const platformOperations = {
  health: definePlatformOperation({
    ...statusOperations.health,
    servedAt: ['tcp', 'operator', 'metrics'],
    access: 'none',
  }),
  metrics: definePlatformOperation({
    ...statusOperations.metrics,
    summary: 'Calls, machines, connectors and renewals in numbers, as Prometheus text',
    errors: ['unauthorized', 'forbidden', 'not_found'],
    servedAt: ['tcp', 'operator', 'metrics'],
    access: 'none',
  }),
  openapi: definePlatformOperation({ ...statusOperations.openapi, servedAt: ['tcp', 'operator'], access: 'none' }),
  ...spriteOperations,
  ...spriteWatchOperations,
  ...connectorOperations,
  ...oauthOperations,
  ...gatewayOperations,
  ...gatewayDiscoveryOperations,
  ...gatewayUsageOperations,
  ...appOperations,
  ...appSecretOperations,
  ...machineSecretOperations,
  ...machineOperations,
  ...machineHistoryOperations,
  ...machineChangeOperations,
  ...machineIdleOperations,
  ...machineLeaseOperations,
  ...machineMetadataOperations,
  ...machineUsageOperations,
  ...volumeOperations,
  ...channelOperations,
  ...pipeOperations,
  ...serviceOperations,
  ...fileOperations,
  ...processOperations,
  ...checkpointOperations,
  ...proxyOperations,
  ...networkPolicyOperations,
  ...networkExplanationOperations,
  ...spritePolicyOperations,
  ...spriteMachineOperations,
  ...upgradeOperations,
  ...resumeReportOperations,
  ...portNoticeOperations,
  ...tokenOperations,
  ...organizationOperations,
  ...userOperations,
  ...signOnOperations,
  ...hostOperations,
  ...extensionProviderOperations,
  ...extensionOperations,
  ...extensionHookOperations,
  ...extensionCostOperations,
  ...costFetchOperations,
} as const satisfies PlatformOperations;
