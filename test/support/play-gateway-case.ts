// One recorded case through the gateway of an agent: what its caller sends, and what the platform may see of it.
import { expect } from 'vitest';
import { SPRITE_TOKEN } from './gateway-agent.ts';
import { corpusConnectors, type GatewayCase } from './gateway-corpus.ts';
import { openRaw } from './raw-http.ts';
import type { StandInConnector, StandInPlatform, StandInState } from './stand-in-platform.ts';

/** What the platform says of the sprite and its connectors in this case. */
export function toStandInState({ sprite, policy }: GatewayCase): Pick<StandInState, 'sprite' | 'connectors'> {
  const connectors: StandInConnector[] = [...corpusConnectors].map(([id, provider]) => ({
    id,
    provider,
    access_policy: toPolicy(policy),
  }));
  return { sprite: sprite ?? { name: 'dev-1', labels: [] }, connectors };
}

export interface GatewayCasePlace {
  /** The socket of the agent, whose token is SPRITE_TOKEN. */
  readonly path: string;
  /** It says of the sprite and its connectors what belongs to the case. */
  readonly platform: StandInPlatform;
}

/** Fails the test when the verdict is another one, or when something else reaches the platform. */
export async function playGatewayCase(entry: GatewayCase, { path, platform }: GatewayCasePlace): Promise<void> {
  const before = platform.calls.length;
  const caller = openRaw(path, toRequest(entry));
  const text = await caller.until(/^HTTP\/1.1 \d{3} .*\r\n\r\n/s);
  caller.socket.destroy();
  const calls = platform.calls.slice(before);
  const status = Number(text.slice(9, 12));
  switch (entry.expect) {
    case 'allow':
      expect(status).toBe(200);
      expect(calls).toHaveLength(1);
      expect(calls[0]).toMatchObject({ method: entry.method, target: entry.target });
      break;
    case 'deny':
      expect(status).toBe(403);
      expect(text).toMatch(/remora-error: (connection_denied|endpoint_blocked|endpoint_not_allowed)\r\n/);
      expect(calls).toHaveLength(0);
      break;
    case 'reject':
      expect([400, 403, 404, 405, 414]).toContain(status);
      expect(text).toMatch(/remora-error: (?!connection_denied|endpoint_)/);
      expect(calls).toHaveLength(0);
      break;
    default:
      entry.expect satisfies never;
  }
  const sent = calls[0]?.rawHeaders ?? [];
  for (const absent of entry.forward_headers_absent) expect(sent.join('\n')).not.toContain(absent);
  if (entry.expect !== 'allow') return;
  const credentials = sent.filter((_text, index) => sent[index - 1]?.toLowerCase() === 'authorization');
  expect(credentials).toEqual([`Bearer ${SPRITE_TOKEN}`]);
}

function toRequest({ method, target, headers }: GatewayCase): string {
  const hasHost = headers.some(([name]) => name.toLowerCase() === 'host');
  const lines = [...(hasHost ? [] : [['Host', 'remora']]), ...headers].map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** The platform shows only policies that its own contract allows; a malformed one never leaves it. */
function toPolicy(policy: unknown): unknown {
  const isMalformed =
    typeof policy === 'object' && policy !== null && 'allow_all' in policy && typeof policy.allow_all !== 'boolean';
  return isMalformed ? {} : policy;
}
