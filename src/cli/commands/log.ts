// `remora log`: the newest calls of the gateway, and with --follow new ones as they come.
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayRecord } from '../../contract/local/gateway.ts';
import { askAgent } from '../ask-agent.ts';
import type { Invocation, Output } from '../command.ts';
import { exitCode } from '../exit-code.ts';
import { parseWhole } from '../number-flag.ts';
import { paint } from '../paint.ts';
import { toPrintable } from '../table.ts';

const LIMIT = 20;
const LIMIT_MAX = 1_000;
const POLL_MS = 500;

export async function run(invocation: Invocation): Promise<number> {
  const { out } = invocation;
  const limit = parseWhole('limit', invocation.text('limit'), LIMIT, 1, LIMIT_MAX);
  const show = (record: GatewayRecord) => {
    if (invocation.has('json')) out.line(JSON.stringify(record));
    else out.line(toLine(out, record));
  };
  return await askAgent(invocation, async (client) => {
    const newest = await client.call('gatewayLog', { query: { limit } });
    newest.records.forEach(show);
    if (newest.records.length === 0 && !invocation.has('json')) out.note('no call has come through the gateway yet');
    if (newest.lost > 0) out.note(`${newest.lost} records could not be kept since the agent began`);
    let after = newest.next ?? 0;
    while (invocation.has('follow')) {
      const page = await client.call('gatewayLog', { query: { limit: LIMIT_MAX, after } });
      page.records.forEach(show);
      after = page.next ?? after;
      if (page.records.length < LIMIT_MAX) await sleep(POLL_MS);
    }
    return exitCode.ok;
  });
}

/** `time  decision  status  method provider/connector path  ms  …`, then the code of a refusal or the rule that allowed the call. */
export function toLine(out: Output, record: GatewayRecord): string {
  const { decision, ended, input_tokens, output_tokens } = record;
  const words = [
    record.time,
    decision.padEnd(6),
    String(record.status ?? '-').padEnd(3),
    ...(record.count === 1 ? [] : [`${record.count} times`]),
    `${record.method} ${record.provider || '-'}/${record.connector_id || '-'} ${record.path}`,
    `${record.ms} ms`,
    `${record.response_bytes} bytes`,
    ...(record.code === null ? [] : [`code=${record.code}`]),
    ...(record.rule === null ? [] : [`rule=${record.rule}`]),
    ...(ended === null || ended === 'complete' ? [] : [`ended=${ended}`]),
    ...(record.usage_known ? [`tokens=${input_tokens ?? '?'}+${output_tokens ?? '?'}`] : []),
  ];
  return paint(out, toPrintable(words.join('  ')), decision, decision === 'allow' ? 'good' : 'bad');
}
