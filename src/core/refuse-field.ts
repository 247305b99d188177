// The refusal of one field of a request, for checks that the contract cannot express.
import { RemoraError } from './remora-error.ts';

/** `field` is the path of the field, as in `body.provider`. */
export function refuseField(field: string, message: string): RemoraError {
  return new RemoraError('invalid_request', `${field}: ${message}`, { details: { fields: [{ field, message }] } });
}
