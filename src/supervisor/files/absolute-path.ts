// The path that a request is about, absolute: for answers and errors, and where the walk begins.

/** `..` stays: what it leads to depends on the links before it. A slash at the end stays as well. */
export function toAbsolutePath(path: string, workingDir: string): string {
  const whole = path.startsWith('/') ? path : `${workingDir}/${path}`;
  return whole.replaceAll(/\/(?:\.?\/)+/g, '/').replace(/\/\.$/, '') || '/';
}
