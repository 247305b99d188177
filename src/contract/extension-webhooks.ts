// Webhooks in both directions (Extensions API, Events and Machine event body). The headers of an event are those of
// CloudEvents.
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { dateTime, unixSeconds, unixSecondsText } from './time.ts';

/** Extensions API, Resource record in webhooks: what the provider also answers for one resource. Unknown fields are kept. */
export const extensionResource = z.looseObject({
  id: z.string().min(1),
  plan: z.string().optional(),
  status: z.string().optional(),
  name: z.string().optional(),
  organization_id: z.string().optional(),
  user_id: z.string().optional(),
});
export type ExtensionResource = z.infer<typeof extensionResource>;

/** A webhook of a creation also names the provisioner. */
const created = extensionResource.extend({ organization_id: z.string().min(1), user_id: z.string().min(1) });

/** The examples of the Extensions API send UNIX time as text; a number is read as well (DECISIONS.md, "Webhook timestamp"). */
const timestamp = z.union([unixSecondsText, unixSeconds], { error: 'expected UNIX seconds, as text or a number' });

/** Extensions API, Webhooks from the provider to the platform. */
export const extensionWebhook = z.discriminatedUnion('action', [
  z.object({ timestamp, action: z.literal('resource.created'), resource: created }),
  z.object({ timestamp, action: z.literal('resource.updated'), resource: extensionResource }),
  z.object({ timestamp, action: z.literal('resource.deleted'), resource: extensionResource }),
]);
export type ExtensionWebhook = z.infer<typeof extensionWebhook>;

/** Extensions API, Machine event body. Keys of `data` depend on the event, for example `Error` and `Transition`. */
export const machineEvent = z.object({
  machine_id: z.string().min(1),
  status: z.string().min(1),
  data: z.record(z.string(), z.unknown()),
});
export type MachineEvent = z.infer<typeof machineEvent>;

/** The headers of a machine event: CloudEvents in binary mode. `ce-id` stays the same when an event is sent again. */
export const cloudEventHeaders = z.object({
  'ce-specversion': z.literal('1.0'),
  'ce-id': z.string().min(1),
  'ce-source': z.string().min(1),
  'ce-type': z.string().regex(/^io\.[a-z0-9-]+\.machine\.[a-z_]+$/, 'expected io.<platform>.machine.<transition>'),
  'ce-time': dateTime,
});
export type CloudEventHeaders = z.infer<typeof cloudEventHeaders>;

/** Carries the HMAC of a signed request or webhook (Extensions API, Request signing). */
export const signatureHeader = 'x-signature';

const WEBHOOK_CAP_BYTES = 64 * 1024;

export const hookParams = z.object({ provider: z.string().min(1) });

export const extensionHookOperations = {
  receiveExtensionWebhook: definePlatformOperation({
    method: 'POST',
    path: '/api/hooks/extensions/{provider}',
    summary: 'Take the word of a provider that a resource was created, changed or removed; signed',
    source: 'Extensions API, Platform endpoints; Extensions API, Webhooks from the provider to the platform',
    tag: 'Extension webhooks',
    servedAt: ['tcp'],
    access: 'none',
    params: hookParams,
    body: extensionWebhook,
    rawBody: { cap_bytes: WEBHOOK_CAP_BYTES },
    answer: { kind: 'empty', status: 202 },
    errors: ['invalid_request', 'unauthorized', 'payload_too_large', 'too_many_requests'],
  }),
} as const;
