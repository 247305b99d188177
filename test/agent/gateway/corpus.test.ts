import { describe, expect, it } from 'vitest';
import { openGatewayAgent, SPRITE_TOKEN } from '../../support/gateway-agent.ts';
import { corpusConnectors, type GatewayCase, gatewayCases } from '../../support/gateway-corpus.ts';
import { openRaw } from '../../support/raw-http.ts';
import { openStandInPlatform } from '../../support/stand-in-platform.ts';

function toRequest({ method, target, headers }: GatewayCase): string {
  const hasHost = headers.some(([name]) => name.toLowerCase() === 'host');
  const lines = [...(hasHost ? [] : [['Host', 'remora']]), ...headers].map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

describe('the recorded gateway cases, over a raw socket', () => {
  it.each(gatewayCases.map((entry) => [entry.id, entry] as const))('%s', async (_id, entry) => {
    const platform = await openStandInPlatform({
      ...(entry.sprite === null ? {} : { sprite: entry.sprite }),
      connectors: [...corpusConnectors].map(([id, provider]) => ({
        id,
        provider,
        access_policy: toPolicy(entry.policy),
      })),
    });
    const agent = await openGatewayAgent(platform.url);
    const caller = openRaw(agent.path, toRequest(entry));
    const text = await caller.until(/^HTTP\/1.1 \d{3} .*\r\n\r\n/s);
    const status = Number(text.slice(9, 12));
    switch (entry.expect) {
      case 'allow':
        expect(status).toBe(200);
        expect(platform.calls).toHaveLength(1);
        expect(platform.calls[0]).toMatchObject({ method: entry.method, target: entry.target });
        break;
      case 'deny':
        expect(status).toBe(403);
        expect(text).toMatch(/remora-error: (connection_denied|endpoint_blocked|endpoint_not_allowed)\r\n/);
        expect(platform.calls).toHaveLength(0);
        break;
      case 'reject':
        expect([400, 403, 404, 405, 414]).toContain(status);
        expect(text).toMatch(/remora-error: (?!connection_denied|endpoint_)/);
        expect(platform.calls).toHaveLength(0);
        break;
      default:
        entry.expect satisfies never;
    }
    const sent = platform.calls[0]?.rawHeaders ?? [];
    for (const absent of entry.forward_headers_absent) expect(sent.join('\n')).not.toContain(absent);
    if (entry.expect !== 'allow') return;
    const credentials = sent.filter((_text, index) => sent[index - 1]?.toLowerCase() === 'authorization');
    expect(credentials).toEqual([`Bearer ${SPRITE_TOKEN}`]);
  });
});

/** The platform shows only policies that its own contract allows; a malformed one never leaves it. */
function toPolicy(policy: unknown): unknown {
  const isMalformed =
    typeof policy === 'object' && policy !== null && 'allow_all' in policy && typeof policy.allow_all !== 'boolean';
  return isMalformed ? {} : policy;
}
