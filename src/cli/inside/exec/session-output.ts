// Writes what a program prints, and stops reading from the sprite while nobody takes it here.
import type { WebSocket } from 'ws';
import { execFrame } from '../../../contract/processes.ts';

export interface SessionOutputs {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
}

export class SessionOutput {
  readonly #socket: WebSocket;
  readonly #outputs: SessionOutputs;
  readonly #full = new Set<NodeJS.WritableStream>();

  constructor(socket: WebSocket, outputs: SessionOutputs) {
    this.#socket = socket;
    this.#outputs = outputs;
  }

  get isBlocked(): boolean {
    return this.#full.size > 0;
  }

  /** Returns the exit code when the frame holds one. `isTerminal`: the frame is output as it is. */
  take(frame: Buffer, isTerminal: boolean): number | undefined {
    const { stdout, stderr } = this.#outputs;
    if (isTerminal) this.#write(stdout, frame);
    else if (frame[0] === execFrame.stdout) this.#write(stdout, frame.subarray(1));
    else if (frame[0] === execFrame.stderr) this.#write(stderr, frame.subarray(1));
    else if (frame[0] === execFrame.exitCode) return frame[1] ?? 0;
    return undefined;
  }

  #write(stream: NodeJS.WritableStream, bytes: Buffer): void {
    if (stream.write(bytes) || this.#full.has(stream)) return;
    this.#full.add(stream);
    this.#socket.pause();
    stream.once('drain', () => {
      this.#full.delete(stream);
      if (!this.isBlocked) this.#socket.resume();
    });
  }
}
