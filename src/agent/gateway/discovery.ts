// What a caller in this machine can find out about the gateway: the guide, the providers, and the platform's verdict on a call,
// which overrules that of the agent.
import { createClient, type Requester } from '../../client/client.ts';
import { UpstreamError } from '../../client/upstream-error.ts';
import { type GatewayDryRun, gatewayDiscoveryOperations } from '../../contract/gateway-discovery.ts';
import type { ExplainRequest, gatewayOperations } from '../../contract/local/gateway.ts';
import { toGatewayGuide } from '../../core/gateway/gateway-guide.ts';
import { GATEWAY_PREFIX } from '../../core/gateway/gateway-target.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';
import type { Handlers } from '../../http/handler.ts';
import { type LocalAddress, SOCKET_ORIGIN, toConnectorList } from './connector-list.ts';
import type { PolicySnapshot } from './policies/policy-snapshot.ts';
import { parseSamplePath } from './sample-path.ts';
import { toSnippets } from './snippets.ts';

export interface DiscoveryOptions {
  readonly platform: { readonly baseUrl: string; readonly token: Secret };
  readonly dispatcher: () => Requester;
  /** Headers that tell the platform which incarnation of which machine is calling. */
  readonly identity: () => Readonly<Record<string, string>>;
  /** The policies for display, whatever their age. Throws `policy_unavailable` when there are none. */
  readonly shown: () => Promise<PolicySnapshot>;
  readonly local: () => LocalAddress;
}

export interface Discovery {
  readonly handlers: Handlers<Pick<typeof gatewayOperations, 'listProviders' | 'gatewayGuide'>, unknown>;
  /** What the platform would do with the call. Throws `upstream_failed` or `upstream_timeout`. */
  askPlatform(request: ExplainRequest, signal: AbortSignal): Promise<GatewayDryRun>;
}

const LIMIT_MS = 5_000;

export function createDiscovery(options: DiscoveryOptions): Discovery {
  function client() {
    const { baseUrl: origin, token } = options.platform;
    const { dispatcher } = options;
    const headers = () => ({ authorization: `Bearer ${token.reveal()}`, ...options.identity() });
    return createClient(gatewayDiscoveryOperations, { origin, dispatcher, headers, timeout_ms: LIMIT_MS });
  }

  return {
    async askPlatform({ platform: _, ...body }, signal) {
      return await passed(client().call('explainCall', { body, signal }));
    },
    handlers: {
      async listProviders({ query, signal }) {
        const { providers } = await passed(client().call('listProviders', { query, signal }));
        const { socket } = options.local();
        return {
          providers: providers.map((provider) => {
            const ours = `${GATEWAY_PREFIX}${provider.provider}/`;
            const base = `${SOCKET_ORIGIN}${ours}{connector_id}`;
            const first = ours + (provider.connectors[0] ?? '{connector_id}');
            const sample = parseSamplePath(provider.usage_snippet, first) ?? '/';
            const usage_snippet = toSnippets(socket, SOCKET_ORIGIN + first + sample).curl;
            return { ...provider, gateway_base_url: base, usage_snippet };
          }),
        };
      },
      async gatewayGuide() {
        const local = options.local();
        const { connections } = toConnectorList(await options.shown(), local);
        return toGatewayGuide({
          origin: SOCKET_ORIGIN,
          reach: toReach(local),
          connections: connections.map(({ gateway_base_url: base_url, usage_snippet: snippet, ...connection }) => ({
            ...connection,
            base_url,
            snippet: snippet ?? '',
          })),
        });
      },
    },
  };
}

function toReach({ socket, tcp }: LocalAddress): string {
  const lines = [
    `All addresses here are reached over the Unix socket \`${socket}\`: \`curl --unix-socket ${socket} …\`. It asks for no token.`,
  ];
  if (tcp !== undefined) {
    lines.push(
      `For SDKs that take a URL only there is \`http://${tcp}\` with the same paths; \`POST /v1/gateway/tokens\` on the socket`,
      'makes the token that goes where the SDK wants its API key.',
    );
  }
  return lines.join('\n');
}

async function passed<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    const code = error.code === 'timeout' ? 'upstream_timeout' : 'upstream_failed';
    throw new RemoraError(code, `the platform did not say: ${error.message}`, { cause: error });
  }
}
