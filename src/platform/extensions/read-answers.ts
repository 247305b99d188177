// The answers of a provider, parsed and not trusted (Extensions API, Provisioning response; Resource record in webhooks). Pure.
import { z } from 'zod';
import { type ExtensionResource, extensionResource } from '../../contract/extension-webhooks.ts';
import { secretName, secretValue } from '../../contract/secret-name.ts';
import { readBoundedJson } from '../../core/bounded-json.ts';
import { Secret } from '../../core/secret.ts';
import { toFitText } from './provider-words.ts';

export interface ProvisionAnswer {
  readonly provider_id: string;
  readonly config: ReadonlyMap<string, Secret>;
  readonly name: string | undefined;
  readonly platform_app_name: string | undefined;
  /** Not in the specification; some providers say it here too. */
  readonly status: string | undefined;
}

export interface Unread {
  /** What is wrong; never what the provider has sent as a value. */
  readonly problem: string;
}

const CONFIG_MAX = 64;
const ID_MAX = 255;
const NAME_MAX = 128;
const STATUS_MAX = 64;
const RESOURCE_MAX = 16 * 1024;

/** It stands in paths of later requests: what a server or a proxy would resolve is no id. */
const providerId = z
  .string()
  .min(1)
  .max(ID_MAX)
  .regex(/^[\x21-\x7e]+$/)
  .refine((id) => !/^\.{1,2}$/.test(id));
const answer = z.object({
  id: z.union([providerId, z.int().nonnegative().transform(String)]),
  config: z.record(z.string(), z.unknown()),
  name: z.string().nullish(),
  platform_app_name: z.string().nullish(),
  status: z.string().nullish(),
});

/** The answer to a provisioning request. */
export function readProvisionAnswer(text: string): ProvisionAnswer | Unread {
  const parsed = answer.safeParse(readBoundedJson(text));
  if (!parsed.success) return toUnread(parsed.error);
  return toAnswer(parsed.data);
}

/** The answer to an update: any part of it. `provider_id` may not change; it is that of `known`. An empty body says nothing. */
export function readUpdateAnswer(text: string): Partial<ProvisionAnswer> | Unread {
  if (text.trim() === '') return {};
  const parsed = answer.partial().safeParse(readBoundedJson(text));
  if (!parsed.success) return toUnread(parsed.error);
  const { id, config } = parsed.data;
  const whole = toAnswer({ ...parsed.data, id: id ?? '', config: config ?? {} });
  if ('problem' in whole) return whole;
  const { provider_id, config: read, ...rest } = whole;
  return {
    ...rest,
    ...(id === undefined ? {} : { provider_id }),
    ...(config === undefined ? {} : { config: read }),
  };
}

/** What a provider says of the resource `id`, which it need not repeat; fields that are not known are kept. Undefined for what is none. */
export function readResourceAnswer(text: string, id: string): KnownResource | undefined {
  const given = z.looseObject({}).safeParse(readBoundedJson(text));
  const parsed = extensionResource.safeParse({ ...given.data, ...(given.success ? { id } : {}) });
  return parsed.success ? toKnownResource(parsed.data) : undefined;
}

export interface KnownResource {
  readonly status: string | undefined;
  readonly plan: string | undefined;
  /** JSON; without the fields that are not known when there are too many of them. */
  readonly resource: string;
}

export function toKnownResource(given: ExtensionResource): KnownResource {
  const status = given.status === undefined ? undefined : toFitText(given.status, STATUS_MAX);
  const plan = given.plan === undefined ? undefined : toFitText(given.plan, STATUS_MAX);
  const whole = JSON.stringify(given);
  const resource =
    whole.length <= RESOURCE_MAX ? whole : JSON.stringify({ id: given.id.slice(0, ID_MAX), status, plan });
  return { status, plan, resource };
}

function toAnswer(given: z.infer<typeof answer>): ProvisionAnswer | Unread {
  const entries = Object.entries(given.config);
  if (entries.length > CONFIG_MAX) return { problem: `config has more than ${CONFIG_MAX} variables` };
  const config = new Map<string, Secret>();
  for (const [name, value] of entries) {
    const shown = toFitText(name, 40);
    const key = secretName.safeParse(name);
    if (!key.success) return { problem: `config.${shown} ${key.error.issues[0]?.message ?? 'is not taken'}` };
    const text = secretValue.safeParse(value);
    if (!text.success) return { problem: `config.${shown} ${text.error.issues[0]?.message ?? 'is no text'}` };
    config.set(name, new Secret(text.data));
  }
  const { name, platform_app_name: app, status } = given;
  return {
    provider_id: given.id,
    config,
    name: name == null ? undefined : toFitText(name, NAME_MAX) || undefined,
    platform_app_name: app == null ? undefined : toFitText(app, NAME_MAX) || undefined,
    status: status == null ? undefined : toFitText(status, STATUS_MAX),
  };
}

function toUnread(error: z.ZodError): Unread {
  const fields = error.issues.map(({ path }) => toFitText(path.join('.'), 60)).filter((path) => path !== '');
  const what =
    fields.length === 0 ? 'it is no JSON object' : `it has no good ${[...new Set(fields)].slice(0, 3).join(', ')}`;
  return { problem: what };
}
