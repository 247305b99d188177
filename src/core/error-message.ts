// What was thrown, as text.

/** The message of an error; anything else that was thrown, as a string. */
export function toErrorMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
