// What the agent serves of its own sprite and its supervisor carries out: the service, file and process operations of the Sprites API,
// with `/v1` in place of `/v1/sprites/{name}`.
import type { ErrorCode } from '../errors.ts';
import { fileOperations } from '../files.ts';
import { processOperations } from '../processes.ts';
import { reachErrors } from '../reach-errors.ts';
import { serviceOperations } from '../services.ts';
import { toLocalForms } from './local-form.ts';

const ofPlatform: ReadonlySet<ErrorCode> = new Set(reachErrors);
/** Why the agent cannot pass a call on to the supervisor. */
const ofAgent: readonly ErrorCode[] = [
  'upstream_failed',
  'not_configured',
  'not_ready',
  'start_failed',
  'secrets_unavailable',
];

const form = {
  servedAt: ['socket', 'channel'],
  toErrors: (errors: readonly ErrorCode[]) => [
    ...errors.filter((code) => !ofPlatform.has(code) && !ofAgent.includes(code)),
    ...ofAgent,
  ],
} as const;

export const localServiceOperations = toLocalForms(serviceOperations, form);
export const localFileOperations = toLocalForms(fileOperations, form);
export const localProcessOperations = toLocalForms(processOperations, form);

/** All that the supervisor serves. The agent passes it on. */
export const insideOperations = {
  ...localServiceOperations,
  ...localFileOperations,
  ...localProcessOperations,
} as const;
