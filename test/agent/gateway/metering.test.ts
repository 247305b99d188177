// What is counted of calls: tokens in the audit log, and all of it in the metrics of a real daemon.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { startAgent } from '../../support/agent-process.ts';
import { ask } from '../../support/ask.ts';
import { openGatewayAgent } from '../../support/gateway-agent.ts';
import { readGatewayLog } from '../../support/gateway-log.ts';
import { openStandInPlatform, type StandInState } from '../../support/stand-in-platform.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { untilJudged } from '../../support/until-judged.ts';

const access_policy = { allow_all: true, blocked_endpoints: ['/blocked'] };
const connectors = [{ id: 'conn_1', provider: 'openai', access_policy }];
const base = '/v1/gateway/openai/conn_1';
const usage = '{"usage":{"prompt_tokens":9,"completion_tokens":12}}';

const onGateway: StandInState['onGateway'] = (request, response) => {
  const target = request.url ?? '';
  if (target.endsWith('/limit')) response.writeHead(429).end();
  else if (target.endsWith('/gzip')) {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
    response.end(gzipSync(`data: ${usage}\n\n`));
  } else if (target.endsWith('/events')) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"usage":null}\n\n');
    response.end('data: {"usage":{"prompt_tokens":3,"completion_tokens":4}}\n\ndata: [DONE]\n\n');
  } else if (target.endsWith('/broken')) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const started = 'data: {"type":"message_start","message":{"usage":{"input_tokens":25,"output_tokens":1}}}\n\n';
    response.write(started, () => setTimeout(() => response.destroy(), 50));
  } else response.writeHead(200, { 'content-type': 'application/json' }).end(usage);
};

describe('the tokens of a call', () => {
  it.each([
    ['json', { usage_known: true, input_tokens: 9, output_tokens: 12 }],
    ['events', { usage_known: true, input_tokens: 3, output_tokens: 4 }],
    ['gzip', { usage_known: false, input_tokens: null, output_tokens: null }],
    ['broken', { usage_known: false, input_tokens: null, output_tokens: null, ended: 'upstream_broke' }],
    ['blocked', { usage_known: false, input_tokens: null, output_tokens: null }],
  ])('%s', async (path, expected) => {
    const platform = await openStandInPlatform({ connectors, onGateway });
    const agent = await openGatewayAgent(platform.url);
    await ask(agent.path, { target: `${base}/${path}` }).catch(() => undefined);
    expect((await readGatewayLog(agent.path)).records).toMatchObject([expected]);
  });
});

describe('the metrics', () => {
  it('count calls by decision, connector and status, their time and their tokens', async () => {
    const platform = await openStandInPlatform({ connectors, onGateway });
    const dir = tempDir();
    const tokenFile = join(dir, 'token');
    writeFileSync(tokenFile, 'secret-token');
    const settings = { REMORA_BASE_URL: platform.url, REMORA_SPRITE: 'dev-1', REMORA_TOKEN_FILE: tokenFile };
    const agent = await startAgent(settings, dir);
    await untilJudged(agent);
    for (const path of ['json', 'events', 'limit', 'blocked', '%zz']) await agent.get(`${base}/${path}`);
    await agent.get('/v1/gateway/openai/conn_9/"invented\\name');
    await agent.get('/v1/gateway/openai/conn_invented/x');
    const { text } = await agent.get('/metrics');
    const labels = 'provider="openai",connector="conn_1"';
    for (const line of [
      `remora_gateway_calls_total{${labels},decision="allow",status="200",code=""} 2`,
      `remora_gateway_calls_total{${labels},decision="allow",status="429",code=""} 1`,
      `remora_gateway_calls_total{${labels},decision="deny",status="403",code="endpoint_blocked"} 1`,
      'remora_gateway_calls_total{provider="",connector="",decision="reject",status="404",code="unknown_connector"} 1',
      `remora_gateway_tokens_total{${labels},kind="input"} 12`,
      `remora_gateway_tokens_total{${labels},kind="output"} 16`,
      `remora_gateway_call_seconds_bucket{${labels},le="+Inf"} 3`,
      `remora_gateway_call_seconds_count{${labels}} 3`,
    ]) {
      expect(text.split('\n')).toContain(line);
    }
    expect(text).not.toContain('invented');
    expect(text).toMatch(/\n# TYPE remora_gateway_call_seconds histogram\n/);
    expect(text.endsWith('\n')).toBe(true);
  });
});
