// Parses a part of a request with the schema of its operation; errors name the failing fields.
import type { z } from 'zod';
import { toFieldProblem } from '../contract/field-problem.ts';
import { refuseField, refuseFields } from '../core/refuse-field.ts';

/**
 * The most fields that an answer names, and the longest text for each: a list of a thousand entries may have a thousand errors.
 */
const FIELDS_SHOWN = 20;
const TEXT_SHOWN = 500;

/** `where`: the part, as the paths of fields begin. Throws `invalid_request`; the failing fields are in `details.fields`. */
export function parseWith<S extends z.ZodType>(schema: S, value: unknown, where: string): z.output<S> {
  const result = schema.safeParse(value, { error: toFieldProblem });
  if (result.success) return result.data;
  if (value === undefined) throw refuseField(where, 'is missing; send a JSON body');
  const { issues } = result.error;
  const fields = issues.slice(0, FIELDS_SHOWN).map((issue) => ({
    field: [where, ...issue.path].join('.').slice(0, TEXT_SHOWN),
    message: issue.message.slice(0, TEXT_SHOWN),
  }));
  throw refuseFields(fields, issues.length);
}
