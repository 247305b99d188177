// Remembers what was found out about the names of headers: nearly all requests bring the same few. Pure.

/** Names come from outside, so that their number and their length are bounded. */
const NAMES_MAX = 512;
const LENGTH_MAX = 64;

/** `judge`, asked once for each spelling of a name for as long as it is remembered. Its answer must depend on the name only. */
export function rememberNames<T>(judge: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>();
  return (name) => {
    const remembered = known.get(name);
    if (remembered !== undefined) return remembered;
    // A part of a text would keep all of it in memory.
    const own = Array.from(name).join('');
    const judged = judge(own);
    if (name.length > LENGTH_MAX) return judged;
    if (known.size >= NAMES_MAX) known.clear();
    known.set(own, judged);
    return judged;
  };
}
