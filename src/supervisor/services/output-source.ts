// Where the output of a program is read, in whatever way it comes.
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { PIECE_BYTES } from './line-cutter.ts';

export interface OutputSource {
  /** Goes on after `onBytes` has returned false. */
  resume(): void;
  destroy(): void;
  /** Resolves when it has ended or is destroyed. */
  readonly closed: Promise<void>;
}

/** Gets at most `PIECE_BYTES`, whose memory changes once it has returned. False: nothing more until `resume`. */
export type OnBytes = (bytes: Buffer) => boolean;

/** All pipes share it: each read is used up before the next one. */
const shared = Buffer.allocUnsafeSlow(PIECE_BYTES);

/** Takes over the descriptor. */
export function readPipe(fd: number, onBytes: OnBytes): OutputSource {
  const callback = (length: number) => onBytes(shared.subarray(0, length));
  return toSource(new Socket({ fd, readable: true, writable: false, onread: { buffer: shared, callback } }));
}

export function readStream(stream: Readable, onBytes: OnBytes): OutputSource {
  stream.on('data', (chunk: Buffer) => {
    let isWanted = true;
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) isWanted = onBytes(chunk.subarray(at, at + PIECE_BYTES));
    if (!isWanted) stream.pause();
  });
  return toSource(stream);
}

function toSource(stream: Readable): OutputSource {
  // A pipe that breaks ends; what was read is passed on.
  stream.on('error', () => undefined);
  return {
    resume: () => void stream.resume(),
    destroy: () => void stream.destroy(),
    closed: new Promise((resolve) => stream.once('close', resolve)),
  };
}
