// What a caller sends to a process, and the frames that it gets. Pure.
import { type ExecSteering, execFrame, execSteering } from '../../contract/processes.ts';

export type Input =
  | { readonly type: 'stdin'; readonly bytes: Buffer }
  | { readonly type: 'end_of_stdin' }
  | ExecSteering
  | { readonly type: 'unknown' };

const BRACE = 0x7b;
/** Longer frames are never steering. */
const STEERING_CAP_BYTES = 256;

/**
 * Reads a frame. A terminal gets binary frames as they are, other processes by their first byte. `isSteeredByBytes`: over a control
 * connection a binary frame that is a whole steering text steers.
 */
export function parseInput(data: Buffer, isBinary: boolean, isTerminal: boolean, isSteeredByBytes: boolean): Input {
  if (!isBinary) return parseSteering(data) ?? { type: 'unknown' };
  const mayBeSteering = data[0] === BRACE && (isSteeredByBytes || !isTerminal);
  const steering = mayBeSteering ? parseSteering(data) : undefined;
  if (steering !== undefined) return steering;
  if (isTerminal) return { type: 'stdin', bytes: data };
  if (data[0] === execFrame.stdin) return { type: 'stdin', bytes: data.subarray(1) };
  return { type: data[0] === execFrame.endOfStdin ? 'end_of_stdin' : 'unknown' };
}

function parseSteering(data: Buffer): ExecSteering | undefined {
  if (data.length > STEERING_CAP_BYTES) return undefined;
  try {
    return execSteering.safeParse(JSON.parse(data.toString())).data;
  } catch {
    return undefined;
  }
}
