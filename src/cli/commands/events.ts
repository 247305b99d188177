// `remora events`: the agent's event stream, one line each.
import type { EventLine } from '../../contract/local/events.ts';
import { askAgent } from '../ask-agent.ts';
import type { Invocation } from '../command.ts';
import { exitCode, UsageError } from '../exit-code.ts';
import { toPrintable } from '../table.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { out } = invocation;
  const since = invocation.text('since');
  if (since !== undefined && !/^\d{1,15}$/.test(since))
    throw new UsageError(`events: --since takes a number, not ${since}`);
  const types = invocation.text('types');
  const query = { ...(since === undefined ? {} : { since: Number(since) }), ...(types === undefined ? {} : { types }) };
  return await askAgent(invocation, async (client) => {
    for await (const line of client.stream('watchEvents', { query })) {
      out.line(invocation.has('json') ? JSON.stringify(line) : toText(line));
      if (line.type === 'error') return exitCode.failed;
    }
    out.note('the agent ended the stream');
    return exitCode.failed;
  });
}

/** `seq  time  type  field=value …`; without number and time for a line that is no event. */
export function toText(line: EventLine): string {
  const { type, seq, time, generation, ...fields } = {
    seq: undefined,
    time: undefined,
    generation: undefined,
    ...line,
  };
  const isEvent = type !== 'hello' && type !== 'gap' && type !== 'error';
  const rest = Object.entries(isEvent ? fields : { seq, ...fields })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const words = isEvent ? [String(seq), String(time), type, ...rest] : [type, ...rest];
  return toPrintable(words.join('  '));
}
