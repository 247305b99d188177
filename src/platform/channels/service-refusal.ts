// Why an agent refuses a connection to the port of a service. What it says is written by root in that machine: only names and states that
// can exist are passed on.
import type { IncomingHttpHeaders } from 'node:http2';
import { PORT_REFUSAL } from '../../contract/channel.ts';
import { serviceName, serviceStatus } from '../../contract/services.ts';
import { RemoraError } from '../../core/remora-error.ts';

/** Undefined when the answer names no service. */
export function toServiceRefusal(headers: IncomingHttpHeaders): RemoraError | undefined {
  const service = serviceName.safeParse(headers[PORT_REFUSAL.service]);
  const state = serviceStatus.safeParse(headers[PORT_REFUSAL.state]);
  if (!service.success || !state.success) return undefined;
  const details = { service: service.data, state: state.data };
  return state.data === 'stopped'
    ? new RemoraError('service_stopped', `the service ${service.data} was stopped by hand; start it`, { details })
    : new RemoraError('upstream_failed', `the service ${service.data} does not listen; it is ${state.data}`, {
        details,
      });
}
