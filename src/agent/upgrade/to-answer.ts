// What an upgrade answers. Pure.
import type { UpgradeResponse } from '../../contract/upgrade.ts';

export function toAnswer(version_before: string, version_after: string): UpgradeResponse {
  const message = `the agent was ${version_before} and is started again as ${version_after}`;
  return { version_before, version_after, message };
}
