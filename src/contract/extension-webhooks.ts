// Webhooks in both directions (document 2, "Events" and "Machine event body"; headers from wire-facts.md, section 5).
import { z } from 'zod';
import { defineOperation } from './operation.ts';
import { dateTime, unixSeconds, unixSecondsText } from './time.ts';

/** Document 2, "Resource record in webhooks": the same that the provider answers for one resource. Other fields stay. */
export const extensionResource = z.looseObject({
  id: z.string().min(1),
  plan: z.string().optional(),
  status: z.string().optional(),
  name: z.string().optional(),
  organization_id: z.string().optional(),
  user_id: z.string().optional(),
});
export type ExtensionResource = z.infer<typeof extensionResource>;

/** On creation the provisioner is named. */
const created = extensionResource.extend({ organization_id: z.string().min(1), user_id: z.string().min(1) });

/** Document 2 sends UNIX time as text in its examples; a number is read as well. */
const timestamp = z.union([unixSecondsText, unixSeconds], { error: 'expected UNIX seconds, as text or a number' });

/** Document 2, "Webhooks from the provider to the platform". */
export const extensionWebhook = z.discriminatedUnion('action', [
  z.object({ timestamp, action: z.literal('resource.created'), resource: created }),
  z.object({ timestamp, action: z.literal('resource.updated'), resource: extensionResource }),
  z.object({ timestamp, action: z.literal('resource.deleted'), resource: extensionResource }),
]);
export type ExtensionWebhook = z.infer<typeof extensionWebhook>;

/** Document 2, "Machine event body". Keys of `data` depend on the event, for example `Error` and `Transition`. */
export const machineEvent = z.object({
  machine_id: z.string().min(1),
  status: z.string().min(1),
  data: z.record(z.string(), z.unknown()),
});
export type MachineEvent = z.infer<typeof machineEvent>;

/** The headers of a machine event: CloudEvents in binary mode. `ce-id` stays the same when it is sent again. */
export const cloudEventHeaders = z.object({
  'ce-specversion': z.literal('1.0'),
  'ce-id': z.string().min(1),
  'ce-source': z.string().min(1),
  'ce-type': z.string().regex(/^io\.[a-z0-9-]+\.machine\.[a-z_]+$/, 'expected io.<platform>.machine.<transition>'),
  'ce-time': dateTime,
});
export type CloudEventHeaders = z.infer<typeof cloudEventHeaders>;

/** Carries the HMAC of a signed request or webhook (document 2, "Request signing"). */
export const signatureHeader = 'x-signature';

export const hookParams = z.object({ provider: z.string().min(1) });

export const extensionHookOperations = {
  receiveExtensionWebhook: defineOperation({
    method: 'POST',
    path: '/api/hooks/extensions/{provider}',
    summary: 'Take the word of a provider that a resource was created, changed or removed; signed',
    source: 'document 2, Platform endpoints and Webhooks from the provider to the platform',
    tag: 'Extension webhooks',
    access: 'none',
    params: hookParams,
    body: extensionWebhook,
    answer: { kind: 'empty', status: 204 },
    errors: ['invalid_request', 'unauthorized', 'not_found'],
  }),
} as const;
