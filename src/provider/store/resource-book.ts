// What a provider's kit remembers of each extension, so that a provisioning request that is sent again makes no second resource.
import type { ProvisioningResponse } from '../../contract/extensions.ts';
import type { Awaitable } from './awaitable.ts';

/** An extension that was provisioned. */
export interface KnownResource {
  /** Made by the platform. */
  readonly extension_id: string;
  /** Made by the provider; the platform names it in every later call. */
  readonly resource_id: string;
  readonly organization_id: string;
  /** What the platform was answered, with the values of `config`, which are secrets. */
  readonly answer: ProvisioningResponse;
}

/** One process has the extension for one call. */
export interface Claim {
  readonly extension_id: string;
  /** Tells one call from another. */
  readonly holder: string;
  readonly now_ms: number;
  /** The claim of a process that was killed ends then. One that lasts more than twice as long was made before the clock was set back. */
  readonly until_ms: number;
}

/** `gone`: it was removed, and a late request must not make it again. */
export type Found = KnownResource | 'gone' | undefined;

/** Processes that serve one provider share one book. */
export interface ResourceBook {
  /** False while another call has the extension; of two at once, one gets it. The holder of a claim renews it. */
  claim(claim: Claim): Awaitable<boolean>;
  /** Ends a claim; nothing when that holder has it no more. */
  release(claim: Claim): Awaitable<void>;
  /** `extension_id`: the id that the platform made; no other finds it. */
  read(extension_id: string): Awaitable<Found>;
  /** `id`: the id that the provider made; else that of the platform, which knows no other after a lost answer. */
  find(id: string): Awaitable<Found>;
  write(resource: KnownResource): Awaitable<void>;
  /** Forgets the answer, and remembers both ids as gone. The extension may never have been known. */
  end(extension_id: string, now_ms: number): Awaitable<void>;
  /** Forgets extensions that have been gone since before that moment. */
  forget(before_ms: number): Awaitable<void>;
}
