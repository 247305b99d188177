// What one decision on a plain path costs: the target read, the policy asked, as for each call.
import { compilePolicy, decide } from '../../../src/core/gateway/access-policy.ts';
import { parseGatewayTarget } from '../../../src/core/gateway/gateway-target.ts';

const ROUNDS = 200_000;

/** Microseconds each, the median of several runs. */
export function measureDecision_us(): number {
  const policy = compilePolicy({
    name_prefix: 'bench',
    allowed_endpoints: ['/v1/chat/*', '/v1/models', '/v1/embeddings'],
    blocked_endpoints: ['/v1/admin*', '/v1/files', '/v1/fine_tuning/*'],
  });
  const sprite = { name: 'bench-1', labels: [] };
  const headers = ['Host', 'remora', 'Content-Type', 'application/json', 'Content-Length', '100', 'Accept', '*/*'];
  const runs: number[] = [];
  for (let run = 0; run < 7; run += 1) {
    let allowed = 0;
    const begun_ms = performance.now();
    for (let round = 0; round < ROUNDS; round += 1) {
      const target = parseGatewayTarget('POST', '/v1/gateway/openai/conn_1/v1/chat/completions', headers);
      if (target.type === 'target' && decide(policy, sprite, target.path).type === 'allow') allowed += 1;
    }
    if (allowed !== ROUNDS) throw new Error('the call was to be allowed');
    runs.push(((performance.now() - begun_ms) * 1_000) / ROUNDS);
  }
  return runs.sort((a, b) => a - b)[3] ?? Number.NaN;
}
