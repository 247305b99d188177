// `remora explain`: POST /v1/gateway/explain for a URL of the gateway.
import type { Client } from '../../client/client.ts';
import { UpstreamError } from '../../client/upstream-error.ts';
import type { agentOperations } from '../../contract/agent-operations.ts';
import type { GatewayExplanation, LocalConnection } from '../../contract/local/gateway.ts';
import { askAgent } from '../ask-agent.ts';
import type { Invocation } from '../command.ts';
import { exitCode, UsageError } from '../exit-code.ts';
import { findConnector } from '../find-connector.ts';
import { parseGatewayTarget } from '../gateway-target.ts';
import { paint } from '../paint.ts';
import { toSpan, toTable } from '../table.ts';

export async function run(invocation: Invocation): Promise<number> {
  const [method = '', url = ''] = invocation.operands;
  const { out } = invocation;
  const target = parseGatewayTarget(url);
  if (target === undefined) throw new UsageError(`explain: ${url} is not /v1/gateway/PROVIDER/CONNECTOR/PATH`);
  const answer = await askAgent(invocation, async (client) => {
    const { connector_id } = target;
    const named = findConnector(await listConnectors(client, target.provider), connector_id);
    const call = { ...target, connector_id: named?.id ?? connector_id };
    const body = { method: method.toUpperCase(), ...call, platform: invocation.has('platform') };
    return await client.call('explainGateway', { body });
  });
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

/** Empty where the agent has no policies: the explanation says so then. */
async function listConnectors(
  client: Client<typeof agentOperations>,
  provider: string,
): Promise<readonly LocalConnection[]> {
  try {
    const { connections } = await client.call('listGateway');
    return connections.filter((each) => each.provider === provider);
  } catch (error) {
    if (error instanceof UpstreamError && error.status !== undefined) return [];
    throw error;
  }
}

function toPlatformRows(platform: GatewayExplanation['platform']): string[][] {
  if (platform === undefined) return [];
  const { code, decision, message, forwarded } = platform;
  return [
    ['platform', `${code === undefined ? decision : `${decision} (${code})`}: ${message}`],
    ['sent to', forwarded === null ? '-' : `${forwarded.method} ${forwarded.url}`],
  ];
}
