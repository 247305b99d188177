// The network policy of a sprite: its machine is woken and enforces it, and then it is stored.
import type { networkPolicyOperations } from '../../contract/network-policy.ts';
import { checkRules } from '../../core/network-policy/check-rules.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { NetworkPolicyStore } from '../network-policies/network-policy-store.ts';
import type { PolicyDelivery } from '../network-policies/policy-delivery.ts';
import type { SpriteService } from '../sprites/sprite-service.ts';
import type { Principal } from '../tokens/principal.ts';
import type { OtherPlatforms } from './other-platforms.ts';
import type { ReachMachine } from './reach-machine.ts';

export interface NetworkPolicyHandlerDeps {
  readonly sprites: Pick<SpriteService, 'findFor'>;
  readonly policies: Pick<NetworkPolicyStore, 'find'>;
  readonly delivery: Pick<PolicyDelivery, 'set'>;
  readonly reach: ReachMachine;
  /** Undefined where there is one platform process only. */
  readonly others: Pick<OtherPlatforms, 'ask'> | undefined;
}

export function createNetworkPolicyHandlers({
  sprites,
  policies,
  delivery,
  reach,
  others,
}: NetworkPolicyHandlerDeps): Handlers<typeof networkPolicyOperations, Principal> {
  return {
    async readNetworkPolicy({ principal, params }) {
      const { id } = await sprites.findFor(principal, params.name);
      return { rules: [...((await policies.find(id))?.rules ?? [])] };
    },
    async setNetworkPolicy({ principal, params, body, request }) {
      const { id } = await sprites.findFor(principal, params.name);
      await checkRules(body.rules, 'body.rules');
      // No machine is woken for what holds in it anyway.
      if (body.rules.length === 0 && (await policies.find(id)) === undefined) return;
      const reached = await reach(request, principal, params.name).catch((error: unknown) => {
        throw toNotEnforced(error);
      });
      if ('channel' in reached) await delivery.set(reached.channel, body.rules);
      else await others?.ask(reached.host, { method: 'POST', target: request.url ?? '', headers: {}, body }, principal);
    },
  };
}

/** A machine that shares the network of the platform enforces nothing. */
function toNotEnforced(error: unknown): unknown {
  if (!(error instanceof RemoraError) || error.code !== 'not_isolated') return error;
  const missing = 'a network of its own';
  const message = `a network policy cannot be enforced here: the machine of this sprite has not ${missing}; it is not kept, and nothing is restricted`;
  return new RemoraError('not_supported', message, { details: { missing }, cause: error });
}
