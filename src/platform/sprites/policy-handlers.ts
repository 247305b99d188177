// The policies of privileges and resources of sprites. Nothing here can enforce one yet, so that none is kept: a policy that restricts nothing is what holds, and
// every other one is refused.
import type { spritePolicyOperations } from '../../contract/sprite-policies.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Principal } from '../tokens/principal.ts';
import type { SpriteService } from './sprite-service.ts';

export function createPolicyHandlers({
  findFor,
}: Pick<SpriteService, 'findFor'>): Handlers<typeof spritePolicyOperations, Principal> {
  /** Throws `not_found`, or `forbidden` when a sprite asks for another one. */
  const check = async ({ principal, params }: { principal: Principal; params: { name: string } }) => {
    await findFor(principal, params.name);
  };
  return {
    async readPrivilegesPolicy(call) {
      await check(call);
      return {};
    },
    async setPrivilegesPolicy(call) {
      await check(call);
      const { profile = '', devices = [], noNewPrivileges = false } = call.body;
      if (profile !== '' || devices.length > 0 || noNewPrivileges)
        throw notEnforced('privileges', 'a kernel of its own');
    },
    deletePrivilegesPolicy: check,
    async readResourcesPolicy(call) {
      await check(call);
      return {};
    },
    async setResourcesPolicy(call) {
      await check(call);
      if (call.body.memory !== undefined) throw notEnforced('resources', 'a group with a memory limit');
    },
    deleteResourcesPolicy: check,
  };
}

function notEnforced(kind: string, missing: string): RemoraError {
  const message =
    `a ${kind} policy cannot be enforced here: the machine of this sprite has not ${missing}; ` +
    'it is not kept, and nothing is restricted';
  return new RemoraError('not_supported', message, { details: { missing } });
}
