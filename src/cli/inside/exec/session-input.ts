// Passes what is typed or piped in on to a program, at the pace at which it is taken.
import type { ReadStream } from 'node:tty';
import type { WebSocket } from 'ws';
import { execFrame } from '../../../contract/processes.ts';
import { createLeaveKey } from './leave-key.ts';
import { openRawTerminal } from './raw-terminal.ts';

/** Nothing more is read while more than this waits. */
const AHEAD_BYTES = 256 * 1024;
const STDIN = Buffer.from([execFrame.stdin]);
const END_OF_STDIN = Buffer.from([execFrame.endOfStdin]);
/** What a terminal takes for the end of the input: Ctrl-D. */
const END_OF_TYPING = Buffer.from([4]);

export interface SessionInputOptions {
  readonly socket: WebSocket;
  readonly input: ReadStream;
  readonly isTerminal: boolean;
  /** The keys that leave were typed. */
  readonly onLeave: () => void;
}

/** Reads until it is disposed of. The keys of a terminal come one by one and unread by it until then. */
export function startSessionInput({ socket, input, isTerminal, onLeave }: SessionInputOptions): Disposable {
  const isTyped = isTerminal && input.isTTY;
  const leaveKey = isTyped ? createLeaveKey() : undefined;
  const send = (bytes: Buffer) => {
    const frame = isTerminal ? bytes : Buffer.concat([STDIN, bytes]);
    socket.send(frame, { binary: true }, () => {
      if (input.isPaused() && socket.bufferedAmount <= AHEAD_BYTES / 2) input.resume();
    });
    if (socket.bufferedAmount > AHEAD_BYTES) input.pause();
  };
  const onData = (bytes: Buffer) => {
    const passed = leaveKey === undefined ? bytes : leaveKey.take(bytes);
    if (passed === undefined) onLeave();
    else if (passed.length > 0) send(passed);
  };
  const onEnd = () => socket.send(isTerminal ? END_OF_TYPING : END_OF_STDIN, { binary: true });
  const terminal = isTyped ? openRawTerminal(input) : undefined;
  input.on('data', onData).once('end', onEnd).once('error', onEnd);
  return {
    [Symbol.dispose]() {
      input.off('data', onData).off('end', onEnd).off('error', onEnd);
      terminal?.[Symbol.dispose]();
      // A pipe that nobody closes must not keep this process running.
      input.on('error', () => undefined).destroy();
    },
  };
}
