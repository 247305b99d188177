// The records of the Sandbox API by their names there, each with its schema and the operations that carry it.
import type { z } from 'zod';
import { accessPolicy } from '../../contract/access-policy.ts';
import {
  checkpointEvent,
  checkpointInfo,
  checkpointOperations,
  createCheckpointRequest,
} from '../../contract/checkpoints.ts';
import {
  apiKeyConnectionRequest,
  connection,
  connectionListResponse,
  connectionResponse,
  connectorOperations,
  listConnectionsRequest,
  updateConnectionRequest,
} from '../../contract/connectors.ts';
import * as files from '../../contract/files.ts';
import { networkPolicyOperations, networkPolicyRequest, networkPolicyRule } from '../../contract/network-policy.ts';
import {
  oauthAuthorizeRequest,
  oauthAuthorizeResponse,
  oauthCallbackRequest,
  oauthOperations,
  provisionConnectionRequest,
} from '../../contract/oauth.ts';
import type { Operations } from '../../contract/operation.ts';
import { portNoticeOperations, portNotification } from '../../contract/port-notices.ts';
import { processKillEvent, processOperations } from '../../contract/processes.ts';
import {
  serviceLogEvent,
  serviceOperations,
  serviceRequest,
  serviceResponse,
  serviceState,
} from '../../contract/services.ts';
import { privilegesPolicy, resourcesPolicy, spritePolicyOperations } from '../../contract/sprite-policies.ts';
import {
  createSpriteRequest,
  sprite,
  spriteListResponse,
  spriteOperations,
  updateSpriteRequest,
  urlSettings,
  urlSettingsRequest,
} from '../../contract/sprites.ts';

export interface SandboxRecord {
  readonly schema: z.ZodType;
  /** The record is served where one of these is. */
  readonly of: Operations;
  /** The parts of the record that are not done. */
  readonly missing?: string;
  /** Remarks on fields, by the name of the field. */
  readonly remarks?: Readonly<Record<string, string>>;
}

const ours = 'ours';
const sprites = { of: spriteOperations };
const connectors = { of: connectorOperations };
const oauth = { of: oauthOperations };
const services = { of: serviceOperations };
const checkpoints = { of: checkpointOperations };
const inFiles = { of: files.fileOperations };

export const sandboxRecords: Readonly<Record<string, SandboxRecord>> = {
  Sprite: { schema: sprite, ...sprites, remarks: { url: 'served with `--proxy-listen`' } },
  UrlSettings: { schema: urlSettings, ...sprites },
  UrlSettingsRequest: { schema: urlSettingsRequest, ...sprites, remarks: { private_access: ours } },
  SpriteListResponse: { schema: spriteListResponse, ...sprites },
  CreateSpriteRequest: { schema: createSpriteRequest, ...sprites, remarks: { labels: ours } },
  UpdateSpriteRequest: { schema: updateSpriteRequest, ...sprites, remarks: { labels: ours } },
  Connection: { schema: connection, ...connectors, remarks: { provider_account_name: 'by OAuth only', name: ours } },
  AccessPolicy: { schema: accessPolicy, ...connectors },
  ApiKeyConnectionRequest: { schema: apiKeyConnectionRequest, ...connectors, remarks: { name: ours } },
  ProvisionConnectionRequest: { schema: provisionConnectionRequest, ...oauth },
  OAuthAuthorizeRequest: { schema: oauthAuthorizeRequest, ...oauth },
  OAuthAuthorizeResponse: { schema: oauthAuthorizeResponse, ...oauth },
  OAuthCallbackRequest: { schema: oauthCallbackRequest, ...oauth },
  UpdateConnectionRequest: { schema: updateConnectionRequest, ...connectors, remarks: { name: ours } },
  ConnectionResponse: { schema: connectionResponse, ...connectors },
  ConnectionListResponse: { schema: connectionListResponse, ...connectors },
  ListConnectionsRequest: { schema: listConnectionsRequest, ...connectors },
  ServiceRequest: {
    schema: serviceRequest,
    ...services,
    remarks: { httpPort: 'read as http_port', restart_on_environment_change: ours },
  },
  ServiceResponse: { schema: serviceResponse, ...services, remarks: { restart_on_environment_change: ours } },
  ServiceState: { schema: serviceState, ...services, remarks: { stale_environment: ours } },
  'service log event': { schema: serviceLogEvent, ...services },
  NetworkPolicyRule: {
    schema: networkPolicyRule,
    of: networkPolicyOperations,
  },
  NetworkPolicyRequest: {
    schema: networkPolicyRequest,
    of: networkPolicyOperations,
  },
  PrivilegesPolicy: { schema: privilegesPolicy, of: spritePolicyOperations },
  ResourcesPolicy: { schema: resourcesPolicy, of: spritePolicyOperations },
  CheckpointInfo: { schema: checkpointInfo, ...checkpoints, remarks: { is_auto: ours } },
  CreateCheckpointRequest: { schema: createCheckpointRequest, ...checkpoints },
  'checkpoint stream event': { schema: checkpointEvent, ...checkpoints },
  Entry: { schema: files.fileEntry, ...inFiles },
  ListResponse: { schema: files.fileListResponse, ...inFiles },
  WriteResponse: { schema: files.writeResponse, ...inFiles },
  ChmodRequest: { schema: files.chmodRequest, ...inFiles },
  ChmodResponse: { schema: files.chmodResponse, ...inFiles },
  ChmodResult: { schema: files.chmodResult, ...inFiles },
  ChownRequest: { schema: files.chownRequest, ...inFiles },
  ChownResponse: { schema: files.chownResponse, ...inFiles },
  ChownResult: { schema: files.chownResult, ...inFiles },
  DeleteRequest: { schema: files.deleteRequest, ...inFiles },
  DeleteResponse: { schema: files.deleteResponse, ...inFiles },
  CopyRequest: { schema: files.copyRequest, ...inFiles },
  CopyResponse: { schema: files.copyResponse, ...inFiles },
  CopyResult: { schema: files.copyResult, ...inFiles },
  RenameRequest: { schema: files.renameRequest, ...inFiles },
  RenameResponse: { schema: files.renameResponse, ...inFiles },
  'process kill event': { schema: processKillEvent, of: processOperations },
  'port notification': { schema: portNotification, of: portNoticeOperations },
};
