// Who calls, where another platform process has passed the call on: it has checked the token, and this one looks at its record again.
import type { IncomingMessage } from 'node:http';
import { PASSED_HEADER } from '../../contract/hosts.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { OrganizationStore } from '../organizations/organization-store.ts';
import { OPERATOR_TOKEN } from './authenticate-operator.ts';
import type { Caller, CallerStore } from './caller-store.ts';

export interface PassedPrincipalDeps {
  readonly callers: Pick<CallerStore, 'again'>;
  readonly organizations: Pick<OrganizationStore, 'find'>;
  /** Checks a proof and takes it once. Throws `unauthorized` and `other_host`. */
  readonly take: (
    value: string,
    target: { readonly method: string; readonly target: string },
  ) => { readonly token: string; readonly organization: string };
  readonly clock: Pick<Clock, 'wall_ms'>;
}

/** Undefined for a call without the header. Throws what `take` throws, and `unauthorized` for a token that is not good any more. */
export type ReadPassedPrincipal = (request: IncomingMessage) => Promise<Caller | undefined>;

export function createReadPassedPrincipal(deps: PassedPrincipalDeps): ReadPassedPrincipal {
  return async ({ headers, method = '', url = '' }) => {
    const value = headers[PASSED_HEADER];
    if (value === undefined) return undefined;
    const { token, organization: organization_id } = deps.take(String(value), { method, target: url });
    if (token === OPERATOR_TOKEN.id) {
      const organization = await deps.organizations.find(organization_id);
      if (organization !== undefined) return { type: 'organization', organization, token: OPERATOR_TOKEN };
    } else {
      const caller = await deps.callers.again(token, deps.clock.wall_ms());
      if (caller?.organization.id === organization_id) return caller;
    }
    throw new RemoraError('unauthorized', 'the token is not valid any more');
  };
}
