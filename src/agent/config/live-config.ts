// The settings while the agent runs: those that a reload can change are changed in place, so that who reads them at each use has the
// new ones. The others stay as they are until the agent is started again.
import { isDeepStrictEqual } from 'node:util';
import type { Secret } from '../../core/secret.ts';
import type { Config } from './load-config.ts';
import { type Setting, type SettingName, settings } from './settings.ts';

export interface SettingsDifference {
  /** Keys of the settings that are used from now on. */
  readonly changed: readonly string[];
  /** Keys of those that differ and need a restart. */
  readonly kept: readonly string[];
}

export interface LiveConfig {
  /** One object for as long as the agent runs. */
  readonly config: Config;
  take(next: Config): SettingsDifference;
}

export function createLiveConfig(first: Config): LiveConfig {
  const current: { -readonly [K in keyof Config]: Config[K] } = { ...first };
  return {
    config: current,
    take(next) {
      const different = (Object.entries(settings) as [SettingName, Setting][]).filter(
        ([name]) => !isDeepStrictEqual(current[name], next[name]),
      );
      const live = different.filter(([, { isLive }]) => isLive === true);
      Object.assign(current, Object.fromEntries(live.map(([name]) => [name, next[name]])));
      current.warnings = next.warnings;
      const kept = different.filter(([, { isLive }]) => isLive !== true).map(([, { key }]) => key);
      return {
        changed: live.map(([, { key }]) => key),
        kept: isSame(current.token, next.token) ? kept : [...kept, 'token'],
      };
    },
  };
}

function isSame(one: Secret | undefined, other: Secret | undefined): boolean {
  return one?.reveal() === other?.reveal();
}
