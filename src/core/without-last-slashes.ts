// A path or an address without the slashes at its end. Pure; a regular expression would try the slashes inside as well.

const SLASH = 0x2f;

export function withoutLastSlashes(text: string): string {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === SLASH) end -= 1;
  return text.slice(0, end);
}
