// A provider of models behind a real platform behind a real agent process with both of its doors: what an application sees.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { Secret } from '../../src/core/secret.ts';
import { type AgentProcess, startAgent } from './agent-process.ts';
import { MODEL_KEY, type ModelProvider, openModelProvider } from './model-provider.ts';
import { openTestPlatform } from './open-platform.ts';
import { tempDir } from './temp-dir.ts';
import { untilJudged } from './until-judged.ts';

export interface ModelStack {
  readonly provider: ModelProvider;
  readonly agent: AgentProcess;
  /** The origin of the loopback listener. */
  readonly origin: string;
  /** A capability token; of all connectors when none is named. `expire` in seconds. */
  createToken(connector_id?: string, expire?: number): Promise<string>;
  /** Ends the capability tokens of a connector, or all of them. */
  revokeTokens(connector_id?: string): Promise<void>;
}

const access_policy = { allow_all: true, blocked_endpoints: ['/v1/files*'] };
const list = z.object({ connections: z.array(z.object({ base_urls: z.object({ tcp: z.string() }) })).min(1) });
const made = z.object({ token: z.string() });
const known = z.object({ tokens: z.array(z.object({ id: z.string(), connector_id: z.string().nullable() })).min(1) });

/** The connectors are `conn_openai`, `conn_anthropic` and `conn_gemini`. */
export async function openModelStack(env: Readonly<Record<string, string>> = {}): Promise<ModelStack> {
  const provider = await openModelProvider();
  const entry = (name: string, header: string, prefix: string) => ({
    provider: name,
    display_name: name,
    description: 'of a test',
    address: { type: 'fixed' as const, url: provider.url },
    injection: { in: 'header' as const, name: header, prefix },
    allow_http: true,
    sample_path: '/v1/models',
  });
  const { admin, url } = await openTestPlatform({
    catalogue: [
      entry('openai', 'authorization', 'Bearer '),
      entry('anthropic', 'x-api-key', ''),
      entry('gemini', 'authorization', 'Bearer '),
    ],
  });
  const organization = 'acme';
  const api_key = new Secret(MODEL_KEY);
  for (const name of ['openai', 'anthropic', 'gemini']) {
    await admin.createConnector({ organization, provider: name, api_key, id: `conn_${name}`, access_policy });
  }
  await admin.createSprite({ organization, name: 'dev-1' });
  const dir = tempDir();
  const tokenFile = join(dir, 'token');
  writeFileSync(tokenFile, (await admin.createToken({ organization, sprite: 'dev-1' })).reveal());
  const settings = { REMORA_BASE_URL: url, REMORA_SPRITE: 'dev-1', REMORA_TOKEN_FILE: tokenFile };
  const agent = await startAgent({ ...settings, REMORA_LISTEN: '127.0.0.1:0', ...env }, dir);
  await untilJudged(agent);
  const listed = list.parse((await agent.get('/v1/gateway/list')).json);
  return {
    provider,
    agent,
    origin: new URL(listed.connections[0]?.base_urls.tcp ?? '').origin,
    async createToken(connector_id, expire) {
      const body = JSON.stringify({ connector_id, expire });
      const headers = { 'content-type': 'application/json' };
      return made.parse((await agent.ask({ method: 'POST', target: '/v1/gateway/tokens', headers, body })).json).token;
    },
    async revokeTokens(connector_id) {
      const { tokens } = known.parse((await agent.get('/v1/gateway/tokens')).json);
      const meant = tokens.filter((token) => connector_id === undefined || token.connector_id === connector_id);
      for (const { id } of meant) await agent.ask({ method: 'DELETE', target: `/v1/gateway/tokens/${id}` });
    },
  };
}
