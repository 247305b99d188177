// What the platform sent, with the schema of the contract.
import type { z } from 'zod';
import { toFieldProblem } from '../contract/field-problem.ts';
import { RemoraError } from '../core/remora-error.ts';

const FIELDS_SHOWN = 20;

/** Throws `invalid_request` with the fields that are wrong. */
export function parseSent<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value, { error: toFieldProblem });
  if (result.success) return result.data;
  const fields = result.error.issues
    .slice(0, FIELDS_SHOWN)
    .map(({ path, message }) => ({ field: path.join('.').slice(0, 200), message: message.slice(0, 500) }));
  const message = fields.map((each) => `${each.field}: ${each.message}`).join('; ');
  throw new RemoraError('invalid_request', message, { details: { fields } });
}
