// The Sandbox API as tables: each operation with whether the platform serves it, each record with its fields. Pure.
import { checkpointOperations } from '../../contract/checkpoints.ts';
import { connectorOperations } from '../../contract/connectors.ts';
import { fileOperations } from '../../contract/files.ts';
import { gatewayOperations } from '../../contract/gateway.ts';
import { networkExplanationOperations } from '../../contract/network-explanations.ts';
import { networkPolicyOperations } from '../../contract/network-policy.ts';
import { oauthOperations } from '../../contract/oauth.ts';
import type { Operation } from '../../contract/operation.ts';
import { platformOperations } from '../../contract/platform-operations.ts';
import { portNoticeOperations } from '../../contract/port-notices.ts';
import { processOperations } from '../../contract/processes.ts';
import { serviceOperations } from '../../contract/services.ts';
import { spritePolicyOperations } from '../../contract/sprite-policies.ts';
import { spriteOperations } from '../../contract/sprites.ts';
import { toOperationName } from './contract-tables.ts';
import { fieldNames } from './field-names.ts';
import { toMarkdownTable } from './markdown-table.ts';
import { type SandboxRecord, sandboxRecords } from './sandbox-records.ts';

export const sandboxOperations: readonly Operation[] = [
  spriteOperations,
  connectorOperations,
  oauthOperations,
  gatewayOperations,
  serviceOperations,
  networkPolicyOperations,
  networkExplanationOperations,
  spritePolicyOperations,
  checkpointOperations,
  fileOperations,
  processOperations,
  portNoticeOperations,
]
  .flatMap((operations) => Object.values<Operation>(operations))
  .filter(({ source }) => /Sandbox API|Sprites API/.test(source));

/** Remarks that the summary does not make, by the name of the operation. */
const remarks: Readonly<Record<string, string>> = {
  'POST `/v1/oauth/connections/api_key`':
    'key format for each provider; asked at the provider with `--verify-keys`; the address of `base_api_url` is judged when it is dialled',
  'POST `/v1/oauth/connections/provision`': 'one adapter: OpenRouter',
  'GET `/v1/oauth/{provider}/authorize`':
    'github, gitlab, google, linear, notion, slack, slack_user; tried against a stand-in, not against the providers themselves',
  'POST `/v1/oauth/{provider}/callback`': 'state once, PKCE, exact redirect URI; renewal once for all who wait',
  'DELETE `/v1/oauth/connections/{id}`': 'ends the credential at the provider where there is a way',
  'POST `/v1/sprites/{name}/policy/network`': 'stored once the machine enforces it',
  'POST `/v1/sprites/{name}/policy/network/explain`': 'ours',
  'GET `/v1/sprites/{name}/policy/network/refused`': 'ours',
  'POST `/v1/sprites/{name}/policy/privileges`':
    'commands, terminals and services that start from then on: capabilities by profile, no_new_privs, devices; stored once the machine keeps to it',
  'POST `/v1/sprites/{name}/policy/resources`':
    'of all programs together, no autoscale; stored once the machine keeps to it',
  'POST `/v1/sprites/{name}/checkpoint`': 'files and definitions of services, of a machine in any state',
  'POST `/v1/sprites/{name}/checkpoints/{id}/restore`': 'what is there is kept first',
  'DELETE `/v1/sprites/{name}`': 'with its machine, files and tokens',
};

const served = new Set(Object.values<Operation>(platformOperations).map(toOperationName));

export function toSandboxOperationTable(): string {
  return toMarkdownTable(
    ['operation', 'state', 'what it does'],
    sandboxOperations.map((operation) => {
      const name = toOperationName(operation);
      const remark = remarks[name];
      const text = remark === undefined ? operation.summary : `${operation.summary} (${remark})`;
      return [name, served.has(name) ? 'done' : 'not served', text];
    }),
  );
}

export function toSandboxRecordTable(): string {
  return toMarkdownTable(
    ['record', 'state', 'fields'],
    Object.entries(sandboxRecords).map(([name, record]) => [name, toState(record), toFields(record)]),
  );
}

function toState({ of, missing }: SandboxRecord): string {
  if (!Object.values(of).some((operation) => served.has(toOperationName(operation)))) return 'not served';
  return missing === undefined ? 'done' : `in part: ${missing}`;
}

function toFields({ schema, remarks: said }: SandboxRecord): string {
  return fieldNames(schema)
    .map((field) => (said?.[field] === undefined ? `\`${field}\`` : `\`${field}\` (${said[field]})`))
    .join(', ');
}
