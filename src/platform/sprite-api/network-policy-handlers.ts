// The network policy of a sprite: its machine is woken and enforces it, and then it is stored. What it does is asked of the machine.
import type { IncomingMessage } from 'node:http';
import {
  networkExplanation,
  type networkExplanationOperations,
  networkRefusals,
} from '../../contract/network-explanations.ts';
import type { networkPolicyOperations } from '../../contract/network-policy.ts';
import { checkRules } from '../../core/network-policy/check-rules.ts';
import { readHost } from '../../core/network-policy/read-host.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { ChannelSession } from '../channels/channel-session.ts';
import type { NetworkPolicyStore } from '../network-policies/network-policy-store.ts';
import { askPolicy } from '../network-policies/policy-client.ts';
import type { PolicyDelivery } from '../network-policies/policy-delivery.ts';
import type { SpriteService } from '../sprites/sprite-service.ts';
import type { Principal } from '../tokens/principal.ts';
import type { OtherPlatforms } from './other-platforms.ts';
import type { Reached, ReachMachine } from './reach-machine.ts';

export interface NetworkPolicyHandlerDeps {
  readonly sprites: Pick<SpriteService, 'findFor'>;
  readonly policies: Pick<NetworkPolicyStore, 'find'>;
  readonly delivery: Pick<PolicyDelivery, 'set' | 'lift'>;
  readonly reach: ReachMachine;
  /** Undefined where there is one platform process only. */
  readonly others: Pick<OtherPlatforms, 'ask'> | undefined;
}

type PolicyHandlers = Handlers<typeof networkPolicyOperations & typeof networkExplanationOperations, Principal>;

interface Call {
  readonly principal: Principal;
  readonly params: { readonly name: string };
  readonly request: IncomingMessage;
  readonly body?: unknown;
}

interface Work<T> {
  /** Where this process holds the channel of the machine. */
  readonly here: (channel: ChannelSession) => Promise<T>;
  /** Reads what the process that holds it has answered to the same call. */
  readonly read: (answer: unknown) => T;
  /** Where the machine cannot be reached. */
  readonly unreached?: (error: unknown) => Promise<T>;
}

export function createNetworkPolicyHandlers({
  sprites,
  policies,
  delivery,
  reach,
  others,
}: NetworkPolicyHandlerDeps): PolicyHandlers {
  async function atMachine<T>(call: Call, { here, read, unreached }: Work<T>): Promise<T> {
    const { request, principal, params, body } = call;
    let reached: Reached;
    try {
      reached = await reach(request, principal, params.name);
    } catch (error) {
      if (unreached === undefined) throw error;
      return await unreached(error);
    }
    if ('channel' in reached) return await here(reached.channel);
    const { method = 'GET', url: target = '' } = request;
    return read(await others?.ask(reached.host, { method, target, headers: {}, body }, principal));
  }

  /** No machine is woken for what holds in it anyway. */
  async function isUnrestricted({ principal, params }: Call): Promise<boolean> {
    const { id } = await sprites.findFor(principal, params.name);
    return (await policies.find(id)) === undefined;
  }

  return {
    async readNetworkPolicy({ principal, params }) {
      const { id } = await sprites.findFor(principal, params.name);
      return { rules: [...((await policies.find(id))?.rules ?? [])] };
    },
    async setNetworkPolicy(call) {
      const { rules } = call.body;
      const { id } = await sprites.findFor(call.principal, call.params.name);
      await checkRules(rules, 'body.rules');
      const isNothing = rules.length === 0;
      if (isNothing && (await policies.find(id)) === undefined) return;
      await atMachine(call, {
        here: (channel) => delivery.set(channel, rules),
        read: () => undefined,
        async unreached(error) {
          // What the machine cannot enforce keeps everybody out of it, until nothing is stored any more.
          if (!(isNothing && error instanceof RemoraError && error.code === 'not_supported'))
            throw toNotEnforced(error);
          await delivery.lift(id);
        },
      });
    },
    async explainNetworkPolicy(call) {
      const { body } = call;
      readHost(body.host);
      if (await isUnrestricted(call))
        return { decision: 'allow', reason: 'nothing is restricted', addresses: [], names: [] };
      return await atMachine(call, {
        here: (channel) => askPolicy(channel, (client) => client.call('explainNetworkPolicy', { body })),
        read: (answer) => networkExplanation.parse(answer),
      });
    },
    async listRefusedConnections(call) {
      if (await isUnrestricted(call)) return { refused: [] };
      return await atMachine(call, {
        here: (channel) => askPolicy(channel, (client) => client.call('listRefusedConnections')),
        read: (answer) => networkRefusals.parse(answer),
      });
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
