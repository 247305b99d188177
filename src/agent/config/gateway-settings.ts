// The settings of the gateway, each as one entry.

import { byteCount, count, duration } from './setting-values.ts';
import type { Setting } from './settings.ts';

export const gatewaySettings = {
  policyMaxAge_ms: {
    env: 'REMORA_POLICY_MAX_AGE',
    key: 'gateway.policy_max_age',
    summary: 'how old a cached policy may be before the gateway refuses',
    schema: duration,
    fallback: '10m',
  },
  policyRefresh_ms: {
    env: 'REMORA_POLICY_REFRESH',
    key: 'gateway.policy_refresh',
    summary: 'how often policies are fetched again',
    schema: duration,
    fallback: '60s',
  },
  bodyCap_bytes: {
    env: 'REMORA_BODY_LIMIT',
    key: 'gateway.body_limit',
    summary: 'largest request body through the gateway, in bytes',
    schema: byteCount,
    fallback: '33554432',
    isLive: true,
  },
  targetCap_bytes: {
    env: 'REMORA_TARGET_LIMIT',
    key: 'gateway.target_limit',
    summary: 'longest path with query through the gateway, in bytes; at most 8192',
    schema: byteCount.refine((bytes) => bytes > 0 && bytes <= 8_192, 'must be from 1 to 8192'),
    fallback: '8192',
    isLive: true,
  },
  callsPerSecond: {
    env: 'REMORA_GATEWAY_RATE',
    key: 'gateway.rate',
    summary: 'gateway calls that may begin each second through one connector',
    schema: count,
    fallback: '1000',
    isLive: true,
  },
  callsInFlight: {
    env: 'REMORA_GATEWAY_IN_FLIGHT',
    key: 'gateway.in_flight',
    summary: 'gateway calls that may be open at once through one connector',
    schema: count,
    fallback: '256',
    isLive: true,
  },
  logMaxAge_ms: {
    env: 'REMORA_GATEWAY_LOG_AGE',
    key: 'gateway.log_age',
    summary: 'how long records of gateway calls are kept; the newest 20,000 at most, and 20,000 refusals',
    schema: duration,
    fallback: '720h',
  },
  connect_ms: {
    env: 'REMORA_CONNECT_TIMEOUT',
    key: 'gateway.connect_timeout',
    summary: 'how long a connection to the platform may take to be made',
    schema: duration.transform((value) => Math.max(100, value)),
    fallback: '3s',
  },
  headersTimeout_ms: {
    env: 'REMORA_HEADERS_TIMEOUT',
    key: 'gateway.headers_timeout',
    summary: 'how long a provider may think before its answer begins',
    schema: duration.transform((value) => Math.max(1_000, value)),
    fallback: '10m',
    isLive: true,
  },
  idleTimeout_ms: {
    env: 'REMORA_IDLE_TIMEOUT',
    key: 'gateway.idle_timeout',
    summary: 'how long an answer that has begun may pause before it is broken off; 0s = as long as it likes',
    schema: duration,
    fallback: '0s',
    isLive: true,
  },
  websocketIdle_ms: {
    env: 'REMORA_WEBSOCKET_IDLE',
    key: 'gateway.websocket_idle',
    summary: 'how long a WebSocket may be without a byte either way before it is closed with 1001; 0s = for ever',
    schema: duration,
    fallback: '10m',
    isLive: true,
  },
} as const satisfies Record<string, Setting>;
