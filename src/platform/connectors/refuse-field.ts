// The refusal of one field of a request, for what the contract cannot check.
import { RemoraError } from '../../core/remora-error.ts';

/** `field` with where it stands, as in `body.provider`. */
export function refuseField(field: string, message: string): RemoraError {
  return new RemoraError('invalid_request', `${field}: ${message}`, { details: { fields: [{ field, message }] } });
}
