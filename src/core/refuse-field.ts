// The refusal of fields of a request, for checks that the contract cannot express.
import { RemoraError } from './remora-error.ts';

export interface RefusedField {
  /** The path of the field, as in `body.provider`. */
  readonly field: string;
  readonly message: string;
}

/** `field` is the path of the field, as in `body.provider`. */
export function refuseField(field: string, message: string): RemoraError {
  return refuseFields([{ field, message }], 1);
}

/** `fields` are those that the answer names, of `count` that fail. */
export function refuseFields(fields: readonly RefusedField[], count: number): RemoraError {
  const more = count > fields.length ? `; and ${count - fields.length} more` : '';
  const message = fields.map((field) => `${field.field}: ${field.message}`).join('; ') + more;
  return new RemoraError('invalid_request', message, { details: { fields } });
}
