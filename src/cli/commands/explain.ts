// `remora explain`: POST /v1/gateway/explain for a URL of the gateway.
import type { GatewayExplanation } from '../../contract/local/gateway.ts';
import { askAgent } from '../ask-agent.ts';
import type { Invocation } from '../command.ts';
import { exitCode, UsageError } from '../exit-code.ts';
import { parseGatewayTarget } from '../gateway-target.ts';
import { paint } from '../paint.ts';
import { toSpan, toTable } from '../table.ts';

export async function run(invocation: Invocation): Promise<number> {
  const [method = '', url = ''] = invocation.operands;
  const { out } = invocation;
  const target = parseGatewayTarget(url);
  if (target === undefined) throw new UsageError(`explain: ${url} is not /v1/gateway/PROVIDER/CONNECTOR/PATH`);
  const body = { method: method.toUpperCase(), ...target, platform: invocation.has('platform') };
  const answer = await askAgent(invocation, (client) => client.call('explainGateway', { body }));
  const verdicts = [answer.decision, answer.platform?.decision ?? 'allow'];
  const code = verdicts.every((verdict) => verdict === 'allow') ? exitCode.ok : exitCode.failed;
  if (invocation.has('json')) {
    out.line(JSON.stringify(answer));
    return code;
  }
  const rows = [
    ['decision', answer.code === undefined ? answer.decision : `${answer.decision} (${answer.code})`],
    ['because', answer.message],
    ['rule', answer.rule ?? '-'],
    ['read as', answer.reading ?? '-'],
    ['canonical', answer.canonical ?? '-'],
    ['forwarded', answer.forwarded === null ? '-' : `${answer.forwarded.method} ${answer.forwarded.path}`],
    ['sprite', answer.sprite === null ? '-' : [answer.sprite.name, ...answer.sprite.labels].join(' ')],
    ['policy', answer.policy === null ? '-' : JSON.stringify(answer.policy)],
    ['policy age', answer.policy_age_ms === null ? '-' : toSpan(answer.policy_age_ms)],
    ...toPlatformRows(answer.platform),
  ];
  for (const line of toTable(rows)) {
    out.line(
      line.startsWith('decision')
        ? paint(out, line, answer.decision, answer.decision === 'allow' ? 'good' : 'bad')
        : line,
    );
  }
  return code;
}

function toPlatformRows(platform: GatewayExplanation['platform']): string[][] {
  if (platform === undefined) return [];
  const { code, decision, message, forwarded } = platform;
  return [
    ['platform', `${code === undefined ? decision : `${decision} (${code})`}: ${message}`],
    ['sent to', forwarded === null ? '-' : `${forwarded.method} ${forwarded.url}`],
  ];
}
