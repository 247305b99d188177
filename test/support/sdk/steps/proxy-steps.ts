// What `ProxySession` and the functions that open ports of a sprite do.
import { once } from 'node:events';
import { connect } from 'node:net';
import { ProxyManager, ProxySession, proxyPort, proxyPorts } from '@fly/sprites';
import { expect } from 'vitest';
import type { SdkStack, Step, Steps } from '../sdk-stack.ts';

/** A port of 0 is any free one, which the address of the session then has. */
const mapped = async ({ echoPort }: SdkStack) => ({ localPort: 0, remotePort: await echoPort() });

async function exchange(session: ProxySession | undefined): Promise<string> {
  const port = Number(session?.localAddr()?.split(':').at(-1));
  const socket = connect({ host: 'localhost', port });
  socket.write('hello');
  const [bytes] = await once(socket, 'data');
  socket.destroy();
  return String(bytes);
}

function withSession(run: (session: ProxySession) => Promise<void>): Step {
  return async (stack) => {
    const { localPort, remotePort } = await mapped(stack);
    const session = await proxyPort(stack.client, 'dev-1', localPort, remotePort);
    await run(session);
    session.close();
  };
}

export const proxySteps: Steps = {
  'Sprite.proxyPort': async (stack) => {
    const { localPort, remotePort } = await mapped(stack);
    const session = await stack.sprite.proxyPort(localPort, remotePort);
    expect(await exchange(session)).toBe('hello');
    session.close();
  },
  'Sprite.proxyPorts': async (stack) => {
    const sessions = await stack.sprite.proxyPorts([await mapped(stack), await mapped(stack)]);
    for (const session of sessions) expect(await exchange(session)).toBe('hello');
    for (const session of sessions) session.close();
  },
  'proxyPort()': withSession(async (session) => expect(await exchange(session)).toBe('hello')),
  'proxyPorts()': async (stack) => {
    const [session] = await proxyPorts(stack.client, 'dev-1', [await mapped(stack)]);
    expect(await exchange(session)).toBe('hello');
    session?.close();
  },
  'ProxySession.start': async (stack) => {
    const session = new ProxySession(stack.client, 'dev-1', { ...(await mapped(stack)), remoteHost: '127.0.0.1' });
    await session.start();
    expect(await exchange(session)).toBe('hello');
    session.close();
  },
  'ProxySession.localAddr': withSession(async (session) => expect(session.localAddr()).toMatch(/^localhost:\d+$/)),
  'ProxySession.close': withSession(async (session) => {
    session.close();
    expect(session.localAddr()).toBeNull();
  }),
  'ProxySession.wait': withSession(async (session) => {
    const over = session.wait();
    session.close();
    await over;
  }),
  'ProxyManager.addSession': withSession(async (session) => new ProxyManager().addSession(session)),
  'ProxyManager.closeAll': withSession(async (session) => {
    const manager = new ProxyManager();
    manager.addSession(session);
    manager.closeAll();
    expect(session.localAddr()).toBeNull();
  }),
  'ProxyManager.waitAll': withSession(async (session) => {
    const manager = new ProxyManager();
    manager.addSession(session);
    const over = manager.waitAll();
    session.close();
    await over;
  }),
};
