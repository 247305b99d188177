import { describe, it } from 'vitest';
import { openGatewayAgent } from '../../support/gateway-agent.ts';
import { gatewayCases } from '../../support/gateway-corpus.ts';
import { playGatewayCase, toStandInState } from '../../support/play-gateway-case.ts';
import { openStandInPlatform } from '../../support/stand-in-platform.ts';

describe('the recorded gateway cases, over a raw socket', () => {
  it.each(gatewayCases.map((entry) => [entry.id, entry] as const))('%s', async (_id, entry) => {
    const platform = await openStandInPlatform(toStandInState(entry));
    const agent = await openGatewayAgent(platform.url);
    await playGatewayCase(entry, { path: agent.path, platform });
  });
});
