// The schemas of the contract by their names in an OpenAPI document, which are those under which they are exported. Loaded only
// when a document is made.
import { z } from 'zod';
import * as accessPolicy from './access-policy.ts';
import * as appSecrets from './app-secrets.ts';
import * as apps from './apps.ts';
import * as checkpoints from './checkpoints.ts';
import * as connectors from './connectors.ts';
import * as errors from './errors.ts';
import * as extensionCostTotals from './extension-cost-totals.ts';
import * as extensionNotices from './extension-notices.ts';
import * as extensionProviders from './extension-providers.ts';
import * as extensionRecords from './extension-records.ts';
import * as extensionWebhooks from './extension-webhooks.ts';
import * as extensions from './extensions.ts';
import * as files from './files.ts';
import * as gateway from './gateway.ts';
import * as gatewayDiscovery from './gateway-discovery.ts';
import * as gatewayUsage from './gateway-usage.ts';
import * as hosts from './hosts.ts';
import { toSchema } from './lazy-zod.ts';
import * as localCheck from './local/check.ts';
import * as localEvents from './local/events.ts';
import * as localGateway from './local/gateway.ts';
import * as localMachine from './local/machine.ts';
import * as localPorts from './local/ports.ts';
import * as localReplication from './local/replication.ts';
import * as localResume from './local/resume.ts';
import * as localReport from './local/resume-reports.ts';
import * as localStatus from './local/status.ts';
import * as localTasks from './local/tasks.ts';
import * as machineChanges from './machine-changes.ts';
import * as machineConfig from './machine-config.ts';
import * as machineLeases from './machine-leases.ts';
import * as machineMetadata from './machine-metadata.ts';
import * as machineUsage from './machine-usage.ts';
import * as machines from './machines.ts';
import * as networkExplanations from './network-explanations.ts';
import * as networkPolicy from './network-policy.ts';
import * as oauth from './oauth.ts';
import * as organizations from './organizations.ts';
import * as portNotices from './port-notices.ts';
import * as processes from './processes.ts';
import * as replication from './replication.ts';
import * as resumeReports from './resume-reports.ts';
import * as services from './services.ts';
import * as signOn from './sign-on.ts';
import * as spriteMachine from './sprite-machine.ts';
import * as spritePolicies from './sprite-policies.ts';
import * as spriteWatch from './sprite-watch.ts';
import * as sprites from './sprites.ts';
import * as tokens from './tokens.ts';
import * as volumes from './volumes.ts';

const modules: readonly Readonly<Record<string, unknown>>[] = [
  { error: errors.errorBody },
  accessPolicy,
  sprites,
  spriteWatch,
  spritePolicies,
  spriteMachine,
  connectors,
  oauth,
  gateway,
  gatewayDiscovery,
  gatewayUsage,
  apps,
  machineConfig,
  machines,
  machineChanges,
  machineLeases,
  machineMetadata,
  machineUsage,
  volumes,
  appSecrets,
  resumeReports,
  portNotices,
  organizations,
  tokens,
  hosts,
  extensionProviders,
  extensionRecords,
  extensionNotices,
  extensionCostTotals,
  replication,
  services,
  processes,
  files,
  checkpoints,
  networkPolicy,
  networkExplanations,
  extensions,
  extensionWebhooks,
  signOn,
  localStatus,
  localCheck,
  localEvents,
  localMachine,
  localResume,
  localReport,
  localTasks,
  localGateway,
  localPorts,
  localReplication,
];

/** Only records, unions and lists of words get a name; a text or a number is described where it is used. */
const NAMED = ['object', 'union', 'enum', 'record'];

/**
 * A schema that two modules export has the name of the first; when two schemas have one name, the second gets a number at its
 * end.
 */
export function toSchemaNames(): ReadonlyMap<z.ZodType, string> {
  const names = new Map<z.ZodType, string>();
  const taken = new Set<string>();
  for (const [key, exported] of modules.flatMap((module) => Object.entries(module))) {
    const value = toSchema(exported);
    if (!(value instanceof z.ZodType) || names.has(value) || !NAMED.includes(value.def.type)) continue;
    const plain = (key.charAt(0).toUpperCase() + key.slice(1)).replace(/^Oauth/, 'OAuth');
    let name = plain;
    for (let count = 2; taken.has(name); count += 1) name = `${plain}${count}`;
    taken.add(name);
    names.set(value, name);
  }
  return names;
}
