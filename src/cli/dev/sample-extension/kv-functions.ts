// The sample as a provider: what it does for the platform, in the functions of the kit.
import { toDateTime } from '../../../core/clock.ts';
import type { ProviderFunctions, SignedCookie, SignOnFunction } from '../../../provider/index.ts';
import { readBrowserSession, SESSION } from './browser-session.ts';
import { DAY_MS } from './kv-charges.ts';
import { CURRENCY } from './kv-plans.ts';
import type { KvStores } from './kv-store.ts';

export interface KvFunctionsDeps {
  readonly stores: KvStores;
  /** Where programs reach the stores. */
  readonly origin: string;
  readonly session: SignedCookie;
}

export function createKvFunctions({ stores, origin, session }: KvFunctionsDeps): ProviderFunctions {
  const signOn: SignOnFunction = ({ resource_id, organization_id, cookie, user }) => {
    const location = `/stores/${resource_id}`;
    if (user === undefined) {
      return readBrowserSession(session, cookie)?.organization_id === organization_id ? { location } : undefined;
    }
    return { location, cookies: [session.set(SESSION, { ...user, organization_id })] };
  };

  return {
    provision({ id: extension_id, name, organization_id }) {
      const { id, accessKey } = stores.create({ extension_id, name, organization_id });
      const url = new URL(`/kv/${id}`, origin);
      url.username = 'kv';
      url.password = accessKey.reveal();
      return { id, config: { SAMPLE_KV_URL: url.href, SAMPLE_KV_TOKEN: accessKey.reveal() } };
    },
    update(id, { name }) {
      stores.rename(id, name);
      return undefined;
    },
    read(id) {
      const store = stores.find(id);
      if (store === undefined) return undefined;
      const { name, organization_id, plan } = store;
      return { id, status: 'ready', plan, name, organization_id, ...stores.usage(id) };
    },
    remove: (id) => stores.remove(id),
    signOn,
    costs: ({ from, to }) =>
      stores.charges(Date.parse(from), Date.parse(to)).map(({ store_id, day, cents }) => ({
        extension_id: store_id,
        from: toDateTime(day * DAY_MS),
        to: toDateTime((day + 1) * DAY_MS),
        amount: cents,
        currency: CURRENCY,
        description: 'plan large, one day',
      })),
  };
}
