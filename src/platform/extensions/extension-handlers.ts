// The operations of extensions: each change waits a while for its end, and goes on after its answer.
import type { ExtensionRecord, extensionOperations } from '../../contract/extension-records.ts';
import { refuseField } from '../../core/refuse-field.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { type Handlers, Reply } from '../../http/handler.ts';
import type { ExtensionProvider } from '../extension-providers/extension-provider.ts';
import type { ExtensionProviders } from '../extension-providers/extension-providers.ts';
import type { Organization } from '../organizations/organization-store.ts';
import { OPERATOR_TOKEN } from '../tokens/authenticate-operator.ts';
import { organizationOf, type Principal, tokenOf } from '../tokens/principal.ts';
import type { UserStore } from '../users/user-store.ts';
import type { AddressOf } from './address-of.ts';
import { toExtensionRecord, toResource, toSsoUrl } from './extension-record.ts';
import type { ExtensionRow } from './extension-row.ts';
import type { ExtensionService } from './extension-service.ts';
import type { ExtensionStore } from './extension-store.ts';
import type { ExtensionWorker } from './extension-worker.ts';
import { findProvisioningUser } from './provisioning-user.ts';
import type { WebhookStore } from './webhooks/webhook-store.ts';

export interface ExtensionHandlerDeps {
  readonly service: ExtensionService;
  readonly store: Pick<ExtensionStore, 'page' | 'find'>;
  readonly providers: Pick<ExtensionProviders, 'find' | 'list'>;
  readonly users: UserStore;
  readonly webhooks: Pick<WebhookStore, 'list'>;
  readonly worker: Pick<ExtensionWorker, 'run'>;
  readonly addressOf: AddressOf;
  readonly answerWithin_ms: number;
}

const WEBHOOKS_SHOWN = 200;
const POSITION = /^(\d{1,15})-(\w{1,64})$/;
const BUSY: readonly string[] = ['requested', 'provisioning', 'updating', 'deleting'];

export function createExtensionHandlers(deps: ExtensionHandlerDeps): Handlers<typeof extensionOperations, Principal> {
  const { service, store, providers, worker } = deps;

  function toRecordAt(row: ExtensionRow, { slug }: Organization, provider: ExtensionProvider | undefined) {
    const ip_address = deps.addressOf(row, provider);
    return toExtensionRecord(row, { organization: slug, base_url: provider?.base_url, ip_address });
  }

  async function toRecord(row: ExtensionRow, organization: Organization): Promise<ExtensionRecord> {
    return toRecordAt(row, organization, await providers.find(row.provider));
  }

  /** Tries what is due, one step after the other, for as long as the caller waits. */
  async function settle(row: ExtensionRow): Promise<ExtensionRow> {
    const end = Promise.withResolvers<void>();
    const timer = setTimeout(end.resolve, deps.answerWithin_ms);
    let isOver = false;
    const tried = (async () => {
      let now = row;
      while (!isOver && now.step !== null) {
        await worker.run(now.id, now.provider);
        // Nobody waits any more, and the platform may have ended.
        if (isOver) return;
        const next = await store.find(now.id);
        if (next === undefined) break;
        if (next.tries === now.tries && next.step === now.step) await pause(NEXT_LOOK_MS);
        now = next;
      }
    })();
    tried.catch(() => undefined);
    try {
      await Promise.race([end.promise, tried]);
    } finally {
      isOver = true;
      clearTimeout(timer);
    }
    return (await store.find(row.id)) ?? row;
  }

  async function answer(row: ExtensionRow, organization: Organization, done: number) {
    const settled = await settle(row);
    const record = await toRecord(settled, organization);
    const { error } = settled;
    if (settled.state === 'failed' && error !== null && CONFLICTS.has(error.code)) {
      const message = `${error.message}; then retry the extension ${settled.name}, which is failed, or delete it`;
      throw new RemoraError(error.code === 'limit_reached' ? 'limit_reached' : 'secret_conflict', message, {
        details: { id: settled.id, name: settled.name },
        fields: { id: settled.id },
      });
    }
    return new Reply(BUSY.includes(settled.state) || settled.state === 'failed' ? 202 : done, record);
  }

  return {
    async createExtension({ principal, body }) {
      const organization = organizationOf(principal);
      const token = tokenOf(principal);
      const isOperator = token.id === OPERATOR_TOKEN.id;
      const choice = { named: body.user_id, ofToken: token.user_id, isOperator };
      const user = await findProvisioningUser(deps.users, organization, choice);
      return await answer(await service.create(organization, body, user), organization, 201);
    },
    async listExtensions({ principal, query: { max_results, continuation_token } }) {
      const organization = organizationOf(principal);
      const [, at, id] = POSITION.exec(continuation_token ?? '') ?? [];
      if (continuation_token !== undefined && id === undefined) {
        throw refuseField('query.continuation_token', 'it is not from this list; send it as it was given');
      }
      const after = id === undefined ? undefined : { created_at: Number(at), id };
      const rows = await store.page({ organization_id: organization.id, after, limit: max_results + 1 });
      const page = rows.slice(0, max_results);
      const last = page.at(-1);
      const known = new Map((await providers.list()).map((provider) => [provider.name, provider]));
      return {
        extensions: page.map((row) => toRecordAt(row, organization, known.get(row.provider))),
        ...(rows.length > page.length && last !== undefined
          ? { next_continuation_token: `${last.created_at}-${last.id}` }
          : {}),
      };
    },
    async readExtension({ principal, params, query }) {
      const organization = organizationOf(principal);
      let row = await service.find(organization, params.id);
      if (query.refresh && row.state === 'ready') {
        await service.refresh(row);
        row = await settle(await service.find(organization, row.id));
      }
      const resource = toResource(row);
      return { ...(await toRecord(row, organization)), ...(resource === undefined ? {} : { resource }) };
    },
    async updateExtension({ principal, params, body }) {
      const organization = organizationOf(principal);
      return await answer(await service.update(organization, params.id, body), organization, 200);
    },
    async retryExtension({ principal, params }) {
      const organization = organizationOf(principal);
      return await answer(await service.retry(organization, params.id), organization, 200);
    },
    async deleteExtension({ principal, params }) {
      const organization = organizationOf(principal);
      const row = await settle(await service.delete(organization, params.id));
      return row.state === 'deleted' ? undefined : await toRecord(row, organization);
    },
    async signOnAtExtension({ principal, params }, response) {
      const row = await service.find(organizationOf(principal), params.id);
      const provider = await providers.find(row.provider);
      const location = provider === undefined ? undefined : toSsoUrl(row, provider.base_url);
      if (location === undefined) throw new RemoraError('invalid_state', `the extension is ${row.state}`);
      response.writeHead(302, { location, 'cache-control': 'no-store', 'content-length': 0 });
      response.end();
    },
    async listExtensionWebhooks({ params: { name } }) {
      if ((await providers.find(name)) === undefined) {
        throw new RemoraError('not_found', `there is no extension provider ${name}`);
      }
      return { webhooks: [...(await deps.webhooks.list(name, WEBHOOKS_SHOWN))] };
    },
  };
}

const CONFLICTS = new Set(['secret_conflict', 'limit_reached']);
const NEXT_LOOK_MS = 100;

function pause(wait_ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, wait_ms));
}
