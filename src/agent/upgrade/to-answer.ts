// What an upgrade answers. Pure.
import type { UpgradeResponse } from '../../contract/upgrade.ts';

export function toAnswer(version_before: string, version_after: string): UpgradeResponse {
  const upgraded = version_before !== version_after;
  const message = upgraded
    ? `the agent was ${version_before} and is ${version_after}`
    : `nothing newer is installed: the agent runs ${version_after}, as its disk has it`;
  return { upgraded, version_before, version_after, message };
}
