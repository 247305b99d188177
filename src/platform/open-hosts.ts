// Wires what this platform process has to do with the others on its database: its sign of life, the holders of channels, and calls that
// are passed on.
import type { Clock } from '../core/clock.ts';
import { readBootId } from '../linux/boot-id.ts';
import { type ChannelRecords, openChannelRecords } from './channels/channel-records.ts';
import { createHostPasses, type HostPasses } from './hosts/host-passes.ts';
import { createHostStore, type HostSelf } from './hosts/host-store.ts';
import { openHostSigns } from './hosts/open-host-signs.ts';
import type { HostMemory } from './machines/drivers/machine-driver.ts';
import type { Stores } from './open-stores.ts';
import type { PlatformOptions } from './platform-options.ts';
import { createOtherPlatforms, type OtherPlatforms } from './sprite-api/other-platforms.ts';
import type { Vault } from './vault/vault.ts';

export interface HostParts extends AsyncDisposable {
  readonly self: HostSelf;
  readonly passes: HostPasses;
  /** Undefined where there is one platform process only. */
  readonly others: { readonly records: ChannelRecords; readonly platforms: OtherPlatforms } | undefined;
}

export interface OpenHostsDeps {
  readonly options: Pick<PlatformOptions, 'hostAddress' | 'version' | 'log'>;
  readonly stores: Pick<Stores, 'storage' | 'host' | 'isShared'>;
  /** The memory of this host. */
  readonly capacity: () => Promise<HostMemory>;
  readonly vault: Pick<Vault, 'derive' | 'has' | 'keyIds'>;
  readonly clock: Clock;
}

const PURPOSE = 'passed calls';

export async function openHosts({ options, stores, vault, clock, capacity }: OpenHostsDeps): Promise<HostParts> {
  const { storage, host, isShared } = stores;
  const { hostAddress: address = null, version, log } = options;
  const boot_id = readBootId() ?? null;
  const self = { host, sign: async () => ({ host, address, version, boot_id, ...(await capacity()) }) };
  const now_ms = () => clock.wall_ms();
  const keyOf = (key_id: string) => (vault.has(key_id) ? vault.derive(PURPOSE, key_id) : undefined);
  const passes = createHostPasses({ host, keyOf, now_ms });
  await using stack = new AsyncDisposableStack();
  if (!isShared) return { self, passes, others: undefined, [Symbol.asyncDispose]: async () => undefined };
  const hosts = createHostStore(storage);
  stack.use(await openHostSigns(hosts, self.sign, now_ms, log));
  const records = stack.use(await openChannelRecords(storage, host, log));
  const platforms = stack.use(createOtherPlatforms({ hosts, passes, keyIds: vault.keyIds }));
  const owned = stack.move();
  return { self, passes, others: { records, platforms }, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
