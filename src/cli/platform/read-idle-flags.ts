// Reads the flags about machines without work.
import { parseDuration } from '../../contract/duration.ts';
import type { IdleSettings } from '../../platform/idle/idle-settings.ts';
import type { Invocation } from '../command.ts';
import { UsageError } from '../exit-code.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;

interface TimeFlag {
  readonly name: string;
  readonly default_ms: number;
  readonly min_ms: number;
  readonly max_ms: number;
  /** What 0s means. */
  readonly none: string;
}

const spriteIdle: TimeFlag = {
  name: 'sprite-idle',
  default_ms: 30 * SECOND_MS,
  min_ms: SECOND_MS,
  max_ms: 30 * DAY_MS,
  none: 'never',
};
const spriteCold = { ...spriteIdle, name: 'sprite-cold', default_ms: DAY_MS, max_ms: 365 * DAY_MS };
const appIdle = { ...spriteIdle, name: 'app-idle', default_ms: 5 * MINUTE_MS, min_ms: 30 * SECOND_MS, max_ms: DAY_MS };
const startWait = { ...spriteIdle, name: 'start-wait', none: 'not at all', max_ms: 30 * SECOND_MS };

/** Throws UsageError. */
export function readIdleFlags(text: Invocation['text']): IdleSettings {
  return {
    sprite_ms: readTime(spriteIdle, text),
    cold_ms: readTime(spriteCold, text),
    round_ms: readTime(appIdle, text),
    startWait_ms: readTime(startWait, text) ?? 0,
  };
}

/** Undefined for 0s, and where nothing is given. Throws UsageError. */
export function readSpriteIdle(text: Invocation['text']): number | undefined {
  return text(spriteIdle.name) === undefined ? undefined : readTime(spriteIdle, text);
}

function readTime(flag: TimeFlag, text: Invocation['text']): number | undefined {
  const { name, default_ms, min_ms, max_ms, none } = flag;
  const given = text(name);
  const time_ms = given === undefined ? default_ms : parseDuration(given);
  if (time_ms === 0) return undefined;
  if (time_ms !== undefined && time_ms >= min_ms && time_ms <= max_ms) return time_ms;
  const range = `from ${min_ms / SECOND_MS}s to ${max_ms / SECOND_MS}s`;
  throw new UsageError(`--${name} takes a time ${range}, or 0s for ${none}, not ${given}`);
}
