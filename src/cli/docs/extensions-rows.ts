// The rules and tables of the Extensions API, row by row, with what serves each and the test that shows it. Pure.
import { toMarkdownTable } from './markdown-table.ts';

export interface ExtensionsRow {
  /** The title in the specification, and the number of the rule or the first cells of the row. */
  readonly section: string;
  readonly row: string;
  readonly state: 'done';
  /** The operation, the file or the section of the kit's page that serves it. */
  readonly by: string;
  /** A file below `test`, and the title of one of its tests. */
  readonly test: readonly [file: string, title: string];
}

type Shown = readonly [file: string, title: string];

const life = (title: string): Shown => ['platform/extensions/life.test.ts', title];
const hooks = (title: string): Shown => ['platform/extensions/webhooks.test.ts', title];
const notices = (title: string): Shown => ['platform/extensions/machine-notices.test.ts', title];
const costs = (title: string): Shown => ['platform/extensions/extension-costs.test.ts', title];
const registry = (title: string): Shown => ['platform/extension-providers.test.ts', title];
const signOn = (title: string): Shown => ['platform/sign-on.test.ts', title];
const verify = (title: string): Shown => ['provider/verify-request.test.ts', title];
const advice: Shown = [
  'provider/readme-examples.test.ts',
  'the page tells providers what the Extensions API asks of them',
];

const PROVISIONED = 'an extension is provisioned at once, its app gets the variables, and no answer has a value';
const POLLED = 'a slow provider is waited for after the answer, and its status is asked for until it is ready';
const UPDATED =
  'a change of app moves the variables, and it, regions and the name of the organization are told to the provider';
const REGIONS = 'regions go to a provider that knows them';
const WHO = 'who asks is a user of the organization: the one that is named, or whom the token was made for';
const DELETED = 'a deletion takes the variables away at once, and goes on until the provider has nothing left';
const SSO = 'a sign-on is a redirect to the provider, for the organization that has the extension';
const TOLD = 'the provider is told of each transition of the machines of its app, in order, signed, as CloudEvents';
const CRASHED = 'a crash has the status failed and says how it was, and a deletion is told';
const FLOW =
  'the first time the user signs in and allows it, afterwards the code comes at once, and the tokens say who it is';
const MEMBER_ONLY =
  'is one organization where one was asked for, with the present role, and nothing after the membership';
const SIGNED_REQUESTS: Shown = [
  'platform/extensions/signing.test.ts',
  '%s finds each signature right, and each url and nonce as they must be',
];
const REGISTERED = 'a provider is registered, listed, changed and deleted, and its secrets are shown once';

const provision = '`POST /v1/extensions`, which calls `POST /extensions` of the provider';
const introspect = '`GET /oauth/token/info`';
/** A call that the platform makes by itself has no operation of its own. */
const CALLS = 'each call to a provider (src/platform/provider-calls)';
const NOTICES = '`POST /extensions/events` of the provider, which src/platform/machine-notices calls';
const decided = (title: string, anchor: string) => `decided: [${title}](../contract/DECISIONS.md#${anchor})`;
/** Where machines have a network of their own. */
const NETWORKS = '`--driver qemu` with `--qemu-network egress`';
const privately = (title: string): Shown => ['platform/extensions/private-addresses.test.ts', title];
const ADDRESSED =
  'an extension of a provider that runs here has an address in the network of its organization, and the provider is told';
const LED =
  'it leads to the services of the app that the provider has named, which learn who has connected, and nowhere before there are some';

function rowsOf(section: string, by: string, test: Shown, names: readonly string[]): readonly ExtensionsRow[] {
  return names.map((row) => ({ section, row, state: 'done', by, test }));
}

function row(section: string, name: string, by: string, test: Shown): ExtensionsRow {
  return { section, row: name, state: 'done', by, test };
}

const service = 'What the service does';
const request = 'Provisioning request';
const response = 'Provisioning response';
const record = 'Resource record in webhooks';
const token = 'Token response';
const introspection = 'Token introspection response';
const event = 'Machine event body';
const states = 'States and transitions';
const providerEndpoints = 'Provider endpoints';
const platformEndpoints = 'Platform endpoints';
const signing = 'Request signing';
const authentication = 'Authentication';
const fromProvider = 'Webhooks from the provider to the platform';
const toProvider = 'Webhooks from the platform to the provider';
const limits = 'Limits';
const WEBHOOK = 'a change of status or plan is taken over, with fields that nobody knows';
const REMOVED = 'a removal at the provider takes the variables away';
const UNASKED = 'one that nobody asked for is kept where its user has an extension of the provider, without variables';
const ONCE = 'the same one counts once, however its signature is written';
const RENAMED = 'an id that changes later is refused; a name and an app are taken over where they may be';
const faults = (title: string): Shown => ['platform/extensions/faults.test.ts', title];
const kitPage = (title: string) => `the [kit’s page](../provider/README.md), “${title}”`;

export const extensionsRows: readonly ExtensionsRow[] = [
  row(service, '1', `${provision}; secrets: \`GET /v1/apps/{app_name}/secrets\``, life(PROVISIONED)),
  row(
    service,
    '2',
    `${provision}; aliases: \`--mail-domain\` and \`--mail-listen\` ([mail](../contract/DECISIONS.md#mail-to-aliases)); accounts: ${kitPage('Accounts')}`,
    [
      'platform/mail.test.ts',
      'reaches its user unchanged below the trace, and neither envelope nor reply shows an address to the other side',
    ],
  ),
  row(
    service,
    '3',
    `${NETWORKS}: src/platform/proxy/private-services.ts; elsewhere \`private_address\` of \`POST /v1/extensions\` is 501 \`not_implemented\`, ${decided('private addresses', 'private-addresses')}`,
    privately(LED),
  ),
  row(service, '4', `advice: ${kitPage('Where you run')}`, advice),
  row(
    service,
    '5',
    '`POST /api/hooks/extensions/{provider}`; `POST /extensions/events` of the provider',
    notices(TOLD),
  ),
  row(service, '6', `advice: ${kitPage('E-mail')}`, advice),
  row(
    service,
    '7',
    '`POST /v1/extension-providers`: `official` and `latency_sensitive` need `app`',
    registry('an official provider that is latency-sensitive has an app of this platform'),
  ),
  row(
    service,
    '8',
    '`GET /billing` of the provider, `GET /v1/extension-costs`, `GET /v1/extensions/{id}/costs`',
    costs('a provider is asked for a day, signed, and its extensions are billed'),
  ),
  row(service, '9', `said in ${kitPage('Bills')}`, advice),

  ...rowsOf(request, provision, life(PROVISIONED), ['name', 'id', 'organization_id', 'organization_name']),
  row(
    request,
    'organization_email',
    `${provision}; no field of the table, ${decided('the alias of rule 2', 'alias-of-the-organization-in-a-request')}`,
    life(PROVISIONED),
  ),
  ...rowsOf(request, provision, life(WHO), ['user_id', 'user_email', 'user_role']),
  ...rowsOf(request, provision, life(REGIONS), ['primary_region', 'read_regions']),
  row(request, 'ip_address', `${provision}; to a provider that runs here, ${NETWORKS}`, privately(ADDRESSED)),
  ...rowsOf(request, CALLS, SIGNED_REQUESTS, ['url', 'nonce', 'timestamp']),

  ...rowsOf(response, provision, life(PROVISIONED), ['id', 'config']),
  row(response, 'name', provision, faults(RENAMED)),
  row(
    response,
    'platform_app_name',
    `${provision}: the app to which the private address leads, ${NETWORKS}`,
    privately(LED),
  ),

  ...rowsOf(record, '`POST /api/hooks/extensions/{provider}`', hooks(WEBHOOK), ['id', 'plan', 'status']),
  ...rowsOf(record, '`POST /api/hooks/extensions/{provider}`', hooks(UNASKED), ['name', 'organization_id', 'user_id']),
  row(token, 'the six fields', '`POST /oauth/token`', signOn(FLOW)),
  ...rowsOf(introspection, introspect, signOn(FLOW), [
    'resource_owner_id',
    'user_id',
    'user_name',
    'email',
    'organizations',
    'scope',
    'expires_in',
    'application',
    'created_at',
  ]),
  row(event, 'machine_id, status, data', NOTICES, notices(CRASHED)),

  row(states, '1', '`POST /v1/extensions`: 202 after 5 s; `remora extension create` waits', life(POLLED)),
  row(states, '2', '`POST /api/hooks/extensions/{provider}`; the webhooks of the kit', hooks(WEBHOOK)),

  row(providerEndpoints, 'POST /extensions', provision, life(PROVISIONED)),
  row(providerEndpoints, 'PATCH /extensions/{extension_id}', '`PATCH /v1/extensions/{id}`', life(UPDATED)),
  row(providerEndpoints, 'GET /extensions/{extension_id}/sso', '`GET /v1/extensions/{id}/sso`', life(SSO)),
  row(providerEndpoints, 'POST /extensions/events', NOTICES, notices(TOLD)),
  row(providerEndpoints, 'current status', '`GET /extensions/{extension_id}` of the provider', life(POLLED)),
  row(providerEndpoints, 'deleting', '`DELETE /v1/extensions/{id}`', life(DELETED)),
  row(
    providerEndpoints,
    'billing interface',
    '`GET /billing` of the provider',
    costs('the same answer again, or one with another amount, doubles nothing'),
  ),

  row(platformEndpoints, 'GET /oauth/authorize', '`GET /oauth/authorize`', signOn(FLOW)),
  row(platformEndpoints, 'POST /oauth/token', '`POST /oauth/token`', signOn(FLOW)),
  row(platformEndpoints, 'GET /oauth/token/info', introspect, signOn(MEMBER_ONLY)),
  row(
    platformEndpoints,
    'POST /api/hooks/extensions/{provider}',
    '`POST /api/hooks/extensions/{provider}`',
    hooks(WEBHOOK),
  ),
  row(platformEndpoints, 'secrets and credentials', '`POST /v1/extension-providers`', registry(REGISTERED)),

  row(signing, '1', `${CALLS}; the kit verifies`, SIGNED_REQUESTS),
  row(signing, '2', 'src/core/signature.ts', [
    'provider/signature-vectors.test.ts',
    'of a query, which a DELETE cannot use after a GET',
  ]),
  row(signing, '3', 'src/provider/verify-request.ts', verify('uses up no nonce by a forged signature')),
  row(
    signing,
    '4',
    `lower-case hex, 300 s, a nonce once; ${decided('encoding', 'signature-encoding')}, ${decided('window', 'signature-window')}`,
    verify('that is sent again is refused, until its time is long over'),
  ),
  row(authentication, 'Webhook signing', '`POST /api/hooks/extensions/{provider}`', hooks(ONCE)),
  row(authentication, 'Sign-on', '`GET /oauth/authorize`, `POST /oauth/token`, `GET /oauth/token/info`', [
    'platform/sign-on-clients.test.ts',
    'openid-client',
  ]),

  row(fromProvider, 'resource.created', '`POST /api/hooks/extensions/{provider}`', hooks(UNASKED)),
  row(fromProvider, 'resource.updated', '`POST /api/hooks/extensions/{provider}`', hooks(WEBHOOK)),
  row(fromProvider, 'resource.deleted', '`POST /api/hooks/extensions/{provider}`', hooks(REMOVED)),

  ...rowsOf(toProvider, NOTICES, notices(TOLD), ['1', '2']),
  row(toProvider, '3', NOTICES, notices(CRASHED)),
  row(
    toProvider,
    '4',
    '`events` of `POST /v1/extension-providers`, off at first',
    notices('it is told of members of organizations where it has an extension, where it wants to know'),
  ),
  row(
    toProvider,
    '5',
    decided('notices to providers', 'notices-to-providers'),
    notices('it is told of trouble with a host of its machines where it wants to know, and not otherwise'),
  ),

  row(limits, 'Synchronous provisioning', '`POST /v1/extensions`: 202 after 5 s', life(POLLED)),
  row(
    limits,
    'Billing query frequency',
    'three times a day',
    costs('a provider is asked by one process at a time, again after a failure, and not before its time'),
  ),
  row(limits, 'OAuth scope', 'only `read`', signOn('the metadata names what is served')),
];

export function toExtensionsTable(): string {
  return toMarkdownTable(
    ['section', 'rule or row', 'state', 'served by', 'test'],
    extensionsRows.map(({ section, row: name, state, by, test }) => [
      section,
      name,
      state,
      by,
      `\`${test[0]}\`: ${test[1].replace('%s', 'each of several programs')}`,
    ]),
  );
}
