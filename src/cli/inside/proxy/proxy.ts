// `remora proxy`: makes ports of a sprite reachable here, until it is stopped.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { toRefusal } from '../../../client/failure.ts';
import { readText } from '../../../client/read-answer.ts';
import { toErrorMessage } from '../../../core/error-message.ts';
import type { Invocation } from '../../command.ts';
import { exitCode, UsageError } from '../../exit-code.ts';
import { openStopSignals } from '../../stop-signals.ts';
import { toPrintable } from '../../table.ts';
import { askInside, type SpriteDoor } from '../sprite-door.ts';
import { carryConnection } from './proxy-connection.ts';
import { type ProxyPorts, parseProxyPorts } from './proxy-ports.ts';

const LOOPBACK = '127.0.0.1';

export async function run(invocation: Invocation): Promise<number> {
  const ports = invocation.operands.map(parseProxyPorts);
  using stop = openStopSignals(invocation.env);
  return await askInside(invocation, async (door) => {
    if (door.sprite === undefined) {
      throw new UsageError(`proxy: a port of this machine is here already; --sprite NAME reaches into another`);
    }
    await checkSprite(door);
    await using listening = new AsyncDisposableStack();
    for (const each of ports) listening.use(await listen(invocation, door, each));
    await stop.stopped;
    return exitCode.ok;
  });
}

/** A wrong token or name is known before the first connection. The machine is not woken for it. */
async function checkSprite(door: SpriteDoor): Promise<void> {
  const { statusCode: status, headers, body } = await door.request({ method: 'GET', path: '' });
  const text = await readText(body);
  if (status !== 200) throw toRefusal({ status, text, headers });
}

async function listen({ out }: Invocation, door: SpriteDoor, { local, remote }: ProxyPorts): Promise<AsyncDisposable> {
  // A client that has ended its sending still waits for its answer.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    carryConnection(door, socket, remote).catch((error: unknown) => {
      out.note(`error: port ${remote} of ${door.sprite}: ${toPrintable(toErrorMessage(error))}`);
    });
  });
  const open = new Set<{ destroy(): void }>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  server.listen(local, LOOPBACK);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  out.line(`${LOOPBACK}:${port} leads to port ${remote} of ${door.sprite}`);
  return {
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
