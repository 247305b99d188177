// Reads which processes run over a control connection out of what passes in both directions: the program of each, and its exit code.
import { basename } from 'node:path';
import { z } from 'zod';
import { CONTROL_PREFIX, controlEnd, controlStart } from '../../contract/processes.ts';
import { MessageReader } from '../../core/websocket/message-reader.ts';

/** The name of a program in a longer frame stays unknown. */
const START_CAP_BYTES = 64 * 1024;
const END_CAP_BYTES = 4 * 1024;

const args = z.object({ cmd: z.array(z.string()).min(1) });

export interface ControlledProcess {
  /** The name of the program without its directory; undefined when it could not be read. */
  readonly command: string | undefined;
}

export interface ControlReaderOptions {
  readonly onStart: (process: ControlledProcess) => void;
  /** `exit_code` is undefined when the connection was over before the process, and when the process was refused. */
  readonly onEnd: (process: ControlledProcess, exit_code: number | undefined) => void;
}

export class ControlReader {
  readonly #up: MessageReader;
  readonly #down: MessageReader;
  readonly #options: ControlReaderOptions;
  /** The process that runs, as far as it is known: a caller who asks for another one meanwhile gets none. */
  #running: ControlledProcess | undefined;

  constructor(options: ControlReaderOptions) {
    this.#options = options;
    const texts = (cap_bytes: number, onText: (json: unknown) => void) =>
      new MessageReader({
        textCap_bytes: cap_bytes,
        binaryCap_bytes: 0,
        onMessage: (payload) => onText(parseControl(payload)),
      });
    this.#up = texts(START_CAP_BYTES, (json) => this.#onStart(json));
    this.#down = texts(END_CAP_BYTES, (json) => this.#onEnd(json));
  }

  fromCaller(chunk: Buffer): void {
    this.#up.push(chunk);
  }

  fromMachine(chunk: Buffer): void {
    this.#down.push(chunk);
  }

  /** The connection is over, or the process was refused. */
  end(): void {
    if (this.#running !== undefined) this.#finish(undefined);
  }

  #onStart(json: unknown): void {
    const start = controlStart.safeParse(json).data;
    if (start?.op !== 'exec' || this.#running !== undefined) return;
    const program = args.safeParse(start.args).data?.cmd[0];
    this.#running = { command: program === undefined ? undefined : basename(program) };
    this.#options.onStart(this.#running);
  }

  #onEnd(json: unknown): void {
    const end = controlEnd.safeParse(json).data;
    if (end?.type === 'op.complete') this.#finish(end.args.exitCode);
    else if (end !== undefined) this.end();
  }

  #finish(exit_code: number | undefined): void {
    const process = this.#running ?? { command: undefined };
    this.#running = undefined;
    this.#options.onEnd(process, exit_code);
  }
}

function parseControl(payload: Buffer): unknown {
  const text = payload.toString();
  if (!text.startsWith(CONTROL_PREFIX)) return undefined;
  try {
    return JSON.parse(text.slice(CONTROL_PREFIX.length));
  } catch {
    return undefined;
  }
}
