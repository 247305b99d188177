// The ways to a provider that are fuzzed: agent and platform, the agent alone before a platform that lets everything through, and the
// platform alone. Each says what has arrived.
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { Secret } from '../../../src/core/secret.ts';
import { openGatewayAgent, SPRITE_TOKEN } from '../../support/gateway-agent.ts';
import { openTestPlatform } from '../../support/open-platform.ts';
import { openStandInPlatform } from '../../support/stand-in-platform.ts';
import { fuzzedConnectors } from './connectors.ts';
import type { Arrival } from './oracle.ts';
import { connectorOf } from './oracle.ts';

export interface Target {
  readonly name: string;
  /** The path of a socket or a port. */
  readonly where: string | number;
  readonly credential: readonly (readonly [string, string])[];
  /** What has arrived so far, and by which id. */
  readonly arrivals: readonly { readonly id: string; readonly arrival: Arrival }[];
}

interface Recorded {
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
}

const keyOf = (connector: string) => `canary-fuzz-key-${connector}`;
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** Answers everything; bytes that are no request of HTTP are kept in `broken`. */
async function openProvider(broken: string[]) {
  const calls: Recorded[] = [];
  const record = ({ method = '', url = '', rawHeaders }: IncomingMessage) =>
    calls.push({ method, target: url, rawHeaders });
  const server = createServer((request, response) => {
    record(request);
    request.resume().once('end', () => response.end('ok'));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code !== 'ECONNRESET' && error.code !== 'HPE_INVALID_EOF_STATE') broken.push(String(error));
    socket.destroy();
  });
  server.on('upgrade', (request, socket) => {
    record(request);
    const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}${GUID}`).digest('base64');
    const lines = [
      'HTTP/1.1 101 Switching Protocols',
      'Connection: Upgrade',
      'Upgrade: websocket',
      `Sec-WebSocket-Accept: ${accept}`,
    ];
    socket.on('error', () => undefined).end(`${lines.join('\r\n')}\r\n\r\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { calls, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const idOf = ({ rawHeaders }: Recorded) => rawHeaders[rawHeaders.indexOf('X-Fuzz-Id') + 1] ?? '';

/** The key of a connector shows which one was used: it must be the one of the target that was sent. */
function toProviderArrivals(calls: readonly Recorded[], sentTarget: (id: string) => string | undefined) {
  return calls.map((call) => {
    const id = idOf(call);
    const used = connectorOf(sentTarget(id) ?? '')?.connector.id ?? 'none';
    const injected = { 'x-fuzz-key': keyOf(used) };
    return { id, arrival: { method: call.method, path: call.target, rawHeaders: call.rawHeaders, injected } };
  });
}

function toPlatformArrival(call: Recorded) {
  const path = connectorOf(call.target)?.path ?? `not a target of the gateway: ${call.target}`;
  const { method, rawHeaders } = call;
  const injected = {
    authorization: `Bearer ${SPRITE_TOKEN}`,
    'remora-generation': '1',
    'remora-incarnation': 'ab'.repeat(16),
  };
  return { id: idOf(call), arrival: { method, path, rawHeaders, injected } };
}

export async function openTargets(
  broken: string[],
  sentTarget: (id: string) => string | undefined,
): Promise<readonly Target[]> {
  const organization = 'acme';
  async function openPlatform() {
    const provider = await openProvider(broken);
    const platform = await openTestPlatform({
      catalogue: [
        {
          provider: 'openai',
          display_name: 'openai',
          description: 'of the test',
          address: { type: 'fixed', url: provider.url },
          injection: { in: 'header', name: 'x-fuzz-key', prefix: '' },
          allow_http: true,
          sample_path: '/',
        },
      ],
    });
    const { admin } = platform;
    await admin.createOrganization('other');
    await admin.createSprite({ organization, name: 'dev-1', labels: ['blue'] });
    for (const { id, access_policy } of fuzzedConnectors) {
      await admin.createConnector({
        organization,
        provider: 'openai',
        api_key: new Secret(keyOf(id)),
        id,
        access_policy,
      });
    }
    const all = { allow_all: true };
    const theirs = {
      organization: 'other',
      provider: 'openai',
      api_key: new Secret(keyOf('theirs')),
      access_policy: all,
    };
    await admin.createConnector({ ...theirs, id: 'conn_other_org' });
    return { provider, platform, token: await admin.createToken({ organization, sprite: 'dev-1' }) };
  }
  const both = await openPlatform();
  const behindBoth = await openGatewayAgent(both.platform.url, { token: both.token });
  const alone = await openPlatform();
  const standIn = await openStandInPlatform({
    sprite: { name: 'dev-1', labels: ['blue'] },
    connectors: fuzzedConnectors.map(({ id, access_policy }) => ({ id, provider: 'openai', access_policy })),
    onGateway: (request, response) => void request.resume().once('end', () => response.end('ok')),
  });
  const agentAlone = await openGatewayAgent(standIn.url);
  for (const agent of [behindBoth, agentAlone]) await agent.gateway.recover();
  return [
    {
      name: 'agent and platform',
      where: behindBoth.path,
      credential: [],
      get arrivals() {
        return toProviderArrivals(both.provider.calls, sentTarget);
      },
    },
    {
      name: 'agent alone',
      where: agentAlone.path,
      credential: [],
      get arrivals() {
        return standIn.calls.map(toPlatformArrival);
      },
    },
    {
      name: 'platform alone',
      where: Number(new URL(alone.platform.url).port),
      credential: [['Authorization', `Bearer ${alone.token.reveal()}`]],
      get arrivals() {
        return toProviderArrivals(alone.provider.calls, sentTarget);
      },
    },
  ];
}
