// `remora wait`: until the replica has a transaction (read your own writes).
import { parseDuration } from '../../contract/duration.ts';
import { askAgent } from '../ask-agent.ts';
import type { Invocation } from '../command.ts';
import { exitCode, UsageError } from '../exit-code.ts';
import { toSpan, toTable } from '../table.ts';

const DEFAULT = '30s';
/** The agent answers at its limit by itself; this is for an agent that does not. */
const MARGIN_MS = 5_000;

export async function run(invocation: Invocation): Promise<number> {
  const [db = '', txid = ''] = invocation.operands;
  const timeout = invocation.text('timeout') ?? DEFAULT;
  const timeout_ms = parseDuration(timeout);
  if (timeout_ms === undefined) throw new UsageError(`wait: --timeout takes a time such as 10s, not ${timeout}`);
  const position = await askAgent(invocation, (client) =>
    client.call('waitForTransaction', {
      params: { db },
      query: { txid, timeout },
      timeout_ms: timeout_ms + MARGIN_MS,
    }),
  );
  if (invocation.has('json')) {
    invocation.out.line(JSON.stringify(position));
    return exitCode.ok;
  }
  const rows = [
    ['DATABASE', 'TXID', 'CHECKSUM', 'SIZE', 'LAG', 'STATE'],
    [
      position.db,
      position.txID,
      position.postApplyChecksum,
      `${position.size_bytes} bytes`,
      toSpan(position.lag_ms),
      position.state,
    ],
  ];
  for (const line of toTable(rows)) invocation.out.line(line);
  return exitCode.ok;
}
