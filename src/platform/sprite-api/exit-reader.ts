// Reads the exit code of a process out of what passes to its caller: a binary frame of two bytes or, of a terminal, a text frame.
import { execExit, execFrame } from '../../contract/processes.ts';
import { MessageReader } from '../../core/websocket/message-reader.ts';

/** The text frame with an exit code is shorter. */
const TEXT_CAP_BYTES = 64;
/** The kind of the frame, and the code. */
const EXIT_BYTES = 2;

export class ExitReader {
  readonly #reader: MessageReader;
  #exit_code: number | undefined;

  /** A terminal's binary frames are what it shows, whatever their first byte. */
  constructor(isTerminal: boolean) {
    this.#reader = new MessageReader({
      textCap_bytes: isTerminal ? TEXT_CAP_BYTES : 0,
      binaryCap_bytes: isTerminal ? 0 : EXIT_BYTES,
      onMessage: (payload, isBinary) => {
        this.#exit_code = isBinary ? toCode(payload, this.#exit_code) : (parseExit(payload) ?? this.#exit_code);
      },
    });
  }

  get exit_code(): number | undefined {
    return this.#exit_code;
  }

  push(chunk: Buffer): void {
    this.#reader.push(chunk);
  }
}

function toCode(payload: Buffer, before: number | undefined): number | undefined {
  return payload[0] === execFrame.exitCode ? payload[1] : before;
}

function parseExit(payload: Buffer): number | undefined {
  try {
    return execExit.safeParse(JSON.parse(payload.toString())).data?.exit_code;
  } catch {
    return undefined;
  }
}
