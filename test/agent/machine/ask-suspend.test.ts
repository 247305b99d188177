import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { askSuspend } from '../../../src/agent/machine/ask-suspend.ts';
import { tempDir } from '../../support/temp-dir.ts';

const PATH = '/v1/apps/a/machines/m/suspend';

function api(path: string) {
  return {
    origin: 'http://flaps',
    socketPath: path,
    headers: () => ({ 'remora-generation': '3' }),
    dispatcher: () => {
      throw new Error('the ask takes a fresh connection, never the pool');
    },
  };
}

async function machinesApi(listener: RequestListener): Promise<{ path: string; calls: string[]; server: Server }> {
  const calls: string[] = [];
  const path = join(tempDir(), 'api.sock');
  const server = createServer((request, response) => {
    calls.push(`${request.method} ${request.url} ${request.headers['remora-generation']}`);
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { path, calls, server };
}

describe('asking the machines API', () => {
  it('asks once with the identity of the agent and takes any 2xx', async () => {
    const { path, calls } = await machinesApi((_request, response) => response.writeHead(202).end('{"ok":true}'));
    await askSuspend(api(path), PATH);
    expect(calls).toEqual([`POST ${PATH} 3`]);
  });

  it.each(['/prefix', '/prefix/', '/'])('asks below the path of the address, %s', async (prefix) => {
    const { path, calls } = await machinesApi((_request, response) => response.end());
    await askSuspend({ ...api(path), origin: `http://flaps${prefix}` }, PATH);
    expect(calls).toEqual([`POST ${prefix === '/' ? '' : '/prefix'}${PATH} 3`]);
  });

  it.each([
    [500, 'out of snapshots'],
    [412, 'machine still has an active lease'],
  ])('says what the platform said on a %i', async (status, words) => {
    const { path, calls } = await machinesApi((_request, response) => response.writeHead(status).end(words));
    await expect(askSuspend(api(path), PATH)).rejects.toMatchObject({
      code: 'upstream_refused',
      message: expect.stringContaining(words),
      details: { status },
    });
    expect(calls).toHaveLength(1);
  });

  it('says that nobody is there', async () => {
    await expect(askSuspend(api(join(tempDir(), 'none')), PATH)).rejects.toMatchObject({ code: 'upstream_failed' });
  });

  it('gives up on an API that takes the call and never answers, without asking again', async () => {
    const { path, calls } = await machinesApi(() => undefined);
    await expect(askSuspend(api(path), PATH, 2_000)).rejects.toMatchObject({ code: 'upstream_timeout' });
    expect(calls).toHaveLength(1);
  });

  it('does not ask again when the connection breaks off before the answer', async () => {
    const path = join(tempDir(), 'api.sock');
    let connections = 0;
    const server = createTcpServer((socket) => {
      connections += 1;
      socket.once('data', () => socket.destroy());
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    onTestFinished(() => void server.close());
    await expect(askSuspend(api(path), PATH)).rejects.toMatchObject({ code: 'upstream_failed' });
    expect(connections).toBe(1);
  });
});
