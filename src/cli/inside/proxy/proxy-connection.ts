// One connection to a port here, carried to a port in a sprite.
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { z } from 'zod';
import { type ProxyRequest, proxyResponse } from '../../../contract/proxy.ts';
import type { SpriteDoor } from '../sprite-door.ts';
import { watchConnection } from '../watch-connection.ts';
import { deliverFrames } from './deliver-frames.ts';
import { joinEnds } from './join-ends.ts';

const refusal = z.object({ status: z.literal('error'), message: z.string() });

/** Resolves when it is over. Throws when the port in the sprite cannot be reached. `local` is closed then. */
export async function carryConnection(door: SpriteDoor, local: Socket, port: number): Promise<void> {
  const gone = new AbortController();
  local.once('close', () => gone.abort()).on('error', () => gone.abort());
  try {
    const socket = await door.openWebSocket('/proxy', gone.signal);
    using _watched = watchConnection(
      socket,
      () => socket.isPaused,
      () => socket.terminate(),
    );
    await connect(socket, local, port, gone.signal);
    await joinEnds(socket, local);
  } catch (error) {
    // Who has hung up does not ask why it did not work.
    if (!gone.signal.aborted) throw error;
  } finally {
    local.destroy();
  }
}

/** Names the port, and resolves when the far end is connected to it; frames after that are delivered. */
async function connect(socket: WebSocket, local: Socket, port: number, gone: AbortSignal): Promise<void> {
  const answer = new Promise<string>((resolve, reject) => {
    socket.once('message', (data: Buffer) => {
      // Bytes may have come in the same read: ws emits them before anybody who waits for the answer runs, also when it is paused.
      deliverFrames(socket, local);
      resolve(data.toString());
    });
    socket.once('close', (_code, reason) => reject(new Error(reason.toString() || 'the connection was lost')));
  });
  const giveUp = () => socket.terminate();
  gone.addEventListener('abort', giveUp, { once: true });
  socket.send(JSON.stringify({ port } satisfies ProxyRequest));
  socket.resume();
  const value: unknown = JSON.parse(await answer);
  // A client that is gone from here on does not take back what it has sent.
  gone.removeEventListener('abort', giveUp);
  if (proxyResponse.safeParse(value).success) return;
  socket.terminate();
  throw new Error(refusal.safeParse(value).data?.message ?? 'the answer is not what was expected');
}
