// What a provider does with a browser that the platform sends: where it goes, and with which cookies.
import type { UserRole } from '../../contract/sign-on.ts';
import type { Awaitable } from '../store/awaitable.ts';

/** A person whom the platform has signed on, as it describes them (Extensions API, Token introspection response). */
export interface SignedOnUser {
  readonly id: string;
  readonly name: string;
  /** An alias that reaches the person and never changes. */
  readonly email: string;
  /** The role in the organization that the resource belongs to. */
  readonly role: UserRole;
}

export interface BrowserVisit {
  /** The provider's own. */
  readonly resource_id: string;
  readonly organization_id: string;
  /** The header `Cookie` of the browser. */
  readonly cookie: string | undefined;
  /** Undefined when the browser has just come; the person when the platform has signed them on. */
  readonly user: SignedOnUser | undefined;
}

export interface BrowserAnswer {
  /** A path or a URL: the page of the resource. */
  readonly location: string;
  /** Values of `Set-Cookie`. */
  readonly cookies?: readonly string[];
}

/**
 * Says where a browser goes whose session may see the resource; undefined = it has no such session and is sent to the platform. Begins a
 * session where `visit.user` is given.
 */
export type SignOnFunction = (visit: BrowserVisit) => Awaitable<BrowserAnswer | undefined>;
