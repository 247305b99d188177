// The records that a development platform begins with: an organization, one sprite, and connectors to the sample provider. Records of
// an earlier run are kept.
import type { AccessPolicyRequest } from '../../contract/access-policy.ts';
import { Secret } from '../../core/secret.ts';
import { randomHex } from '../../core/urandom.ts';
import type { PlatformAdmin, SpriteName } from '../../platform/admin.ts';
import type { NewCatalogueEntry } from '../../platform/catalogue/catalogue-entry.ts';
import type { UserWithPassword } from '../../platform/users/user-service.ts';

export const DEV_SPRITE: SpriteName = { organization: 'dev', sprite: 'dev-1' };

export interface SampleConnector {
  readonly id: string;
  readonly provider: string;
  readonly access_policy: AccessPolicyRequest;
}

/** The first shows a blocked path, the second an allow list, the third a connector that no sprite may use. */
export const sampleConnectors: readonly SampleConnector[] = [
  { id: 'sample', provider: 'sample', access_policy: { allow_all: true, blocked_endpoints: ['/admin*'] } },
  {
    id: 'sample_reader',
    provider: 'sample',
    access_policy: { name_prefix: 'dev-', sprite_labels: ['team-a'], allowed_endpoints: ['/v1/*', '/sse', '/ws'] },
  },
  { id: 'sample_closed', provider: 'sample', access_policy: {} },
];

/** A connector with an address of its own and a base path. It is made again at each start, because the sample provider's port may change. */
export const CUSTOM_CONNECTOR_ID = 'custom';

/** The catalogue entry of the sample provider, and that of custom APIs with plain http allowed, because they run on this machine. */
export function toDevCatalogue(providerUrl: string): NewCatalogueEntry[] {
  const bearer = { in: 'header', name: 'authorization', prefix: 'Bearer ' } as const;
  return [
    {
      provider: 'sample',
      display_name: 'Sample provider',
      description: 'Answers with what it received; /sse streams events, /ws echoes frames',
      address: { type: 'fixed', url: providerUrl },
      injection: bearer,
      allow_http: true,
      sample_path: '/hello',
    },
    {
      provider: 'custom_api',
      display_name: 'Custom API',
      description: 'Any HTTP interface that takes a bearer token',
      address: { type: 'own' },
      injection: bearer,
      allow_http: true,
      sample_path: '/',
    },
  ];
}

/** Reserved by RFC 2606, so that no mail of the tour reaches anybody. */
const DEV_USER = {
  email: 'dev@example.com',
  name: 'Dev',
  organization: DEV_SPRITE.organization,
  role: 'admin',
} as const;

export interface Seeded {
  /** A token of the organization, made for the user, and one of the sprite. Their text cannot be read again later. */
  readonly token: Secret;
  readonly spriteToken: Secret;
  readonly user: UserWithPassword;
  readonly connectors: readonly { readonly id: string; readonly provider: string }[];
}

export interface SeedDeps {
  readonly admin: PlatformAdmin;
  readonly providerUrl: string;
  /** Deletes a connector through the API, as its owner would. */
  readonly deleteConnector: (token: Secret, id: string) => Promise<void>;
}

export async function seedPlatform({ admin, providerUrl, deleteConnector }: SeedDeps): Promise<Seeded> {
  const { organization, sprite } = DEV_SPRITE;
  if (!(await admin.hasOrganization(organization))) await admin.createOrganization(organization);
  // A password is dear to make: the rest goes on meanwhile.
  const makingUser = makeUser(admin);
  makingUser.catch(() => undefined);
  if ((await admin.findSprite(DEV_SPRITE)) === undefined) {
    await admin.createSprite({ organization, name: sprite, labels: ['team-a'] });
  }
  const known = new Set((await admin.listConnectors(organization)).map(({ id }) => id));
  for (const connector of sampleConnectors) {
    if (known.has(connector.id)) continue;
    await admin.createConnector({ organization, ...connector, api_key: newKey() });
  }
  const user = await makingUser;
  const token = await admin.createToken({ organization, user_id: user.user.id });
  if (known.has(CUSTOM_CONNECTOR_ID)) await deleteConnector(token, CUSTOM_CONNECTOR_ID);
  await admin.createConnector({
    organization,
    id: CUSTOM_CONNECTOR_ID,
    provider: 'custom_api',
    base_api_url: `${providerUrl}/v1`,
    api_key: newKey(),
    access_policy: { allow_all: true },
  });
  return {
    token,
    user,
    spriteToken: await admin.createToken({ organization, sprite }),
    connectors: (await admin.listConnectors(organization)).map(({ id, provider }) => ({ id, provider })),
  };
}

async function makeUser(admin: PlatformAdmin): Promise<UserWithPassword> {
  const isKnown = (await admin.findUser(DEV_USER.email)) !== undefined;
  return await (isKnown ? admin.resetPassword(DEV_USER.email) : admin.createUser(DEV_USER));
}

function newKey(): Secret {
  return new Secret(`sk-sample-${randomHex(16)}`);
}
