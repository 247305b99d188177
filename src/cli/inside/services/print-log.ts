// Prints the log events of a service as they come: what it printed on its standard output to ours, all else to standard error.
import { UpstreamError } from '../../../client/upstream-error.ts';
import type { ServiceLogEvent } from '../../../contract/services.ts';
import type { Invocation } from '../../command.ts';
import { LostError } from '../../exit-code.ts';
import { toLogText } from './log-text.ts';

const LOST = 'the connection to the sprite was lost';

export interface PrintedLog {
  /** Where the sprite keeps the log; undefined where it does not say. */
  readonly path: string | undefined;
  /** It ended by itself meanwhile. */
  readonly hasEnded: boolean;
}

/** Throws LostError when the stream ends before its last event. `showsLife`: also that it was started, has ended and the like. */
export async function printLog(
  { out, has }: Invocation,
  events: AsyncIterable<ServiceLogEvent>,
  showsLife: boolean,
): Promise<PrintedLog> {
  const clean = process.stdout.isTTY ? toLogText : (line: string) => line;
  let hasEnded = false;
  for await (const event of toLoud(events)) {
    if (has('json')) out.line(JSON.stringify(event));
    else if (event.type === 'stdout') out.line(clean(event.data));
    else if (event.type === 'stderr' || event.type === 'error') out.note(toLogText(event.data));
    else if (showsLife && event.type !== 'complete') out.note(toLifeText(event));
    if (event.type === 'exit') hasEnded = true;
    if (event.type === 'complete') return { path: event.log_files?.combined, hasEnded };
  }
  throw new LostError(LOST);
}

async function* toLoud(events: AsyncIterable<ServiceLogEvent>): AsyncGenerator<ServiceLogEvent> {
  try {
    yield* events;
  } catch (error) {
    const isLost = error instanceof UpstreamError && error.code === 'connection_failed' && error.sent;
    throw isLost ? new LostError(`${LOST}: ${error.message}`) : error;
  }
}

function toLifeText(event: Exclude<ServiceLogEvent, { type: 'stdout' | 'stderr' | 'error' | 'complete' }>): string {
  switch (event.type) {
    case 'started':
    case 'stopping':
      return event.type;
    case 'stopped':
      return `stopped with exit code ${event.exit_code}`;
    case 'exit':
      return `ended by itself with exit code ${event.exit_code}`;
    default:
      return event satisfies never;
  }
}
