// The text of a JSON value in pieces, so that a long list need not be written in one turn of the event loop. Joined, they are what
// JSON.stringify makes.

/** A shorter list is one piece. */
const LONG_LIST = 16;
/** A list deeper than this is one piece: no answer has one. */
const DEPTH = 4;

/** One piece for a value without a long list; otherwise several for each item of the lists. */
export function* toJsonPieces(value: unknown): Generator<string> {
  if (!holdsLongList(value)) yield JSON.stringify(value) ?? 'null';
  else if (Array.isArray(value)) yield* toListPieces(value);
  else yield* toRecordPieces(value as Readonly<Record<string, unknown>>);
}

/** Whether the value is or holds a list that is written in pieces. */
export function holdsLongList(value: unknown, depth = DEPTH): boolean {
  if (depth === 0) return false;
  const inside = (part: unknown) => holdsLongList(part, depth - 1);
  if (Array.isArray(value)) return value.length > LONG_LIST || value.some(inside);
  return isRecord(value) && Object.values(value).some(inside);
}

function* toListPieces(list: readonly unknown[]): Generator<string> {
  let before = '[';
  for (const item of list) {
    yield before;
    yield* toJsonPieces(item);
    before = ',';
  }
  yield ']';
}

function* toRecordPieces(record: Readonly<Record<string, unknown>>): Generator<string> {
  let before = '{';
  for (const [name, field] of Object.entries(record)) {
    if (isLeftOut(field)) continue;
    yield `${before}${JSON.stringify(name)}:`;
    yield* toJsonPieces(field);
    before = ',';
  }
  yield '}';
}

/** An object that JSON.stringify writes field by field. */
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || 'toJSON' in value) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function isLeftOut(field: unknown): boolean {
  return field === undefined || typeof field === 'function' || typeof field === 'symbol';
}
