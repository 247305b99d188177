// What a provider brings: functions of plain values, which the kit calls for requests that the platform has signed.
import type { CostItem, CostsRequest } from '../contract/extension-costs.ts';
import type { HostNotice, MemberNotice } from '../contract/extension-notices.ts';
import type { ExtensionResource, MachineEvent } from '../contract/extension-webhooks.ts';
import type { ExtensionUpdateResponse, ProvisioningRequest, ProvisioningResponse } from '../contract/extensions.ts';
import type { SignOnFunction } from './sign-on/sign-on-function.ts';
import type { Awaitable } from './store/awaitable.ts';

/** Who asks for what (Extensions API, Provisioning request), without the fields of the signature. */
export type Provisioning = Omit<ProvisioningRequest, 'url' | 'nonce' | 'timestamp'>;

/** What stands in the headers of an event. One event comes at least once, with the same `id` each time. */
export interface EventAttributes {
  readonly id: string;
  readonly source: string;
  /** Such as `io.remora.machine.starting`. */
  readonly type: string;
  /** ISO 8601. */
  readonly time: string;
}

/**
 * A function refuses with a `ProviderError`, whose code and message the platform reads. Whatever else is thrown becomes a 500 without
 * its own message, and goes to `onError`. `id`s are those of the provider.
 */
export interface ProviderFunctions {
  /**
   * Makes a resource and says its secrets. It is called once for each extension, and again only where the first call failed or its
   * process ended: then it should find by `request.id` what there is of it.
   */
  provision(request: Provisioning): Awaitable<ProvisioningResponse>;
  /** Regions, application or names have changed. Returns what is new of the answer to `provision`; undefined = nothing. */
  update(id: string, request: Provisioning): Awaitable<ExtensionUpdateResponse | undefined>;
  /** What it is now, such as its status and plan; undefined = there is none. */
  read(id: string): Awaitable<ExtensionResource | undefined>;
  /** Ends it. Called again where it failed, so that it should do nothing for one that is gone. */
  remove(id: string): Awaitable<void>;
  /** Needs the settings `signOn` of the kit. */
  readonly signOn?: SignOnFunction;
  /** A machine of the provider's own application has changed; a crash has the status `failed`. `data` depends on the event. */
  machineEvent?(event: MachineEvent & EventAttributes): Awaitable<void>;
  /** A user was added to an organization with extensions of this provider, removed, or has another role. */
  memberEvent?(event: MemberNotice & EventAttributes): Awaitable<void>;
  /** A host with machines of the provider's own application is drained for maintenance, or no longer. */
  hostEvent?(event: HostNotice & EventAttributes): Awaitable<void>;
  /** The lines of a bill for a period, in whole smallest units of a currency. */
  costs?(period: CostsRequest): Awaitable<readonly CostItem[]>;
}
