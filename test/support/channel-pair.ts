// Both ends of a channel over a real TCP connection: an agent's edge behind it, and the platform's session in front.
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { ChannelTarget } from '../../src/agent/channel/channel-target.ts';
import { dialChannel } from '../../src/agent/channel/dial-channel.ts';
import { type ServedChannel, serveChannel } from '../../src/agent/channel/serve-channel.ts';
import { CHANNEL_PROTOCOL } from '../../src/contract/channel.ts';
import { HELD_BYTES } from '../../src/core/channel-limits.ts';
import { type ChannelSession, openChannelSession } from '../../src/platform/channels/channel-session.ts';
import { createLaneCounts } from '../../src/platform/channels/lane-counts.ts';

export interface ChannelPair {
  readonly platform: ChannelSession;
  readonly agent: ServedChannel;
  /** The platform's end of the connection. */
  readonly socket: Socket;
  /** Why each end was closed. */
  readonly closed: { platform?: string; agent?: string };
  /** Nothing arrives at either end from now on, and nothing is closed. */
  silence(): void;
}

export interface ChannelPairOptions {
  readonly targets: readonly ChannelTarget[];
  readonly pingInterval_ms?: number;
  /** How much may wait for readers before nothing more is read; as on a platform when absent. */
  readonly heldCap_bytes?: number;
}

export async function openChannelPair({
  targets,
  pingInterval_ms,
  heldCap_bytes = HELD_BYTES,
}: ChannelPairOptions): Promise<ChannelPair> {
  const pings = pingInterval_ms === undefined ? {} : { pingInterval_ms };
  const closed: { platform?: string; agent?: string } = {};
  const front = createServer();
  const switched = Promise.withResolvers<Socket>();
  front.on('upgrade', (_request, socket: Socket) => {
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${CHANNEL_PROTOCOL}\r\n\r\n`);
    switched.resolve(socket);
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  const relay = await openRelay((front.address() as AddressInfo).port);
  const dialled = await dialChannel({
    baseUrl: `http://127.0.0.1:${relay.port}`,
    app: 'an app',
    machine: 'm1',
    headers: {},
    deadline_ms: 5_000,
    mayHandshake: () => true,
    signal: new AbortController().signal,
  });
  const onClose = (reason: string | undefined) => {
    closed.agent = reason ?? '';
  };
  const agent = serveChannel(dialled, { targets, ...pings, onClose });
  const socket = await switched.promise;
  const platform = openChannelSession({
    machine_id: 'm1',
    sprite_id: 's1',
    incarnation: { generation: 1, incarnation: 'ab'.repeat(16) },
    socket,
    ...pings,
    laneCounts: createLaneCounts(),
    isFull: (session) => session.held_bytes > heldCap_bytes,
    onClose(_session, reason) {
      closed.platform = reason;
    },
  });
  onTestFinished(() => {
    platform.close('the test is over');
    agent.destroy();
    relay.server.close();
    front.close();
  });
  return { platform, agent, socket, closed, silence: relay.silence };
}

/** A connection through it can be made silent, as one to a machine that stands still. */
async function openRelay(to: number): Promise<{ server: Server; port: number; silence(): void }> {
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => {
    const other = connect(to, '127.0.0.1');
    sockets.push(socket, other);
    for (const [one, two] of [
      [socket, other],
      [other, socket],
    ] as const) {
      one.on('data', (chunk) => two.write(chunk));
      one.on('error', () => undefined).on('close', () => two.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const silence = () => {
    for (const socket of sockets) socket.removeAllListeners('data').pause();
  };
  return { server, port: (server.address() as AddressInfo).port, silence };
}
