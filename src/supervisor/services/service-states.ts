// The states of a service (Sandbox API, States and transitions), as a total table. Pure.
//
//            start              proved
//   stopped ───────▶ starting ─────────▶ running
//      ▲              ▲  │ not_started,     │ ended
//      │ ended    start│ │ ended            │
//      │              │  ▼                  │
//   stopping ◀──────  failed ◀──────────────┘
//             stop (also while starting and running)
import type { ServiceStatus } from '../../contract/services.ts';

/**
 * `start`, `stop`: somebody asks for it, or a crashed service is due again. `proved`: it has run long enough, or its port accepts.
 * `not_started`: what it needs does not run, or there is no such program. `ended`: no process of it is left.
 */
export const serviceMoves = ['start', 'stop', 'proved', 'not_started', 'ended'] as const;
export type ServiceMove = (typeof serviceMoves)[number];

/** The state after each move; the same state where the move changes nothing. */
export const serviceStates: Readonly<Record<ServiceStatus, Readonly<Record<ServiceMove, ServiceStatus>>>> = {
  stopped: { start: 'starting', stop: 'stopped', proved: 'stopped', not_started: 'stopped', ended: 'stopped' },
  starting: { start: 'starting', stop: 'stopping', proved: 'running', not_started: 'failed', ended: 'failed' },
  running: { start: 'running', stop: 'stopping', proved: 'running', not_started: 'running', ended: 'failed' },
  stopping: { start: 'stopping', stop: 'stopping', proved: 'stopping', not_started: 'stopped', ended: 'stopped' },
  failed: { start: 'starting', stop: 'stopping', proved: 'failed', not_started: 'failed', ended: 'failed' },
};
