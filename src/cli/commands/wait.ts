// `remora wait`: waits until a port opens or closes, or until the replica has a transaction (to read one's own writes).
import type { z } from 'zod';
import type { Client } from '../../client/client.ts';
import type { agentOperations } from '../../contract/agent-operations.ts';
import { parseDuration } from '../../contract/duration.ts';
import { portCondition, type portWaitAnswer } from '../../contract/local/ports.ts';
import { askAgent } from '../ask-agent.ts';
import type { Invocation } from '../command.ts';
import { exitCode, UsageError } from '../exit-code.ts';
import { toPrintable, toSpan, toTable } from '../table.ts';
import { parseWaitTarget } from '../wait-target.ts';

const DEFAULT = '30s';
/** How long the client waits beyond the agent's own limit, in case the agent does not answer. */
const MARGIN_MS = 5_000;

type AgentClient = Client<typeof agentOperations>;

interface Limit {
  readonly timeout: string;
  readonly timeout_ms: number;
}

interface Waited {
  readonly answer: unknown;
  readonly lines: readonly string[];
}

export async function run(invocation: Invocation): Promise<number> {
  const target = parseWaitTarget(invocation.operands);
  const limit = parseLimit(invocation.text('timeout') ?? DEFAULT);
  const until = portCondition.safeParse(invocation.text('until') ?? 'listen');
  if (!until.success) throw new UsageError('wait: --until takes listen, http or closed');
  if (target.type !== 'port' && invocation.has('until')) throw new UsageError('wait: --until is for a port');
  const { answer, lines } = await askAgent(invocation, (client) =>
    target.type === 'port'
      ? waitForPort(client, target.port, until.data, limit)
      : waitForTransaction(client, target, limit),
  );
  if (invocation.has('json')) invocation.out.line(JSON.stringify(answer));
  else for (const line of lines) invocation.out.line(line);
  return exitCode.ok;
}

function parseLimit(timeout: string): Limit {
  const timeout_ms = parseDuration(timeout);
  if (timeout_ms === undefined) throw new UsageError(`wait: --timeout takes a time such as 10s, not ${timeout}`);
  return { timeout, timeout_ms: timeout_ms + MARGIN_MS };
}

async function waitForPort(
  client: AgentClient,
  port: number,
  until: z.output<typeof portCondition>,
  { timeout, timeout_ms }: Limit,
): Promise<Waited> {
  const answer = await client.call('waitForPort', {
    params: { port: String(port) },
    query: { until, timeout },
    timeout_ms,
  });
  return { answer, lines: [toPortLine(port, answer)] };
}

function toPortLine(port: number, { until, waited_ms, listener }: z.output<typeof portWaitAnswer>): string {
  const words = { listen: 'listens', http: 'answers HTTP', closed: 'is closed' } as const;
  const who = listener === null ? [] : [`pid ${listener.pid}`, listener.command ?? '', listener.address];
  return toPrintable(
    [`port ${port} ${words[until]}`, ...who, `after ${toSpan(waited_ms)}`].filter((word) => word !== '').join('  '),
  );
}

async function waitForTransaction(
  client: AgentClient,
  { db, txid }: { readonly db: string; readonly txid: string },
  { timeout, timeout_ms }: Limit,
): Promise<Waited> {
  const answer = await client.call('waitForTransaction', { params: { db }, query: { txid, timeout }, timeout_ms });
  const { txID, postApplyChecksum, size_bytes, lag_ms, state } = answer;
  const row = [answer.db, txID, postApplyChecksum, `${size_bytes} bytes`, toSpan(lag_ms), state];
  return { answer, lines: toTable([['DATABASE', 'TXID', 'CHECKSUM', 'SIZE', 'LAG', 'STATE'], row]) };
}
