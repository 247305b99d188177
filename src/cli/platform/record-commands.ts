// `remora platform organization create acme` and the like: each pair of words, what follows it, and what it does.
import { readFileSync } from 'node:fs';
import { accessPolicyRequest } from '../../contract/access-policy.ts';
import { parseDuration } from '../../contract/duration.ts';
import { gatewayUsageRequest } from '../../contract/gateway-usage.ts';
import { type UrlSettingsRequest, urlSettingsRequest } from '../../contract/sprites.ts';
import { Secret } from '../../core/secret.ts';
import type { OfflineAdmin } from '../../platform/offline-admin.ts';
import type { Invocation } from '../command.ts';
import { UsageError } from '../exit-code.ts';
import { parseWhole } from '../number-flag.ts';

export interface RecordCommand {
  /** What follows the two words. */
  readonly operands: readonly string[];
  /** Rows of a table; one without a heading is printed as it is. */
  run(
    admin: OfflineAdmin['admin'],
    operands: readonly string[],
    flags: Pick<Invocation, 'text' | 'has'>,
  ): Promise<string[][]>;
}

const LIMIT_MAX = 1_000_000;

export const recordCommands: Readonly<Record<string, RecordCommand>> = {
  'organization create': {
    operands: ['NAME'],
    async run(admin, [name = ''], { text }) {
      const limits = toLimits(text);
      await admin.createOrganization(name);
      await admin.setLimits(name, limits);
      return [[name]];
    },
  },
  'organization limit': {
    operands: ['NAME'],
    async run(admin, [name = ''], { text }) {
      const { running_limit, warm_limit } = await admin.setLimits(name, toLimits(text));
      return [[name, `running ${running_limit ?? 'any'}`, `warm ${warm_limit ?? 'any'}`]];
    },
  },
  'organization list': {
    operands: [],
    run: async (admin) => [
      ['NAME', 'RUNNING LIMIT', 'WARM LIMIT'],
      ...(await admin.listOrganizations()).map(({ slug, running_limit, warm_limit }) => [
        slug,
        String(running_limit ?? '-'),
        String(warm_limit ?? '-'),
      ]),
    ],
  },
  'token create': {
    operands: ['ORGANIZATION'],
    async run(admin, [organization = ''], { text, has }) {
      const token = await admin.createToken({
        organization,
        name: text('name') ?? null,
        user_id: text('user') ?? null,
        access: has('read-only') ? 'read' : 'full',
        expires_at: toExpiry(text('expires')),
        ...toOptional('sprite', text('sprite')),
      });
      return [[token.reveal()]];
    },
  },
  'token list': {
    operands: ['ORGANIZATION'],
    run: async (admin, [organization = '']) => [
      ['ID', 'NAME', 'OF', 'ACCESS', 'USER', 'CREATED', 'EXPIRES'],
      ...(await admin.listTokens(organization)).map((row) => [
        row.id,
        row.name ?? '-',
        row.machine_id === null ? (row.sprite_id ?? 'organization') : `machine ${row.machine_id}`,
        row.access,
        row.user_id ?? '-',
        toDay(row.created_at),
        row.expires_at === null ? 'never' : toDay(row.expires_at),
      ]),
    ],
  },
  'token revoke': {
    operands: ['ORGANIZATION', 'ID'],
    async run(admin, [organization = '', id = '']) {
      await admin.revokeToken(organization, id);
      return [[`${id} is revoked; calls that are under way end within two seconds`]];
    },
  },
  'sprite create': {
    operands: ['ORGANIZATION', 'NAME'],
    async run(admin, [organization = '', name = ''], { text }) {
      const sprite = await admin.createSprite({
        organization,
        name,
        ...toLabels(text),
        url_settings: toUrlSettings(text),
      });
      return [[sprite.id, sprite.name, sprite.url]];
    },
  },
  'sprite update': {
    operands: ['ORGANIZATION', 'NAME'],
    async run(admin, [organization = '', sprite = ''], { text }) {
      const before = (await admin.findSprite({ organization, sprite }))?.url_settings?.auth;
      const change = { ...toLabels(text), url_settings: toUrlSettings(text, before) };
      const { name, labels = [], url_settings } = await admin.updateSprite({ organization, sprite }, change);
      return [[name, labels.join(',') || '-', JSON.stringify(url_settings)]];
    },
  },
  'sprite list': {
    operands: ['ORGANIZATION'],
    run: async (admin, [organization = ''], { text }) => [
      ['NAME', 'STATUS', 'LABELS', 'ID'],
      ...(await admin.listSprites(organization, text('after'))).map(({ name, status, labels = [], id }) => [
        name,
        status,
        labels.join(',') || '-',
        id,
      ]),
    ],
  },
  'connector create': {
    operands: ['ORGANIZATION', 'PROVIDER'],
    async run(admin, [organization = '', provider = ''], { text }) {
      const keyFile = text('api-key-file');
      if (keyFile === undefined)
        throw new UsageError('platform connector create: --api-key-file names a file, or - for the input');
      const connector = await admin.createConnector({
        organization,
        provider,
        api_key: new Secret(readFileSync(keyFile === '-' ? 0 : keyFile, 'utf8').trim()),
        ...toOptional('base_api_url', text('base-api-url')),
        ...toPolicy(text('policy')),
      });
      return [[connector.id, connector.provider, connector.provider_account_id]];
    },
  },
  'connector list': {
    operands: ['ORGANIZATION'],
    run: async (admin, [organization = '']) => [
      ['ID', 'PROVIDER', 'TYPE', 'ACCOUNT', 'POLICY'],
      ...(await admin.listConnectors(organization)).map((row) => [
        row.id,
        row.provider,
        row.connection_type ?? '-',
        row.provider_account_name ?? row.provider_account_id,
        JSON.stringify(row.access_policy ?? {}),
      ]),
    ],
  },
  'usage list': {
    operands: ['ORGANIZATION'],
    run: async (admin, [organization = ''], { text }) => [
      ['DAY', 'CONNECTOR', 'PROVIDER', 'CALLS', 'REFUSED', 'SENT', 'RECEIVED', 'TOKENS IN', 'TOKENS OUT'],
      ...(await admin.listUsage(organization, toDays(text))).map((row) => [
        row.day,
        row.connector_id,
        row.provider,
        ...[row.calls, row.refused, row.request_bytes, row.response_bytes, row.input_tokens, row.output_tokens].map(
          String,
        ),
      ]),
    ],
  },
};

function toDays(text: Invocation['text']) {
  const read = (flag: 'since' | 'until') => {
    const given = text(flag);
    if (given === undefined || gatewayUsageRequest.shape[flag].safeParse(given).success) return given;
    throw new UsageError(`--${flag} takes a day such as 2026-01-31, not ${given}`);
  };
  return { since: read('since'), until: read('until') };
}

function toLimits(text: Invocation['text']) {
  const read = (flag: string) => {
    const given = text(flag);
    return given === 'none' ? null : parseWhole(flag, given, 0, 0, LIMIT_MAX);
  };
  return {
    ...(text('running-limit') === undefined ? {} : { running_limit: read('running-limit') }),
    ...(text('warm-limit') === undefined ? {} : { warm_limit: read('warm-limit') }),
  };
}

/** Null = never. Also in days, as in `90d`. */
function toExpiry(given: string | undefined): number | null {
  if (given === undefined) return null;
  const days = /^(\d{1,5})d$/.exec(given)?.[1];
  const ms = days === undefined ? parseDuration(given) : Number(days) * 86_400_000;
  if (ms === undefined || ms === 0) throw new UsageError(`--expires takes a time such as 12h or 90d, not ${given}`);
  return Date.now() + ms;
}

function toLabels(text: Invocation['text']): { labels?: string[] } {
  const labels = text('labels')
    ?.split(',')
    .filter((label) => label !== '');
  return labels === undefined ? {} : { labels };
}

/** `auth` is what counts when none is given. */
function toUrlSettings(text: Invocation['text'], auth?: string): UrlSettingsRequest {
  const given = { auth: text('auth') ?? auth, private_access: text('private-access') };
  const parsed = urlSettingsRequest.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new UsageError(`--${String(issue?.path[0]).replace('_', '-')}: ${issue?.message}`);
}

function toPolicy(given: string | undefined) {
  if (given === undefined) return {};
  let value: unknown;
  try {
    value = JSON.parse(given);
  } catch {
    throw new UsageError('--policy takes a JSON object such as {"allow_all":true}');
  }
  const parsed = accessPolicyRequest.safeParse(value);
  if (!parsed.success)
    throw new UsageError(`--policy: ${parsed.error.issues.map(({ message }) => message).join(', ')}`);
  return { access_policy: parsed.data };
}

function toOptional<K extends string>(name: K, value: string | undefined): { [P in K]?: string } {
  const made: { [P in K]?: string } = {};
  if (value !== undefined) made[name] = value;
  return made;
}

function toDay(time_ms: number): string {
  return new Date(time_ms).toISOString().slice(0, 16).replace('T', ' ');
}
