import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import WebSocket from 'ws';
import { startListenerProcess } from '../../support/listener-process.ts';
import { type PortsAgent, startPortsAgent } from '../../support/ports-agent.ts';
import { openRaw } from '../../support/raw-http.ts';

interface WatchSocket {
  readonly socket: WebSocket;
  /** Every frame so far. */
  readonly frames: Record<string, unknown>[];
  /** The next frame about this port. */
  about(port: number): Promise<Record<string, unknown>>;
}

function open(agent: PortsAgent, target = '/v1/ports/watch', options: WebSocket.ClientOptions = {}): WatchSocket {
  const socket = new WebSocket(`ws+unix:${agent.socketPath}:${target}`, options);
  onTestFinished(() => socket.terminate());
  const frames: Record<string, unknown>[] = [];
  let wake = () => {};
  let read = 0;
  socket.on('message', (data, isBinary) => {
    expect(isBinary).toBe(false);
    frames.push(JSON.parse(String(data)));
    wake();
  });
  return {
    socket,
    frames,
    async about(port) {
      for (;;) {
        const frame = frames[read];
        if (frame === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        } else {
          read += 1;
          if (frame.port === port) return frame;
        }
      }
    },
  };
}

describe('watching the ports over a WebSocket', () => {
  it.each(['/v1/ports/watch', '/v1/sprites/dev-1/ports/watch'])(
    '%s gives the list first, then each port that opens and closes',
    async (target) => {
      const [agent, child] = await Promise.all([startPortsAgent(), startListenerProcess()]);
      const before = await child.listen();
      const watch = open(agent, target);
      await once(watch.socket, 'message');
      expect(watch.frames[0]).toMatchObject({ type: 'port_list' });
      expect(watch.frames[0]?.ports).toContainEqual(expect.objectContaining({ port: before }));
      const port = await child.listen();
      const message = { port, address: `http://dev-1:${port}`, pid: child.pid };
      expect(await watch.about(port)).toEqual({ type: 'port_opened', ...message });
      await child.close(port);
      expect(await watch.about(port)).toEqual({ type: 'port_closed', ...message });
    },
  );

  it('keeps alive with pings of the protocol and never with a frame that a client would take for an event', async () => {
    const agent = await startPortsAgent();
    const watch = open(agent, '/v1/ports/watch?keepalive=1');
    let pings = 0;
    watch.socket.on('ping', () => {
      pings += 1;
    });
    await expect.poll(() => pings).toBeGreaterThanOrEqual(2);
    for (const frame of watch.frames) expect(frame.type).toMatch(/^port_/);
  });

  it('lets go of a caller that answers no ping', async () => {
    const agent = await startPortsAgent();
    const watch = open(agent, '/v1/ports/watch?keepalive=1', { autoPong: false });
    const [code] = await once(watch.socket, 'close');
    expect(code).toBe(1006);
  });

  it('refuses as over HTTP: another sprite, and a handshake that is none', async () => {
    const agent = await startPortsAgent();
    const refused = open(agent, '/v1/sprites/dev-2/ports/watch');
    const [error] = await once(refused.socket, 'error');
    expect(String(error)).toContain('404');
    const raw = openRaw(
      agent.socketPath,
      'GET /v1/ports/watch HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 12\r\n\r\n',
    );
    expect(await raw.ended).toMatch(/^HTTP\/1.1 400 .*"error":"invalid_request"/s);
  });

  it('forgets a caller that is gone, with or without a word', async () => {
    const agent = await startPortsAgent();
    for (const leave of ['close', 'terminate'] as const) {
      const watch = open(agent);
      await once(watch.socket, 'message');
      expect(agent.streams()).toBe(1);
      watch.socket[leave]();
      await expect.poll(() => agent.streams()).toBe(0);
    }
  });
});
