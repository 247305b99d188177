// The agent's gateway with a far end that is driven by hand: either the platform that it talks to, or the provider behind a real
// platform. What a test holds of the one must hold of the other.
import type { Socket } from 'node:net';
import { type GatewayAgent, type GatewayAgentOptions, openGatewayAgent } from './gateway-agent.ts';
import { openPlatformBefore } from './platform-before.ts';
import { openRawUpstream } from './raw-upstream.ts';
import { openStandInPlatform } from './stand-in-platform.ts';

export interface RawCall {
  /** What is written here is the answer, byte for byte. */
  readonly socket: Socket;
  readonly closed: Promise<void>;
  /** Resolves once the bytes after the head of the request fit. */
  body(pattern: RegExp): Promise<string>;
  /** Names in lower case. */
  readonly headerNames: readonly string[];
}

export interface RawGateway {
  readonly agent: GatewayAgent;
  /** The start of a path that the policy allows. `/blocked` is blocked. */
  readonly prefix: string;
  /** Resolves with call number `index`, now or when it has come. */
  call(index: number): Promise<RawCall>;
  /** How many have come. */
  readonly count: number;
}

export const farEnds = ['the platform', 'a provider behind the platform'] as const;

const access_policy = { allow_all: true, blocked_endpoints: ['/blocked'] };
const prefix = '/v1/gateway/openai/conn_1';

export async function openRawGateway(
  farEnd: (typeof farEnds)[number],
  options: GatewayAgentOptions = {},
): Promise<RawGateway> {
  return farEnd === 'the platform' ? await openBeforePlatform(options) : await openBeforeProvider(options);
}

async function openBeforePlatform(options: GatewayAgentOptions): Promise<RawGateway> {
  const calls: RawCall[] = [];
  const waiting = new Set<() => void>();
  const platform = await openStandInPlatform({
    connectors: [{ id: 'conn_1', provider: 'openai', access_policy }],
    onGateway: (request) => {
      const { socket } = request;
      let text = '';
      const watchers = new Set<() => void>();
      request.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1');
        for (const watch of watchers) watch();
      });
      request.on('error', () => undefined);
      const body = (pattern: RegExp) =>
        new Promise<string>((resolve) => {
          const watch = () => (pattern.test(text) ? resolve(text) : undefined);
          watchers.add(watch);
          watch();
        });
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
      calls.push({ socket, closed, body, headerNames: Object.keys(request.headers) });
      for (const wake of waiting) wake();
    },
  });
  return {
    agent: await openGatewayAgent(platform.url, options),
    prefix,
    call: (index) =>
      new Promise((resolve) => {
        const wake = () => {
          const found = calls[index];
          if (found !== undefined) resolve(found);
        };
        waiting.add(wake);
        wake();
      }),
    get count() {
      return calls.length;
    },
  };
}

async function openBeforeProvider(options: GatewayAgentOptions): Promise<RawGateway> {
  const provider = await openRawUpstream();
  const { url, token } = await openPlatformBefore(provider.origin, access_policy);
  return {
    agent: await openGatewayAgent(url, { token, ...options }),
    prefix,
    async call(index) {
      const connection = await provider.connection(index);
      const [head = ''] = (await connection.until(/\r\n\r\n/s)).split('\r\n\r\n');
      return {
        socket: connection.socket,
        closed: connection.closed,
        body: async (pattern) => {
          const text = await connection.until(new RegExp(`\\r\\n\\r\\n[^]*${pattern.source}`, pattern.flags));
          return text.slice(head.length + 4);
        },
        headerNames: head
          .split('\r\n')
          .slice(1)
          .map((line) => line.split(':')[0]?.toLowerCase() ?? ''),
      };
    },
    get count() {
      return provider.connections.length;
    },
  };
}
