// What a text that is read again and again says, where nearly every reading is like the one before.

/** Calls `parse` when the text is another one than that of the last call, and gives what it returned otherwise. What it throws is not remembered. */
export function rememberLast<T>(parse: (text: string) => T): (text: string) => T {
  let last: { readonly text: string; readonly value: T } | undefined;
  return (text) => {
    if (last?.text !== text) last = { text, value: parse(text) };
    return last.value;
  };
}
