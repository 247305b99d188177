// Why a machine cannot be reached into: the errors that every operation inside a sprite has in common at the platform.
import type { ErrorCode } from './errors.ts';

export const reachErrors = [
  'read_only',
  'concurrent_sprite_limit_exceeded',
  'other_host',
  'too_many_requests',
  'not_isolated',
  'not_supported',
  'upstream_failed',
  'not_reachable',
  'upstream_timeout',
  'start_failed',
  'host_drained',
  'secrets_unavailable',
] as const satisfies readonly ErrorCode[];
