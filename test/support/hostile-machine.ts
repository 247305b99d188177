// A machine whose root speaks HTTP/2 to the platform by hand: it reports and dials as an agent does, and then sends what it likes.
import type { Duplex } from 'node:stream';
import { onTestFinished } from 'vitest';
import type { PlayedMachine } from './channel-tenants.ts';
import { dialAs, reportMachine } from './dial-as.ts';
import { ACK, END_HEADERS, type Frame, frameTypes, readFrames, STATUS_OK, toFrame } from './http2-frames.ts';

export interface HostileMachine {
  readonly socket: Duplex;
  /** The identity with which it has dialled. */
  readonly identity: Record<string, string>;
  /** The number of the next stream that the platform opens. */
  stream(): Promise<number>;
  /** What the platform sends on its streams, as text. */
  readonly said: Map<number, string>;
  /** Accepts the next stream. */
  accept(): Promise<number>;
  /** Writes `block` again and again, for as long as the platform takes it. Resolves after `limit_bytes`, or when the channel is cut. */
  pour(block: Buffer, limit_bytes?: number): Promise<void>;
}

const POUR_BYTES = 64 * 1024 * 1024;

export async function openHostileMachine(url: string, machine: PlayedMachine): Promise<HostileMachine> {
  const identity = await reportMachine(url, machine);
  const socket = await dialAs(url, machine, identity);
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  const opened: number[] = [];
  const waiting: ((stream: number) => void)[] = [];
  const said = new Map<number, string>();
  readFrames(socket, ({ type, flags, stream, payload }: Frame) => {
    if (type === frameTypes.settings && (flags & ACK) === 0) socket.write(toFrame(frameTypes.settings, ACK, 0));
    if (type === frameTypes.ping && (flags & ACK) === 0) socket.write(toFrame(frameTypes.ping, ACK, 0, payload));
    if (type === frameTypes.data) said.set(stream, (said.get(stream) ?? '') + payload.toString('latin1'));
    if (type !== frameTypes.headers) return;
    const take = waiting.shift();
    if (take === undefined) opened.push(stream);
    else take(stream);
  });
  socket.write(toFrame(frameTypes.settings, 0, 0));
  const next = (): Promise<number> => {
    const first = opened.shift();
    if (first !== undefined) return Promise.resolve(first);
    return new Promise((resolve) => waiting.push(resolve));
  };
  return {
    socket,
    identity,
    said,
    stream: next,
    async accept() {
      const stream = await next();
      socket.write(toFrame(frameTypes.headers, END_HEADERS, stream, STATUS_OK));
      return stream;
    },
    async pour(block, limit_bytes = POUR_BYTES) {
      let sent_bytes = 0;
      while (sent_bytes < limit_bytes && !socket.destroyed) {
        sent_bytes += block.length;
        if (socket.write(block)) continue;
        await new Promise<void>((resolve) => {
          const timer = setTimeout(done, 2_000);
          function done() {
            clearTimeout(timer);
            socket.off('drain', done).off('close', done);
            resolve();
          }
          socket.once('drain', done).once('close', done);
        });
        if (socket.writableNeedDrain) return;
      }
    },
  };
}
