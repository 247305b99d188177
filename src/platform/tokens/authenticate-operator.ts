// Authenticates calls at the platform's own socket: every caller is the operator, because the file's mode lets nobody else connect. A
// header names the organization that a call concerns.
import type { IncomingMessage } from 'node:http';
import type { Operation } from '../../contract/operation.ts';
import { ORGANIZATION_HEADER } from '../../contract/organizations.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { isServedAt } from '../../http/served-at.ts';
import type { Organization, OrganizationStore } from '../organizations/organization-store.ts';
import type { Principal, TokenIdentity } from './principal.ts';

/** What stands for a token in calls of the operator. */
export const OPERATOR_TOKEN: TokenIdentity = {
  id: 'operator',
  access: 'full',
  user_id: null,
  machine_id: null,
  expires_at: null,
};

/**
 * Returns the function that the edge calls. An operation of an organization runs as that organization, with full access; it need not be
 * named where there is only one. Throws `invalid_request` when none is named among several, `not_found`, and `forbidden` for what is
 * not served at this socket.
 */
export function createOperatorAuthenticate(
  organizations: Pick<OrganizationStore, 'findBySlug' | 'list'>,
): (request: IncomingMessage, row: Operation) => Promise<Principal> {
  async function find(name: string | undefined): Promise<Organization> {
    if (name !== undefined) {
      const found = await organizations.findBySlug(name);
      if (found === undefined) throw new RemoraError('not_found', `there is no organization ${name}`);
      return found;
    }
    const all = await organizations.list();
    const [only] = all;
    if (only !== undefined && all.length === 1) return only;
    const problem =
      all.length === 0 ? 'there is no organization yet; make one' : 'there are several organizations; name one';
    throw new RemoraError('invalid_request', `${problem} (header ${ORGANIZATION_HEADER}, or --organization)`);
  }

  return async (request, row) => {
    if (!isServedAt(row, 'operator')) {
      throw new RemoraError('forbidden', 'this takes a token, at the address of the platform');
    }
    if (row.access === 'none') return { type: 'anonymous' };
    if (row.access === 'operator') return { type: 'operator' };
    const name = request.headers[ORGANIZATION_HEADER];
    const organization = await find(typeof name === 'string' ? name : undefined);
    return { type: 'organization', organization, token: OPERATOR_TOKEN };
  };
}
