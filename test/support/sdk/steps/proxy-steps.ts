// What `ProxySession` and the functions that open ports of a sprite do.
import { once } from 'node:events';
import { connect } from 'node:net';
import { ProxyManager, ProxySession, proxyPort, proxyPorts } from '@fly/sprites';
import { expect } from 'vitest';
import type { Drive, SdkStack, Step, Steps } from '../sdk-stack.ts';

/** A port of 0 is any free one, which the address of the session then has. */
const mapped = async ({ echoPort }: SdkStack) => ({ localPort: 0, remotePort: await echoPort() });

async function exchange(session: ProxySession | undefined): Promise<string> {
  const port = Number(session?.localAddr()?.split(':').at(-1));
  // The session listens on the first address of that name; another one would be tried where this one is late.
  const socket = connect({ host: 'localhost', port, autoSelectFamily: false });
  socket.write('hello');
  const [bytes] = await once(socket, 'data');
  socket.destroy();
  return String(bytes);
}

/** The service behind the port is there before the machine sleeps. */
function withEcho(drive: Drive): Step {
  return {
    prepare: async ({ echoPort }) => {
      await echoPort();
      return drive;
    },
  };
}

function withSession(run: (session: ProxySession) => Promise<void>): Step {
  return withEcho(async (stack) => {
    const { localPort, remotePort } = await mapped(stack);
    const session = await proxyPort(stack.client, stack.sprite.name, localPort, remotePort);
    await run(session);
    session.close();
  });
}

export const proxySteps: Steps = {
  'Sprite.proxyPort': withEcho(async (stack) => {
    const { localPort, remotePort } = await mapped(stack);
    const session = await stack.sprite.proxyPort(localPort, remotePort);
    expect(await exchange(session)).toBe('hello');
    session.close();
  }),
  'Sprite.proxyPorts': withEcho(async (stack) => {
    const sessions = await stack.sprite.proxyPorts([await mapped(stack), await mapped(stack)]);
    for (const session of sessions) expect(await exchange(session)).toBe('hello');
    for (const session of sessions) session.close();
  }),
  'proxyPort()': withSession(async (session) => expect(await exchange(session)).toBe('hello')),
  'proxyPorts()': withEcho(async (stack) => {
    const [session] = await proxyPorts(stack.client, stack.sprite.name, [await mapped(stack)]);
    expect(await exchange(session)).toBe('hello');
    session?.close();
  }),
  'ProxySession.start': withEcho(async (stack) => {
    const target = { ...(await mapped(stack)), remoteHost: '127.0.0.1' };
    const session = new ProxySession(stack.client, stack.sprite.name, target);
    await session.start();
    expect(await exchange(session)).toBe('hello');
    session.close();
  }),
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
