// The upgrade of a sprite at its own agent.
import { defineLocalOperation } from '../operation.ts';
import { nothingNewer, upgradeErrors, upgradeOperations, upgradeResponse } from '../upgrade.ts';

export const localUpgradeOperations = {
  /** 202 over the channel, which ends with the program that serves it: the platform asks the next one. */
  upgradeAgent: defineLocalOperation({
    method: 'POST',
    path: '/v1/upgrade',
    summary: 'Replace the agent by the version on its disk; answers when that one serves',
    source: 'Sprites API',
    tag: 'machine',
    servedAt: ['socket', 'channel'],
    query: upgradeOperations.upgradeSprite.query,
    answer: { kind: 'json', status: 200, schema: upgradeResponse, also: [202], noContent: nothingNewer },
    errors: upgradeErrors,
  }),
} as const;
