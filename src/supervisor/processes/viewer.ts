// One caller who sees a session, and writes to it.
import { execFrame } from '../../contract/processes.ts';
import type { Connection } from './connection.ts';
import { type Input, parseInput } from './input-frame.ts';
import type { Output } from './output-ring.ts';

export interface ViewerOptions {
  readonly connection: Connection;
  readonly isTerminal: boolean;
  /** Steering comes in binary frames too. */
  readonly isSteeredByBytes: boolean;
  /** Says that the process is over, after all its output. */
  readonly finish: (exit_code: number) => void;
}

export interface ViewerListener {
  onInput(input: Input): void;
  onGone(): void;
  onRoom(): void;
}

export class Viewer {
  readonly connection: Connection;
  readonly #options: ViewerOptions;

  constructor(options: ViewerOptions) {
    this.connection = options.connection;
    this.#options = options;
  }

  listen(listener: ViewerListener): void {
    const { isTerminal, isSteeredByBytes } = this.#options;
    this.connection.listen({
      onMessage: (data, isBinary) => listener.onInput(parseInput(data, isBinary, isTerminal, isSteeredByBytes)),
      onGone: () => listener.onGone(),
      onRoom: () => listener.onRoom(),
    });
  }

  show({ kind, bytes }: Output): void {
    if (this.#options.isTerminal) this.connection.send(bytes);
    else this.connection.send(Buffer.concat([kind === 'stdout' ? STDOUT : STDERR, bytes]));
  }

  finish(exit_code: number): void {
    this.#options.finish(exit_code);
  }
}

const STDOUT = Buffer.from([execFrame.stdout]);
const STDERR = Buffer.from([execFrame.stderr]);
