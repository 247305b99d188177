// The code of a system error or a library's error.

/** Such as `ENOENT` or `UND_ERR_SOCKET`; undefined for what has no code that is text. */
export function errorCode(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
}
