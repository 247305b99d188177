// One spelling for the names of headers that some servers take for the same. Pure.

/** The name in lower case, with `_` and `.` read as `-`: a server that makes variables of headers cannot distinguish them. */
export function foldHeaderName(name: string): string {
  const lower = name.toLowerCase();
  return /[_.]/.test(lower) ? lower.replaceAll(/[_.]/g, '-') : lower;
}
