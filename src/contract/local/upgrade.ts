// The upgrade of a sprite at its own agent.
import { defineLocalOperation } from '../operation.ts';
import { nothingNewer, upgradeErrors, upgradeOperations, upgradeResponse } from '../upgrade.ts';

export const localUpgradeOperations = {
  /** The process that answers ends with this call: the next one is asked for its version. */
  upgradeAgent: defineLocalOperation({
    method: 'POST',
    path: '/v1/upgrade',
    summary: 'Replace the agent by the version on its disk; ends this one to be started again',
    source: 'Sprites API',
    tag: 'machine',
    servedAt: ['socket', 'channel'],
    query: upgradeOperations.upgradeSprite.query,
    answer: { kind: 'json', status: 202, schema: upgradeResponse, noContent: nothingNewer },
    errors: upgradeErrors,
  }),
} as const;
