// Fields of a body that ask for something that Remora does not implement. Such a request is refused, because a client takes an
// accepted field for one that took effect. Pure.
import { RemoraError } from '../core/remora-error.ts';

/** Throws `unsupported_field` naming all of them. Null, false, `default` and empty values ask for nothing. */
export function checkUnsupported(names: readonly string[], body: unknown): void {
  if (typeof body !== 'object' || body === null) return;
  const given = names.filter((name) => Object.hasOwn(body, name) && asks(Reflect.get(body, name)));
  if (given.length === 0) return;
  const fields = given.map((name) => ({ field: `body.${name}`, message: 'is not supported here' }));
  const message = `${fields.map(({ field }) => field).join(', ')}: not supported here; leave ${given.length === 1 ? 'it' : 'them'} out`;
  throw new RemoraError('unsupported_field', message, { details: { fields } });
}

function asks(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === 'default') return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}
