// The stable error codes of the local socket and of the platform, each with the HTTP status that carries it. Sandbox API,
// Errors names 400, 401 and 404; DECISIONS.md, "Error statuses" has the reason for the others.
import { z } from 'zod';

export const errorStatus = {
  invalid_request: 400,
  invalid_target: 400,
  unsupported_field: 400,
  unauthorized: 401,
  forbidden: 403,
  not_this_machine: 403,
  read_only: 403,
  connection_denied: 403,
  endpoint_blocked: 403,
  endpoint_not_allowed: 403,
  authorization_ended: 403,
  not_found: 404,
  unknown_connector: 404,
  unknown_database: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  timeout: 408,
  conflict: 409,
  held: 409,
  hook_failed: 409,
  already_exists: 409,
  invalid_state: 409,
  limit_reached: 409,
  external_machine: 409,
  incarnation_conflict: 409,
  rewound: 409,
  record_altered: 409,
  gone: 410,
  payload_too_large: 413,
  target_too_long: 414,
  unsupported_media_type: 415,
  invalid_range: 416,
  expectation_failed: 417,
  other_host: 421,
  not_eligible: 422,
  not_supported: 422,
  insufficient_memory: 422,
  upgrade_required: 426,
  too_many_requests: 429,
  concurrent_sprite_limit_exceeded: 429,
  sprite_creation_rate_limited: 429,
  headers_too_large: 431,
  internal: 500,
  not_implemented: 501,
  not_isolated: 501,
  upstream_failed: 502,
  outcome_unknown: 502,
  upstream_refused: 502,
  not_ready: 503,
  not_configured: 503,
  not_reachable: 503,
  host_drained: 503,
  service_stopped: 503,
  policy_unavailable: 503,
  shutting_down: 503,
  suspending: 503,
  resuming: 503,
  upstream_timeout: 504,
  start_failed: 504,
  storage_full: 507,
} as const satisfies Record<string, number>;

export type ErrorCode = keyof typeof errorStatus;

/** The header of Remora's own errors, which distinguishes them from those of a provider. Its value is the error code. */
export const ERROR_MARKER = 'remora-error';

/** The one error body of every listener. The specifications show none (DECISIONS.md, "Error body"). */
export const errorBody = z.object({
  error: z.string(),
  message: z.string(),
  details: z.unknown().optional(),
});
export type ErrorBody = z.infer<typeof errorBody>;
