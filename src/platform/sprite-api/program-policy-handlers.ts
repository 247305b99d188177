// The policies of privileges and resources of a sprite: its machine is woken and keeps to them, and then they are stored.
import type { IncomingMessage } from 'node:http';
import type { ProgramPolicy } from '../../contract/local/program-policy.ts';
import type { spritePolicyOperations } from '../../contract/sprite-policies.ts';
import { isEmptyPolicy, noProgramPolicy } from '../../core/program-policy.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { ProgramPolicyDelivery } from '../program-policies/program-policy-delivery.ts';
import type { ProgramPolicyStore } from '../program-policies/program-policy-store.ts';
import type { SpriteService } from '../sprites/sprite-service.ts';
import type { Principal } from '../tokens/principal.ts';
import type { OtherPlatforms } from './other-platforms.ts';
import type { Reached, ReachMachine } from './reach-machine.ts';

export interface ProgramPolicyHandlerDeps {
  readonly sprites: Pick<SpriteService, 'findFor'>;
  readonly policies: Pick<ProgramPolicyStore, 'find'>;
  readonly delivery: Pick<ProgramPolicyDelivery, 'set' | 'lift'>;
  readonly reach: ReachMachine;
  /** Undefined where there is one platform process only. */
  readonly others: Pick<OtherPlatforms, 'ask'> | undefined;
}

interface PolicyCall {
  readonly principal: Principal;
  readonly params: { readonly name: string };
  readonly request: IncomingMessage;
}

export function createProgramPolicyHandlers({
  sprites,
  policies,
  delivery,
  reach,
  others,
}: ProgramPolicyHandlerDeps): Handlers<typeof spritePolicyOperations, Principal> {
  async function read({ principal, params }: PolicyCall): Promise<ProgramPolicy> {
    const { id } = await sprites.findFor(principal, params.name);
    return (await policies.find(id))?.policy ?? noProgramPolicy;
  }

  /** @param body what was called with, for the platform process that has the channel. */
  async function change(
    { principal, params, request }: PolicyCall,
    wanted: Partial<ProgramPolicy>,
    body?: unknown,
  ): Promise<void> {
    const { id } = await sprites.findFor(principal, params.name);
    // No machine is woken for what holds in it anyway.
    const isNothing = isEmptyPolicy({ ...noProgramPolicy, ...wanted });
    if (isNothing && (await policies.find(id)) === undefined) return;
    let reached: Reached;
    try {
      reached = await reach(request, principal, params.name);
    } catch (error) {
      // What the machine cannot keep to keeps everybody out of it, until nothing is stored any more.
      if (!(isNothing && error instanceof RemoraError && error.code === 'not_supported')) throw toNotEnforced(error);
      return await delivery.lift(id, wanted);
    }
    if ('channel' in reached) return await delivery.set(reached.channel, wanted);
    const { method = 'POST', url: target = '' } = request;
    await others?.ask(reached.host, { method, target, headers: {}, body }, principal);
  }

  return {
    readPrivilegesPolicy: async (call) => (await read(call)).privileges,
    setPrivilegesPolicy: (call) => change(call, { privileges: call.body }, call.body),
    deletePrivilegesPolicy: (call) => change(call, { privileges: {} }),
    readResourcesPolicy: async (call) => (await read(call)).resources,
    setResourcesPolicy: (call) => change(call, { resources: call.body }, call.body),
    deleteResourcesPolicy: (call) => change(call, { resources: {} }),
  };
}

/** Nothing is restricted in a machine that shares everything with the platform. */
function toNotEnforced(error: unknown): unknown {
  if (!(error instanceof RemoraError) || error.code !== 'not_isolated') return error;
  const missing = 'a kernel of its own';
  const message = `this policy cannot be enforced here: the machine of this sprite has not ${missing}; it is not kept, and nothing is restricted`;
  return new RemoraError('not_supported', message, { details: { missing }, cause: error });
}
