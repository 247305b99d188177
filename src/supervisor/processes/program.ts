// What runs for a session: a process with pipes, or one in a terminal.
import type { Output } from './output-ring.ts';

export interface ProgramTarget {
  onOutput(output: Output): void;
  /** The standard input takes bytes again. */
  onRoom(): void;
}

export interface Program {
  /** 0 for a program that could not be started. */
  readonly pid: number;
  /** Resolves with the exit code, or 128 and the number of the signal. */
  readonly exited: Promise<number>;
  /** Resolves once it has ended and all that it printed is passed on. */
  readonly drained: Promise<void>;
  /** Resolves when no process that it has left in the background can print any more. */
  readonly closed: Promise<unknown>;
  /** False when nothing more should be written until there is room. */
  write(bytes: Buffer): boolean;
  endInput(): void;
  /** Stops and goes on reading what it prints. */
  pause(): void;
  resume(): void;
  resize(cols: number, rows: number): void;
  /** Signals its process group. */
  signal(name: NodeJS.Signals): void;
  /** Ends everything that it has started; it is killed after `grace_ms`. */
  end(grace_ms: number): Promise<void>;
  /** Reads nothing more of what it has left in the background. */
  release(): void;
}
